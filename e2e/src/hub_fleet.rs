//! A hub with clusters that are nothing but their works' status: the real hub and the placement stand-in on an API server in this
//! process, under paused time. For tests of what people do on the hub.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeStatus, RecordEntry};
use drydock_api::names::{self, KIND_LABEL, PRE_CHECKS_KIND, STATE_LABEL, UPGRADE_ANNOTATION};
use drydock_runtime::Clock;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::server_time::ServerTime;
use drydock_sandbox::test_env;
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::access::{Access, Key, Kind, Object, Removal, Selection};
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, ServerSettings, Status, Types, Verb};
use ocm_sandbox::kinds::{
    MANAGED_CLUSTER, MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING, MANIFEST_WORK, NAMESPACE,
};
use ocm_sandbox::placement::controller::{self, PlacementSettings};
use ocm_sandbox::spokes::{StubWorkAgent, StubWorkAgentSettings};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::local_fleet::{EPOCH, hub_settings};

/// ManagedClustersUpgrade.
pub const UPGRADE: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta1",
    "ManagedClustersUpgrade",
    "managedclustersupgrades",
    true,
);
/// ManagedClustersUpgradeRecord.
pub const RECORD: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta1",
    "ManagedClustersUpgradeRecord",
    "managedclustersupgraderecords",
    true,
);
/// The Events of the hub.
pub const EVENT: Kind = Kind::new("events.k8s.io", "v1", "Event", "events", true);
/// The namespace in which upgrades are, if nothing else is said.
pub const PLACE: &str = "default";

/// A hub and what is on it.
pub struct HubFleet {
    /// The hub's API server.
    pub server: ApiServer,
    /// The hub as a user sees it.
    pub user: Access,
    /// The clusters.
    pub spokes: StubWorkAgent,
    /// Virtual time.
    pub clock: Clock,
    /// How far the API server's clock is ahead of the others, in milliseconds.
    server_ahead: Arc<AtomicI64>,
    /// How many runs the hub makes a forecast of.
    pub forecast_runs: u32,
    /// The metrics of the hub that was started last.
    pub metrics: prometheus::Registry,
    hub: JoinSet<()>,
    parts: JoinSet<()>,
    stop: CancellationToken,
}

/// The kinds of a hub, made once in a process: that takes longer than many a rollout.
fn hub_types() -> anyhow::Result<Arc<Types>> {
    static TYPES: OnceLock<Arc<Types>> = OnceLock::new();
    if let Some(types) = TYPES.get() {
        return Ok(Arc::clone(types));
    }
    let types = test_env::hub_types().context("the kinds of a hub")?;
    Ok(Arc::clone(TYPES.get_or_init(|| types)))
}

/// A cluster that joins the hub.
#[derive(Clone, Debug)]
pub struct Joining<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its labels beside `name`.
    pub labels: Value,
    /// The version that it runs.
    pub version: &'a str,
    /// Whether it claims that version.
    pub claims: bool,
    /// The product that it claims to be.
    pub product: Option<&'a str>,
}

impl<'a> Joining<'a> {
    /// A cluster that runs 4.14.9 and says so.
    pub fn new(name: &'a str) -> Self {
        Self {
            name,
            labels: json!({}),
            version: "4.14.9",
            claims: true,
            product: None,
        }
    }
}

impl HubFleet {
    /// Starts everything but the hub, with clusters c01, c02, … of the set `global`, which is bound to the namespace `default`.
    ///
    /// # Errors
    /// If an object is refused.
    pub async fn without_hub(clusters: usize, settings: StubWorkAgentSettings) -> anyhow::Result<Self> {
        Self::beginning_at(EPOCH, clusters, settings).await
    }

