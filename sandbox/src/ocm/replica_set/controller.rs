//! The controller of ManifestWorkReplicaSets as an actor: it keeps what [`Observed::plan`] reads up to date, writes the works
//! of the plan, and then the status.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drydock_runtime::Clock;
use futures::StreamExt;
use futures::stream::SelectAll;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::plan::{Observed, WorkWrite, label_of};
use super::status;
use crate::access::{Access, AccessError, Key, Kind, Removal, Selection, WatchEvent};
use crate::ocm::object::{self, Named, Shared};
use crate::ocm::queue::{self, Queue};
use crate::ocm::{kinds, names};

/// How long to wait before a set whose writes failed is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// A set is looked at again after this long, whatever a plan says.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_mins(30);

/// What a watched kind is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Set,
    Work,
    Placement,
    Page,
}

const SOURCES: [(Source, &Kind, Option<&str>); 4] = [
    (Source::Set, &kinds::MANIFEST_WORK_REPLICA_SET, None),
    (
        Source::Work,
        &kinds::MANIFEST_WORK,
        Some(names::REPLICA_SET_LABEL),
    ),
    (Source::Placement, &kinds::PLACEMENT, None),
    (Source::Page, &kinds::PLACEMENT_DECISION, None),
];

struct Controller {
    hub: Access,
    clock: Clock,
    observed: Observed,
    synced: BTreeSet<Source>,
    queue: Queue,
}

/// Runs the controller of a hub until `shutdown`.
pub async fn run(hub: Access, clock: Clock, shutdown: CancellationToken) {
    let mut events = SelectAll::new();
    for (source, kind, label) in SOURCES {
        let selection = Selection {
            labels: label.map(str::to_owned),
            ..Selection::everything()
        };
        let watch = hub.watch(kind, &selection);
        events.push(watch.map(move |event| (source, event)).boxed());
    }
    let mut controller = Controller {
        hub,
        clock,
        observed: Observed::default(),
        synced: BTreeSet::new(),
        queue: Queue::default(),
    };
    loop {
        let wake = controller.queue.wake();
        let batch = tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            batch = queue::batch(&mut events, wake) => batch,
        };
        controller.queue.wake_up();
        for (source, event) in batch {
            controller.on_event(source, event);
        }
        if controller.synced.len() == SOURCES.len() {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = controller.sync_dirty() => {}
            }
        }
    }
}

impl Controller {
    fn on_event(&mut self, source: Source, event: WatchEvent) {
        match event {
            WatchEvent::Applied(object) => self.on_object(source, object),
            WatchEvent::Deleted(object) => {
                self.of(source).remove(&object::named(&object));
                self.mark(source, &object);
            }
            WatchEvent::Resync(objects) => {
                self.synced.insert(source);
                let present: BTreeSet<Named> = objects.iter().map(|object| object::named(object)).collect();
                let known = std::mem::take(self.of(source));
                for (id, object) in known {
                    if present.contains(&id) {
                        self.of(source).insert(id, object);
                    } else {
                        self.mark(source, &object);
                    }
                }
                for object in objects {
                    self.on_object(source, object);
                }
            }
        }
    }

    fn on_object(&mut self, source: Source, object: Shared) {
        let id = object::named(&object);
        if object::is_news(self.of(source).get(&id).map(|known| known.value()), &object) {
            self.mark(source, &object);
            self.of(source).insert(id, object);
        }
    }

    fn of(&mut self, source: Source) -> &mut BTreeMap<Named, Shared> {
        match source {
            Source::Set => &mut self.observed.sets,
            Source::Work => &mut self.observed.works,
            Source::Placement => &mut self.observed.placements,
            Source::Page => &mut self.observed.pages,
        }
    }

    /// The sets that an object concerns are looked at. A set with a dot in its name hears nothing of its works.
    fn mark(&mut self, source: Source, object: &Value) {
        let label = |name: &str| object["metadata"]["labels"][name].as_str().unwrap_or_default();
        let placement = match source {
            Source::Set => return self.queue.mark(object::named(object)),
            Source::Work => {
                if let [namespace, name] = label(names::REPLICA_SET_LABEL).split('.').collect::<Vec<_>>()[..]
                {
                    self.queue.mark((namespace.to_owned(), name.to_owned()));
                }
                return;
            }
            Source::Placement => object::name(object),
            Source::Page => label(names::PLACEMENT_LABEL),
        };
        let namespace = object::namespace(object);
        for (id, set) in &self.observed.sets {
            let references = object::list(&set["spec"]["placementRefs"]);
            if id.0 == namespace && references.iter().any(|reference| reference["name"] == placement) {
                self.queue.mark(id.clone());
            }
        }
    }

    async fn sync_dirty(&mut self) {
        while let Some(id) = self.queue.pop() {
            if let Err(error) = self.sync(&id).await {
                tracing::debug!(namespace = id.0, set = id.1, %error, "the set is tried again");
                self.queue.wake_after(id, RETRY);
            }
        }
    }

