//! The schema of `metadata`: the same for every kind, so no kind's own schema says it.

use super::node::{Node, ValueType};
use super::parse::Parser;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The schema of `metadata` (`k8s.io/apimachinery` `ObjectMeta`).
pub fn object_meta() -> &'static Arc<Node> {
    static NODE: LazyLock<Arc<Node>> = LazyLock::new(|| {
        let definitions = BTreeMap::new();
        Parser::new(&definitions).node(&schema(), "metadata")
    });
    &NODE
}

fn schema() -> Value {
    let text = json!({"type": "string"});
    let whole = json!({"type": "integer", "format": "int64"});
    let time = json!({"type": "string", "format": "date-time", "nullable": true});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "properties": {
            "annotations": texts,
            "creationTimestamp": time,
            "deletionGracePeriodSeconds": whole,
            "deletionTimestamp": time,
            "finalizers": {
                "type": "array",
                "items": text,
                "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
            },
            "generateName": text,
            "generation": whole,
            "labels": texts,
            "managedFields": {"type": "array", "items": managed_fields(), "x-kubernetes-list-type": "atomic"},
            "name": text,
            "namespace": text,
            "ownerReferences": {
                "type": "array",
                "items": owner_reference(),
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge",
                "x-kubernetes-patch-merge-key": "uid",
            },
            "resourceVersion": text,
            "selfLink": text,
            "uid": text,
        },
    })
}

fn owner_reference() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "required": ["apiVersion", "kind", "name", "uid"],
        "x-kubernetes-map-type": "atomic",
        "properties": {
            "apiVersion": text,
            "blockOwnerDeletion": {"type": "boolean"},
            "controller": {"type": "boolean"},
            "kind": text,
            "name": text,
            "uid": text,
        },
    })
}

fn managed_fields() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {
            "apiVersion": text,
            "fieldsType": text,
            "fieldsV1": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "manager": text,
            "operation": text,
            "subresource": text,
            "time": {"type": "string", "format": "date-time"},
        },
    })
}

/// Gives a root, or an embedded resource, what every object has.
pub(super) fn add_type_and_object_meta(node: &mut Node) {
    let text = Arc::new(Node {
        value_type: Some(ValueType::String),
        ..Node::default()
    });
    for name in ["apiVersion", "kind"] {
        node.properties
            .entry(name.to_owned())
            .or_insert_with(|| Arc::clone(&text));
    }
    let mut metadata = Node::clone(object_meta());
    if let Some(own) = node.properties.get("metadata") {
        restrict(&mut metadata, own);
    }
    node.properties.insert("metadata".to_owned(), Arc::new(metadata));
}

/// A CRD may restrict `metadata.name` and `metadata.generateName`, and nothing else of it.
fn restrict(metadata: &mut Node, own: &Node) {
    for name in ["name", "generateName"] {
        if let Some(restricted) = own.properties.get(name) {
            metadata
                .properties
                .insert(name.to_owned(), Arc::clone(restricted));
        }
    }
    metadata.rules.clone_from(&own.rules);
}
