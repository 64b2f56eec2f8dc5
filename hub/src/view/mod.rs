//! What the hub sees: one watch a kind, of which it keeps what decisions need.

mod cluster;
mod observe;
mod placement;
mod wake;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use drydock_api::names::{AGENT_ADDON, KIND_LABEL, PLACEMENT_LABEL};
use drydock_api::ocm::ManagedClusterAddOn;
use drydock_rollout::{Cluster, PlacementKey, Snapshot};
use drydock_runtime::admin::Readiness;
use drydock_runtime::digest_index::{Change, DigestIndex};
use drydock_runtime::tasks::Tasks;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::works::{self, WorkDigest};

pub(crate) use observe::{Circumstances, observe};
pub(crate) use placement::own_placement;
pub(crate) use wake::Wakes;

use placement::{PageDigest, PlacementDigest};

/// Everything the hub sees but the upgrades themselves. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct View {
    /// Our works; `None` for one that has our labels and not our name.
    pub works: DigestIndex<Option<WorkDigest>>,
    clusters: DigestIndex<Arc<Cluster>>,
    /// Whether our agent is Available, by the cluster's namespace.
    addons: DigestIndex<bool>,
    placements: DigestIndex<PlacementDigest>,
    pages: DigestIndex<PageDigest>,
    /// The newest whole snapshot of each Placement.
    snapshots: Arc<Mutex<BTreeMap<PlacementKey, Arc<Snapshot>>>>,
}

impl View {
    /// Whether all first lists are complete.
    pub fn synced(&self) -> bool {
        self.works.synced()
            && self.clusters.synced()
            && self.addons.synced()
            && self.placements.synced()
            && self.pages.synced()
    }

    /// Starts the watches as `tasks`. Each change wakes the upgrades that it may concern.
    pub fn follow(&self, watching: &Watching<'_>, wakes: &Wakes, tasks: &mut Tasks) {
        let every = watcher::Config::default;
        let owners = wakes.clone();
        watching.start(
            tasks,
            "works",
            &self.works,
            every().labels(KIND_LABEL),
            works::digest,
            move |change| {
                wake_owners(&owners, &change);
            },
        );
        // ManagedClusters have no label that says that an upgrade may concern them.
        watching.start(
            tasks,
            "clusters",
            &self.clusters,
            every(),
            cluster::digest,
            all(wakes),
        );
        let agents = every().fields(&format!("metadata.name={AGENT_ADDON}"));
        watching.start(
            tasks,
            "addons",
            &self.addons,
            agents,
            ManagedClusterAddOn::is_available,
            all(wakes),
        );
        // Placements belong to the users, who do not label them for us.
        watching.start(
            tasks,
            "placements",
            &self.placements,
            every(),
            placement::digest,
            all(wakes),
        );
        watching.start(
            tasks,
            "decisions",
            &self.pages,
            every().labels(PLACEMENT_LABEL),
            placement::page,
            all(wakes),
        );
    }
}

fn all<D>(wakes: &Wakes) -> impl Fn(Change<'_, D>) + Send + 'static {
    let wakes = wakes.clone();
    move |_| wakes.wake_all()
}

/// A work concerns the upgrade that made it. Its end, or its going, may free the cluster for any other upgrade.
fn wake_owners(wakes: &Wakes, change: &Change<'_, Option<WorkDigest>>) {
    let old = change.old.and_then(Option::as_ref);
    let new = change.new.and_then(Option::as_ref);
    for digest in old.into_iter().chain(new) {
        wakes.wake(&digest.work.owner.upgrade);
    }
    let at_work = |digest: Option<&WorkDigest>| digest.is_some_and(|digest| digest.work.record.is_none());
    if at_work(old) && !at_work(new) || old.is_some() && new.is_none() {
        wakes.wake_all();
    }
}

/// What all watches share.
pub(crate) struct Watching<'a> {
    pub client: &'a Client,
    pub readiness: &'a Readiness,
    pub shutdown: &'a CancellationToken,
}

impl Watching<'_> {
    fn start<K, D>(
        &self,
        tasks: &mut Tasks,
        part: &'static str,
        index: &DigestIndex<D>,
        config: watcher::Config,
        digest: impl Fn(&K) -> D + Send + Sync + 'static,
        changed: impl Fn(Change<'_, D>) + Send + Sync + 'static,
    ) where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
        D: Clone + PartialEq + Send + Sync + 'static,
    {
        self.readiness.expect(part);
        let (readiness, index, shutdown) = (self.readiness.clone(), index.clone(), self.shutdown.clone());
        let api = Api::<K>::all(self.client.clone());
        tasks.spawn(part, async move {
            index
                .follow(
                    api,
                    config,
                    digest,
                    changed,
                    move || readiness.ready(part),
                    shutdown,
                )
                .await;
            Ok::<_, std::convert::Infallible>(())
        });
    }
}
