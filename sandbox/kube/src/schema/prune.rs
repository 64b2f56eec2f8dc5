//! Dropping what a schema does not know (`apiextensions-apiserver/pkg/apiserver/schema/pruning`).

use super::node::{Additional, Node};
use serde_json::Value;

/// Drops unknown fields of `value`; gives their paths, sorted.
pub(super) fn prune(node: &Node, value: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    prune_at(Some(node), value, "", &mut unknown);
    unknown.sort();
    unknown
}

fn prune_at(node: Option<&Node>, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let field_path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            match place(node, name) {
                Place::Schema(schema) => prune_at(Some(schema), field, &field_path, unknown),
                Place::Kept => {}
                Place::Untyped => prune_at(None, field, &field_path, unknown),
                Place::Unknown => {
                    unknown.push(field_path);
                    return false;
                }
            }
            true
        }),
        Value::Array(items) => {
            let schema = node.and_then(|node| node.items.as_deref());
            if schema.is_none() && node.is_some_and(|node| node.preserve_unknown) {
                return;
            }
            for (index, item) in items.iter_mut().enumerate() {
                prune_at(schema, item, &format!("{path}[{index}]"), unknown);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Where a field stands in a schema.
enum Place<'n> {
    Schema(&'n Node),
    /// Whatever it holds, it stays.
    Kept,
    /// It stays, but what it holds is unknown.
    Untyped,
    Unknown,
}

fn place<'n>(node: Option<&'n Node>, name: &str) -> Place<'n> {
    let Some(node) = node else { return Place::Unknown };
    if let Some(property) = node.properties.get(name) {
        return Place::Schema(property);
    }
    match &node.additional {
        Additional::Values(values) => Place::Schema(values),
        _ if node.preserve_unknown => Place::Kept,
        Additional::Any => Place::Untyped,
        Additional::Unspecified | Additional::Nothing => Place::Unknown,
    }
}
