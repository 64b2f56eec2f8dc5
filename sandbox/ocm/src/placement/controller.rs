//! The placement controller as an actor: it keeps what [`schedule`] reads up to date, and writes what it plans in the
//! real order, which is not atomic: page after page, labels in the next round, redundant pages, the status last.

use std::{collections::BTreeSet, time::Duration};

use futures::{StreamExt, stream::SelectAll};
use jiff::SignedDuration;
use kube_sandbox::Clock;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        kinds,
        queue::{self, Queue},
    },
    observed::{CandidateCluster, ClusterSet, Observed, Page, Placement},
    schedule::{Plan, PlannedPage, schedule},
};
use kube_sandbox::{
    access::{Access, AccessError, Kind, Removal, Selection, WatchEvent},
    store::Key,
};
use kube_sandbox::{
    condition,
    object::{self, NamespacedName, Shared},
};

/// How the controller writes.
#[derive(Clone, Copy, Debug)]
pub struct PlacementSettings {
    /// How long each write takes: other clients see what is between two writes.
    pub write_latency: Duration,
    /// How long to wait before a failed Placement is tried again.
    pub retry: Duration,
}

impl Default for PlacementSettings {
    fn default() -> Self {
        Self {
            write_latency: Duration::from_millis(5),
            retry: Duration::from_secs(1),
        }
    }
}

/// What a watched kind is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WatchSource {
    Cluster,
    Set,
    Binding,
    Placement,
    Page,
}

const SOURCES: [(WatchSource, &Kind); 5] = [
    (WatchSource::Cluster, &kinds::MANAGED_CLUSTER),
    (WatchSource::Set, &kinds::MANAGED_CLUSTER_SET),
    (WatchSource::Binding, &kinds::MANAGED_CLUSTER_SET_BINDING),
    (WatchSource::Placement, &kinds::PLACEMENT),
    (WatchSource::Page, &kinds::PLACEMENT_DECISION),
];

struct Controller {
    settings: PlacementSettings,
    hub: Access,
    clock: Clock,
    observed: Observed,
    synced: BTreeSet<WatchSource>,
    queue: Queue,
}

/// Runs the placement controller of a hub until `shutdown`.
pub async fn run(settings: PlacementSettings, hub: Access, clock: Clock, shutdown: CancellationToken) {
    let mut events = SelectAll::new();
    for (source, kind) in SOURCES {
        let watch = hub.watch(kind, &Selection::everything());
        events.push(watch.map(move |event| (source, event)).boxed());
    }
    let mut controller = Controller {
        settings,
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
                () = controller.schedule_dirty() => {}
            }
        }
    }
}

fn key(named: &NamespacedName) -> Key {
    Key::namespaced(named.0.as_str(), named.1.as_str())
}

impl Controller {
    fn on_event(&mut self, source: WatchSource, event: WatchEvent) {
        match event {
            WatchEvent::Applied(object) => self.on_object(source, object),
            WatchEvent::Deleted(object) => self.on_deletion(source, &object),
            WatchEvent::Resync(objects) => {
                self.synced.insert(source);
                let present: BTreeSet<NamespacedName> =
                    objects.iter().map(|object| object::named(object)).collect();
                self.forget_all_but(source, &present);
                for object in objects {
                    self.on_object(source, object);
                }
            }
        }
    }

    fn on_object(&mut self, source: WatchSource, object: Shared) {
        let id = object::named(&object);
        let observed = &mut self.observed;
        match source {
            WatchSource::Cluster => {
                let cluster = CandidateCluster::parse(object);
                let old = observed.clusters.get(&id.1);
                let same = old.is_some_and(|old| old.selects_like(&cluster));
                observed.clusters.insert(id.1, cluster);
                if !same {
                    self.mark_all();
                }
            }
            WatchSource::Set => {
                let set = ClusterSet::parse(&object);
                if observed.sets.insert(id.1, set.clone()).as_ref() != Some(&set) {
                    self.mark_all();
                }
            }
            WatchSource::Binding => {
                if observed.bindings.insert(id) {
                    self.mark_all();
                }
            }
            WatchSource::Placement => {
                if object::is_changed(
                    observed
                        .placements
                        .get(&id)
                        .map(|known| known.object.as_ref() as &Value),
                    &object,
                ) {
                    observed.placements.insert(id.clone(), Placement::parse(object));
                    self.queue.mark(id);
                }
            }
            WatchSource::Page => {
                if object::is_changed(
                    observed
                        .pages
                        .get(&id)
                        .map(|known| known.object.as_ref() as &Value),
                    &object,
                ) {
                    let page = Page::parse(object);
                    self.queue.mark((id.0.clone(), page.placement.clone()));
                    observed.pages.insert(id, page);
                }
            }
        }
    }

    fn on_deletion(&mut self, source: WatchSource, object: &Value) {
        let id = object::named(object);
        match source {
            WatchSource::Cluster => drop(self.observed.clusters.remove(&id.1)),
            WatchSource::Set => drop(self.observed.sets.remove(&id.1)),
            WatchSource::Binding => drop(self.observed.bindings.remove(&id)),
            WatchSource::Placement => {
                self.observed.placements.remove(&id);
                self.queue.forget(&id);
                return;
            }
            WatchSource::Page => {
                if let Some(page) = self.observed.pages.remove(&id) {
                    self.queue.mark((id.0, page.placement));
                }
                return;
            }
        }
        self.mark_all();
    }

