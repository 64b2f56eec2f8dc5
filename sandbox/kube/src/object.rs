//! Reading objects as the API serves them.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::access::Object;

/// An object that is shared with everybody who reads it.
pub type Shared = Arc<Object>;

/// A namespace and a name.
pub type NamespacedName = (String, String);

/// `metadata.<field>` as a string, empty where it is absent.
fn metadata<'a>(object: &'a Value, field: &str) -> &'a str {
    object["metadata"][field].as_str().unwrap_or_default()
}

/// The object's name.
pub fn name(object: &Value) -> &str {
    metadata(object, "name")
}

/// The object's namespace, empty for one without.
pub fn namespace(object: &Value) -> &str {
    metadata(object, "namespace")
}

/// The object's namespace and name.
pub fn named(object: &Value) -> NamespacedName {
    (namespace(object).to_owned(), name(object).to_owned())
}

/// False if `new` is older than what is known, because we wrote meanwhile.
pub fn is_changed(known: Option<&Value>, new: &Value) -> bool {
    known.is_none_or(|known| resource_version(known) <= resource_version(new))
}

/// The object's uid.
pub fn uid(object: &Value) -> &str {
    metadata(object, "uid")
}

/// The object's resource version as a number; 0 where it is none.
pub fn resource_version(object: &Value) -> u64 {
    metadata(object, "resourceVersion").parse().unwrap_or_default()
}

/// The object's generation, 0 where it has none.
pub fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or_default()
}

/// True once the object's deletion was asked for.
pub fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// A map of strings such as `labels` or `annotations`.
pub fn strings(map: &Value) -> BTreeMap<String, String> {
    map.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// The object's labels.
pub fn labels(object: &Value) -> BTreeMap<String, String> {
    strings(&object["metadata"]["labels"])
}

/// The value of one annotation.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// True if the object carries this finalizer.
pub fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    object["metadata"]["finalizers"]
        .as_array()
        .is_some_and(|list| list.iter().any(|entry| entry == finalizer))
}

/// The object's finalizers without one of them.
pub fn finalizers_without(object: &Value, finalizer: &str) -> Vec<Value> {
    object["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|entry| *entry != finalizer)
        .cloned()
        .collect()
}

/// A list below the object, empty where it is absent.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The list of strings that `value` is.
pub fn string_list(value: &Value) -> Vec<String> {
    list(value)
        .iter()
        .filter_map(|entry| entry.as_str().map(str::to_owned))
        .collect()
}
