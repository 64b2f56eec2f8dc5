//! What Go writes although nobody set it: numbers and times without `omitempty`, structures that are no pointers.

use super::{fill, items, made_fields};
use crate::schema::node::{Additional, Node, ValueType};
use serde_json::{Value, json};

const CONDITION_TIMES: &[(&str, &[&str])] = &[
    ("Deployment", &["lastUpdateTime", "lastTransitionTime"]),
    ("DaemonSet", &["lastTransitionTime"]),
    ("Job", &["lastProbeTime", "lastTransitionTime"]),
    ("Pod", &["lastProbeTime", "lastTransitionTime"]),
    ("Node", &["lastHeartbeatTime", "lastTransitionTime"]),
    ("Namespace", &["lastTransitionTime"]),
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
            if let Some(status) = made_fields(object, "status") {
                for name in [
                    "currentNumberScheduled",
                    "numberMisscheduled",
                    "desiredNumberScheduled",
                    "numberReady",
                ] {
                    fill(status, name, 0);
                }
            }
        }
        "Node" => node(object),
        "Pod" => pod(object),
        _ => {}
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
pub(in crate::schema::builtin) fn empty_strings(node: &Node, value: &mut Value) {
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

/// Lists that Go writes even when they are empty: as null.
const NULL_WHEN_EMPTY: &[&str] = &["rules", "containers"];

/// Empty maps and lists are not written.
pub(in crate::schema::builtin) fn without_empty(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| {
                let Some(below) = node.properties.get(name) else {
                    return true;
                };
                without_empty(below, field);
                let is_map = matches!(below.additional, Additional::Values(_)) && below.properties.is_empty();
                match field {
                    Value::Object(map) if map.is_empty() && is_map => false,
                    Value::Array(list) if list.is_empty() => {
                        let is_kept = NULL_WHEN_EMPTY.contains(&name.as_str());
                        *field = Value::Null;
                        is_kept
                    }
                    _ => true,
                }
            });
        }
        Value::Array(list) => {
            if let Some(item) = &node.items {
                list.iter_mut().for_each(|value| without_empty(item, value));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
