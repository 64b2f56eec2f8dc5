//! The agent as an actor: one task a spoke, woken by its works, by the objects it applied, and by deadlines that are
//! set only when something is to be seen.

use std::{collections::BTreeMap, time::Duration};

use futures::{
    StreamExt,
    stream::{AbortHandle, BoxStream, SelectAll},
};
use kube_sandbox::Clock;
use ring::digest;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    super::{connection::Connection, kinds, names},
    apply::Spoke,
    pace::{Ticks, seed_of},
    wire::{ResourceMeta, WorkStatus},
};
use kube_sandbox::object::{self, Shared};
use kube_sandbox::sleep::sleep_until_some;
use kube_sandbox::{
    access::{Access, AccessError, Selection, WatchEvent},
    store::Key,
};

/// How long a change takes to the hub where feedback is watched.
const WATCH_LATENCY: Duration = Duration::from_millis(200);
/// How often works are applied again; each time is jittered up to 1.5 of it.
const RESYNC: Duration = Duration::from_mins(4);

/// What an agent needs to know.
#[derive(Clone, Debug)]
pub struct WorkAgentSettings {
    /// The cluster's name, which is its namespace on the hub.
    pub cluster: String,
    /// The hub's URL; its hash is part of the names of AppliedManifestWorks.
    pub hub_url: String,
    /// `spec.agentID` of AppliedManifestWorks.
    pub agent_id: String,
    /// The seed of the jitter.
    pub seed: u64,
    /// How often the status of works is looked at; each time is jittered up to 1.9 of it. OCM does so each 10 s.
    pub status_sync: Duration,
}

/// Which manifest of which work a watched object is.
pub(super) type Target = (String, ResourceMeta);

/// A resource that a work applied, and how it was left.
#[derive(Debug)]
pub(super) struct Tracked {
    pub(super) meta: ResourceMeta,
    /// The resource version at the last look.
    pub(super) seen: u64,
    /// The object after the last apply.
    pub(super) left: Option<Shared>,
    /// True if its changes go to the hub at once.
    pub(super) at_once: bool,
    pub(super) watch: AbortHandle,
}

/// What the agent knows of a work.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) object: Shared,
    /// The generation and labels that were applied last.
    pub(super) applied_for: Option<(i64, Value)>,
    /// The AppliedManifestWork that records what was applied.
    pub(super) record: Option<Shared>,
    pub(super) resources: Vec<Tracked>,
    pub(super) polls: Ticks,
    pub(super) resyncs: Ticks,
    pub(super) status_due: Option<Instant>,
    pub(super) apply_due: Option<Instant>,
    pub(super) cleanup_due: Option<Instant>,
    pub(super) failures: u32,
    pub(super) cleanups: u32,
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

/// The agent of one spoke.
pub(super) struct Agent {
    pub(super) settings: WorkAgentSettings,
    pub(super) hub_hash: String,
    pub(super) hub: Access,
    pub(super) spoke: Spoke,
    pub(super) clock: Clock,
    pub(super) works: BTreeMap<String, Work>,
    pub(super) objects: SelectAll<BoxStream<'static, (Target, WatchEvent)>>,
}

/// Runs the agent of one spoke until `shutdown`. Hub and spoke may be any two API servers, or the same one.
pub async fn run(
    settings: WorkAgentSettings,
    hub: Access,
    spoke: Access,
    clock: Clock,
    connection: Connection,
    shutdown: CancellationToken,
) {
    let mut works = hub.watch(
        &kinds::MANIFEST_WORK,
        &Selection::in_namespace(settings.cluster.as_str()),
    );
    let mut agent = Agent {
        hub_hash: hash_of(&settings.hub_url),
        settings,
        hub,
        spoke: Spoke::new(spoke),
        clock,
        works: BTreeMap::new(),
        objects: SelectAll::new(),
    };
    loop {
        let deadline = agent.next_deadline();
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            () = connection.becomes(false) => {
                tokio::select! {
                    () = shutdown.cancelled() => return,
                    () = connection.becomes(true) => {}
                }
            }
            Some(change) = works.next() => agent.on_work_change(change).await,
            Some((target, change)) = agent.objects.next() => agent.on_object_change(&target, &change),
            () = sleep_until_some(deadline) => agent.run_due().await,
        }
    }
}

