//! Lets happen what was drawn. What the API refuses a user, for example because the object is gone, does not happen.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use drydock_api::names::{RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION};
use kube_sandbox::access::{AccessError, Key, Removal, Selection};
use ocm_sandbox::kinds::{
    MANAGED_CLUSTER, MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING, MANIFEST_WORK, NAMESPACE, PLACEMENT,
};
use semver::Version;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::acceptances::ACCEPTANCE;
use super::backup::Backups;
use super::draw::{self, NAMESPACES, Which};
use super::fleet::{Fleet, placement};
use super::happening::{Events, Happening, Refused, Tamper};
use super::rules::{HubInputs, Rules};
use super::scenario::Scenario;
use crate::hub_fleet::UPGRADE;

/// The hub among those that are cut off; no cluster can have this name.
const HUB: &str = "*hub";
/// How often something is tried that must wait until something else is gone, a minute apart.
const TRIES: u32 = 90;

/// Who is cut off at present, and whose writes are refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Obstacles(Arc<Mutex<(BTreeSet<String>, Vec<Refused>)>>);

impl Obstacles {
    fn all(&self) -> MutexGuard<'_, (BTreeSet<String>, Vec<Refused>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, who: &str, cut: bool) {
        if cut {
            self.all().0.insert(who.to_owned());
        } else {
            self.all().0.remove(who);
        }
    }

    /// Whether the replicas are cut off.
    pub fn has_hub(&self) -> bool {
        self.all().0.contains(HUB)
    }

    /// Whether a cluster is cut off.
    pub fn has(&self, cluster: Option<&str>) -> bool {
        cluster.is_some_and(|cluster| self.all().0.contains(cluster))
    }

    /// Whether a write of the hub is refused.
    pub fn refuse(&self, is_it: impl Fn(&Refused) -> bool) -> bool {
        self.all().1.iter().any(is_it)
    }
}

/// Where things happen.
pub(super) struct World {
    pub fleet: Arc<Fleet>,
    pub skew: Arc<AtomicI64>,
    pub obstacles: Obstacles,
    pub rules: Rules,
    pub scenario: Scenario,
    pub backups: Backups,
    /// The replicas are to be killed.
    pub kill: Arc<Notify>,
}

/// What the API refuses a user does not happen; whether it did.
fn done<T>(result: Result<T, AccessError>) -> anyhow::Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if !error.is_unreachable() => {
            tracing::debug!(%error, "a user's write is refused");
            Ok(false)
        }
        Err(error) => Err(error).context("writing as a user"),
    }
}

impl World {
    /// Lets everything happen in its time, and keeps the backups.
    ///
    /// # Errors
    /// If the hub cannot be reached by users, which nothing in a simulation brings about.
    pub async fn play(self, events: Events) -> anyhow::Result<()> {
        let begun = tokio::time::Instant::now();
        let world = Arc::new(self);
        let mut waiting = tokio::task::JoinSet::new();
        for (at, happening) in events.0 {
            tokio::time::sleep_until(begun + at).await;
            world
                .rules
                .note(format!("{} {happening:?}", world.fleet.clock.now()));
            world.look_around().await?;
            let (world, what) = (Arc::clone(&world), format!("{happening:?}"));
            // What has to wait for something keeps nothing else from happening.
            waiting.spawn(async move {
                world
                    .happen(happening)
                    .await
                    .with_context(|| format!("letting happen {what}"))?;
                world.look_around().await
            });
            // Let what happens at once happen before what comes next.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        while let Some(ended) = waiting.join_next().await {
            ended.context("what happens panicked")??;
        }
        Ok(())
    }

    /// Tells the rules what there is.
    async fn look_around(&self) -> anyhow::Result<()> {
        let inputs = self.inputs().await?;
        self.rules.set_inputs(inputs, self.fleet.clock.now());
        Ok(())
    }

    /// What there is.
    pub async fn inputs(&self) -> anyhow::Result<HubInputs> {
        let spokes = self.fleet.spokes();
        let version = |cluster: &str| -> Option<Version> {
            let spokes = spokes?;
            spokes.with(cluster, |cluster, _| cluster.version().parse().ok())
        };
        HubInputs::read(&self.fleet.user, version).await
    }

