//! One MachineSet: what it asks for, and its object.

use std::collections::BTreeMap;

use crate::cluster::kinds::MACHINE_API_NAMESPACE;
use serde_json::{Map, Value, json};

use super::super::node::Node;
use super::machine::Machine;

/// An annotation of a Machine or MachineSet: `provisioning` lets its machines fail instead of becoming instances.
pub const FAILS: &str = "sandbox.drydock.dev/fails";

/// The provider has no more machines of one kind.
const CAPACITY: u64 = 500;

const PREFIX: &str = "machine.openshift.io";

/// What matters of a MachineSet.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSetSpec {
    /// Its name.
    pub name: String,
    pub(super) uid: String,
    pub(super) generation: i64,
    pub(super) replicas: usize,
    pub(super) deleting: bool,
    pub(super) fails: bool,
    pub(super) selector: Map<String, Value>,
    pub(super) template_labels: Map<String, Value>,
    pub(super) template_spec: Value,
}

impl MachineSetSpec {
    /// Reads a MachineSet; absent fields have the defaults of the API.
    pub fn read(object: &Value) -> Self {
        let (metadata, spec) = (&object["metadata"], &object["spec"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let replicas = spec["replicas"].as_u64().unwrap_or(1);
        Self {
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            replicas: replicas.min(CAPACITY) as usize,
            deleting: metadata["deletionTimestamp"].is_string(),
            fails: metadata["annotations"][FAILS] == "provisioning",
            selector: map(&spec["selector"]["matchLabels"]),
            template_labels: map(&spec["template"]["metadata"]["labels"]),
            template_spec: spec["template"]["spec"].clone(),
        }
    }

    /// The status as on the wire; what is zero is left out but for `replicas`.
    pub(super) fn status(&self, machines: &BTreeMap<String, Machine>, nodes: &[Node]) -> Value {
        let own = || {
            let of_set = |machine: &&Machine| machine.set.as_deref() == Some(self.name.as_str());
            machines.values().filter(of_set)
        };
        let is_ready = |machine: &&Machine| machine.node().is_some_and(|node| nodes[node].ready);
        let (all, ready) = (own().count(), own().filter(is_ready).count());
        let mut status = json!({"observedGeneration": self.generation, "replicas": all, "labelSelector": self.label_selector()});
        for (field, count) in [
            ("fullyLabeledReplicas", all),
            ("readyReplicas", ready),
            ("availableReplicas", ready),
        ] {
            if count > 0 {
                status[field] = Value::from(count);
            }
        }
        status
    }

    fn label_selector(&self) -> String {
        let pairs = self.selector.iter();
        let pairs = pairs.map(|(label, value)| format!("{label}={}", value.as_str().unwrap_or_default()));
        pairs.collect::<Vec<_>>().join(",")
    }
}

/// A set of workers as the installer makes it, without its status.
pub(super) fn object(infrastructure: &str, name: &str, zone: &str, replicas: usize) -> Value {
    let own = json!({
        format!("{PREFIX}/cluster-api-cluster"): infrastructure,
        format!("{PREFIX}/cluster-api-machineset"): name,
    });
    let mut labels = own.clone();
    for part in ["role", "type"] {
        labels[format!("{PREFIX}/cluster-api-machine-{part}")] = Value::from("worker");
    }
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "MachineSet",
        "metadata": {
            "name": name,
            "namespace": MACHINE_API_NAMESPACE,
            "labels": {
                format!("{PREFIX}/cluster-api-cluster"): infrastructure,
                "hive.openshift.io/machine-pool": "worker",
                "hive.openshift.io/managed": "true",
            },
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": own},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "lifecycleHooks": {},
                    "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}},
                    "providerSpec": {"value": {
                        "apiVersion": "machine.openshift.io/v1beta1",
                        "kind": "AWSMachineProviderConfig",
                        "instanceType": "m6i.xlarge",
                        "placement": {"availabilityZone": zone, "region": "us-east-2"},
                    }},
                },
            },
        },
    })
}
