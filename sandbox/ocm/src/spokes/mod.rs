//! Clusters that are nothing but the few objects that Drydock's works touch: a ClusterVersion, an UpgradeConfig, Jobs and Pods. Works
//! are applied and answered as the work agent does, upgrades take the time that such upgrades take. For fleets too large, or runs too
//! many, for simulated clusters.

mod apply;
mod cluster;
mod plan;
mod release;
mod settings;
mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::names::CLUSTER_VERSION_CLAIM;
use futures::StreamExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kube_sandbox::Clock;
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::kinds::{MANAGED_CLUSTER, MANIFEST_WORK};
use super::names::WORK_FINALIZER;
use super::work::wire::WorkStatus;
use kube_sandbox::access::{Access, AccessError, Key, Selection, WatchEvent};
use kube_sandbox::object::Shared;
use kube_sandbox::sleep::sleep_until_some;

pub use cluster::{ClusterTimeline, UpgradeRequest};
pub use plan::{PlanAnswer, PlanLevel, finding};
pub use release::{image_of, version_of};
pub use settings::{Stage, StageOutcome, StagePlan, StubWorkAgentSettings};

/// How many clusters write at once: a real server would rather not have ten thousand connections.
const AT_ONCE: usize = 64;
/// How often a cluster that is cut off tries again.
const RECONNECTS: Duration = Duration::from_secs(30);

/// The clusters. Cheap to clone.
#[derive(Clone, Debug)]
pub struct StubWorkAgent {
    all: Arc<Mutex<All>>,
    changed: Arc<Notify>,
    settings: Arc<StubWorkAgentSettings>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct All {
    clusters: BTreeMap<String, ClusterTimeline>,
    /// When something is due on which cluster.
    deadlines: BTreeSet<(Instant, String)>,
    /// Clusters that may have something to write.
    dirty: BTreeSet<String>,
    /// No cluster hears from the hub.
    cut_off: bool,
    /// They hear from it again, and have to look at all works again.
    needs_resync: bool,
}

impl All {
    fn with<T>(
        &mut self,
        name: &str,
        cluster: impl FnOnce() -> ClusterTimeline,
        what: impl FnOnce(&mut ClusterTimeline) -> T,
    ) -> T {
        let cluster = self.clusters.entry(name.to_owned()).or_insert_with(cluster);
        let before = cluster.next_deadline();
        let made = what(cluster);
        let after = cluster.next_deadline();
        if before != after {
            before.map(|at| self.deadlines.remove(&(at, name.to_owned())));
            after.map(|at| self.deadlines.insert((at, name.to_owned())));
        }
        self.dirty.insert(name.to_owned());
        made
    }
}

impl StubWorkAgent {
    /// No clusters yet: each comes to be with its first work, or when it is asked for.
    pub fn new(settings: StubWorkAgentSettings, clock: Clock) -> Self {
        Self {
            all: Arc::default(),
            changed: Arc::default(),
            settings: Arc::new(settings),
            clock,
        }
    }

    /// Looks at a cluster, or does something to it.
    pub fn with<T>(&self, name: &str, what: impl FnOnce(&mut ClusterTimeline, Timestamp) -> T) -> T {
        let now = self.clock.now();
        let new = || ClusterTimeline::new(name, Arc::clone(&self.settings), now);
        let made = self.lock().with(name, new, |cluster| what(cluster, now));
        self.changed.notify_one();
        made
    }

    /// A cluster is gone with all that it ran.
    pub fn remove(&self, name: &str) {
        let mut all = self.lock();
        if let Some(at) = all
            .clusters
            .remove(name)
            .and_then(|cluster| cluster.next_deadline())
        {
            all.deadlines.remove(&(at, name.to_owned()));
        }
    }

