//! Filling in the defaults of a schema (`apiextensions-apiserver/pkg/apiserver/schema/defaulting`).

use super::node::{Additional, Node};
use serde_json::Value;

/// Fills in defaults, then drops nulls that neither may stand nor have a default.
pub(super) fn default(node: &Node, value: &mut Value) {
    fill(node, value);
    drop_nulls(node, value);
}

fn fill(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                if fields
                    .get(name)
                    .is_none_or(|field| is_stray_null(field, property))
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, field) in fields.iter_mut() {
                if let Some(property) = node.properties.get(name) {
                    fill(property, field);
                } else if let Additional::Values(values) = &node.additional {
                    fill_in_place(values, field);
                }
            }
        }
        Value::Array(items) => {
            for (item, schema) in items.iter_mut().zip(std::iter::repeat(node.items.as_deref())) {
                if let Some(schema) = schema {
                    fill_in_place(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill_in_place(node: &Node, value: &mut Value) {
    if let (true, Some(default)) = (is_stray_null(value, node), &node.default) {
        *value = default.clone();
    }
    fill(node, value);
}

fn drop_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, field| {
            let Some(schema) = node.field(name) else {
                return true;
            };
            if is_stray_null(field, schema) {
                return false;
            }
            drop_nulls(schema, field);
            true
        }),
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for item in items {
                    drop_nulls(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_stray_null(value: &Value, node: &Node) -> bool {
    value.is_null() && !node.nullable
}