    /// The same at another time than usual.
    ///
    /// # Errors
    /// If an object is refused.
    pub async fn beginning_at(
        begin: Timestamp,
        clusters: usize,
        settings: StubWorkAgentSettings,
    ) -> anyhow::Result<Self> {
        let clock = Clock::simulated(begin);
        let types = hub_types()?;
        let server_ahead = Arc::new(AtomicI64::new(0));
        let server_clock = clock.skewed(Arc::clone(&server_ahead));
        let server = ApiServer::new(ServerSettings::new("hub", server_clock, settings.seed, types));
        let (mut parts, stop) = (JoinSet::new(), CancellationToken::new());
        let spokes = StubWorkAgent::new(settings, clock.clone());
        parts.spawn(spokes.clone().run(Access::memory(&server, "spokes")));
        parts.spawn(controller::run(
            PlacementSettings::default(),
            Access::memory(&server, "placement"),
            clock.clone(),
            stop.clone(),
        ));
        let light = Self {
            user: Access::memory(&server, "user"),
            server,
            spokes,
            clock,
            server_ahead,
            forecast_runs: hub_settings().forecast_runs,
            metrics: prometheus::Registry::new(),
            hub: JoinSet::new(),
            parts,
            stop,
        };
        light.bind("global", PLACE).await?;
        for number in 1..=clusters {
            light.join(&Joining::new(&format!("c{number:02}"))).await?;
        }
        Ok(light)
    }

    /// The same with the hub, which is given time to list everything.
    ///
    /// # Errors
    /// If an object is refused.
    pub async fn start(clusters: usize, settings: StubWorkAgentSettings) -> anyhow::Result<Self> {
        let mut light = Self::without_hub(clusters, settings).await?;
        light.start_hub()?;
        minutes(1).await;
        Ok(light)
    }

    /// Starts the hub.
    ///
    /// # Errors
    /// If no client can be made.
    pub fn start_hub(&mut self) -> anyhow::Result<()> {
        let clock = self.clock.clone();
        self.start_hub_by(&clock)
    }

    /// All metrics of the hub as text.
    ///
    /// # Errors
    /// If they cannot be encoded.
    pub fn metrics_text(&self) -> anyhow::Result<String> {
        let encoder = prometheus::TextEncoder::new();
        encoder
            .encode_to_string(&self.metrics.gather())
            .context("encoding metrics")
    }

    /// Starts the hub on a machine whose clock may be wrong.
    ///
    /// # Errors
    /// If no client can be made.
    pub fn start_hub_by(&mut self, clock: &Clock) -> anyhow::Result<()> {
        let time = ServerTime::new(clock);
        let metrics =
            RequestMetrics::register(&prometheus::Registry::new()).context("registering metrics")?;
        let transport = time.reading(self.server.service(names::HUB_MANAGER));
        let client = client::from_service(transport, PLACE, &metrics);
        let stop = self.stop.clone();
        self.metrics = prometheus::Registry::new();
        let settings = drydock_hub::Settings {
            registry: self.metrics.clone(),
            forecast_runs: self.forecast_runs,
            ..hub_settings()
        };
        self.hub.spawn(async move {
            let ended = drydock_hub::run(settings, client, time.clock(), stop).await;
            if let Err(error) = ended {
                tracing::error!(%error, "the hub ended");
            }
        });
        Ok(())
    }

    /// Ends the hub in the middle of whatever it is doing.
    pub async fn kill_hub(&mut self) {
        self.hub.shutdown().await;
    }

    /// Ends the hub and starts it again.
    ///
    /// # Errors
    /// If no client can be made.
    pub async fn restart_hub(&mut self) -> anyhow::Result<()> {
        self.kill_hub().await;
        self.start_hub()
    }

    /// Ends everything.
    pub async fn shut_down(mut self) {
        self.stop.cancel();
        self.hub.shutdown().await;
        self.parts.shutdown().await;
    }

