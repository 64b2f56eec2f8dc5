//! What makes a schema structural: every place says what it is, lists that are maps say by which keys, defaults fit.

use serde_json::Value;

use crate::schema::{ErrorType, FieldError, Node, Structural};

/// What keeps a schema from being structural.
pub(super) fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if schema["type"] != "object" {
        let why = "must be object at the root";
        errors.push(match schema["type"].as_str() {
            Some(other) => FieldError::invalid(format!("{path}.type"), other, why),
            None => FieldError::required(format!("{path}.type"), "must not be empty at the root"),
        });
    }
    below(schema, path, &mut errors);
    errors
}

fn below(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let place = format!("{path}.properties[{name}]");
        say_type(
            property,
            &place,
            "must not be empty for specified object fields",
            errors,
        );
        below(property, &place, errors);
    }
    if schema["items"].is_object() {
        let place = format!("{path}.items");
        say_type(
            &schema["items"],
            &place,
            "must not be empty for specified array items",
            errors,
        );
        below(&schema["items"], &place, errors);
    }
    if schema["additionalProperties"].is_object() {
        let place = format!("{path}.additionalProperties");
        let why = "must not be empty for specified object fields";
        say_type(&schema["additionalProperties"], &place, why, errors);
        below(&schema["additionalProperties"], &place, errors);
    }
    check_list(schema, path, errors);
}

fn say_type(schema: &Value, path: &str, why: &str, errors: &mut Vec<FieldError>) {
    let is_open = schema["x-kubernetes-int-or-string"] == true
        || schema["x-kubernetes-preserve-unknown-fields"] == true;
    if schema["type"].as_str().unwrap_or_default().is_empty() && !is_open {
        errors.push(FieldError::required(format!("{path}.type"), why));
    }
}

fn check_list(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let list_type = schema["x-kubernetes-list-type"].as_str().unwrap_or_default();
    let field = format!("{path}.x-kubernetes-list-map-keys");
    let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !matches!(list_type, "" | "atomic" | "set" | "map") {
        let field = format!("{path}.x-kubernetes-list-type");
        errors.push(FieldError::not_supported(
            field,
            list_type,
            &["atomic", "map", "set"],
        ));
    }
    if list_type != "map" {
        if !keys.is_empty() {
            let why = "must be empty if x-kubernetes-list-type is not map";
            errors.push(FieldError::forbidden(field, why));
        }
        return;
    }
    if keys.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(field, why));
        return;
    }
    let item = &schema["items"];
    let required = item["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (at, key) in keys.iter().enumerate() {
        let property = &item["properties"][*key];
        if property.is_null() {
            let why = "entries must all be names of item properties";
            errors.push(FieldError::invalid(format!("{field}[{at}]"), *key, why));
        } else if property["default"].is_null() && !required.iter().any(|name| name == key) {
            let place = format!("{path}.items.properties[{key}].default");
            let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(place, why));
        }
    }
}

/// Defaults that are not what their own schema allows.
pub(super) fn check_defaults(node: &Node, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, property) in &node.properties {
        let place = format!("{path}.properties[{name}]");
        if let Some(default) = &property.default {
            errors.extend(
                Structural::type_errors(property, default)
                    .into_iter()
                    .map(|error| FieldError {
                        field: format!("{place}.default{}", error.field),
                        ..error
                    }),
            );
        }
        errors.extend(check_defaults(property, &place));
    }
    if let Some(items) = &node.items {
        errors.extend(check_defaults(items, &format!("{path}.items")));
    }
    errors.retain(|error| error.error_type != ErrorType::InternalError);
    errors
}