    async fn happen(&self, happening: Happening) -> anyhow::Result<()> {
        let user = &self.fleet.user;
        match happening {
            Happening::Create(which, spec) => {
                done(user.create(&UPGRADE, draw::upgrade(&which, &spec)).await).map(drop)
            }
            Happening::Edit(which, edits) => self.edit(&which, &edits).await,
            Happening::Retry(which, cluster, token) => {
                let (name, value) = match cluster {
                    Some(cluster) => (RETRY_CLUSTERS_ANNOTATION, format!("{cluster}={token}")),
                    None => (RETRY_ANNOTATION, token),
                };
                let patch = json!({"metadata": {"annotations": {name: value}}});
                done(user.merge_patch(&UPGRADE, &key(&which), patch).await).map(drop)
            }
            Happening::Delete(which, recreated) => self.delete(&which, recreated).await,
            Happening::Restore { backup, down } => self.restore(backup, down).await,
            Happening::Accept(namespace, name, spec) => self.accept(namespace, name, spec).await,
            Happening::Placement(namespace, name, required) => {
                self.place(namespace, name, required.as_ref()).await
            }
            Happening::PlacementAnew(namespace, name, required) => {
                self.place(namespace, name, None).await?;
                self.place(namespace, name, Some(&required)).await
            }
            Happening::Set(name, true) => self.fleet.make_set(name).await,
            Happening::Set(name, false) => done(
                user.delete(&MANAGED_CLUSTER_SET, &Key::cluster(name), &Removal::default())
                    .await,
            )
            .map(drop),
            Happening::Bound(namespace, set, true) => {
                self.ignoring_refusals(self.fleet.bind(set, namespace)).await
            }
            Happening::Bound(namespace, set, false) => {
                let key = Key::namespaced(namespace, set);
                done(
                    user.delete(&MANAGED_CLUSTER_SET_BINDING, &key, &Removal::default())
                        .await,
                )
                .map(drop)
            }
            Happening::Refusals(refused) => {
                self.obstacles.all().1 = refused;
                Ok(())
            }
            Happening::Drift(cluster, version) => {
                self.drift(&cluster, version);
                Ok(())
            }
            Happening::Corrected => self.correct().await,
            Happening::Connected(cluster, connected) => self.connect(&cluster, connected).await,
            Happening::Partition(cut) => {
                self.obstacles.set(HUB, cut);
                self.rules.partition_is(cut, self.fleet.clock.now());
                self.fleet.hub.cut_watches(|who, _| who.starts_with("replica"));
                Ok(())
            }
            Happening::Clock(ahead) => {
                self.skew.store(ahead, Ordering::Relaxed);
                Ok(())
            }
            about_clusters => self.happen_to_clusters(about_clusters).await,
        }
    }

    /// What becomes of clusters, namespaces and works.
    async fn happen_to_clusters(&self, happening: Happening) -> anyhow::Result<()> {
        let user = &self.fleet.user;
        match happening {
            Happening::Labels(cluster, labels) => {
                let patch = json!({"metadata": {"labels": labels}});
                done(
                    user.merge_patch(&MANAGED_CLUSTER, &Key::cluster(cluster), patch)
                        .await,
                )
                .map(drop)
            }
            Happening::Accepted(cluster, accepted) => {
                let patch = json!({"spec": {"hubAcceptsClient": accepted}});
                done(
                    user.merge_patch(&MANAGED_CLUSTER, &Key::cluster(cluster), patch)
                        .await,
                )
                .map(drop)
            }
            Happening::Leaves(cluster) => self.leave(&cluster).await,
            Happening::Joins(cluster) => self.join(&cluster).await,
            Happening::Namespace(cluster, is_there) => self.namespace(&cluster, is_there).await,
            Happening::Team(is_there) => self.team(is_there).await,
            Happening::Tampered(cluster, number, how) => self.tamper(&cluster, number, &how).await,
            _ => Ok(()),
        }
    }

    /// What a user cannot do at present is not done.
    async fn ignoring_refusals(&self, what: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
        if let Err(error) = what.await {
            let is_unreachable = error.chain().any(|source| {
                source
                    .downcast_ref::<AccessError>()
                    .is_some_and(AccessError::is_unreachable)
            });
            anyhow::ensure!(!is_unreachable, error);
        }
        Ok(())
    }

    /// What is invalid in the specs that are drawn are their start windows, or releases for which the agent is not made.
    async fn correct(&self) -> anyhow::Result<()> {
        for which in &draw::ALL {
            let strategy = json!({"startWindows": null, "upgradeVia": "Auto"});
            let patch = json!({"spec": {"upgradeStrategy": strategy}});
            done(self.fleet.user.merge_patch(&UPGRADE, &key(which), patch).await)?;
        }
        Ok(())
    }

