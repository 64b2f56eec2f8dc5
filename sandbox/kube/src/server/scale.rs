//! The scale subresource: a view of an object's replicas, by the paths its kind names.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Origin, ScalePaths, ServedKind, Status};
use crate::store::Object;

/// The `Scale` of an object.
///
/// # Errors
/// 404 if the kind has none.
pub(super) fn read(kind: &ServedKind, object: &Object) -> Result<Arc<Object>, Status> {
    let paths = paths(kind)?;
    let metadata = &object["metadata"];
    let mut scale = json!({
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {
            "name": metadata["name"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
            "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {},
        "status": {"replicas": number(object, &paths.status)},
    });
    match at(object, &paths.spec).and_then(Value::as_i64) {
        Some(0) if kind.origin == Origin::BuiltIn => {}
        Some(wanted) => scale["spec"]["replicas"] = wanted.into(),
        None if kind.origin == Origin::BuiltIn => {}
        None => {
            return Err(Status::internal(format!(
                "the spec replicas field {:?} does not exist",
                paths.spec
            )));
        }
    }
    if let Some(namespace) = object.namespace() {
        scale["metadata"]["namespace"] = namespace.into();
    }
    let selector = match &paths.selector {
        Some(path) => at(object, path).and_then(Value::as_str).map(str::to_owned),
        None => object
            .get("spec")
            .and_then(|spec| spec.get("selector"))
            .map(selector_text),
    };
    if let Some(selector) = selector {
        scale["status"]["selector"] = selector.into();
    }
    Ok(Arc::new(Object::new(scale, object.revision())))
}

/// The object with the replicas that a `Scale` asks for; a `resourceVersion` in the scale stays a precondition.
///
/// # Errors
/// 404 if the kind has no scale, 422 for a number that cannot be.
pub(super) fn replaced(kind: &ServedKind, live: &Object, scale: &Value) -> Result<Value, Status> {
    let paths = paths(kind)?;
    let wanted = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    if wanted < 0 {
        let cause = super::Cause::invalid(
            "spec.replicas",
            &Value::from(wanted),
            "must be greater than or equal to 0",
        );
        return Err(Status::invalid_of(
            "autoscaling",
            "Scale",
            live.name(),
            vec![cause],
        ));
    }
    let mut value = live.value().clone();
    let mut place = &mut value;
    for field in paths.spec.trim_start_matches('.').split('.') {
        place = &mut place[field];
    }
    *place = wanted.into();
    let version = &scale["metadata"]["resourceVersion"];
    if let Some(metadata) = value["metadata"].as_object_mut() {
        if version.is_string() {
            metadata.insert("resourceVersion".to_owned(), version.clone());
        } else {
            metadata.remove("resourceVersion");
        }
    }
    Ok(value)
}

fn paths(kind: &ServedKind) -> Result<&ScalePaths, Status> {
    kind.scale.as_ref().ok_or_else(Status::no_such_path)
}

fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.trim_start_matches('.')
        .split('.')
        .try_fold(object, |value, field| value.get(field))
}

fn number(object: &Value, path: &str) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or(0)
}

/// A selector in text form: that of a replication controller is a map, that of others has `matchLabels`.
fn selector_text(selector: &Value) -> String {
    let labels = selector.get("matchLabels").unwrap_or(selector);
    let labels = labels.as_object().into_iter().flatten();
    labels
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect::<Vec<_>>()
        .join(",")
}
