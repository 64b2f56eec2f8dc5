//! Walking an object along a path.

use super::{JsonPathError, Node, Slice};
use serde_json::Value;
use std::cmp::Ordering;

type Found<'a> = Result<Vec<&'a Value>, JsonPathError>;

/// Applies all steps one after the other.
pub(super) fn list<'a>(nodes: &'a [Node], input: Vec<&'a Value>) -> Found<'a> {
    nodes.iter().try_fold(input, |current, node| step(node, &current))
}

fn step<'a>(node: &'a Node, input: &[&'a Value]) -> Found<'a> {
    match node {
        Node::Field(name) => Ok(input
            .iter()
            .filter_map(|value| value.as_object()?.get(name))
            .collect()),
        Node::Literal(literal) => Ok(vec![literal; input.len().max(1)]),
        Node::Identifier(name) => Err(JsonPathError::new(format!("unrecognized identifier {name}"))),
        Node::Wildcard => Ok(input.iter().flat_map(|value| children(value)).collect()),
        Node::Recursive => Ok(input.iter().flat_map(|value| descendants(value)).collect()),
        Node::Slice(slice) => sliced(slice, input),
        Node::Union(branches) => {
            let mut found = Vec::new();
            for branch in branches {
                found.extend(list(branch, input.to_vec())?);
            }
            Ok(found)
        }
        Node::Filter {
            left,
            operator,
            right,
        } => filtered(left, operator, right, input),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn descendants(value: &Value) -> Vec<&Value> {
    let below = children(value);
    if below.is_empty() {
        return Vec::new();
    }
    let mut found = vec![value];
    found.extend(below.into_iter().flat_map(descendants));
    found
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn sliced<'a>(slice: &Slice, input: &[&'a Value]) -> Found<'a> {
    let mut found = Vec::new();
    for value in input {
        let items = match value {
            Value::Null => continue,
            Value::Array(items) => items,
            other => {
                return Err(JsonPathError::new(format!(
                    "{} is not array or slice",
                    go_type(other)
                )));
            }
        };
        let length = items.len() as i64;
        let mut start = slice.start.unwrap_or(0);
        if start < 0 {
            start += length;
        }
        let mut end = slice.end.unwrap_or(length);
        if end < 0 || (end == 0 && slice.end_is_derived) {
            end += length;
        }
        if start == end {
            return Ok(found);
        }
        let outside = |index: i64| {
            JsonPathError::new(format!(
                "array index out of bounds: index {index}, length {length}"
            ))
        };
        if start >= length || start < 0 {
            return Err(outside(start));
        }
        if end > length || end < 0 {
            return Err(outside(end - 1));
        }
        if start > end {
            let message = format!("starting index {start} is greater than ending index {end}");
            return Err(JsonPathError::new(message));
        }
        let step = slice.step.unwrap_or(1);
        if step <= 0 {
            return Err(JsonPathError::new("step must be > 0"));
        }
        found.extend(items[start as usize..end as usize].iter().step_by(step as usize));
    }
    Ok(found)
}

fn filtered<'a>(left: &'a [Node], operator: &str, right: &'a [Node], input: &[&'a Value]) -> Found<'a> {
    let mut found = Vec::new();
    for value in input {
        let Value::Array(items) = value else {
            let message = format!("{} is not array or slice and cannot be filtered", go_print(value));
            return Err(JsonPathError::new(message));
        };
        for item in items {
            if passes(left, operator, right, item)? {
                found.push(item);
            }
        }
    }
    Ok(found)
}

fn passes<'a>(
    left: &'a [Node],
    operator: &str,
    right: &'a [Node],
    item: &'a Value,
) -> Result<bool, JsonPathError> {
    let lefts = list(left, vec![item]);
    if operator == "exists" {
        return Ok(lefts.is_ok_and(|lefts| !lefts.is_empty()));
    }
    let Some(left) = single(&lefts?)? else {
        return Ok(false);
    };
    let Some(right) = single(&list(right, vec![item])?)? else {
        return Ok(false);
    };
    let order = || compare(left, right);
    match operator {
        "==" => equal(left, right),
        "!=" => equal(left, right).map(|same| !same),
        "<" => order().map(Ordering::is_lt),
        "<=" => order().map(Ordering::is_le),
        ">" => order().map(Ordering::is_gt),
        ">=" => order().map(Ordering::is_ge),
        other => Err(JsonPathError::new(format!(
            "unrecognized filter operator {other}"
        ))),
    }
}

fn single<'a>(found: &[&'a Value]) -> Result<Option<&'a Value>, JsonPathError> {
    match found {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(JsonPathError::new("can only compare one element at a time")),
    }
}

fn incompatible() -> JsonPathError {
    JsonPathError::new("incompatible types for comparison")
}

fn not_comparable() -> JsonPathError {
    JsonPathError::new("invalid type for comparison")
}

fn equal(left: &Value, right: &Value) -> Result<bool, JsonPathError> {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::String(left), Value::String(right)) => Ok(left == right),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => Ok(left == right),
        (Value::Null | Value::Array(_) | Value::Object(_), _)
        | (_, Value::Null | Value::Array(_) | Value::Object(_)) => Err(not_comparable()),
        _ => Err(incompatible()),
    }
}

fn compare(left: &Value, right: &Value) -> Result<Ordering, JsonPathError> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Ok(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            let (left, right) = (left.as_f64().unwrap_or(0.0), right.as_f64().unwrap_or(0.0));
            Ok(left.total_cmp(&right))
        }
        (Value::String(_) | Value::Number(_) | Value::Bool(_), Value::String(_) | Value::Number(_)) => {
            Err(incompatible())
        }
        _ => Err(not_comparable()),
    }
}

/// A value as Go's `%v` prints it.
fn go_print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(go_print).collect::<Vec<_>>().join(" "))
        }
        Value::Object(fields) => {
            let entries = fields
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_print(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
    }
}
