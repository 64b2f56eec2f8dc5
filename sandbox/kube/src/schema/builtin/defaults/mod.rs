//! The defaults of built-in kinds (`k8s.io/kubernetes/pkg/apis/*/v1/defaults.go`): those a user sees.

mod core;
mod creation;
mod pod;
mod quantity;
mod workload;
mod written;

use super::structural;
use crate::schema::GroupVersionKind;
use serde_json::{Map, Value};

pub use creation::prepare_for_create;
pub(super) use written::{empty_strings, without_empty};

/// Fills in what the API server fills in whenever it reads an object of this kind; drops nulls.
pub fn default(kind: &GroupVersionKind, object: &mut Value) {
    if let Some(structural) = structural(kind) {
        written::empty_strings(structural.node(), object);
        structural.default(object);
        quantity::make_canonical(structural.node(), object);
    }
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "Pod") => pod::pod(object),
        ("apps" | "batch", _) => workload::default(&kind.kind, object),
        _ => core::default(kind, object),
    }
    written::complete(&kind.kind, object);
    if let Some(structural) = structural(kind) {
        written::without_empty(structural.node(), object);
    }
}

/// A place that holds fields, if it is one.
fn fields<'v>(value: &'v mut Value, pointer: &str) -> Option<&'v mut Map<String, Value>> {
    value.pointer_mut(pointer)?.as_object_mut()
}

/// The same, made where it is absent.
fn made_fields<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Map<String, Value>> {
    let parent = value.as_object_mut()?;
    parent
        .entry(name)
        .or_insert_with(|| Value::Object(Map::new()))
        .as_object_mut()
}

/// Sets a field that is absent.
fn fill(fields: &mut Map<String, Value>, name: &str, default: impl Into<Value>) {
    fields.entry(name).or_insert_with(|| default.into());
}

/// The items of a list in an object.
fn items<'v>(value: &'v mut Value, name: &str) -> impl Iterator<Item = &'v mut Value> {
    value
        .get_mut(name)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}