    /// Replaces fields of a spec in one write.
    async fn edit(&self, which: &Which, edits: &[(&'static str, Value)]) -> anyhow::Result<()> {
        for _ in 0..5 {
            let Some(found) = self.fleet.user.find(&UPGRADE, &key(which)).await? else {
                return Ok(());
            };
            let mut edited = found.complete().into_owned();
            let drawn: serde_json::Map<String, Value> = edits
                .iter()
                .map(|(field, value)| ((*field).to_owned(), value.clone()))
                .collect();
            let drawn = draw::upgrade(which, &Value::Object(drawn));
            for (field, _) in edits {
                if let Some(spec) = edited["spec"].as_object_mut() {
                    match &drawn["spec"][*field] {
                        Value::Null => drop(spec.remove(*field)),
                        value => drop(spec.insert((*field).to_owned(), value.clone())),
                    }
                }
            }
            match self.fleet.user.replace(&UPGRADE, edited).await {
                Err(error) if error.is_conflict() => {}
                result => return done(result).map(drop),
            }
        }
        Ok(())
    }

    async fn delete(&self, which: &Which, recreated: Option<Value>) -> anyhow::Result<()> {
        done(
            self.fleet
                .user
                .delete(&UPGRADE, &key(which), &Removal::default())
                .await,
        )?;
        let Some(spec) = recreated else { return Ok(()) };
        for _ in 0..TRIES {
            if done(
                self.fleet
                    .user
                    .create(&UPGRADE, draw::upgrade(which, &spec))
                    .await,
            )? {
                break;
            }
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        Ok(())
    }

    /// Findings are accepted by an object of this name; one that is there gets the new entries.
    async fn accept(&self, namespace: &str, name: &str, spec: Option<Value>) -> anyhow::Result<()> {
        let (user, key) = (&self.fleet.user, Key::namespaced(namespace, name));
        let Some(spec) = spec else {
            return done(user.delete(&ACCEPTANCE, &key, &Removal::default()).await).map(drop);
        };
        let patch = json!({"spec": {"acceptedRisks": spec["acceptedRisks"]}});
        let object = json!({
            "apiVersion": ACCEPTANCE.api_version(), "kind": ACCEPTANCE.kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        });
        if !done(user.create(&ACCEPTANCE, object).await)? {
            done(user.merge_patch(&ACCEPTANCE, &key, patch).await)?;
        }
        Ok(())
    }

    async fn place(&self, namespace: &str, name: &str, required: Option<&Value>) -> anyhow::Result<()> {
        let (user, key) = (&self.fleet.user, Key::namespaced(namespace, name));
        let Some(required) = required else {
            return done(user.delete(&PLACEMENT, &key, &Removal::default()).await).map(drop);
        };
        let wanted = placement(namespace, name, required);
        let patch = json!({"spec": wanted["spec"]});
        if !done(user.create(&PLACEMENT, wanted).await)? {
            done(user.merge_patch(&PLACEMENT, &key, patch).await)?;
        }
        Ok(())
    }

    async fn leave(&self, cluster: &str) -> anyhow::Result<()> {
        self.rules.meddled(cluster);
        let (user, now) = (&self.fleet.user, Removal::default());
        done(user.delete(&MANAGED_CLUSTER, &Key::cluster(cluster), &now).await)?;
        // The hub sees at once that it is gone; its namespace takes longer.
        self.look_around().await?;
        self.namespace(cluster, false).await
    }

    async fn join(&self, cluster: &str) -> anyhow::Result<()> {
        if self
            .fleet
            .user
            .find(&MANAGED_CLUSTER, &Key::cluster(cluster))
            .await?
            .is_some()
        {
            return Ok(());
        }
        self.namespace(cluster, true).await?;
        self.rules.meddled(cluster);
        let drawn = self.scenario.clusters.iter().find(|drawn| drawn.name == cluster);
        match drawn {
            Some(drawn) => self.ignoring_refusals(self.fleet.join(drawn)).await,
            None => Ok(()),
        }
    }

    /// The namespace of a cluster goes with its works, or is created again.
    async fn namespace(&self, cluster: &str, is_there: bool) -> anyhow::Result<()> {
        self.rules.meddled(cluster);
        let user = &self.fleet.user;
        let key = Key::cluster(cluster);
        if !is_there {
            done(user.delete(&NAMESPACE, &key, &Removal::default()).await)?;
            tokio::time::sleep(Duration::from_mins(10)).await;
            self.rules.meddled(cluster);
            return self.strip(cluster).await;
        }
        for _ in 0..TRIES {
            let found = user.find(&NAMESPACE, &key).await?;
            if found.is_none_or(|found| found["metadata"]["deletionTimestamp"].is_null()) {
                break;
            }
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        self.rules.meddled(cluster);
        self.fleet.namespace(cluster).await?;
        let has_agent = self
            .scenario
            .clusters
            .iter()
            .any(|drawn| drawn.name == cluster && drawn.agent);
        if has_agent {
            self.ignoring_refusals(self.fleet.make_add_on(cluster)).await?;
        }
        Ok(())
    }

    /// Somebody takes the finalizers off works that nobody cleans up any more.
    async fn strip(&self, namespace: &str) -> anyhow::Result<()> {
        let user = &self.fleet.user;
        for work in user
            .list(&MANIFEST_WORK, &Selection::in_namespace(namespace))
            .await?
        {
            if !work["metadata"]["deletionTimestamp"].is_null() {
                let none = json!({"metadata": {"finalizers": null}});
                done(user.merge_patch(&MANIFEST_WORK, &work.key(), none).await)?;
            }
        }
        Ok(())
    }

    /// The namespace of upgrades goes with all that is in it, or is created again.
    async fn team(&self, is_there: bool) -> anyhow::Result<()> {
        let (user, key) = (&self.fleet.user, Key::cluster("team"));
        if !is_there {
            self.rules.namespace_leaves("team", true);
            return done(user.delete(&NAMESPACE, &key, &Removal::default()).await).map(drop);
        }
        for _ in 0..60 * TRIES {
            if user.find(&NAMESPACE, &key).await?.is_none() {
                break;
            }
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        self.fleet.namespace("team").await?;
        self.rules.namespace_leaves("team", false);
        for set in draw::SETS {
            self.ignoring_refusals(self.fleet.bind(set, "team")).await?;
        }
        for (name, required) in &self.scenario.placements {
            self.place("team", name, Some(required)).await?;
        }
        Ok(())
    }

    async fn tamper(&self, cluster: &str, number: u64, how: &Tamper) -> anyhow::Result<()> {
        let user = &self.fleet.user;
        let works = user
            .list(&MANIFEST_WORK, &Selection::in_namespace(cluster))
            .await?;
        let Some(work) = works.get(number as usize % works.len().max(1)) else {
            return Ok(());
        };
        let patch = match how {
            Tamper::Label(label) => json!({"metadata": {"labels": {*label: null}}}),
            Tamper::Annotation(annotation) => json!({"metadata": {"annotations": {*annotation: null}}}),
            Tamper::Everything => json!({"metadata": {"labels": null, "annotations": null}}),
            Tamper::Delete => {
                self.rules.meddled(cluster);
                return done(
                    user.delete(&MANIFEST_WORK, &work.key(), &Removal::default())
                        .await,
                )
                .map(drop);
            }
        };
        match how {
            Tamper::Label(_) | Tamper::Delete => {}
            Tamper::Annotation(_) | Tamper::Everything => self.rules.disowned(cluster),
        }
        done(user.merge_patch(&MANIFEST_WORK, &work.key(), patch).await).map(drop)
    }

    fn drift(&self, cluster: &str, version: &str) {
        if let Some(spokes) = self.fleet.spokes() {
            spokes.with(cluster, |cluster, now| {
                let is_newer = cluster.version().parse::<Version>().ok() < version.parse().ok();
                if is_newer {
                    cluster.upgraded_outside(version, now);
                }
            });
        }
    }

    async fn connect(&self, cluster: &str, connected: bool) -> anyhow::Result<()> {
        self.obstacles.set(cluster, !connected);
        self.fleet.set_connected(cluster, connected);
        if self.scenario.real {
            return Ok(());
        }
        let key = Key::cluster(cluster);
        let Some(found) = self.fleet.user.find(&MANAGED_CLUSTER, &key).await? else {
            return Ok(());
        };
        let mut object = found.value().clone();
        let now = jiff::Timestamp::from_second(self.fleet.clock.now().as_second())?.to_string();
        for condition in object["status"]["conditions"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            if condition["type"] == "ManagedClusterConditionAvailable" {
                condition["status"] = json!(if connected { "True" } else { "Unknown" });
                condition["lastTransitionTime"] = json!(now);
            }
        }
        done(self.fleet.user.replace_status(&MANAGED_CLUSTER, object).await).map(drop)
    }

    /// The hub's cluster is lost with all that the hub has written, and restored.
    async fn restore(&self, backup: u64, down: u64) -> anyhow::Result<()> {
        let Some(spokes) = self.fleet.spokes() else {
            return Ok(());
        };
        if self.obstacles.has_hub() {
            return Ok(());
        }
        self.obstacles.set(HUB, true);
        self.kill.notify_one();
        spokes.cut_off(true);
        self.rules.restoring(true);
        let restored = self.backups.restore(&self.fleet, backup, down).await;
        // Long enough for the rules to see it all.
        tokio::time::sleep(Duration::from_secs(30)).await;
        self.rules.restoring(false);
        spokes.cut_off(false);
        self.obstacles.set(HUB, false);
        self.fleet.hub.cut_watches(|who, _| who.starts_with("replica"));
        restored
    }
}

fn key(which: &Which) -> Key {
    debug_assert!(NAMESPACES.contains(&which.namespace));
    Key::namespaced(which.namespace, which.name)
}
