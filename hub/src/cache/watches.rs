//! The watches of the hub.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord, UpgradeRiskAcceptance};
use drydock_api::names::{KIND_LABEL, WorkKind};
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use drydock_objects::works::{self, PartialManifestWork};
use drydock_objects::{Change, Fleet, FleetKind};
use drydock_rollout::UpgradeKey;
use drydock_runtime::Clock;
use drydock_runtime::admin::Readiness;
use drydock_runtime::follow::{self, ObjectChange, version_of};
use drydock_runtime::object_key::ObjectKey;
use drydock_runtime::tasks::Tasks;
use drydock_runtime::watch_doubts::WatchDoubts;
use futures::Stream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use super::Cache;
use super::refusals::{ACCEPTANCES, CALENDARS, Refusals};
use crate::metrics::WatchHealth;

/// What all watches share.
pub(crate) struct Watching<'a> {
    pub client: &'a Client,
    pub cache: &'a Cache,
    pub readiness: &'a Readiness,
    /// Where failing watches are shown, if anywhere.
    pub health: Option<&'a WatchHealth>,
    /// Where it is kept what may not be read, for who looks on with any rights: what is not essential is then left out.
    pub refusals: Option<&'a Refusals>,
    /// Where it is kept which watches may have died without a word, for who says how old what it shows is.
    pub doubts: Option<&'a WatchDoubts>,
    pub clock: &'a Clock,
    pub shutdown: &'a CancellationToken,
}

/// Starts the watches as `tasks`.
pub(crate) fn follow(watching: &Watching<'_>, tasks: &mut Tasks) {
    let works = watcher::Config::default().labels(KIND_LABEL);
    let seeing = watching.clock.clone();
    watching.start(tasks, "works", works, move |fleet, seen| {
        see_work(fleet, &seen, &seeing)
    });
    watching.start_kind::<ManagedCluster>(tasks, "clusters");
    watching.start_kind::<ManagedClusterAddOn>(tasks, "addons");
    watching.start_kind::<Placement>(tasks, "placements");
    watching.start_kind::<PlacementDecision>(tasks, "decisions");
    watching.start_kind::<ManagedClusterSet>(tasks, "clustersets");
    watching.start_kind::<ManagedClusterSetBinding>(tasks, "bindings");
    watching.start_kind::<ConfigMap>(tasks, CALENDARS);
    watching.start_kind::<ManagedClustersUpgradeRecord>(tasks, "records");
    watching.start_kind::<UpgradeRiskAcceptance>(tasks, ACCEPTANCES);
}

/// What is made of it that a kind may not be read.
fn leave_out(fleet: &mut Fleet, part: &str) -> Change {
    if part == CALENDARS {
        let namespaces: BTreeSet<_> = fleet.upgrades().into_iter().map(|key| key.namespace).collect();
        namespaces
            .iter()
            .for_each(|namespace| fleet.forbid_calendars(namespace));
    }
    Change::Nothing
}

/// The name of an object, and the object if it is there.
fn parts<'a, K: Resource>(seen: &ObjectChange<'a, K>) -> (ObjectKey, Option<&'a K>) {
    match seen {
        ObjectChange::Applied(object) => (ObjectKey::of(*object), Some(object)),
        ObjectChange::Deleted(object) => (ObjectKey::of(*object), None),
        ObjectChange::Missing(key) => ((*key).clone(), None),
    }
}

fn see_work(fleet: &mut Fleet, seen: &ObjectChange<'_, PartialManifestWork>, clock: &Clock) -> Change {
    let now = clock.now();
    let (key, found) = parts(seen);
    if let Some(cluster) = works::pre_checks::asked_cluster(&key.namespace, &key.name) {
        return see_pre_checks(fleet, &cluster, &key, seen);
    }
    if let Some(work) = found {
        return match works::digest(work, now) {
            Some(digest) => fleet.set_work(&digest.cluster, digest.kind, digest.work, version_of(work)),
            None => Change::Nothing,
        };
    }
    let cluster = ClusterName::from(key.namespace);
    let kind = WorkKind::ALL
        .into_iter()
        .find(|kind| kind.work_name(&cluster) == key.name);
    let Some(kind) = kind else {
        return Change::Nothing;
    };
    match seen {
        // What went with a deletion is gone; what went without one may only be out of sight.
        ObjectChange::Deleted(work) if work.metadata.deletion_timestamp.is_some() => {
            let deleted = works::digest(work, now);
            let version = version_of(*work);
            let marked = deleted.map(|digest| fleet.set_work(&cluster, kind, digest.work, version));
            let removed = fleet.remove_work(&cluster, kind, Some(version), now);
            marked.unwrap_or_default().and(removed)
        }
        ObjectChange::Deleted(work) => fleet.remove_work(&cluster, kind, Some(version_of(*work)), now),
        ObjectChange::Missing(_) | ObjectChange::Applied(_) => fleet.remove_work(&cluster, kind, None, now),
    }
}

/// A work by which a cluster is asked.
fn see_pre_checks(
    fleet: &mut Fleet,
    cluster: &ClusterName,
    key: &ObjectKey,
    seen: &ObjectChange<'_, PartialManifestWork>,
) -> Change {
    let (work, version) = match seen {
        ObjectChange::Applied(work) => {
            let digest = works::pre_checks::digest(work);
            (digest.map(|digest| digest.work), Some(version_of(*work)))
        }
        ObjectChange::Deleted(work) => (None, Some(version_of(*work))),
        ObjectChange::Missing(_) => (None, None),
    };
    fleet.set_pre_checks(cluster, &key.name, work, version)
}

