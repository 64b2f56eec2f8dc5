//! What holds besides the schema: items of sets and maps are unique, embedded resources are resources.

use super::field_error::{ErrorType, FieldError};
use super::label;
use super::node::{ListType, Node};
use super::path::Path;
use serde_json::{Map, Value};

/// Embedded resources first, then lists, as the API server tells them.
pub(super) fn check(node: &Node, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !node.invariants_within {
        return errors;
    }
    walk(node, value, &Path::Root, &mut |node, value, path| {
        if node.embedded_resource && !matches!(path, Path::Root) {
            check_embedded(value, path, &mut errors);
        }
    });
    let mut repeated = repetitions(node, value);
    if !repeated.is_empty() && old.is_some_and(|old| !repetitions(node, old).is_empty()) {
        repeated.clear();
    }
    errors.extend(repeated);
    errors
}

fn repetitions(node: &Node, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk(node, value, &Path::Root, &mut |node, value, path| {
        if let Value::Array(items) = value {
            check_unique(&node.list_type, items, path, &mut errors);
        }
    });
    errors
}

fn walk(node: &Node, value: &Value, path: &Path<'_>, visit: &mut dyn FnMut(&Node, &Value, &Path<'_>)) {
    if !node.invariants_within {
        return;
    }
    visit(node, value, path);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(schema) = node.field(name) {
                    walk(schema, field, &Path::Field(path, name), visit);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    walk(schema, item, &Path::Item(path, index), visit);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_unique(list_type: &ListType, items: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let identities: Vec<Value> = match list_type {
        ListType::Set => items.to_vec(),
        ListType::Map(keys) => items.iter().map(|item| identity(keys, item)).collect(),
        ListType::Unspecified | ListType::Atomic => return,
    };
    for (index, identity) in identities.iter().enumerate() {
        let before = identities[..index]
            .iter()
            .filter(|other| *other == identity)
            .count();
        if before == 1 {
            let field = Path::Item(path, index).to_string();
            errors.push(FieldError::new(
                field,
                ErrorType::Duplicate,
                Some(identity.clone()),
                "",
            ));
        }
    }
}

fn identity(keys: &[String], item: &Value) -> Value {
    let named = keys
        .iter()
        .filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(named.collect::<Map<_, _>>())
}

fn check_embedded(value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Value::Object(_) = value else { return };
    let word = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let at = |name: &str| format!("{path}.{name}");
    match word("apiVersion") {
        "" => errors.push(FieldError::required(at("apiVersion"), "")),
        version if version.matches('/').count() > 1 => {
            let detail = format!("unexpected GroupVersion string: {version}");
            errors.push(FieldError::invalid(at("apiVersion"), version, detail));
        }
        _ => {}
    }
    match word("kind") {
        "" => errors.push(FieldError::required(at("kind"), "")),
        kind => {
            if let Some(broken) = label::dns_1035(&kind.to_lowercase()) {
                let detail = format!("may have mixed case, but should otherwise match: {broken}");
                errors.push(FieldError::invalid(at("kind"), kind, detail));
            }
        }
    }
    if let Some(labels) = value.pointer("/metadata/labels") {
        errors.extend(label::check(labels, &at("metadata.labels")));
    }
}
