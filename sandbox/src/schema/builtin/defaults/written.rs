//! What Go writes although nobody set it: numbers and times without `omitempty`, structures that are no pointers.

use super::{fill, items, made_fields};
use crate::schema::node::{Additional, Node, ValueType};
use serde_json::{Value, json};

const CONDITION_TIMES: &[(&str, &[&str])] = &[
    ("Deployment", &["lastUpdateTime", "lastTransitionTime"]),
    ("ReplicaSet", &["lastTransitionTime"]),
    ("DaemonSet", &["lastTransitionTime"]),
    ("StatefulSet", &["lastTransitionTime"]),
    ("Job", &["lastProbeTime", "lastTransitionTime"]),
    ("Pod", &["lastProbeTime", "lastTransitionTime"]),
    ("Node", &["lastHeartbeatTime", "lastTransitionTime"]),
    ("Namespace", &["lastTransitionTime"]),
    ("PersistentVolumeClaim", &["lastProbeTime", "lastTransitionTime"]),
    ("CustomResourceDefinition", &["lastTransitionTime"]),
];

/// Completes an object of this kind.
pub(super) fn complete(kind: &str, object: &mut Value) {
    if let Some((_, times)) = CONDITION_TIMES.iter().find(|(known, _)| *known == kind)
        && let Some(status) = object.get_mut("status")
    {
        for condition in items(status, "conditions").filter_map(Value::as_object_mut) {
            times.iter().for_each(|time| fill(condition, time, Value::Null));
        }
    }
    match kind {
        "DaemonSet" => {
            if let Some(annotations) = object
                .get_mut("metadata")
                .and_then(|metadata| made_fields(metadata, "annotations"))
            {
                fill(annotations, "deprecated.daemonset.template.generation", "1");
            }
            numbers(
                object,
                &[
                    "currentNumberScheduled",
                    "numberMisscheduled",
                    "desiredNumberScheduled",
                    "numberReady",
                ],
            );
        }
        "ReplicaSet" => numbers(object, &["replicas"]),
        "StatefulSet" => numbers(object, &["replicas", "availableReplicas"]),
        "Node" => node(object),
        "Pod" => pod(object),
        _ => {}
    }
}

fn numbers(object: &mut Value, names: &[&str]) {
    if let Some(status) = made_fields(object, "status") {
        names.iter().for_each(|name| fill(status, name, 0));
    }
}

fn node(object: &mut Value) {
    let Some(status) = made_fields(object, "status") else {
        return;
    };
    fill(status, "daemonEndpoints", json!({"kubeletEndpoint": {"Port": 0}}));
    fill(status, "nodeInfo", json!({}));
    if let Some(info) = status.get_mut("nodeInfo").and_then(Value::as_object_mut) {
        for name in [
            "machineID",
            "systemUUID",
            "bootID",
            "kernelVersion",
            "osImage",
            "containerRuntimeVersion",
            "kubeletVersion",
            "kubeProxyVersion",
            "operatingSystem",
            "architecture",
        ] {
            fill(info, name, "");
        }
    }
}

fn pod(object: &mut Value) {
    let Some(status) = object.get_mut("status") else {
        return;
    };
    for list in ["containerStatuses", "initContainerStatuses"] {
        for container in items(status, list).filter_map(Value::as_object_mut) {
            fill(container, "lastState", json!({}));
            fill(container, "state", json!({}));
            for state in ["state", "lastState"] {
                if let Some(ended) = container[state]
                    .get_mut("terminated")
                    .and_then(Value::as_object_mut)
                {
                    fill(ended, "startedAt", Value::Null);
                    fill(ended, "finishedAt", Value::Null);
                }
            }
        }
    }
}

/// In a map of strings null is the empty string.
pub(super) fn empty_strings(node: &Node, value: &mut Value) {
    let Value::Object(fields) = value else { return };
    if let Additional::Values(values) = &node.additional
        && values.value_type == Some(ValueType::String)
    {
        for field in fields.values_mut().filter(|field| field.is_null()) {
            *field = Value::from("");
        }
        return;
    }
    // Go writes no time that was never set.
    if fields.get("creationTimestamp").is_some_and(Value::is_null) {
        fields.remove("creationTimestamp");
    }
    for (name, field) in fields {
        if let Some(below) = node.properties.get(name) {
            empty_strings(below, field);
        }
    }
}
