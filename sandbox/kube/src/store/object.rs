//! A stored version of an object: immutable, shared by everybody who reads it, and turned into text at most once.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::apply::ManagedFields;

/// One version of one object. Dereferences to its JSON value without `metadata.managedFields`: half of an object is who manages
/// its fields, which nearly nobody asks for. (One read from a remote server keeps what that server sent.)
pub struct Object {
    value: Value,
    managed: ManagedFields,
    revision: u64,
    // Everything but `apiVersion` and `kind`, so that the same text serves every version and every list.
    tail: OnceLock<Bytes>,
}

impl Object {
    /// Takes a value that already carries its `metadata.resourceVersion`.
    pub fn new(value: Value, revision: u64) -> Self {
        Self::managed(value, ManagedFields::default(), revision)
    }

    /// The same with who manages its fields.
    pub fn managed(value: Value, managed: ManagedFields, revision: u64) -> Self {
        Self {
            value,
            managed,
            revision,
            tail: OnceLock::new(),
        }
    }

    /// The value with `apiVersion` and `kind`, without `metadata.managedFields`.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Who manages its fields.
    pub fn managed_fields(&self) -> &ManagedFields {
        &self.managed
    }

    /// The value with `metadata.managedFields`, as clients get it.
    pub fn complete(&self) -> Cow<'_, Value> {
        if self.managed.is_empty() {
            return Cow::Borrowed(&self.value);
        }
        let mut value = self.value.clone();
        value["metadata"]["managedFields"] = json!(self.managed);
        Cow::Owned(value)
    }

    /// Its metadata with `managedFields`.
    pub fn complete_metadata(&self) -> Value {
        let mut metadata = self.value["metadata"].clone();
        if !self.managed.is_empty() {
            metadata["managedFields"] = json!(self.managed);
        }
        metadata
    }

    /// The store's revision at which this version was written (0 for an object read from a remote server).
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// `metadata.name`, or the empty string.
    pub fn name(&self) -> &str {
        metadata_text(&self.value, "name")
    }

    /// `metadata.namespace`, absent for cluster-scoped objects.
    pub fn namespace(&self) -> Option<&str> {
        Some(metadata_text(&self.value, "namespace")).filter(|namespace| !namespace.is_empty())
    }

    /// `metadata.uid`, or the empty string.
    pub fn uid(&self) -> &str {
        metadata_text(&self.value, "uid")
    }

    /// `metadata.resourceVersion`, or the empty string.
    pub fn resource_version(&self) -> &str {
        metadata_text(&self.value, "resourceVersion")
    }

    /// `metadata.generation`, or 0.
    pub fn generation(&self) -> i64 {
        self.value["metadata"]["generation"].as_i64().unwrap_or(0)
    }

    /// Whether deletion has begun (`metadata.deletionTimestamp` is set).
    pub fn is_deleting(&self) -> bool {
        self.value["metadata"]["deletionTimestamp"].is_string()
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.value.get("metadata")?.get("labels")?.get(key)?.as_str()
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.value.get("metadata")?.get("annotations")?.get(key)?.as_str()
    }

    /// Whether `metadata.finalizers` has `finalizer`.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        finalizers(&self.value).any(|present| present == finalizer)
    }

    /// A copy of its value with another status.
    pub fn with_status(&self, status: Value) -> Value {
        let fields = self.value.as_object().into_iter().flatten();
        let mut copy: Map<String, Value> = fields
            .filter(|(name, _)| *name != "status")
            .map(|(name, field)| (name.clone(), field.clone()))
            .collect();
        copy.insert("status".to_owned(), status);
        copy.into()
    }

    /// Its place in its collection.
    pub fn key(&self) -> super::Key {
        super::Key {
            namespace: self.namespace().map(str::to_owned),
            name: self.name().to_owned(),
        }
    }

    /// The object's JSON text from its second field on, without `apiVersion`, `kind` and the opening brace; ends with
    /// the closing brace. Written once, on first use.
    pub fn tail(&self) -> &Bytes {
        self.tail.get_or_init(|| tail_of(&self.value, &self.managed))
    }

    /// The whole JSON text, with the given `apiVersion` and `kind`.
    pub fn text(&self, api_version: &str, kind: &str) -> Bytes {
        let tail = self.tail();
        let mut text = Vec::with_capacity(tail.len() + api_version.len() + kind.len() + 32);
        self.write_text(&mut text, Some((api_version, kind)));
        text.into()
    }

    /// Appends the JSON text to `out`, with `apiVersion` and `kind` if they are given.
    pub fn write_text(&self, out: &mut Vec<u8>, type_meta: Option<(&str, &str)>) {
        let tail = self.tail();
        out.push(b'{');
        if let Some((api_version, kind)) = type_meta {
            out.extend_from_slice(b"\"apiVersion\":\"");
            out.extend_from_slice(api_version.as_bytes());
            out.extend_from_slice(b"\",\"kind\":\"");
            out.extend_from_slice(kind.as_bytes());
            out.push(b'"');
            if tail.len() > 1 {
                out.push(b',');
            }
        }
        out.extend_from_slice(tail);
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value)
    }
}

/// Serialised without its first two fields: the map is walked field by field instead of being cloned.
fn tail_of(value: &Value, managed: &ManagedFields) -> Bytes {
    let empty = Map::new();
    let fields = value.as_object().unwrap_or(&empty);
    let mut text = Vec::with_capacity(1024);
    for (name, field) in fields {
        if name == "apiVersion" || name == "kind" {
            continue;
        }
        if !text.is_empty() {
            text.push(b',');
        }
        append(&mut text, &Value::from(name.as_str()));
        text.push(b':');
        append(&mut text, field);
        if name == "metadata" && !managed.is_empty() {
            // An object that somebody manages has a name: there is a field before this one.
            text.truncate(text.len() - 1);
            text.extend_from_slice(br#","managedFields":"#);
            append(&mut text, managed);
            text.push(b'}');
        }
    }
    text.push(b'}');
    text.into()
}

fn append(text: &mut Vec<u8>, value: &impl Serialize) {
    // Writing to memory does not fail, and no key of what is written here is anything but a string.
    let _ = serde_json::to_writer(text, value);
}

fn metadata_text<'a>(value: &'a Value, field: &str) -> &'a str {
    value
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or("")
}

/// The entries of `metadata.finalizers`.
pub fn finalizers(value: &Value) -> impl Iterator<Item = &str> {
    value
        .get("metadata")
        .and_then(|metadata| metadata.get("finalizers"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_object_reads_back_as_the_object_in_any_version() {
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a\"b"}, "data": {"k": "v"}});
        let object = Object::new(value.clone(), 1);
        let text: Value = serde_json::from_slice(&object.text("v1", "ConfigMap")).unwrap();
        assert_eq!(text, value);
        let other: Value = serde_json::from_slice(&object.text("v2", "ConfigMap")).unwrap();
        assert_eq!(other["apiVersion"], "v2");
        let mut item = Vec::new();
        object.write_text(&mut item, None);
        assert_eq!(
            serde_json::from_slice::<Value>(&item).unwrap(),
            json!({"metadata": {"name": "a\"b"}, "data": {"k": "v"}})
        );
    }

    #[test]
    fn an_object_with_nothing_but_its_type_is_valid_text() {
        let object = Object::new(json!({"apiVersion": "v1", "kind": "Pod"}), 1);
        let text: Value = serde_json::from_slice(&object.text("v1", "Pod")).unwrap();
        assert_eq!(text, json!({"apiVersion": "v1", "kind": "Pod"}));
    }
}
