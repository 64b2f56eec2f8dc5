//! What the model wants written, and which parts of the state that is.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::cluster::kinds::MACHINE_API_NAMESPACE;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::agenda::Event;
use super::condition::ConditionStatus;
use super::node::Stage;
use super::operators::{self, MACHINE_CONFIG};
use super::pool::Pool;
use super::progress::{self, OperatorSituation};
use super::{Model, condition};

/// At most one status of ClusterVersion in this time, except at edges.
const STATUS_PERIOD: SignedDuration = SignedDuration::from_secs(15);

/// The kinds that the model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `config.openshift.io/v1` ClusterVersion
    ClusterVersion,
    /// `config.openshift.io/v1` ClusterOperator
    ClusterOperator,
    /// `machineconfiguration.openshift.io/v1` MachineConfigPool
    MachineConfigPool,
    /// `v1` Node
    Node,
    /// `batch/v1` Job
    Job,
    /// `v1` Pod
    Pod,
    /// `policy/v1` PodDisruptionBudget
    PodDisruptionBudget,
    /// `machine.openshift.io/v1beta1` Machine
    Machine,
    /// `machine.openshift.io/v1beta1` MachineSet
    MachineSet,
}

/// An object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectRef {
    pub(super) fn cluster(kind: Kind, name: &str) -> Self {
        Self {
            kind,
            namespace: String::new(),
            name: name.to_owned(),
        }
    }
}

/// A part of an object that is written by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Metadata and spec.
    Desired,
    /// The status.
    Status,
}

/// What was written of a part, for as long as the next is compared with it: the API server has the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written(u64);

impl Written {
    fn of(value: &Value) -> Self {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// What is written to an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is made, without status.
    Create(Value),
    /// A merge patch of the object.
    Patch(Value),
    /// The status is replaced.
    Status(Value),
    /// It is deleted.
    Delete,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The object.
    pub object: ObjectRef,
    /// What is done to it.
    pub change: Change,
}

impl Write {
    /// A Machine or a MachineSet is made.
    fn create_machine(object: Value) -> Self {
        let kind = if object["kind"] == "MachineSet" {
            Kind::MachineSet
        } else {
            Kind::Machine
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        Self {
            object: ObjectRef {
                namespace: MACHINE_API_NAMESPACE.to_owned(),
                ..ObjectRef::cluster(kind, name)
            },
            change: Change::Create(object),
        }
    }
}

impl Model {
    /// The objects of the cluster as they are made at its installation, each before its status.
    pub fn install(&mut self, now: Timestamp) -> Vec<Write> {
        let create = |kind: Kind, object: Value| Write {
            object: ObjectRef::cluster(kind, object["metadata"]["name"].as_str().unwrap_or_default()),
            change: Change::Create(object),
        };
        let mut writes = vec![create(Kind::ClusterVersion, self.version.object())];
        writes.extend(
            self.operators
                .iter()
                .map(|operator| create(Kind::ClusterOperator, operator.object())),
        );
        writes.extend(
            self.pools
                .iter()
                .map(|pool| create(Kind::MachineConfigPool, pool.object())),
        );
        writes.extend(self.nodes.iter().map(|node| create(Kind::Node, node.object())));
        writes.extend(
            self.machine_api
                .objects(&self.nodes)
                .into_iter()
                .map(Write::create_machine),
        );
        self.changed_nodes = (0..self.nodes.len()).collect();
        self.changed_operators = (0..self.operators.len()).collect();
        self.pools_changed = true;
        self.version.write_now = true;
        writes.extend(self.writes(now));
        writes
    }

    /// What differs from what was written last.
    pub(super) fn writes(&mut self, now: Timestamp) -> Vec<Write> {
        let mut writes = self.job_writes();
        writes.extend(self.machine_writes());
        writes.extend(self.blocker.take_writes());
        self.judge_pools();
        for index in std::mem::take(&mut self.changed_operators) {
            let operator = &mut self.operators[index];
            operator.refresh(now);
            let object = ObjectRef::cluster(Kind::ClusterOperator, &operator.facts.name);
            let status = operator.status();
            writes.extend(self.changed(object, status));
        }
        // A pool's status follows from its nodes.
        let pools_changed = std::mem::take(&mut self.pools_changed) || !self.changed_nodes.is_empty();
        writes.extend(self.node_writes());
        let pools = if pools_changed { 0..self.pools.len() } else { 0..0 };
        for index in pools {
            let (nodes, pool) = (&self.nodes, &mut self.pools[index]);
            pool.refresh(nodes, now);
            let object = ObjectRef::cluster(Kind::MachineConfigPool, self.pools[index].name);
            writes.extend(self.pool_spec(index));
            let status = self.pools[index].status();
            writes.extend(self.changed(object, status));
        }
        writes.extend(self.version_status(now));
        writes
    }

