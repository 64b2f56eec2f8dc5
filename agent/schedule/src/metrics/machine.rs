//! The series of Machines.

use drydock_api::machine_api::Machine;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Family, FamilyKind, Sample};

/// The label that a MachineSet gives its Machines.
const MACHINE_SET_LABEL: &str = "machine.openshift.io/cluster-api-machineset";

/// A Machine.
pub const INFO: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_machine_info",
    help: "1 for each Machine, with its MachineSet, its node and how far it is.",
    labels: &["machine", "machineset", "node_ref", "provider_id", "phase"],
};

/// The samples of Machines.
pub fn of_machines<'a>(machines: impl IntoIterator<Item = &'a Machine>) -> Vec<Sample> {
    machines.into_iter().map(of_machine).collect()
}

fn of_machine(machine: &Machine) -> Sample {
    let status = machine.status.clone().unwrap_or_default();
    let node = status.node_ref.and_then(|node| node.name);
    let provider_id = machine.spec.get("providerID").and_then(|id| id.as_str());
    let labels = [
        machine.metadata.name.as_deref().unwrap_or_default(),
        machine_set(&machine.metadata).unwrap_or_default(),
        &node.unwrap_or_default(),
        provider_id.unwrap_or_default(),
        &status.phase.unwrap_or_default(),
    ];
    Sample::new(&INFO, &labels, 1.0)
}

/// The MachineSet that controls a Machine, or that its label names.
fn machine_set(metadata: &ObjectMeta) -> Option<&str> {
    let mut owners = metadata.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.kind == "MachineSet" && owner.controller == Some(true));
    let label = || metadata.labels.as_ref()?.get(MACHINE_SET_LABEL);
    owner.map(|owner| &owner.name).or_else(label).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_machine_names_its_set_its_node_and_its_phase() {
        let of = |metadata: Value, rest: Value| {
            let mut machine = json!({"spec": {}, "status": null});
            json_patch::merge(&mut machine, &rest);
            machine["metadata"] = metadata;
            let machine: Machine = serde_json::from_value(machine).unwrap();
            of_machines([&machine]).remove(0).labels
        };
        let owner = json!({"apiVersion": "v1", "kind": "MachineSet", "name": "workers", "uid": "1", "controller": true});
        let running = json!({
            "spec": {"providerID": "aws:///eu-1a/i-1"},
            "status": {"phase": "Running", "nodeRef": {"kind": "Node", "name": "n1"}},
        });
        assert_eq!(
            of(json!({"name": "workers-1", "ownerReferences": [owner]}), running),
            ["workers-1", "workers", "n1", "aws:///eu-1a/i-1", "Running"]
        );
        let labelled = json!({"name": "m", "labels": {MACHINE_SET_LABEL: "workers"}});
        assert_eq!(of(labelled, json!({})), ["m", "workers", "", "", ""]);
        assert_eq!(of(json!({"name": "m"}), json!({})), ["m", "", "", "", ""]);
    }
}
