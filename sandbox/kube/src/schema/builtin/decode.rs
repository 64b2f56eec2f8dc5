//! Whether an object can be read as its kind at all: built-in kinds are Go structures, and what does not fit one is
//! refused before anything else is looked at, in the words of Go's JSON decoder.

use super::structural;
use crate::schema::node::{Additional, Node, ValueType};
use crate::schema::{GroupVersionKind, format, go_quote, object_meta};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// Checks that every field of `object` has a value that its type can hold.
///
/// # Errors
/// The message of the API server's 400.
pub fn decode(kind: &GroupVersionKind, object: &Value) -> Result<(), String> {
    let Some(structural) = structural(kind) else {
        return Ok(());
    };
    let place = Place {
        structure: &kind.kind,
        path: String::new(),
    };
    read(structural.node(), object, &place).map_err(|why| {
        let (version, name) = (&kind.version, &kind.kind);
        format!(
            "{name} in version {} cannot be handled as a {name}: {why}",
            go_quote(version)
        )
    })
}

/// Checks the metadata of a custom object, which is a Go structure too, and drops what is empty in it.
///
/// # Errors
/// The message of the API server's 400.
pub fn decode_metadata(kind: &GroupVersionKind, object: &mut Value) -> Result<(), String> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(());
    };
    let place = Place {
        structure: "ObjectMeta",
        path: "metadata".to_owned(),
    };
    read(object_meta(), metadata, &place).map_err(|why| {
        let (version, name) = (&kind.version, &kind.kind);
        format!(
            "{name} in version {} cannot be handled as a {name}: {why}",
            go_quote(version)
        )
    })?;
    super::defaults::empty_strings(object_meta(), metadata);
    super::defaults::without_empty(object_meta(), metadata);
    Ok(())
}

/// A field of a Go structure, and the way to it.
struct Place<'p> {
    structure: &'p str,
    path: String,
}

fn read(node: &Node, value: &Value, place: &Place<'_>) -> Result<(), String> {
    if value.is_null() || node.preserve_unknown {
        return Ok(());
    }
    match (value, node.value_type) {
        _ if node.int_or_string => read_int_or_string(node, value, place),
        (Value::Object(fields), Some(ValueType::Object)) => {
            let structure = node.definition.as_deref().map_or(place.structure, type_name);
            for (name, field) in fields {
                match (node.properties.get(name), &node.additional) {
                    (Some(schema), _) => {
                        let path = if place.path.is_empty() {
                            name.clone()
                        } else {
                            format!("{}.{name}", place.path)
                        };
                        read(schema, field, &Place { structure, path })?;
                    }
                    (None, Additional::Values(schema)) => read(schema, field, place)?,
                    (None, Additional::Unspecified | Additional::Any | Additional::Nothing) => {}
                }
            }
            Ok(())
        }
        (Value::Array(items), Some(ValueType::Array)) => {
            let Some(schema) = &node.items else { return Ok(()) };
            items.iter().try_for_each(|item| read(schema, item, place))
        }
        (Value::String(text), Some(ValueType::String)) => read_text(node, text),
        (Value::Bool(_), Some(ValueType::Boolean))
        | (Value::Number(_), Some(ValueType::Number))
        | (_, None) => Ok(()),
        (Value::Number(number), Some(ValueType::Integer)) => {
            let whole = number
                .as_i64()
                .filter(|whole| node.format.as_deref() != Some("int32") || i32::try_from(*whole).is_ok());
            whole
                .map(|_| ())
                .ok_or_else(|| unfit(node, &format!("number {number}"), place))
        }
        _ => Err(unfit(node, json_name(value), place)),
    }
}

fn read_int_or_string(node: &Node, value: &Value, place: &Place<'_>) -> Result<(), String> {
    static QUANTITY: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$").ok());
    let is_quantity = node
        .definition
        .as_deref()
        .is_some_and(|name| name.ends_with(".Quantity"));
    match value {
        Value::String(text) if is_quantity => {
            let fits = QUANTITY.as_ref().is_none_or(|pattern| pattern.is_match(text));
            fits.then_some(()).ok_or_else(|| {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()
            })
        }
        Value::String(_) | Value::Number(_) => Ok(()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            Err(unfit(node, json_name(value), place))
        }
    }
}

fn read_text(node: &Node, text: &str) -> Result<(), String> {
    match node.format.as_deref() {
        Some("byte") => match STANDARD.decode(text) {
            Err(base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _)) => {
                Err(format!("illegal base64 data at input byte {at}"))
            }
            Err(_) => Err(format!("illegal base64 data at input byte {}", text.len())),
            Ok(_) => Ok(()),
        },
        Some("date-time") if !format::matches("date-time", text) => {
            let fraction = if definition(node).ends_with("MicroTime") {
                ".000000"
            } else {
                ""
            };
            let quoted = go_quote(text);
            Err(format!(
                "parsing time {quoted} as \"2006-01-02T15:04:05{fraction}Z07:00\": cannot parse {quoted} as \"2006\""
            ))
        }
        Some(_) | None => Ok(()),
    }
}

fn unfit(node: &Node, found: &str, place: &Place<'_>) -> String {
    let (structure, path, wanted) = (place.structure, &place.path, go_type(node));
    format!("json: cannot unmarshal {found} into Go struct field {structure}.{path} of type {wanted}")
}

fn definition(node: &Node) -> &str {
    node.definition.as_deref().unwrap_or_default()
}

fn type_name(definition: &str) -> &str {
    definition.rsplit('.').next().unwrap_or(definition)
}

/// `v1.Container` for `io.k8s.api.core.v1.Container`.
fn package_and_type(definition: &str) -> String {
    let mut words: Vec<&str> = definition.rsplit('.').take(2).collect();
    words.reverse();
    words.join(".")
}

fn go_type(node: &Node) -> String {
    if node.definition.is_some() {
        return package_and_type(definition(node));
    }
    match (node.value_type, node.format.as_deref()) {
        (Some(ValueType::Integer), Some("int32")) => "int32".to_owned(),
        (Some(ValueType::Integer), _) => "int64".to_owned(),
        (Some(ValueType::Number), _) => "float64".to_owned(),
        (Some(ValueType::Boolean), _) => "bool".to_owned(),
        (Some(ValueType::String), Some("byte")) => "[]uint8".to_owned(),
        (Some(ValueType::String) | None, _) => "string".to_owned(),
        (Some(ValueType::Array), _) => {
            let items = node.items.as_deref().map(go_type).unwrap_or_default();
            format!("[]{items}")
        }
        (Some(ValueType::Object), _) => match &node.additional {
            Additional::Values(values) => format!("map[string]{}", go_type(values)),
            Additional::Unspecified | Additional::Any | Additional::Nothing => "struct".to_owned(),
        },
    }
}

/// What Go's JSON decoder calls a value of this type.
pub fn json_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