    /// What clusters were asked to upgrade to, all together, as cluster and request.
    pub fn asked(&self) -> Vec<(String, UpgradeRequest)> {
        let all = self.lock();
        let clusters = all.clusters.iter();
        clusters
            .flat_map(|(name, cluster)| cluster.asked().iter().map(|asked| (name.clone(), asked.clone())))
            .collect()
    }

    /// Whether no cluster hears from the hub. Afterwards works that have another uid and the same name are taken for the same.
    pub fn cut_off(&self, cut_off: bool) {
        let mut all = self.lock();
        all.needs_resync |= all.cut_off && !cut_off;
        all.cut_off = cut_off;
        self.changed.notify_one();
    }

    fn names(&self) -> Vec<String> {
        self.lock().clusters.keys().cloned().collect()
    }

    /// A cluster on which something is due.
    fn next_due(&self, now: Instant) -> Option<String> {
        let all = self.lock();
        let (at, name) = all.deadlines.first()?;
        (*at <= now).then(|| name.clone())
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies and answers the works of a hub until it is dropped.
    pub async fn run(self, hub: Access) {
        let changed = Arc::clone(&self.changed);
        let mut works = hub.watch(&MANIFEST_WORK, &Selection::everything());
        let mut run = Run {
            spokes: self,
            hub,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            writes: JoinSet::new(),
            writing: BTreeSet::new(),
            again: BTreeMap::new(),
        };
        loop {
            let next = run.next_deadline();
            tokio::select! {
                biased;
                Some(written) = run.writes.join_next() => {
                    if let Ok(written) = written {
                        run.written(written);
                    }
                }
                event = works.next() => match event {
                    None => return,
                    Some(event) => run.see(event),
                },
                () = changed.notified() => {}
                () = sleep_until_some(next) => run.act(),
            }
            let needs_resync = std::mem::take(&mut run.spokes.lock().needs_resync);
            if needs_resync && let Ok(all) = run.hub.list(&MANIFEST_WORK, &Selection::everything()).await {
                run.see(WatchEvent::Resync(all));
            }
            if !run.spokes.lock().cut_off {
                run.write();
            }
        }
    }
}

/// A work, as its namespace and name.
type WorkId = (String, String);

/// A write that has come to its end.
struct Written {
    what: WorkId,
    result: Result<(), AccessError>,
    sent: Sent,
}

enum Sent {
    Status(Box<WorkStatus>),
    Finalizers,
    Claim(String),
}

struct Run {
    spokes: StubWorkAgent,
    hub: Access,
    turns: Arc<Semaphore>,
    writes: JoinSet<Written>,
    /// Works, and with an empty name clusters, of which a write is under way.
    writing: BTreeSet<WorkId>,
    /// Those that are tried again, and when.
    again: BTreeMap<WorkId, Instant>,
}

impl Run {
    fn next_deadline(&self) -> Option<Instant> {
        let due = self.spokes.lock().deadlines.first().map(|(at, _)| *at);
        due.into_iter().chain(self.again.values().min().copied()).min()
    }

    fn see(&mut self, event: WatchEvent) {
        if self.spokes.lock().cut_off {
            return;
        }
        match event {
            WatchEvent::Applied(work) => self.see_work(&work),
            WatchEvent::Deleted(work) => {
                let cluster = work.namespace().unwrap_or_default().to_owned();
                self.spokes
                    .with(&cluster, |cluster, now| cluster.forget(work.uid(), now));
            }
            WatchEvent::Resync(all) => {
                let present: BTreeSet<&str> = all.iter().map(|work| work.uid()).collect();
                for work in &all {
                    let cluster = work.namespace().unwrap_or_default();
                    self.spokes
                        .with(cluster, |cluster, _| cluster.take_for_the_same(work, &present));
                }
                for name in self.spokes.names() {
                    self.spokes
                        .with(&name, |cluster, now| cluster.forget_all_but(&present, now));
                }
                for work in &all {
                    self.see_work(work);
                }
            }
        }
    }