/// SHA-256 of a URL, in hexadecimal digits.
fn hash_of(url: &str) -> String {
    let digest = digest::digest(&digest::SHA256, url.as_bytes());
    digest
        .as_ref()
        .iter()
        .fold(String::with_capacity(64), |text, byte| {
            format!("{text}{byte:02x}")
        })
}

impl Work {
    fn new(object: Shared, settings: &WorkAgentSettings) -> Self {
        let now = Instant::now();
        let seed = seed_of(settings.seed, &settings.cluster) ^ seed_of(0, object::name(&object));
        Self {
            object,
            applied_for: None,
            record: None,
            resources: Vec::new(),
            polls: Ticks::new(seed, settings.status_sync, 0.9, now),
            resyncs: Ticks::new(seed.wrapping_add(1), RESYNC, 0.5, now),
            status_due: None,
            apply_due: None,
            cleanup_due: None,
            failures: 0,
            cleanups: 0,
        }
    }

    pub(super) fn status(&self) -> WorkStatus {
        WorkStatus::parse(&self.object)
    }

    /// Whether it is being deleted, or has changed, and nothing has come of that yet.
    fn needs_reaction(&self) -> bool {
        if object::is_deleting(&self.object) {
            return self.cleanup_due.is_none();
        }
        self.applied_for.as_ref() != Some(&self.revision()) && self.apply_due.is_none()
    }

    /// What must be applied again when it changes.
    pub(super) fn revision(&self) -> (i64, Value) {
        (
            object::generation(&self.object),
            self.object["metadata"]["labels"].clone(),
        )
    }
}

impl Agent {
    /// Where a work is on the hub.
    pub(super) fn work_key(&self, name: &str) -> Key {
        Key::namespaced(self.settings.cluster.as_str(), name)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.works
            .values()
            .flat_map(|work| [work.status_due, work.apply_due, work.cleanup_due])
            .flatten()
            .min()
    }

    async fn on_work_change(&mut self, change: WatchEvent) {
        match change {
            WatchEvent::Applied(object) => self.on_work(object).await,
            WatchEvent::Deleted(object) => {
                self.works.remove(object::name(&object));
            }
            WatchEvent::Resync(objects) => {
                let present: Vec<&str> = objects.iter().map(|object| object::name(object)).collect();
                self.works.retain(|name, _| present.contains(&name.as_str()));
                for object in objects {
                    self.on_work(object).await;
                }
            }
        }
    }

    async fn on_work(&mut self, object: Shared) {
        let name = object::name(&object).to_owned();
        match self.works.get_mut(&name) {
            // Our own write, or older; the answer to our write may have brought what the event is about.
            Some(known) if object::resource_version(&known.object) >= object::resource_version(&object) => {
                if !known.needs_reaction() {
                    return;
                }
            }
            Some(known) if object::uid(&known.object) == object::uid(&object) => known.object = object,
            _ => {
                self.works.insert(name.clone(), Work::new(object, &self.settings));
            }
        }
        let result = self.react(&name).await;
        self.settle(&name, result);
    }

    /// What a change of the work asks for.
    async fn react(&mut self, name: &str) -> Result<(), AccessError> {
        let Some(work) = self.works.get(name) else {
            return Ok(());
        };
        let object = work.object.clone();
        let has_finalizer = object::has_finalizer(&object, names::WORK_FINALIZER);
        if object::is_deleting(&object) {
            return if has_finalizer && work.cleanup_due.is_none() {
                self.clean_up(name).await
            } else {
                Ok(())
            };
        }
        if !has_finalizer && !self.add_finalizer(name, &object).await? {
            return Ok(());
        }
        let Some(work) = self.works.get_mut(name) else {
            return Ok(());
        };
        if work.applied_for.as_ref() == Some(&work.revision()) {
            return self.refresh(name).await;
        }
        work.failures = 0;
        self.sync_apply(name).await
    }

