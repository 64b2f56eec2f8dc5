//! Strategic merge patch: a merge patch whose lists merge by a key, as the kind's Go structures say.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::schema::Node;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &str = "$setElementOrder/";

/// Why a strategic merge patch cannot be applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StrategicError {
    /// The patch has a directive that does not exist.
    #[error("Unknown patch type: {0}")]
    UnknownDirective(String),
    /// An item of a list that merges by a key has none.
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The item.
        item: String,
        /// The key.
        key: String,
    },
    /// The patch is of another type than what it patches.
    #[error("cannot restore struct from: {0}")]
    WrongType(&'static str),
}

/// Merges `patch` into `original`.
///
/// # Errors
/// If the patch has unknown directives, items without their merge key, or is not of the original's types.
pub fn strategic_merge(node: &Node, original: &Value, patch: &Value) -> Result<Value, StrategicError> {
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else {
        return Err(StrategicError::WrongType("a value that is not an object"));
    };
    let merged = merge_maps(Some(node), original.clone(), patch)?;
    Ok(Value::Object(merged))
}

fn merge_maps(
    node: Option<&Node>,
    mut original: Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, StrategicError> {
    match patch
        .get(DIRECTIVE)
        .map(|directive| directive.as_str().unwrap_or_default())
    {
        None | Some("merge") => {}
        Some("replace") => return Ok(content(patch)),
        Some("delete") => return Ok(Map::new()),
        Some(other) => return Err(StrategicError::UnknownDirective(other.to_owned())),
    }
    if let Some(Value::Array(keys)) = patch.get(RETAIN_KEYS) {
        original.retain(|name, _| keys.iter().any(|key| key == name));
    }
    for (name, value) in patch {
        if name == DIRECTIVE || name == RETAIN_KEYS || name.starts_with(ELEMENT_ORDER) {
            continue;
        }
        if let Some(list) = name.strip_prefix(DELETE_FROM) {
            delete_from(&mut original, list, value);
            continue;
        }
        let field = node.and_then(|node| node.field(name)).map(AsRef::as_ref);
        let merged = merge_field(field, original.remove(name), value)?;
        if let Some(merged) = merged {
            original.insert(name.clone(), merged);
        }
    }
    for (name, order) in patch {
        if let Some(list) = name.strip_prefix(ELEMENT_ORDER) {
            let field = node.and_then(|node| node.field(list)).map(AsRef::as_ref);
            if let (Some(Value::Array(items)), Value::Array(order)) = (original.get_mut(list), order) {
                sort(items, order, merge_key(field));
            }
        }
    }
    Ok(original)
}

/// A field's new value; none if the patch takes it away.
fn merge_field(
    field: Option<&Node>,
    original: Option<Value>,
    patch: &Value,
) -> Result<Option<Value>, StrategicError> {
    let replaces = field.is_some_and(|field| field.patch.replace);
    Ok(match (original, patch) {
        (_, Value::Null) => None,
        (Some(Value::Object(original)), Value::Object(patch)) if !replaces => {
            Some(Value::Object(merge_maps(field, original, patch)?))
        }
        (None, Value::Object(patch)) => Some(Value::Object(merge_maps(field, Map::new(), patch)?)),
        (original, Value::Array(patch)) if field.is_some_and(|field| field.patch.merge) => {
            let items = match original {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            let item = field.and_then(|field| field.items.as_deref());
            Some(Value::Array(merge_lists(item, items, patch, merge_key(field))?))
        }
        (_, Value::Array(patch)) => Some(Value::Array(patch.iter().map(plain).collect())),
        (_, value) => Some(value.clone()),
    })
}

fn merge_key(field: Option<&Node>) -> Option<&str> {
    field?.patch.merge_key.as_deref()
}

fn merge_lists(
    item: Option<&Node>,
    mut items: Vec<Value>,
    patch: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, StrategicError> {
    let server: Vec<Value> = items.clone();
    let Some(key) = key else {
        // A set of scalars.
        for value in patch {
            if !items.contains(value) {
                items.push(value.clone());
            }
        }
        return Ok(ordered(items, &server, patch, None));
    };
    if patch.iter().any(|item| item[DIRECTIVE] == "replace") {
        return Ok(patch
            .iter()
            .filter(|item| item[DIRECTIVE] != "replace")
            .map(plain)
            .collect());
    }
    for value in patch {
        let Value::Object(change) = value else {
            return Err(StrategicError::WrongType("an item that is not an object"));
        };
        let Some(identity) = change.get(key) else {
            return Err(StrategicError::NoMergeKey {
                item: go_map(change),
                key: key.to_owned(),
            });
        };
        let known = items.iter().position(|item| item[key] == *identity);
        if change
            .get(DIRECTIVE)
            .is_some_and(|directive| directive == "delete")
        {
            items.retain(|item| item[key] != *identity);
            continue;
        }
        match known {
            Some(at) => {
                if let Value::Object(original) = items[at].take() {
                    items[at] = Value::Object(merge_maps(item, original, change)?);
                }
            }
            None => items.push(Value::Object(merge_maps(item, Map::new(), change)?)),
        }
    }
    Ok(ordered(items, &server, patch, Some(key)))
}

/// A map as Go prints it: `map[a:1 b:x]`.
fn go_map(map: &Map<String, Value>) -> String {
    let fields: Vec<String> = map
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}:{text}"),
            Value::Object(inner) => format!("{name}:{}", go_map(inner)),
            other => format!("{name}:{other}"),
        })
        .collect();
    format!("map[{}]", fields.join(" "))
}

