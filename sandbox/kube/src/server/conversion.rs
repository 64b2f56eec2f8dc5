//! Between the form in which an object is stored and the one in which it is asked for: another version of a custom
//! kind differs by `apiVersion` and by the fields that it knows; the two groups' Events name their fields differently.

use std::sync::Arc;

use serde_json::Value;

use super::ServedKind;
use crate::store::Object;

/// Event fields in the core group and in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("source", "deprecatedSource"),
    ("reportingComponent", "reportingController"),
];

/// The object as readers of `kind` see it.
pub(super) fn presented(kind: &ServedKind, object: &Arc<Object>) -> Arc<Object> {
    let api_version = object
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let same = match api_version.split_once('/') {
        Some((group, version)) => group == kind.group && version == kind.version,
        None => kind.group.is_empty() && api_version == kind.version,
    };
    if same {
        return Arc::clone(object);
    }
    let mut value = object.value().clone();
    value["apiVersion"] = Value::from(kind.api_version());
    if kind.is("events.k8s.io", "Event") {
        rename(&mut value, |(core, new)| (core, new));
    }
    if let Some(schema) = &kind.schema {
        schema.prune(&mut value);
    }
    let managed = object.managed_fields().clone();
    Arc::new(Object::managed(value, managed, object.revision()))
}

/// A value that a client sent in the version of `kind`, in the form in which it is stored; `storage` is the custom kind's
/// version for that, where it is another one.
pub(super) fn stored(kind: &ServedKind, storage: Option<&ServedKind>, mut value: Value) -> Value {
    if kind.storage_api_version != kind.api_version() {
        value["apiVersion"] = Value::from(kind.storage_api_version.as_str());
        if kind.is("events.k8s.io", "Event") {
            rename(&mut value, |(core, new)| (new, core));
        }
        if let Some(schema) = storage.and_then(|storage| storage.schema.as_ref()) {
            schema.prune(&mut value);
            schema.default(&mut value);
        }
    }
    value
}

fn rename(
    value: &mut Value,
    direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    for (from, to) in EVENT_FIELDS.map(direction) {
        if let Some(field) = fields.remove(from) {
            fields.insert(to.to_owned(), field);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_of_the_new_group_reads_in_the_core_group_and_back() {
        let registry = super::super::builtin::registry();
        let new = registry.find("events.k8s.io", "v1", "events").unwrap();
        let sent = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "regarding": {"kind": "Pod"}});
        let kept = stored(new, None, sent.clone());
        assert_eq!(
            kept,
            json!({"apiVersion": "v1", "kind": "Event", "message": "n", "involvedObject": {"kind": "Pod"}})
        );
        assert_eq!(presented(new, &Arc::new(Object::new(kept, 1))).value(), &sent);
    }
}
