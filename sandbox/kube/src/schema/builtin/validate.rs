//! The rules of built-in kinds that people run into (`k8s.io/kubernetes/pkg/apis/*/validation`).

use crate::schema::{ErrorType, FieldError, GroupVersionKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// The most that the data of a ConfigMap or a Secret may weigh, in bytes.
const MOST_DATA: usize = 1024 * 1024;
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/// What is wrong with an object that is about to be stored.
pub fn validate(kind: &GroupVersionKind, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ConfigMap") => config_map(object, &mut errors),
        ("", "Secret") => secret(object, &mut errors),
        ("", "Pod") => pod_spec(&object["spec"], "spec", &mut errors),
        ("", "Event") => event(object, &mut errors),
        ("events.k8s.io", "Event") => new_event(object, &mut errors),
        ("apps", "Deployment") => {
            workload(object, &mut errors);
            let update = &object["spec"]["strategy"]["rollingUpdate"];
            for field in ["maxUnavailable", "maxSurge"] {
                let path = format!("spec.strategy.rollingUpdate.{field}");
                percentage(&update[field], &path, &mut errors);
            }
        }
        ("apps", "DaemonSet") => workload(object, &mut errors),
        ("batch", "Job") => job(&object["spec"], &mut errors),
        ("coordination.k8s.io", "Lease") => lease(&object["spec"], &mut errors),
        ("policy", "PodDisruptionBudget") => budget(&object["spec"], &mut errors),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => rules(object, &mut errors),
        _ => {}
    }
    errors
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn not_negative(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if value.as_f64().is_some_and(|number| number < 0.0) {
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, value.clone(), why));
    }
}

fn maps<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    object[field].as_object().into_iter().flatten()
}

fn check_key(field: &str, key: &str, errors: &mut Vec<FieldError>) {
    let is_key = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    if !is_key || key == "." || key == ".." || key.len() > 253 {
        errors.push(FieldError::invalid(format!("{field}[{key}]"), key, CONFIG_KEY));
    }
}

fn config_map(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in maps(object, "data") {
        check_key("data", key, errors);
        if object["binaryData"].get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(format!("data[{key}]"), key.as_str(), why));
        }
        size += text(value).len();
    }
    for (key, value) in maps(object, "binaryData") {
        check_key("binaryData", key, errors);
        size += decoded(value);
    }
    if size > MOST_DATA {
        errors.push(too_long("[]", MOST_DATA));
    }
}

fn secret(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in maps(object, "data") {
        check_key("data", key, errors);
        size += decoded(value);
    }
    if size > MOST_DATA {
        errors.push(too_long("data", MOST_DATA));
    }
}

fn decoded(value: &Value) -> usize {
    STANDARD.decode(text(value)).map_or(0, |bytes| bytes.len())
}

fn too_long(path: &str, most: usize) -> FieldError {
    let why = format!("may not be more than {most} bytes");
    FieldError::new(path, ErrorType::TooLong, None, why)
}

fn workload(object: &Value, errors: &mut Vec<FieldError>) {
    let spec = &object["spec"];
    let (selector, labels) = (&spec["selector"], &spec["template"]["metadata"]["labels"]);
    not_negative(&spec["replicas"], "spec.replicas", errors);
    if selector.is_null() {
        errors.push(FieldError::required("spec.selector", ""));
    } else if is_empty(selector) {
        let why = "empty selector is invalid for deployment";
        errors.push(FieldError::invalid("spec.selector", selector.clone(), why));
    }
    let selects = selector["matchLabels"]
        .as_object()
        .is_none_or(|wanted| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)));
    if selector.is_null() || !selects {
        let why = "`selector` does not match template `labels`";
        errors.push(FieldError::invalid(
            "spec.template.metadata.labels",
            labels.clone(),
            why,
        ));
    }
    pod_spec(&spec["template"]["spec"], "spec.template.spec", errors);
}

fn is_empty(selector: &Value) -> bool {
    ["matchLabels", "matchExpressions"]
        .iter()
        .all(|field| match &selector[*field] {
            Value::Object(map) => map.is_empty(),
            Value::Array(list) => list.is_empty(),
            _ => true,
        })
}

