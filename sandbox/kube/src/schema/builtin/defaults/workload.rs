//! Defaults of what runs pods: `apps` and `batch`.

use super::{fill, items, pod};
use serde_json::{Map, Value, json};

pub(super) fn default(kind: &str, object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        fill(fields, "spec", json!({}));
        fill(fields, "status", json!({}));
    }
    match kind {
        "Job" => job(object),
        "Deployment" => deployment(&mut object["spec"]),
        "DaemonSet" => daemon_set(&mut object["spec"]),
        _ => {}
    }
}

fn job(object: &mut Value) {
    let spec = &mut object["spec"];
    pod::template_of(spec);
    for rule in spec
        .get_mut("podFailurePolicy")
        .into_iter()
        .flat_map(|policy| items(policy, "rules"))
    {
        for pattern in items(rule, "onPodConditions").filter_map(Value::as_object_mut) {
            fill(pattern, "status", "True");
        }
    }
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    if !fields.contains_key("completions") && !fields.contains_key("parallelism") {
        fill(fields, "completions", 1);
    }
    fill(fields, "parallelism", 1);
    let limit_per_index = fields.contains_key("backoffLimitPerIndex");
    fill(fields, "backoffLimit", if limit_per_index { i32::MAX } else { 6 });
    fill(fields, "completionMode", "NonIndexed");
    fill(fields, "suspend", false);
    fill(fields, "manualSelector", false);
    let replaces_failed = fields.contains_key("podFailurePolicy");
    fill(
        fields,
        "podReplacementPolicy",
        if replaces_failed {
            "Failed"
        } else {
            "TerminatingOrFailed"
        },
    );
    labels_of_template(object);
}

/// An object without labels has those of its template.
fn labels_of_template(object: &mut Value) {
    let labels = object.pointer("/spec/template/metadata/labels").cloned();
    let Some(labels) = labels.filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty()))
    else {
        return;
    };
    if let Some(metadata) = object["metadata"].as_object_mut()
        && metadata
            .get("labels")
            .and_then(Value::as_object)
            .is_none_or(Map::is_empty)
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

fn deployment(spec: &mut Value) {
    pod::template_of(spec);
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "progressDeadlineSeconds", 600);
    rolling(
        spec,
        "strategy",
        &json!({"maxUnavailable": "25%", "maxSurge": "25%"}),
    );
}

fn daemon_set(spec: &mut Value) {
    pod::template_of(spec);
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    fill(spec, "revisionHistoryLimit", 10);
    rolling(
        spec,
        "updateStrategy",
        &json!({"maxUnavailable": 1, "maxSurge": 0}),
    );
}

fn rolling(spec: &mut Map<String, Value>, name: &str, parameters: &Value) {
    fill(spec, name, json!({}));
    let Some(strategy) = spec.get_mut(name).and_then(Value::as_object_mut) else {
        return;
    };
    fill(strategy, "type", "RollingUpdate");
    if strategy["type"] != "RollingUpdate" {
        return;
    }
    fill(strategy, "rollingUpdate", json!({}));
    let given = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut);
    let (Some(given), Some(parameters)) = (given, parameters.as_object()) else {
        return;
    };
    for (name, default) in parameters {
        fill(given, name, default.clone());
    }
}