    async fn sync(&mut self, id: &Named) -> Result<(), AccessError> {
        let Some(set) = self.observed.sets.get(id).cloned() else {
            return Ok(());
        };
        if object::is_deleting(&set) {
            return self.finalize(&set).await;
        }
        if !object::has_finalizer(&set, names::WORK_SET_FINALIZER) {
            let mut finalizers = object::list(&set["metadata"]["finalizers"]).to_vec();
            finalizers.push(names::WORK_SET_FINALIZER.into());
            return self.set_finalizers(&set, finalizers).await;
        }
        let now = self.clock.now();
        let (plan, failures) = match self.observed.plan(&set, now) {
            Ok(planned) => planned,
            Err(missing) => {
                tracing::debug!(namespace = id.0, set = id.1, %missing, "nothing of the set is rolled out");
                return self
                    .write_status(&set, status::without_placement(&set, now))
                    .await;
            }
        };
        for failure in failures {
            tracing::debug!(namespace = id.0, set = id.1, %failure, "a placement is not rolled out");
        }
        let mut refused = None;
        for write in plan.writes {
            if let Err(error) = self.write(&set, write).await {
                refused.get_or_insert(error);
            }
        }
        if let Some(recheck) = plan.recheck {
            let wait = recheck
                .duration_since(now)
                .clamp(SignedDuration::ZERO, LONGEST_WAIT);
            self.queue.wake_after(id.clone(), wait.unsigned_abs());
        }
        let status = status::status(&self.observed, &set, now);
        self.write_status(&set, status).await?;
        refused.map_or(Ok(()), Err)
    }

    async fn write(&mut self, set: &Value, write: WorkWrite) -> Result<(), AccessError> {
        match write {
            WorkWrite::Apply { cluster, placement } => self.apply(set, &cluster, &placement).await,
            WorkWrite::Delete(id) => self.delete(&id).await,
        }
    }

    /// What is written is known at once: until its event comes, a second work would be made for the cluster.
    async fn apply(&mut self, set: &Value, cluster: &str, placement: &str) -> Result<(), AccessError> {
        let template = &set["spec"]["manifestWorkTemplate"];
        let mut labels = object::labels(set);
        labels.insert(names::REPLICA_SET_LABEL.to_owned(), label_of(set));
        labels.insert(
            names::REPLICA_SET_PLACEMENT_LABEL.to_owned(),
            placement.to_owned(),
        );
        let known = self
            .observed
            .works_of(set, Some(placement))
            .find(|work| object::namespace(work) == cluster);
        let written = match known {
            Some(known) if known["spec"] == *template => return Ok(()),
            Some(known) => {
                let mut work = known.value().clone();
                work["metadata"]["labels"] = json!(labels);
                work["spec"] = template.clone();
                self.hub.replace(&kinds::MANIFEST_WORK, work).await?
            }
            None => {
                let work = json!({
                    "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
                    "metadata": {"namespace": cluster, "generateName": object::name(set), "labels": labels},
                    "spec": template,
                });
                self.hub.create(&kinds::MANIFEST_WORK, work).await?
            }
        };
        self.observed.works.insert(object::named(&written), written);
        Ok(())
    }

    async fn delete(&self, id: &Named) -> Result<(), AccessError> {
        let key = Key::namespaced(id.0.as_str(), id.1.as_str());
        let removal = Removal::default();
        match self.hub.delete(&kinds::MANIFEST_WORK, &key, &removal).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// The works of a set that is being deleted go first; it waits for their end only if it is told to.
    async fn finalize(&self, set: &Value) -> Result<(), AccessError> {
        let works: Vec<&Shared> = self.observed.works_of(set, None).collect();
        for work in works.iter().filter(|work| !object::is_deleting(work)) {
            self.delete(&object::named(work)).await?;
        }
        let waits = set["spec"]["cascadeDeletionPolicy"] == "Foreground" && !works.is_empty();
        if waits || !object::has_finalizer(set, names::WORK_SET_FINALIZER) {
            return Ok(());
        }
        let others = object::finalizers_without(set, names::WORK_SET_FINALIZER);
        self.set_finalizers(set, others).await
    }

    async fn set_finalizers(&self, set: &Value, finalizers: Vec<Value>) -> Result<(), AccessError> {
        let patch = json!({"metadata": {
            "finalizers": finalizers, "resourceVersion": set["metadata"]["resourceVersion"],
        }});
        let key = Key::namespaced(object::namespace(set), object::name(set));
        self.hub
            .merge_patch(&kinds::MANIFEST_WORK_REPLICA_SET, &key, patch)
            .await
            .map(|_| ())
    }

    async fn write_status(&self, set: &Value, status: Value) -> Result<(), AccessError> {
        if set["status"] == status {
            return Ok(());
        }
        let key = Key::namespaced(object::namespace(set), object::name(set));
        let patch = json!({"status": status});
        self.hub
            .merge_patch_status(&kinds::MANIFEST_WORK_REPLICA_SET, &key, patch)
            .await
            .map(|_| ())
    }
}
