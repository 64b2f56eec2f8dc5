//! Status feedback: values that rules read from an object on the spoke.

use serde_json::Value;

use super::wire::{FeedbackValue, FieldValue};
use kube_sandbox::jsonpath::JsonPath;
use kube_sandbox::{
    condition::{Condition, Status},
    object,
};

/// The type of the condition that reports on feedback.
pub const CONDITION: &str = "StatusFeedbackSynced";

/// The values, and the condition that goes with them.
pub fn read(object: &Value, configuration: Option<&Value>) -> (Vec<FeedbackValue>, Condition) {
    let rules = configuration.map_or(&[][..], |config| object::list(&config["feedbackRules"]));
    if rules.is_empty() {
        return (
            Vec::new(),
            Condition::new(CONDITION, Status::True, "NoStatusFeedbackSynced", ""),
        );
    }
    let mut values = Vec::new();
    let mut errors: Vec<String> = Vec::new();
    for rule in rules {
        let mut failed = Vec::new();
        read_rule(object, rule, &mut values, &mut failed);
        errors.extend(aggregate(&failed));
    }
    let condition = match aggregate(&errors) {
        None => Condition::new(CONDITION, Status::True, "StatusFeedbackSynced", ""),
        Some(error) => Condition::new(
            CONDITION,
            Status::False,
            "StatusFeedbackSyncFailed",
            format!("Sync status feedback failed with error {error}"),
        ),
    };
    (values, condition)
}

/// Several errors in one text, as apimachinery joins them.
fn aggregate(errors: &[String]) -> Option<String> {
    match errors {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

fn read_rule(object: &Value, rule: &Value, values: &mut Vec<FeedbackValue>, errors: &mut Vec<String>) {
    let mut add =
        |name: &str, path: Result<&str, String>| match path.and_then(|path| value_at(object, name, path)) {
            Ok(found) => values.extend(found),
            Err(error) => errors.push(error),
        };
    match rule["type"].as_str() {
        Some("WellKnownStatus") => {
            let paths = well_known(object);
            for (name, path) in paths {
                add(name, Ok(path));
            }
            if paths.is_empty() {
                errors.push(format!(
                    "cannot find the wellknown statuses for resource with gvk {}",
                    describe_kind(object)
                ));
            }
        }
        Some("JSONPaths") => {
            let version = object["apiVersion"].as_str().unwrap_or_default();
            let version = version.rsplit('/').next().unwrap_or_default();
            for path in object::list(&rule["jsonPaths"]) {
                let field = |name: &str| path[name].as_str().unwrap_or_default();
                let name = field("name");
                let matches = field("version").is_empty() || field("version") == version;
                let path = matches.then(|| field("path")).ok_or_else(|| {
                    format!("version set in the path {name} is not matched for the related resource")
                });
                add(name, path);
            }
        }
        _ => {}
    }
}

/// The first value at the path; none where nothing is, an error for what feedback cannot carry.
fn value_at(object: &Value, name: &str, path: &str) -> Result<Option<FeedbackValue>, String> {
    let path = JsonPath::parse(path)
        .map_err(|error| format!("failed to parse json path {path} of {name} with error: {error}"))?;
    let found = path
        .find(object)
        .map_err(|error| format!("failed to find value for {name} with error: {error}"))?;
    let Some(mut value) = found.first().copied() else {
        return Ok(None);
    };
    // Of a list of values the first is taken; of what lies deeper nothing.
    let first = value.as_array().and_then(|entries| entries.first());
    if let Some(first) = first.filter(|first| !first.is_object() && !first.is_array()) {
        value = first;
    }
    let field_value = match value {
        Value::Null => return Ok(None),
        Value::String(text) => FieldValue::String { string: text.clone() },
        Value::Bool(answer) => FieldValue::Boolean { boolean: *answer },
        Value::Number(number) if number.is_i64() => FieldValue::Integer {
            integer: number.as_i64().unwrap_or_default(),
        },
        other => {
            let kind = match other {
                Value::Object(_) => "map[string]interface {}",
                Value::Array(_) => "[]interface {}",
                _ => "float64",
            };
            return Err(format!("the type {kind} of the value for {name} is not found"));
        }
    };
    Ok(Some(FeedbackValue {
        name: name.to_owned(),
        field_value,
    }))
}

/// Group, version and kind as Go prints them.
pub fn describe_kind(object: &Value) -> String {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    let separator = if api_version.contains('/') { "" } else { "/" };
    format!("{separator}{api_version}, Kind={kind}")
}

/// The paths that OCM knows for a kind.
fn well_known(object: &Value) -> &'static [(&'static str, &'static str)] {
    match (object["apiVersion"].as_str(), object["kind"].as_str()) {
        (Some("apps/v1"), Some("Deployment")) => &[
            ("ReadyReplicas", ".status.readyReplicas"),
            ("Replicas", ".status.replicas"),
            ("AvailableReplicas", ".status.availableReplicas"),
        ],
        (Some("apps/v1"), Some("DaemonSet")) => &[
            ("NumberReady", ".status.numberReady"),
            ("DesiredNumberScheduled", ".status.desiredNumberScheduled"),
            ("NumberAvailable", ".status.numberAvailable"),
        ],
        (Some("batch/v1"), Some("Job")) => &[
            (
                "JobComplete",
                ".status.conditions[?(@.type==\"Complete\")].status",
            ),
            ("JobSucceeded", ".status.succeeded"),
        ],
        (Some("v1"), Some("Pod")) => &[
            ("PodReady", ".status.conditions[?(@.type==\"Ready\")].status"),
            ("PodPhase", ".status.phase"),
        ],
        _ => &[],
    }
}
