//! Defaults of the kinds that run nothing.

use super::{fields, fill, items, made_fields};
use crate::schema::GroupVersionKind;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(super) fn default(kind: &GroupVersionKind, object: &mut Value) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Namespace") => namespace(object),
        ("", "Secret") => secret(object),
        ("", "Service") => service(object),
        ("", "Event") => event(object),
        ("events.k8s.io", "Event") => {
            if let Some(fields) = object.as_object_mut() {
                fill(fields, "regarding", json!({}));
                fill(fields, "deprecatedSource", json!({}));
                for time in ["eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"] {
                    fill(fields, time, Value::Null);
                }
            }
        }
        ("coordination.k8s.io", "Lease") => {
            made_fields(object, "spec");
        }
        ("", "Node") => with_spec_and_status(object),
        ("rbac.authorization.k8s.io", _) => access(object),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(object),
        ("policy", "PodDisruptionBudget") => {
            let none =
                json!({"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0});
            status(object, none);
        }
        _ => {}
    }
}

fn set(object: &mut Value, defaults: &[(&str, &str)]) {
    if let Some(fields) = object.as_object_mut() {
        defaults
            .iter()
            .for_each(|(name, default)| fill(fields, name, *default));
    }
}

fn status(object: &mut Value, default: Value) {
    if let (Some(status), Value::Object(default)) = (made_fields(object, "status"), default) {
        default
            .into_iter()
            .for_each(|(name, value)| fill(status, &name, value));
    }
}

fn with_spec_and_status(object: &mut Value) {
    made_fields(object, "spec");
    made_fields(object, "status");
}

/// Every namespace can be selected by its name.
fn namespace(object: &mut Value) {
    let Some(name) = object["metadata"]["name"].as_str().map(str::to_owned) else {
        return;
    };
    if let Some(labels) = made_fields(&mut object["metadata"], "labels") {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
    made_fields(object, "spec");
    made_fields(object, "status")
        .into_iter()
        .for_each(|status| fill(status, "phase", "Active"));
}

fn secret(object: &mut Value) {
    set(object, &[("type", "Opaque")]);
    let plain = object
        .as_object_mut()
        .and_then(|fields| fields.remove("stringData"));
    let Some(Value::Object(plain)) = plain else { return };
    let Some(data) = made_fields(object, "data") else {
        return;
    };
    for (key, text) in plain {
        data.insert(key, STANDARD.encode(text.as_str().unwrap_or_default()).into());
    }
}

fn service(object: &mut Value) {
    made_fields(object, "spec");
    for port in items(&mut object["spec"], "ports").filter_map(Value::as_object_mut) {
        fill(port, "protocol", "TCP");
        let number = port.get("port").cloned().unwrap_or_else(|| 0.into());
        fill(port, "targetPort", number);
    }
    if let Some(spec) = fields(object, "/spec") {
        fill(spec, "sessionAffinity", "None");
        fill(spec, "type", "ClusterIP");
        if spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" {
            fill(spec, "externalTrafficPolicy", "Cluster");
        }
        if spec["type"] != "ExternalName" {
            fill(spec, "internalTrafficPolicy", "Cluster");
        }
    }
    status(object, json!({"loadBalancer": {}}));
}

fn event(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    fill(fields, "involvedObject", json!({}));
    fill(fields, "source", json!({}));
    fill(fields, "reportingComponent", "");
    fill(fields, "reportingInstance", "");
    for time in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        fill(fields, time, Value::Null);
    }
}

fn default_ports(object: &mut Value) {
    items(object, "ports")
        .filter_map(Value::as_object_mut)
        .for_each(|port| fill(port, "protocol", "TCP"));
}

fn access(object: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    fields(object, "/roleRef")
        .into_iter()
        .for_each(|role| fill(role, "apiGroup", GROUP));
    for subject in items(object, "subjects").filter_map(Value::as_object_mut) {
        if subject
            .get("kind")
            .is_some_and(|kind| kind == "User" || kind == "Group")
        {
            fill(subject, "apiGroup", GROUP);
        }
    }
}

fn network_policy(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else {
        return;
    };
    for direction in ["ingress", "egress"] {
        items(spec, direction).for_each(default_ports);
    }
    let has_egress = spec
        .get("egress")
        .and_then(Value::as_array)
        .is_some_and(|rules| !rules.is_empty());
    let types = if has_egress {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    spec.as_object_mut()
        .into_iter()
        .for_each(|spec| fill(spec, "policyTypes", types.clone()));
}