    fn see_work(&mut self, work: &Shared) {
        let cluster = work.namespace().unwrap_or_default().to_owned();
        self.spokes.with(&cluster, |cluster, _| cluster.see(work));
    }

    fn act(&mut self) {
        let now = Instant::now();
        let due: Vec<WorkId> = self
            .again
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(id, _)| id.clone())
            .collect();
        for id in due {
            self.again.remove(&id);
            self.spokes.lock().dirty.insert(id.0);
        }
        while let Some(name) = self.spokes.next_due(now) {
            self.spokes
                .with(&name, |cluster, moment| cluster.act(now, moment));
        }
    }

    /// Starts the writes that are wanted and not under way.
    fn write(&mut self) {
        let dirty = std::mem::take(&mut self.spokes.lock().dirty);
        for name in dirty {
            let wanted = self
                .spokes
                .lock()
                .clusters
                .get(&name)
                .map(ClusterTimeline::wanted_writes)
                .unwrap_or_default();
            for (work, write) in wanted {
                let id = (name.clone(), work);
                if !self.again.contains_key(&id) && self.writing.insert(id.clone()) {
                    let sending = self.send(id, write);
                    self.writes.spawn(sending);
                }
            }
        }
    }

    fn send(&self, what: WorkId, write: cluster::Write) -> BoxFuture<'static, Written> {
        let (hub, turns) = (self.hub.clone(), Arc::clone(&self.turns));
        Box::pin(async move {
            let _turn = turns.acquire().await;
            let key = Key::namespaced(what.0.as_str(), what.1.as_str());
            let (result, sent) = match write {
                cluster::Write::Status { uid, status } => {
                    // Another work of that name is not the one that is answered.
                    let patch = json!({"metadata": {"uid": uid}, "status": status});
                    let written = hub.merge_patch_status(&MANIFEST_WORK, &key, patch).await;
                    (written.map(drop), Sent::Status(status))
                }
                cluster::Write::Finalizers { uid, present } => {
                    let finalizers: &[&str] = if present { &[WORK_FINALIZER] } else { &[] };
                    let patch = json!({"metadata": {"uid": uid, "finalizers": finalizers}});
                    let written = hub.merge_patch(&MANIFEST_WORK, &key, patch).await;
                    (written.map(drop), Sent::Finalizers)
                }
                cluster::Write::Claim(version) => {
                    (claim(&hub, &what.0, &version).await, Sent::Claim(version))
                }
            };
            Written { what, result, sent }
        })
    }

    fn written(&mut self, written: Written) {
        let Written { what, result, sent } = written;
        self.writing.remove(&what);
        if !self.spokes.lock().clusters.contains_key(&what.0) {
            return;
        }
        if result.as_ref().is_err_and(AccessError::is_unreachable) {
            self.again.insert(what, Instant::now() + RECONNECTS);
            return;
        }
        // What was refused is not tried again: the work, or the cluster, is another one by now.
        self.spokes.with(&what.0, |cluster, _| match sent {
            Sent::Status(status) => cluster.status_written(&what.1, *status),
            Sent::Finalizers => cluster.finalized(&what.1, result.is_ok()),
            Sent::Claim(version) => cluster.claimed(version),
        });
    }
}

/// The cluster claims the version that it has come to.
async fn claim(hub: &Access, name: &str, version: &str) -> Result<(), AccessError> {
    let key = Key::cluster(name);
    let cluster = hub.get(&MANAGED_CLUSTER, &key).await?;
    let mut claims: Vec<Value> = cluster["status"]["clusterClaims"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    claims.retain(|claim| claim["name"] != CLUSTER_VERSION_CLAIM);
    claims.push(json!({"name": CLUSTER_VERSION_CLAIM, "value": version}));
    let patch = json!({"status": {"clusterClaims": claims}});
    hub.merge_patch_status(&MANAGED_CLUSTER, &key, patch)
        .await
        .map(drop)
}