    /// False if somebody else wrote in between: that write brings us here again.
    async fn add_finalizer(&mut self, name: &str, object: &Value) -> Result<bool, AccessError> {
        let mut finalizers = object::list(&object["metadata"]["finalizers"]).to_vec();
        finalizers.push(json!(names::WORK_FINALIZER));
        let patch = json!({"metadata": {
            "resourceVersion": object["metadata"]["resourceVersion"], "finalizers": finalizers,
        }});
        let key = self.work_key(name);
        match self.hub.merge_patch(&kinds::MANIFEST_WORK, &key, patch).await {
            Ok(patched) => {
                if let Some(work) = self.works.get_mut(name) {
                    work.object = patched;
                }
                Ok(true)
            }
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A failed request is tried again, later each time.
    pub(super) fn settle(&mut self, name: &str, result: Result<(), AccessError>) {
        let Err(error) = result else {
            return;
        };
        if let Some(work) = self.works.get_mut(name) {
            tracing::debug!(cluster = self.settings.cluster, work = name, %error, "work is tried again");
            work.failures += 1;
            let due =
                Instant::now() + back_off(Duration::from_millis(5), work.failures, Duration::from_secs(1000));
            if object::is_deleting(&work.object) {
                work.cleanup_due = Some(due);
            } else {
                work.apply_due = Some(due);
            }
        }
    }

    /// An object that a work applied changed: the next look is at the next poll, or at once where it is watched.
    fn on_object_change(&mut self, (name, meta): &Target, change: &WatchEvent) {
        let Some(work) = self.works.get_mut(name) else {
            return;
        };
        let Some(tracked) = work.resources.iter().find(|tracked| tracked.meta == *meta) else {
            return;
        };
        let object = match change {
            WatchEvent::Applied(object) => Some(object),
            WatchEvent::Deleted(_) => None,
            WatchEvent::Resync(objects) => objects.first(),
        };
        let unchanged = object.is_some_and(|object| object::resource_version(object) <= tracked.seen);
        if unchanged || (object.is_none() && tracked.seen == 0) {
            return;
        }
        let now = Instant::now();
        let due = if tracked.at_once {
            now + WATCH_LATENCY
        } else {
            work.polls.after(now)
        };
        work.status_due = Some(work.status_due.map_or(due, |known| known.min(due)));
        let drifted = match (object, &tracked.left) {
            (Some(object), Some(left)) => !is_left_alone(object, left),
            _ => true,
        };
        if drifted {
            let due = work.resyncs.after(now);
            work.apply_due = Some(work.apply_due.map_or(due, |known| known.min(due)));
        }
    }

    async fn run_due(&mut self) {
        let now = Instant::now();
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        let names: Vec<String> = self.works.keys().cloned().collect();
        for name in names {
            let Some(work) = self.works.get_mut(&name) else {
                continue;
            };
            let result = if is_due(work.cleanup_due) {
                work.cleanup_due = None;
                self.clean_up(&name).await
            } else if is_due(work.apply_due) {
                (work.apply_due, work.status_due) = (None, None);
                self.sync_apply(&name).await
            } else if is_due(work.status_due) {
                work.status_due = None;
                self.refresh(&name).await
            } else {
                Ok(())
            };
            self.settle(&name, result);
        }
    }
}

/// The wait before attempt `attempt` (from 1): doubled each time.
pub(super) fn back_off(base: Duration, attempt: u32, most: Duration) -> Duration {
    base.saturating_mul(1 << attempt.saturating_sub(1).min(24))
        .min(most)
}

/// True if nothing that an apply writes has changed since.
fn is_left_alone(object: &Value, left: &Value) -> bool {
    let same = |field: &str| object["metadata"][field] == left["metadata"][field];
    ["uid", "labels", "annotations", "ownerReferences"]
        .into_iter()
        .all(same)
        && (same("generation") && object["metadata"]["generation"].is_number()
            || super::merge::is_same(object, left))
}