impl Watching<'_> {
    fn start_kind<K>(&self, tasks: &mut Tasks, part: &'static str)
    where
        K: FleetKind + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        let selected = K::SELECTOR.list_params();
        let config = watcher::Config {
            label_selector: selected.label_selector,
            field_selector: selected.field_selector,
            ..watcher::Config::default()
        };
        self.start(tasks, part, config, |fleet, seen: ObjectChange<'_, K>| {
            let (key, object) = parts(&seen);
            K::see(fleet, &key.namespace, &key.name, object)
        });
    }

    fn start<K>(
        &self,
        tasks: &mut Tasks,
        part: &'static str,
        config: watcher::Config,
        see: impl Fn(&mut Fleet, ObjectChange<'_, K>) -> Change + Send + Sync + 'static,
    ) where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    {
        self.readiness.expect(part);
        let (readiness, cache, shutdown) =
            (self.readiness.clone(), self.cache.clone(), self.shutdown.clone());
        let (health, refusals, clock) = (self.health.cloned(), self.refusals.cloned(), self.clock.clone());
        let doubted = self.doubts.map(|doubts| doubts.watch(part));
        let api = Api::<K>::all(self.client.clone());
        tasks.spawn(part, async move {
            let seen = |seen: ObjectChange<'_, K>| cache.change(|fleet| see(fleet, seen));
            let answered = |error: Option<&watcher::Error>| {
                health.iter().for_each(|health| health.saw(part, error.is_some()));
                let is_left_out = refusals
                    .as_ref()
                    .is_some_and(|refusals| refusals.saw(part, error, clock.now()));
                if is_left_out {
                    readiness.ready(part);
                    cache.change(|fleet| leave_out(fleet, part));
                }
            };
            follow::follow(
                api,
                config,
                doubted,
                seen,
                || readiness.ready(part),
                answered,
                shutdown,
            )
            .await;
            Ok::<_, std::convert::Infallible>(())
        });
    }
}

/// Lets the fleet see what a watch of the upgrades brings, and passes it on; `gone` is called with each upgrade that exists no more. Who
/// manages which field is read and then left out: nobody else needs it.
pub(crate) fn follow_upgrades(
    events: impl Stream<Item = watcher::Result<Event<ManagedClustersUpgrade>>> + Send,
    cache: Cache,
    gone: impl Fn(&UpgradeKey) + Send,
) -> impl Stream<Item = watcher::Result<Event<ManagedClustersUpgrade>>> + Send {
    use futures::StreamExt;
    let mut listed: Vec<UpgradeKey> = Vec::new();
    let remove = move |cache: &Cache, key: &UpgradeKey| {
        cache.change(|fleet| fleet.remove_upgrade(key));
        gone(key);
    };
    events.map(move |event| {
        let mut event = event?;
        match &mut event {
            Event::Init => listed.clear(),
            Event::Apply(upgrade) | Event::InitApply(upgrade) => {
                let seen = Arc::new(upgrade.clone());
                listed.push(drydock_objects::upgrade::key(upgrade));
                cache.change(|fleet| fleet.set_upgrade(&seen));
                upgrade.managed_fields_mut().clear();
            }
            Event::Delete(upgrade) => {
                remove(&cache, &drydock_objects::upgrade::key(upgrade));
            }
            Event::InitDone => {
                let known = cache.fleet().upgrades();
                for key in known.iter().filter(|key| !listed.contains(key)) {
                    remove(&cache, key);
                }
                listed.clear();
            }
        }
        Ok(event)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures::StreamExt;

    use super::*;
    use crate::cache::ReconcileTriggers;

    fn upgrade(name: &str) -> ManagedClustersUpgrade {
        let mut upgrade = ManagedClustersUpgrade::default();
        upgrade.metadata.namespace = Some("default".to_owned());
        upgrade.metadata.name = Some(name.to_owned());
        upgrade.metadata.uid = Some(format!("{name}-uid"));
        upgrade
    }

    #[tokio::test]
    async fn upgrades_that_were_deleted_or_that_a_new_list_lacks_are_gone() {
        let cache = Cache::new(Fleet::new(false), ReconcileTriggers::default());
        let gone = Mutex::new(Vec::new());
        let events = vec![
            Event::Init,
            Event::InitApply(upgrade("a")),
            Event::InitApply(upgrade("b")),
            Event::InitDone,
            Event::Delete(upgrade("a")),
            Event::Apply(upgrade("c")),
            Event::Init,
            Event::InitApply(upgrade("c")),
            Event::InitDone,
        ];
        let note = |key: &UpgradeKey| gone.lock().unwrap().push(key.to_string());
        let events = futures::stream::iter(events.into_iter().map(Ok));
        let passed = follow_upgrades(events, cache.clone(), note).count().await;
        assert_eq!(passed, 9);
        assert_eq!(*gone.lock().unwrap(), ["default/a", "default/b"]);
        assert_eq!(cache.fleet().upgrades(), [UpgradeKey::new("default", "c")]);
    }
}
