//! What a built-in object holds before anybody has set anything: the fields that Go writes even when they are empty
//! (structures that are no pointers, lists without `omitempty`). Who sets something inside owns that, not the field itself.

use crate::schema::GroupVersionKind;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static EMPTY: LazyLock<BTreeMap<&'static str, Value>> = LazyLock::new(|| {
    let template = json!({"metadata": {}, "spec": {"containers": []}});
    let plain = || json!({"metadata": {}, "spec": {}, "status": {}});
    let without_status = |spec: Value| json!({"metadata": {}, "spec": spec});
    let with = |spec: Value| json!({"metadata": {}, "spec": spec, "status": {}});
    let workload = |more: &str| with(json!({"template": template, more: {}}));
    let load_balancer = || json!({"metadata": {}, "spec": {}, "status": {"loadBalancer": {}}});
    BTreeMap::from([
        ("Deployment", workload("strategy")),
        ("DaemonSet", workload("updateStrategy")),
        ("StatefulSet", workload("updateStrategy")),
        ("ReplicaSet", with(json!({"template": template}))),
        ("Job", with(json!({"template": template}))),
        (
            "CronJob",
            with(json!({"jobTemplate": {"metadata": {}, "spec": {"template": template}}})),
        ),
        ("Pod", with(json!({"containers": []}))),
        ("PodTemplate", json!({"metadata": {}, "template": template})),
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
        ("Service", load_balancer()),
        ("Ingress", load_balancer()),
        ("PersistentVolumeClaim", with(json!({"resources": {}}))),
        ("HorizontalPodAutoscaler", with(json!({"scaleTargetRef": {}}))),
        ("NetworkPolicy", without_status(json!({"podSelector": {}}))),
        ("Lease", without_status(json!({}))),
        ("Namespace", plain()),
        ("PodDisruptionBudget", plain()),
        ("ReplicationController", plain()),
        ("IngressClass", without_status(json!({}))),
        ("LimitRange", without_status(json!({}))),
        ("ResourceQuota", plain()),
        ("PersistentVolume", plain()),
        ("APIService", plain()),
        ("ValidatingAdmissionPolicy", plain()),
        ("ValidatingAdmissionPolicyBinding", without_status(json!({}))),
    ])
});

/// Adds to an object the empty fields that its kind always has.
pub fn complete_empty(kind: &GroupVersionKind, object: &mut Value) {
    let event = match kind.group.as_str() {
        "events.k8s.io" => json!({
            "metadata": {}, "regarding": {}, "deprecatedSource": {}, "eventTime": null,
            "deprecatedFirstTimestamp": null, "deprecatedLastTimestamp": null,
        }),
        _ => json!({
            "metadata": {}, "involvedObject": {}, "source": {}, "eventTime": null, "firstTimestamp": null,
            "lastTimestamp": null, "reportingComponent": "", "reportingInstance": "",
        }),
    };
    if kind.kind == "Event" {
        return fill(object, &event);
    }
    match EMPTY.get(kind.kind.as_str()) {
        Some(empty) => fill(object, empty),
        None => fill(object, &json!({"metadata": {}})),
    }
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
