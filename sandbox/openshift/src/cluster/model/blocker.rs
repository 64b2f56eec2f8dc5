//! The workload that blocks a drain: a pod under a PodDisruptionBudget that allows no
//! disruption. When somebody deletes the pod, the drain continues.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::condition::wire_time;
use super::{Change, Fault, Kind, Model, ObjectRef, Write};

/// The label of the pod.
pub const BLOCKS_DRAIN: &str = "sandbox.drydock.dev/blocks-drain";

const NAMESPACE: &str = "default";
const NAME: &str = "drain-blocker";

/// Where the workload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PodLocation {
    /// Nowhere yet.
    #[default]
    Nowhere,
    /// On the node of this index.
    On(usize),
    /// Somebody deleted its pod.
    Evicted,
}

/// The workload, and what is to be written of it.
#[derive(Debug, Default)]
pub(super) struct Blocker {
    location: PodLocation,
    writes: Vec<Write>,
}

fn object_ref(kind: Kind) -> ObjectRef {
    ObjectRef {
        kind,
        namespace: NAMESPACE.to_owned(),
        name: NAME.to_owned(),
    }
}

impl Blocker {
    pub(super) fn take_writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }

    fn write(&mut self, kind: Kind, change: Change) {
        let object = object_ref(kind);
        self.writes.push(Write { object, change });
    }
}

impl Model {
    /// Whether somebody made the workload that blocks the drain go away.
    pub(super) fn is_drain_freed(&self) -> bool {
        self.blocker.location == PodLocation::Evicted
    }

    /// Whether there is a pod whose deletion is to be noticed.
    pub fn watches_blocker(&self) -> bool {
        matches!(self.blocker.location, PodLocation::On(_))
    }

    /// The workload shows on a node that is drained.
    pub(super) fn block_drain(&mut self, node: usize, now: Timestamp) {
        if self.blocker.location != PodLocation::Nowhere {
            return;
        }
        self.blocker.location = PodLocation::On(node);
        let name = self.nodes[node].name.clone();
        for (kind, object, status) in [
            (Kind::Pod, pod(&name), pod_status(now)),
            (Kind::PodDisruptionBudget, budget(), budget_status(now)),
        ] {
            self.blocker.write(kind, Change::Create(object));
            self.blocker.write(kind, Change::Status(status));
        }
    }

    /// The workload goes with the failure mode.
    pub(super) fn unblock_drain(&mut self) {
        if matches!(self.blocker.location, PodLocation::On(_)) {
            self.blocker.write(Kind::PodDisruptionBudget, Change::Delete);
            self.blocker.write(Kind::Pod, Change::Delete);
        }
        self.blocker.location = PodLocation::Nowhere;
    }

    /// Its containers do not end on request, but can be killed.
    pub(super) fn kill_blocker(&mut self) {
        if matches!(self.blocker.location, PodLocation::On(_)) {
            self.blocker.write(Kind::Pod, Change::Delete);
        }
    }

    /// The pod is gone: the drain succeeds.
    pub(super) fn blocker_gone(&mut self, now: Timestamp) {
        if matches!(self.blocker.location, PodLocation::On(_)) && self.has(Fault::DrainStuck) {
            self.blocker.location = PodLocation::Evicted;
            self.blocker.write(Kind::PodDisruptionBudget, Change::Delete);
            self.release_nodes(now);
        }
    }
}

fn metadata() -> Value {
    json!({"name": NAME, "namespace": NAMESPACE, "labels": {BLOCKS_DRAIN: "true"}})
}

fn pod(node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata(),
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "example.com/app:1"}]},
    })
}

fn pod_status(now: Timestamp) -> Value {
    let condition =
        |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": wire_time(now)});
    let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition);
    json!({"phase": "Running", "startTime": wire_time(now), "conditions": conditions})
}

fn budget() -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata(),
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {BLOCKS_DRAIN: "true"}}},
    })
}

fn budget_status(now: Timestamp) -> Value {
    json!({
        "observedGeneration": 1, "expectedPods": 1, "currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 0,
        "conditions": [{
            "type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
            "observedGeneration": 1, "lastTransitionTime": wire_time(now),
        }],
    })
}
