//! What the API server adds when an object is created, once it has its uid (the strategies' `PrepareForCreate`,
//! and the admission plugins that every cluster has).

use super::{fields, fill, items};
use crate::schema::GroupVersionKind;
use serde_json::{Map, Value, json};

/// Completes a new object, which has been defaulted and has its uid.
pub fn prepare_for_create(kind: &GroupVersionKind, object: &mut Value) {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("batch", "Job") => {
            object["status"] = json!({});
            generate_selector(object);
        }
        ("apps", "DaemonSet") => {
            object["status"] = json!({
                "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
            });
        }
        ("apps", "Deployment") => object["status"] = json!({}),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            let storage: Vec<Value> = object["spec"]["versions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|version| version["storage"] == true)
                .map(|version| version["name"].clone())
                .collect();
            object["status"] = json!({
                "conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": storage,
            });
        }
        ("", "Namespace") => {
            if let Some(spec) = fields(object, "/spec") {
                fill(spec, "finalizers", json!([]));
                if let Some(kept) = spec.get_mut("finalizers").and_then(Value::as_array_mut)
                    && !kept.iter().any(|name| name == "kubernetes")
                {
                    kept.push("kubernetes".into());
                }
            }
            object["status"] = json!({"phase": "Active"});
        }
        ("", "Pod") => pod(object),
        _ => {}
    }
}

/// A Job selects its pods by its own uid, unless its spec says otherwise.
fn generate_selector(object: &mut Value) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let (uid, name) = (
        object["metadata"]["uid"].clone(),
        object["metadata"]["name"].clone(),
    );
    let unlabelled = object["metadata"]
        .get("labels")
        .and_then(Value::as_object)
        .is_none_or(Map::is_empty);
    let shared =
        unlabelled || object["metadata"]["labels"] == object["spec"]["template"]["metadata"]["labels"];
    let Some(template) = fields(object, "/spec/template/metadata") else {
        return;
    };
    fill(template, "labels", json!({}));
    let Some(labels) = template.get_mut("labels").and_then(Value::as_object_mut) else {
        return;
    };
    for prefix in ["", "batch.kubernetes.io/"] {
        labels.insert(format!("{prefix}controller-uid"), uid.clone());
        labels.insert(format!("{prefix}job-name"), name.clone());
    }
    let labels = labels.clone();
    if shared {
        object["metadata"]["labels"] = labels.into();
    }
    let Some(spec) = fields(object, "/spec") else {
        return;
    };
    fill(spec, "selector", json!({}));
    if let Some(selector) = spec.get_mut("selector").and_then(Value::as_object_mut) {
        fill(selector, "matchLabels", json!({}));
        selector["matchLabels"]["batch.kubernetes.io/controller-uid"] = uid;
    }
}

fn pod(object: &mut Value) {
    let quality = quality_of_service(&mut object["spec"]);
    object["status"] = json!({"phase": "Pending", "qosClass": quality});
    let Some(spec) = object["spec"].as_object_mut() else {
        return;
    };
    fill(spec, "serviceAccountName", "default");
    let account = spec["serviceAccountName"].clone();
    fill(spec, "serviceAccount", account);
    fill(spec, "preemptionPolicy", "PreemptLowerPriority");
    fill(spec, "priority", 0);
    fill(spec, "tolerations", json!([]));
    let Some(tolerations) = spec.get_mut("tolerations").and_then(Value::as_array_mut) else {
        return;
    };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = tolerations.iter().any(|toleration| {
            let all = toleration.get("key").is_none() && toleration["operator"] == "Exists";
            (toleration["key"] == key || all)
                && toleration
                    .get("effect")
                    .is_none_or(|effect| effect == "NoExecute")
        });
        if !tolerated {
            tolerations.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            );
        }
    }
}

fn quality_of_service(spec: &mut Value) -> &'static str {
    let mut any = false;
    let mut all_guaranteed = true;
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            let resources = &container["resources"];
            let part =
                |name: &str, resource: &str| resources.get(name).and_then(|part| part.get(resource)).cloned();
            for resource in ["cpu", "memory"] {
                let (limit, request) = (part("limits", resource), part("requests", resource));
                any |= limit.is_some() || request.is_some();
                all_guaranteed &= limit.is_some() && (request.is_none() || request == limit);
            }
        }
    }
    match (any, all_guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