    fn forget_all_but(&mut self, source: WatchSource, present: &BTreeSet<NamespacedName>) {
        let cluster_wide = |name: &String| present.contains(&(String::new(), name.clone()));
        let observed = &mut self.observed;
        match source {
            WatchSource::Cluster => observed.clusters.retain(|name, _| cluster_wide(name)),
            WatchSource::Set => observed.sets.retain(|name, _| cluster_wide(name)),
            WatchSource::Binding => observed.bindings.retain(|id| present.contains(id)),
            WatchSource::Placement => observed.placements.retain(|id, _| present.contains(id)),
            WatchSource::Page => observed.pages.retain(|id, _| present.contains(id)),
        }
        self.mark_all();
    }

    fn mark_all(&mut self) {
        for id in self.observed.placements.keys() {
            self.queue.mark(id.clone());
        }
    }

    async fn schedule_dirty(&mut self) {
        while let Some(id) = self.queue.pop() {
            if let Err(error) = self.sync(&id).await {
                tracing::debug!(namespace = id.0, placement = id.1, %error, "placement is tried again");
                self.queue.wake_after(id, self.settings.retry);
            }
        }
    }

    async fn sync(&mut self, id: &NamespacedName) -> Result<(), AccessError> {
        let Some(placement) = self
            .observed
            .placements
            .get(id)
            .filter(|placement| !placement.ignored)
        else {
            return Ok(());
        };
        let now = self.clock.now();
        let plan = schedule(&self.observed, placement, now);
        let object = placement.object.clone();
        if let Some(wake) = plan.wake {
            let wait = wake.duration_since(now).max(SignedDuration::ZERO).unsigned_abs();
            self.queue.wake_after(id.clone(), wait);
        }
        for page in &plan.pages {
            self.write_page(&object, page).await?;
        }
        self.delete_redundant(id, &plan).await?;
        self.write_status(id, &object, &plan).await
    }

    async fn write_page(&mut self, placement: &Value, page: &PlannedPage) -> Result<(), AccessError> {
        let id = (object::namespace(placement).to_owned(), page.name.clone());
        let labels = page.labels(object::name(placement));
        if !self.observed.pages.contains_key(&id) {
            let body = json!({
                "apiVersion": "cluster.open-cluster-management.io/v1beta1",
                "kind": "PlacementDecision",
                "metadata": {
                    "namespace": id.0, "name": id.1, "labels": labels,
                    "ownerReferences": [{
                        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                        "name": object::name(placement), "uid": object::uid(placement),
                        "controller": true, "blockOwnerDeletion": true,
                    }],
                },
            });
            let created = self.hub.create(&kinds::PLACEMENT_DECISION, body).await?;
            self.wrote_page(&id, created).await;
        }
        let Some(known) = self.observed.pages.get(&id) else {
            return Ok(());
        };
        if known.clusters != page.clusters {
            let patch = json!({"status": {"decisions": page.decisions()}});
            let written = self
                .hub
                .merge_patch_status(&kinds::PLACEMENT_DECISION, &key(&id), patch)
                .await?;
            self.wrote_page(&id, written).await;
        } else if known.object["metadata"]["labels"] != labels {
            let patch = json!({"metadata": {"labels": labels}});
            let written = self
                .hub
                .merge_patch(&kinds::PLACEMENT_DECISION, &key(&id), patch)
                .await?;
            self.wrote_page(&id, written).await;
        }
        Ok(())
    }

    async fn wrote_page(&mut self, id: &NamespacedName, object: Shared) {
        self.observed.pages.insert(id.clone(), Page::parse(object));
        self.latency().await;
    }

    async fn latency(&self) {
        if !self.settings.write_latency.is_zero() {
            sleep(self.settings.write_latency).await;
        }
    }

    async fn delete_redundant(&mut self, id: &NamespacedName, plan: &Plan) -> Result<(), AccessError> {
        let redundant: Vec<NamespacedName> = self
            .observed
            .pages
            .iter()
            .filter(|((namespace, name), page)| {
                *namespace == id.0
                    && page.placement == id.1
                    && plan.pages.iter().all(|planned| planned.name != *name)
            })
            .map(|(page, _)| page.clone())
            .collect();
        for page in redundant {
            let removed = self
                .hub
                .delete(&kinds::PLACEMENT_DECISION, &key(&page), &Removal::default())
                .await;
            match removed {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {
                    self.observed.pages.remove(&page);
                    self.latency().await;
                }
            }
        }
        Ok(())
    }

    async fn write_status(
        &mut self,
        id: &NamespacedName,
        placement: &Value,
        plan: &Plan,
    ) -> Result<(), AccessError> {
        let status = &placement["status"];
        let mut conditions = condition::parse(&status["conditions"]);
        for planned in plan.conditions.clone() {
            condition::set(&mut conditions, planned, self.clock.now());
        }
        let mut patch = serde_json::Map::new();
        let conditions = json!(conditions);
        if status["conditions"] != conditions {
            patch.insert("conditions".into(), conditions);
        }
        if status["decisionGroups"] != plan.groups {
            patch.insert("decisionGroups".into(), plan.groups.clone());
        }
        if status["numberOfSelectedClusters"].as_u64().unwrap_or_default() != plan.selected as u64 {
            patch.insert("numberOfSelectedClusters".into(), json!(plan.selected));
        }
        if patch.is_empty() {
            return Ok(());
        }
        let patch = json!({"status": patch});
        let written = self
            .hub
            .merge_patch_status(&kinds::PLACEMENT, &key(id), patch)
            .await?;
        if let Some(known) = self.observed.placements.get_mut(id) {
            *known = Placement::parse(written);
        }
        Ok(())
    }
}