    /// Makes a namespace, unless it is there.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.user.create(&NAMESPACE, namespace).await {
            Err(error) if !error.is_already_exists() => Err(error).context("making a namespace"),
            _ => Ok(()),
        }
    }

    /// Lets Placements of a namespace select from a cluster set.
    ///
    /// # Errors
    /// If an object is refused.
    pub async fn bind(&self, set: &str, namespace: &str) -> anyhow::Result<()> {
        let api = "cluster.open-cluster-management.io/v1beta2";
        self.namespace(namespace).await?;
        let all = json!({
            "apiVersion": api, "kind": "ManagedClusterSet", "metadata": {"name": set},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}},
        });
        if let Err(error) = self.user.create(&MANAGED_CLUSTER_SET, all).await {
            anyhow::ensure!(error.is_already_exists(), "making a cluster set: {error}");
        }
        let binding = json!({
            "apiVersion": api, "kind": "ManagedClusterSetBinding", "metadata": {"name": set, "namespace": namespace},
            "spec": {"clusterSet": set},
        });
        self.user.create(&MANAGED_CLUSTER_SET_BINDING, binding).await?;
        Ok(())
    }

    /// A cluster joins the hub.
    ///
    /// # Errors
    /// If an object is refused.
    pub async fn join(&self, joining: &Joining<'_>) -> anyhow::Result<()> {
        self.namespace(joining.name).await?;
        self.join_without_namespace(joining).await
    }

    /// A cluster joins the hub, and its namespace is missing.
    ///
    /// # Errors
    /// If the object is refused.
    pub async fn join_without_namespace(&self, joining: &Joining<'_>) -> anyhow::Result<()> {
        let Joining { name, version, .. } = joining;
        let mut labels = joining.labels.clone();
        labels["name"] = (*name).into();
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels}, "spec": {"hubAcceptsClient": true},
        });
        let mut cluster = self.user.create(&MANAGED_CLUSTER, cluster).await?.value().clone();
        let conditions: Vec<Value> = [
            "HubAcceptedManagedCluster",
            "ManagedClusterJoined",
            "ManagedClusterConditionAvailable",
        ]
        .map(|type_| {
            json!({
                "type": type_, "status": "True", "reason": type_, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        })
        .to_vec();
        let mut claims = Vec::new();
        if joining.claims {
            claims.push(json!({"name": names::CLUSTER_VERSION_CLAIM, "value": version}));
        }
        if let Some(product) = joining.product {
            claims.push(json!({"name": names::PRODUCT_CLAIM, "value": product}));
        }
        cluster["status"] = json!({"conditions": conditions, "clusterClaims": claims});
        self.spokes.with(name, |cluster, now| {
            cluster.runs(version, now);
            cluster.claims(joining.claims);
        });
        self.user.replace_status(&MANAGED_CLUSTER, cluster).await?;
        Ok(())
    }

    /// A cluster is Available from now on, or is not.
    ///
    /// # Errors
    /// If it is not there, or the write is refused.
    pub async fn available(&self, name: &str, is_available: bool) -> anyhow::Result<()> {
        let key = Key::cluster(name);
        let mut cluster = self.user.get(&MANAGED_CLUSTER, &key).await?.value().clone();
        let conditions = cluster["status"]["conditions"].as_array_mut();
        let mut conditions = conditions.into_iter().flatten();
        let found = conditions.find(|condition| condition["type"] == "ManagedClusterConditionAvailable");
        if let Some(condition) = found {
            condition["status"] = if is_available { "True" } else { "False" }.into();
            condition["lastTransitionTime"] = self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into();
        }
        self.user.replace_status(&MANAGED_CLUSTER, cluster).await?;
        Ok(())
    }

    /// Creates an upgrade of the namespace `default`.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn upgrade(&self, name: &str, spec: Value) -> anyhow::Result<()> {
        self.upgrade_in(PLACE, name, spec).await
    }

    /// Creates an upgrade.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn upgrade_in(&self, namespace: &str, name: &str, spec: Value) -> anyhow::Result<()> {
        let upgrade = json!({
            "apiVersion": UPGRADE.api_version(), "kind": UPGRADE.kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": spec,
        });
        self.user.create(&UPGRADE, upgrade).await?;
        Ok(())
    }

    /// Changes an upgrade of the namespace `default` by a merge patch.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn edit(&self, name: &str, patch: Value) -> anyhow::Result<()> {
        let key = Key::namespaced(PLACE, name);
        self.user.merge_patch(&UPGRADE, &key, patch).await?;
        Ok(())
    }

    /// Deletes an upgrade of the namespace `default`.
    ///
    /// # Errors
    /// If it is refused.
    pub async fn delete(&self, name: &str) -> anyhow::Result<()> {
        let key = Key::namespaced(PLACE, name);
        self.user.delete(&UPGRADE, &key, &Removal::default()).await?;
        Ok(())
    }

    /// An upgrade of the namespace `default`, if it is there.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn find(&self, name: &str) -> anyhow::Result<Option<ManagedClustersUpgrade>> {
        let found = self.user.find(&UPGRADE, &Key::namespaced(PLACE, name)).await?;
        let parsed = found.map(|found| serde_json::from_value(found.complete().into_owned()));
        parsed.transpose().context("reading an upgrade")
    }

    /// The status of an upgrade of the namespace `default`.
    ///
    /// # Errors
    /// If there is no such upgrade.
    pub async fn status(&self, name: &str) -> anyhow::Result<ManagedClustersUpgradeStatus> {
        let upgrade = self
            .find(name)
            .await?
            .with_context(|| format!("there is no upgrade {name}"))?;
        Ok(upgrade.status.unwrap_or_default())
    }

    /// A condition of an upgrade, as status, reason and message.
    ///
    /// # Errors
    /// If there is no such upgrade.
    pub async fn condition(&self, name: &str, type_: &str) -> anyhow::Result<(String, String, String)> {
        let status = self.status(name).await?;
        let mut conditions = status.conditions.into_iter().flatten();
        let found = conditions.find(|condition| condition.type_ == type_);
        let found = found.map(|found| (found.status, found.reason, found.message));
        Ok(found.unwrap_or_default())
    }

    /// How an upgrade's status shows a cluster, as state, reason and message; empty if it does not name it.
    ///
    /// # Errors
    /// If there is no such upgrade.
    pub async fn entry(&self, name: &str, cluster: &str) -> anyhow::Result<(String, String, String)> {
        let status = self.status(name).await?;
        let mut entries = status.clusters.into_iter().flatten();
        let found = entries.find(|entry| entry.name == cluster).map(|entry| {
            (
                entry.state,
                entry.reason.unwrap_or_default(),
                entry.message.unwrap_or_default(),
            )
        });
        Ok(found.unwrap_or_default())
    }

    /// Waits until an upgrade is so; it is looked at each minute.
    ///
    /// # Errors
    /// If that takes longer than `limit`; the status is in the error.
    pub async fn until(
        &self,
        name: &str,
        limit: Duration,
        is_so: impl Fn(&ManagedClustersUpgradeStatus) -> bool,
    ) -> anyhow::Result<ManagedClustersUpgradeStatus> {
        let deadline = Instant::now() + limit;
        loop {
            let status = self.status(name).await?;
            if is_so(&status) {
                return Ok(status);
            }
            anyhow::ensure!(Instant::now() < deadline, "not within {limit:?}: {status:#?}");
            minutes(1).await;
        }
    }

    /// Waits until an upgrade is Complete.
    ///
    /// # Errors
    /// If that takes longer than a week.
    pub async fn until_complete(&self, name: &str) -> anyhow::Result<ManagedClustersUpgradeStatus> {
        self.until(name, WEEK, |status| is_true(status, "Complete")).await
    }

    /// The works by which clusters are asked before they start.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn questions(&self) -> anyhow::Result<Vec<std::sync::Arc<Object>>> {
        let mut works = self.user.list(&MANIFEST_WORK, &Selection::everything()).await?;
        works.retain(|work| work.label(KIND_LABEL) == Some(PRE_CHECKS_KIND));
        Ok(works)
    }

    /// All works of the hub that say that they are Drydock's, but those by which clusters are asked before they start.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn works(&self) -> anyhow::Result<Vec<std::sync::Arc<Object>>> {
        let mut works = self.user.list(&MANIFEST_WORK, &Selection::everything()).await?;
        works.retain(|work| {
            work.annotation(UPGRADE_ANNOTATION).is_some() && work.label(KIND_LABEL) != Some(PRE_CHECKS_KIND)
        });
        Ok(works)
    }

    /// The works of a cluster, as kind, upgrade and state.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn works_of(&self, cluster: &str) -> anyhow::Result<Vec<(String, String, String)>> {
        let works = self.works().await?;
        let own = works.iter().filter(|work| work.namespace() == Some(cluster));
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Ok(own
            .map(|work| {
                (
                    text(work.label(KIND_LABEL)),
                    text(work.annotation(UPGRADE_ANNOTATION)),
                    text(work.label(STATE_LABEL)),
                )
            })
            .collect())
    }

    /// What is on record, as the upgrade's name and the entry, in the order of their ends.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub async fn entries(&self) -> anyhow::Result<Vec<(String, RecordEntry)>> {
        let pages = self.user.list(&RECORD, &Selection::everything()).await?;
        let mut entries = Vec::new();
        for page in &pages {
            let name = page["spec"]["upgrade"]["name"].as_str().unwrap_or_default();
            for entry in page["spec"]["entries"].as_array().into_iter().flatten() {
                let entry: RecordEntry = serde_json::from_value(entry.clone()).context("reading an entry")?;
                entries.push((name.to_owned(), entry));
            }
        }
        entries.sort_by(|one, other| one.1.completed.cmp(&other.1.completed));
        Ok(entries)
    }

    /// The Events, as reason and note.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn events(&self) -> anyhow::Result<Vec<(String, String)>> {
        let events = self.user.list(&EVENT, &Selection::everything()).await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(events
            .iter()
            .map(|event| (text(&event["reason"]), text(&event["note"])))
            .collect())
    }

    /// What each cluster was asked to upgrade to so far.
    pub fn asked(&self) -> BTreeMap<String, Vec<String>> {
        let mut asked: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (cluster, request) in self.spokes.asked() {
            asked.entry(cluster).or_default().push(request.version);
        }
        asked
    }

    /// The versions that clusters run.
    pub fn version(&self, cluster: &str) -> String {
        self.spokes
            .with(cluster, |cluster, _| cluster.version().to_owned())
    }

    /// From now on, requests of the hub for which this is true are refused with these words.
    pub fn refuse(
        &self,
        words: &'static str,
        is_refused: impl Fn(&RequestInfo<'_>) -> bool + Send + Sync + 'static,
    ) {
        self.disturb(move |asked| {
            if is_refused(asked) {
                FaultAction::Refuse(Status::new(403, "Forbidden", words))
            } else {
                FaultAction::Pass
            }
        });
    }

    /// From now on, requests of the hub for which this is true take so long.
    pub fn delay(
        &self,
        time: Duration,
        is_delayed: impl Fn(&RequestInfo<'_>) -> bool + Send + Sync + 'static,
    ) {
        self.disturb(move |asked| {
            if is_delayed(asked) {
                FaultAction::Delay(time)
            } else {
                FaultAction::Pass
            }
        });
    }

    /// Lets the hub's machine be suspended for so long: its own clock stands still meanwhile.
    pub fn suspend_hub(&self, time: SignedDuration) {
        let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        self.server_ahead.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// From now on, this happens to requests of the hub.
    pub fn disturb(&self, fault: impl Fn(&RequestInfo<'_>) -> FaultAction + Send + Sync + 'static) {
        let hook = move |asked: &RequestInfo<'_>| {
            if asked.identity.name() == names::HUB_MANAGER {
                fault(asked)
            } else {
                FaultAction::Pass
            }
        };
        self.server.set_fault_hook(Some(std::sync::Arc::new(hook)));
    }

    /// Ends the hub's watches of a kind: it begins them anew.
    pub fn cut_watches(&self, plural: &str) {
        self.server.cut_watches(|watcher, collection| {
            watcher == names::HUB_MANAGER && collection.split('.').next() == Some(plural)
        });
    }

    /// Requests are served again.
    pub fn accept(&self) {
        self.server.set_fault_hook(None);
    }

    /// Virtual time since the beginning.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The moment so long after the beginning.
    pub fn at(&self, after: SignedDuration) -> Timestamp {
        EPOCH.saturating_add(after).unwrap_or(Timestamp::MAX)
    }
}

/// A week of virtual time.
pub const WEEK: Duration = Duration::from_hours(24 * 7);

/// Lets virtual time pass.
pub async fn minutes(minutes: u64) {
    tokio::time::sleep(Duration::from_secs(60 * minutes)).await;
}

/// Whether a request writes works so.
pub fn is_work(asked: &RequestInfo<'_>, verb: Verb) -> bool {
    asked.verb == verb && asked.kind.is_some_and(|kind| kind.plural == "manifestworks")
}

/// Whether a condition is True.
pub fn is_true(status: &ManagedClustersUpgradeStatus, type_: &str) -> bool {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    drydock_api::conditions::is_true(conditions, type_)
}

/// An upgrade of these clusters to 4.14.12, all at once.
pub fn spec_of(clusters: &[&str]) -> Value {
    json!({
        "clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": clusters}]},
        "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
        "upgradeStrategy": {"maxConcurrency": clusters.len().max(1), "upgradeVia": "ClusterVersion"},
    })
}

/// An action whose Job has this name.
pub fn action(job: &str) -> Value {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job, "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
    });
    json!({"manifestWork": {"workload": {"manifests": [job]}}})
}

/// Merges a change into a value (RFC 7386).
pub fn with(mut value: Value, change: &Value) -> Value {
    json_patch::merge(&mut value, change);
    value
}
