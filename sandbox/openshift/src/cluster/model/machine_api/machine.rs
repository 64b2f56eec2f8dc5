//! One Machine: where it stands, and its object.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::cluster::kinds::MACHINE_API_NAMESPACE;

use super::super::condition::wire_time;
use super::super::release::digest;
use super::machine_set::{FAILS, MachineSetSpec};

/// What keeps a Machine until its node is drained and its instance gone.
pub(super) const FINALIZER: &str = "machine.machine.openshift.io";

const PREFIX: &str = "machine.openshift.io";

/// Where a machine stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MachineStage {
    /// The instance is being made.
    Provisioning,
    /// The instance is there and boots.
    Provisioned,
    /// Its node, by index, has joined.
    Running { node: usize },
    /// It never became an instance.
    Failed,
    /// It is being deleted; its node is drained.
    Draining { node: usize },
    /// It is being deleted; its instance is.
    Terminating,
}

/// What matters of a Machine that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpec {
    /// Its name.
    pub name: String,
    /// Whether somebody deletes it.
    pub deleting: bool,
    fails: bool,
    zone: String,
    node_labels: Map<String, Value>,
}

impl MachineSpec {
    /// Reads a Machine.
    pub fn read(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            name: metadata["name"].as_str().unwrap_or_default().to_owned(),
            deleting: metadata["deletionTimestamp"].is_string(),
            fails: metadata["annotations"][FAILS] == "provisioning",
            zone: zone(&object["spec"]),
            node_labels: node_labels(&object["spec"]),
        }
    }
}

/// What the provider calls the instance of a machine.
pub(in crate::cluster::model) fn provider_id(zone: &str, machine: &str) -> String {
    let instance = &digest("instance", machine)[..17];
    format!("aws:///{zone}/i-{instance}")
}

/// The zone that a machine's spec asks for.
pub(super) fn zone(spec: &Value) -> String {
    let zone = &spec["providerSpec"]["value"]["placement"]["availabilityZone"];
    zone.as_str().unwrap_or("us-east-2a").to_owned()
}

/// The labels that its node gets.
pub(super) fn node_labels(spec: &Value) -> Map<String, Value> {
    let labels = spec["metadata"]["labels"].as_object();
    labels.cloned().unwrap_or_default()
}

/// A machine.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// Its MachineSet's name; a master's has none.
    pub(super) set: Option<String>,
    pub(super) zone: String,
    pub(super) node_labels: Map<String, Value>,
    pub(super) fails: bool,
    pub(super) stage: MachineStage,
    /// When it last changed.
    pub(super) updated: Timestamp,
}

impl Machine {
    pub(super) fn of_master(zone: &str, node: usize, now: Timestamp) -> Self {
        Self {
            set: None,
            zone: zone.to_owned(),
            node_labels: Map::new(),
            fails: false,
            stage: MachineStage::Running { node },
            updated: now,
        }
    }

    pub(super) fn of_set(set: &MachineSetSpec, stage: MachineStage, now: Timestamp) -> Self {
        Self {
            set: Some(set.name.clone()),
            zone: zone(&set.template_spec),
            node_labels: node_labels(&set.template_spec),
            fails: set.fails,
            stage,
            updated: now,
        }
    }

    pub(super) fn made_by_hand(spec: &MachineSpec, now: Timestamp) -> Self {
        Self {
            set: None,
            zone: spec.zone.clone(),
            node_labels: spec.node_labels.clone(),
            fails: spec.fails,
            stage: MachineStage::Provisioning,
            updated: now,
        }
    }

    /// Whether it is being deleted.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(
            self.stage,
            MachineStage::Draining { .. } | MachineStage::Terminating
        )
    }

    /// Its node, if it has one.
    pub(super) fn node(&self) -> Option<usize> {
        match self.stage {
            MachineStage::Running { node } | MachineStage::Draining { node } => Some(node),
            _ => None,
        }
    }

    /// The lower it is, the sooner its set deletes it.
    pub(super) fn worth(&self) -> (bool, std::cmp::Reverse<Timestamp>) {
        (self.node().is_some(), std::cmp::Reverse(self.updated))
    }

    fn phase(&self) -> &'static str {
        match self.stage {
            MachineStage::Provisioning => "Provisioning",
            MachineStage::Provisioned => "Provisioned",
            MachineStage::Running { .. } => "Running",
            MachineStage::Failed => "Failed",
            MachineStage::Draining { .. } | MachineStage::Terminating => "Deleting",
        }
    }

    /// The object without its status.
    pub(super) fn object(&self, name: &str, infrastructure: &str, set: Option<&MachineSetSpec>) -> Value {
        let role = if set.is_some() { "worker" } else { "master" };
        let mut labels = json!({
            format!("{PREFIX}/cluster-api-cluster"): infrastructure,
            format!("{PREFIX}/cluster-api-machine-role"): role,
            format!("{PREFIX}/cluster-api-machine-type"): role,
            format!("{PREFIX}/instance-type"): "m6i.xlarge",
            format!("{PREFIX}/region"): "us-east-2",
            format!("{PREFIX}/zone"): self.zone,
        });
        let mut metadata =
            json!({"name": name, "namespace": MACHINE_API_NAMESPACE, "finalizers": [FINALIZER]});
        if let Some(set) = set {
            for (label, value) in &set.template_labels {
                labels[label] = value.clone();
            }
            metadata["ownerReferences"] = json!([{
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": set.name,
                "uid": set.uid, "controller": true, "blockOwnerDeletion": true,
            }]);
        }
        metadata["labels"] = labels;
        let mut spec = set.map_or_else(
            || json!({"metadata": {}, "providerSpec": {"value": {"placement": {"availabilityZone": self.zone}}}}),
            |set| set.template_spec.clone(),
        );
        spec["providerID"] = Value::from(provider_id(&self.zone, name));
        json!({"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata, "spec": spec})
    }

    /// The status as on the wire.
    pub(super) fn status(&self, name: &str, node: Option<&str>) -> Value {
        let mut status = json!({"lastUpdated": wire_time(self.updated), "phase": self.phase()});
        if let Some(node) = node {
            status["nodeRef"] = json!({"kind": "Node", "name": node});
            status["addresses"] =
                json!([{"address": node, "type": "InternalDNS"}, {"address": node, "type": "Hostname"}]);
        }
        if self.stage == MachineStage::Failed {
            status["errorReason"] = Value::from("InsufficientResources");
            status["errorMessage"] = Value::from(format!(
                "{name}: reconciler failed to Create machine: failed to launch instance: insufficient capacity"
            ));
        }
        status
    }
}