/// The merged items in the order of the API server: those of the patch in the patch's order, and each of the others
/// before the first of the patch that it came before on the server.
fn ordered(merged: Vec<Value>, server: &[Value], patch: &[Value], key: Option<&str>) -> Vec<Value> {
    let place = |list: &[Value], item: &Value| {
        list.iter().position(|other| match key {
            Some(key) => other[key] == item[key],
            None => other == item,
        })
    };
    let (mut patched, others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(patch, item).is_some());
    patched.sort_by_key(|item| place(patch, item));
    let (mut patched, mut others) = (patched.into_iter().peekable(), others.into_iter().peekable());
    let mut list = Vec::new();
    loop {
        let other_is_next = match (others.peek(), patched.peek()) {
            (Some(_), None) => true,
            (Some(other), Some(item)) => {
                matches!((place(server, other), place(server, item)), (Some(one), Some(two)) if one < two)
            }
            (None, _) => false,
        };
        let next = if other_is_next {
            others.next()
        } else {
            patched.next()
        };
        match next {
            Some(item) => list.push(item),
            None => return list,
        }
    }
}

fn delete_from(original: &mut Map<String, Value>, list: &str, gone: &Value) {
    if let (Some(Value::Array(items)), Value::Array(gone)) = (original.get_mut(list), gone) {
        items.retain(|item| !gone.contains(item));
    }
}

/// Sorts items into the order that the patch names; others keep their place after those before them.
fn sort(items: &mut Vec<Value>, order: &[Value], key: Option<&str>) {
    let place = |item: &Value| {
        order.iter().position(|wanted| match key {
            Some(key) => wanted[key] == item[key],
            None => wanted == item,
        })
    };
    let mut last = 0;
    let mut ranked: Vec<(usize, usize, Value)> = Vec::with_capacity(items.len());
    for (at, item) in std::mem::take(items).into_iter().enumerate() {
        let rank = place(&item);
        last = rank.unwrap_or(last);
        ranked.push((last, at, item));
    }
    ranked.sort_by_key(|(rank, at, _)| (*rank, *at));
    items.extend(ranked.into_iter().map(|(_, _, item)| item));
}

/// The fields of a patch without its directives.
fn content(patch: &Map<String, Value>) -> Map<String, Value> {
    patch
        .iter()
        .filter(|(name, _)| !name.starts_with('$'))
        .map(|(name, value)| (name.clone(), plain(value)))
        .collect()
}

fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(content(fields)),
        other => other.clone(),
    }
}
