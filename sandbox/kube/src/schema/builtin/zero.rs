//! What a built-in object holds before anybody has set anything: the fields that Go writes even when they are empty
//! (structures that are no pointers, lists without `omitempty`). Who sets something inside owns that, not the field itself.

use crate::schema::GroupVersionKind;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static EMPTY: LazyLock<BTreeMap<&'static str, Value>> = LazyLock::new(|| {
    let template = json!({"metadata": {}, "spec": {"containers": []}});
    let plain = || json!({"metadata": {}, "spec": {}, "status": {}});
    let without_status = |spec: Value| json!({"metadata": {}, "spec": spec});
    let with = |spec: Value| json!({"metadata": {}, "spec": spec, "status": {}});
    let workload = |more: &str| with(json!({"template": template, more: {}}));
    BTreeMap::from([
        ("Deployment", workload("strategy")),
        ("DaemonSet", workload("updateStrategy")),
        ("Job", with(json!({"template": template}))),
        ("Pod", with(json!({"containers": []}))),
        (
            "CustomResourceDefinition",
            json!({"metadata": {}, "spec": {"names": {}}, "status": {"acceptedNames": {}}}),
        ),
        ("RoleBinding", json!({"metadata": {}, "roleRef": {}})),
        ("ClusterRoleBinding", json!({"metadata": {}, "roleRef": {}})),
        (
            "Node",
            json!({"metadata": {}, "spec": {}, "status": {"daemonEndpoints": {"kubeletEndpoint": {}}, "nodeInfo": {}}}),
        ),
        (
            "Service",
            json!({"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}}),
        ),
        ("NetworkPolicy", without_status(json!({"podSelector": {}}))),
        ("Lease", without_status(json!({}))),
        ("Namespace", plain()),
        ("PodDisruptionBudget", plain()),
        ("ValidatingAdmissionPolicy", plain()),
        ("ValidatingAdmissionPolicyBinding", without_status(json!({}))),
    ])
});

/// What a kind without an entry of its own always has.
static METADATA: LazyLock<Value> = LazyLock::new(|| json!({"metadata": {}}));

static EVENT: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "metadata": {}, "involvedObject": {}, "source": {}, "eventTime": null, "firstTimestamp": null,
        "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "",
    })
});

static EVENT_OF_GROUP: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "metadata": {}, "regarding": {}, "deprecatedSource": {}, "eventTime": null,
        "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
    })
});

/// An object with the empty fields that its kind always has; nearly all that are stored have them.
pub fn complete_empty<'o>(kind: &GroupVersionKind, object: &'o Value) -> Cow<'o, Value> {
    let empty = match (kind.kind.as_str(), kind.group.as_str()) {
        ("Event", "events.k8s.io") => &EVENT_OF_GROUP,
        ("Event", _) => &EVENT,
        (kind, _) => EMPTY.get(kind).unwrap_or(&METADATA),
    };
    if has(object, empty) {
        return Cow::Borrowed(object);
    }
    let mut completed = object.clone();
    fill(&mut completed, empty);
    Cow::Owned(completed)
}

fn has(object: &Value, empty: &Value) -> bool {
    let (Some(fields), Some(empty)) = (object.as_object(), empty.as_object()) else {
        return true;
    };
    empty.iter().all(|(name, value)| match fields.get(name) {
        Some(Value::Null) => value.is_null(),
        Some(present) => has(present, value),
        None => false,
    })
}

fn fill(object: &mut Value, empty: &Value) {
    let (Some(fields), Some(empty)) = (object.as_object_mut(), empty.as_object()) else {
        return;
    };
    for (name, value) in empty {
        match fields.get_mut(name) {
            Some(present) if !present.is_null() => fill(present, value),
            Some(_) | None => {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}