fn pod_spec(spec: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let containers = spec["containers"].as_array().map_or(&[][..], Vec::as_slice);
    if containers.is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    let mut seen = Vec::new();
    for (at, container) in containers.iter().enumerate() {
        let place = format!("{path}.containers[{at}]");
        let name = text(&container["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{place}.name"), ""));
        }
        if path == "spec.template.spec" && text(&container["image"]).is_empty() {
            errors.push(FieldError::required(format!("{place}.image"), ""));
        }
        if !name.is_empty() && seen.contains(&name) {
            let field = format!("{place}.name");
            errors.push(FieldError::new(
                field,
                ErrorType::Duplicate,
                Some(name.into()),
                "",
            ));
        }
        seen.push(name);
    }
}

fn job(spec: &Value, errors: &mut Vec<FieldError>) {
    const TEMPLATE: &str = "spec.template.spec";
    for field in [
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
    ] {
        not_negative(&spec[field], &format!("spec.{field}"), errors);
    }
    pod_spec(&spec["template"]["spec"], TEMPLATE, errors);
    match text(&spec["template"]["spec"]["restartPolicy"]) {
        "OnFailure" | "Never" => {}
        "" | "Always" => errors.push(FieldError::required(
            format!("{TEMPLATE}.restartPolicy"),
            "valid values: \"OnFailure\", \"Never\"",
        )),
        other => errors.push(FieldError::not_supported(
            format!("{TEMPLATE}.restartPolicy"),
            other,
            &["OnFailure", "Never"],
        )),
    }
}

fn lease(spec: &Value, errors: &mut Vec<FieldError>) {
    let seconds = &spec["leaseDurationSeconds"];
    if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
        let why = "must be greater than 0";
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            seconds.clone(),
            why,
        ));
    }
    not_negative(&spec["leaseTransitions"], "spec.leaseTransitions", errors);
}

fn budget(spec: &Value, errors: &mut Vec<FieldError>) {
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::invalid("spec", spec.clone(), why));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        percentage(&spec[field], &format!("spec.{field}"), errors);
    }
}

/// A number that is not negative, or a percentage.
fn percentage(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    not_negative(value, path, errors);
    if let Some(text) = value.as_str() {
        let digits = text.strip_suffix('%').unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            errors.push(FieldError::invalid(path, text, PERCENT));
        }
    }
}

fn rules(object: &Value, errors: &mut Vec<FieldError>) {
    for (at, rule) in object["rules"].as_array().into_iter().flatten().enumerate() {
        let is_missing = |field: &str| rule[field].as_array().is_none_or(Vec::is_empty);
        let mut demand = |field: &str, why: &str| {
            if is_missing(field) {
                errors.push(FieldError::required(format!("rules[{at}].{field}"), why));
            }
        };
        demand("verbs", "verbs must contain at least one value");
        if is_missing("nonResourceURLs") {
            demand("apiGroups", "resource rules must supply at least one api group");
            demand("resources", "resource rules must supply at least one resource");
        }
    }
}

fn event(object: &Value, errors: &mut Vec<FieldError>) {
    let (namespace, involved) = (
        text(&object["metadata"]["namespace"]),
        text(&object["involvedObject"]["namespace"]),
    );
    // What lives in no namespace has its events in `default`.
    let fits = involved == namespace || (involved.is_empty() && namespace == "default");
    if !fits {
        let why = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", involved, why));
    }
}

fn new_event(object: &Value, errors: &mut Vec<FieldError>) {
    let empty = Map::new();
    let fields = object.as_object().unwrap_or(&empty);
    let missing = |name: &str| {
        fields
            .get(name)
            .is_none_or(|value| value.is_null() || value == "")
    };
    if missing("eventTime") {
        errors.push(FieldError::required("eventTime", ""));
    }
    if !matches!(text(&object["type"]), "Normal" | "Warning") {
        let why = format!("has invalid value: {}", text(&object["type"]));
        errors.push(FieldError::invalid("type", text(&object["type"]), why));
    }
}