    /// The machine config operator objects to minor updates while its pools are on their way.
    fn judge_pools(&mut self) {
        if !self.pools_changed && self.changed_nodes.is_empty() {
            return;
        }
        let objection = if self.nodes.iter().any(|node| node.degraded.is_some()) {
            Some((
                "DegradedPool",
                "One or more machine config pools are degraded, please see `oc get mcp` for further details",
            ))
        } else {
            let is_updating = |pool: &Pool| !pool.paused && !pool.is_at_target(&self.nodes);
            self.pools.iter().any(is_updating).then_some((
                "PoolUpdating",
                "One or more machine config pools are updating, please see `oc get mcp` for further details",
            ))
        };
        let Some(index) = operators::position(MACHINE_CONFIG) else {
            return;
        };
        if self.operators[index].not_upgradeable != objection {
            self.operators[index].not_upgradeable = objection;
            self.changed_operators.insert(index);
        }
    }

    /// The writes of Jobs and their pods.
    fn job_writes(&mut self) -> Vec<Write> {
        let mut writes = Vec::new();
        for write in self.jobs.take_writes() {
            match write.change {
                Change::Status(status) => writes.extend(self.changed(write.object, status)),
                Change::Create(_) | Change::Delete => {
                    self.written.remove(&(write.object.clone(), Part::Status));
                    writes.push(write);
                }
                Change::Patch(_) => writes.push(write),
            }
        }
        writes
    }

    /// Forgets what was written of an object that is gone.
    pub(super) fn forget(&mut self, object: ObjectRef) {
        self.written.remove(&(object, Part::Status));
    }

    /// The rendered configuration that the pool now wants, if that has changed.
    fn pool_spec(&mut self, index: usize) -> Option<Write> {
        let pool = &self.pools[index];
        let key = (
            ObjectRef::cluster(Kind::MachineConfigPool, pool.name),
            Part::Desired,
        );
        let target = Value::from(pool.target.as_str());
        let written = Written::of(&target);
        let before = self.written.insert(key, written)?;
        (before != written).then(|| Write {
            object: ObjectRef::cluster(Kind::MachineConfigPool, pool.name),
            change: Change::Patch(serde_json::json!({"spec": {"configuration": {"name": target}}})),
        })
    }

    fn node_writes(&mut self) -> Vec<Write> {
        let mut writes = Vec::new();
        for index in std::mem::take(&mut self.changed_nodes) {
            let Some(node) = self.nodes.get(index).filter(|node| node.stage != Stage::Gone) else {
                continue;
            };
            let (name, patch, status) = (node.name.clone(), node.patch(), node.status());
            let key = (ObjectRef::cluster(Kind::Node, &name), Part::Desired);
            let written = Written::of(&patch);
            let before = self.written.insert(key, written);
            if before.is_some_and(|before| before != written) {
                writes.push(Write {
                    object: ObjectRef::cluster(Kind::Node, &name),
                    change: Change::Patch(patch),
                });
            }
            writes.extend(self.changed(ObjectRef::cluster(Kind::Node, &name), status));
        }
        writes
    }

    /// A write of the status if it is another than before.
    pub(super) fn changed(&mut self, object: ObjectRef, status: Value) -> Option<Write> {
        let written = Written::of(&status);
        let before = self.written.insert((object.clone(), Part::Status), written);
        (before != Some(written)).then_some(Write {
            object,
            change: Change::Status(status),
        })
    }

    fn version_status(&mut self, now: Timestamp) -> Option<Write> {
        let waits = self.waits();
        let version = self.version.release.version.to_string();
        let situation = OperatorSituation {
            version: &version,
            phase: self.phase(),
            invalid: self.version.invalid.is_some(),
            waits: &waits,
            now,
        };
        let failing = progress::failing(&situation);
        let judgement = progress::judge(&situation);
        let not_upgradeable = self.not_upgradeable();
        self.version.refresh(judgement, not_upgradeable, now);
        if failing != self.version.shown_failing {
            self.version.shown_failing = failing;
            self.version.write_now = true;
        }
        let due = self.version.written.map(|(_, at)| at + STATUS_PERIOD);
        let is_held = due.is_some_and(|due| due > now && !self.version.write_now);
        if is_held && self.version.write_scheduled {
            return None;
        }
        let status = self.version.status();
        let written = Written::of(&status);
        if self.version.written.is_some_and(|(before, _)| before == written) {
            return None;
        }
        if let Some(due) = due.filter(|_| is_held) {
            self.version.write_scheduled = true;
            self.agenda.enter(due, Event::StatusDue);
            return None;
        }
        self.version.write_now = false;
        self.version.write_scheduled = false;
        self.version.written = Some((written, now));
        self.changed(ObjectRef::cluster(Kind::ClusterVersion, "version"), status)
    }

    fn not_upgradeable(&self) -> Option<condition::ConditionValue> {
        self.objection_to_minors()
            .map(|(reason, message)| condition::ConditionValue::new(ConditionStatus::False, reason, message))
    }
}
