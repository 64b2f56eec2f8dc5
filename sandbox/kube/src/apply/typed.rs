//! Walks over objects with their schema: check, list the paths, remove paths.

use super::field_path::Step;
use super::path_set::PathSet;
use super::reset::ResetFields;
use super::shape::{Items, ListShape, MapShape, ScalarKind, Shape, Type, shape};
use crate::schema::{Node, go_quote};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What of an object is checked, and how strictly.
pub(super) struct Scope {
    /// Whether items of a list may come twice.
    pub duplicates_allowed: bool,
    /// Fields that are not looked at: whatever is sent of them, they stay as they are.
    pub reset: ResetFields,
}

impl Scope {
    /// All that a client sent.
    pub const SENT: Self = Self {
        duplicates_allowed: false,
        reset: ResetFields::none(),
    };
    /// All that is there already.
    pub const STORED: Self = Self {
        duplicates_allowed: true,
        reset: ResetFields::none(),
    };
}

/// Checks that an object fits its schema well enough to be merged; errors are prefixed by their path.
pub(super) fn check(node: &Node, object: &Value, scope: &Scope) -> Result<(), String> {
    let mut checker = Checker {
        scope,
        errors: Vec::new(),
    };
    checker.value(Type::root(node), object, &Place::Root);
    match checker.errors.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => {
            let lines: Vec<String> = several.iter().map(|error| format!("\n  {error}")).collect();
            Err(format!("errors:{}", lines.concat()))
        }
    }
}

/// Where a walk is. Becomes text only where something is wrong: every write is walked over, and nearly all are fine.
#[derive(Clone, Copy)]
enum Place<'p> {
    Root,
    Field(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, &'p Step),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Item(above, step) => write!(f, "{above}{step}"),
        }
    }
}

struct Checker<'s> {
    scope: &'s Scope,
    errors: Vec<String>,
}

impl Checker<'_> {
    fn fail(&mut self, path: &Place<'_>, message: &str) {
        self.errors.push(match path {
            Place::Root => message.to_owned(),
            below => format!("{below}: {message}"),
        });
    }

    fn value(&mut self, place: Type<'_>, value: &Value, path: &Place<'_>) {
        match (shape(place, value), value) {
            (_, Value::Null) => {}
            (Shape::Scalar(kind), _) => self.scalar(kind, value, path),
            (Shape::Map(map), Value::Object(fields)) => self.map(&map, fields, path),
            (Shape::Map(_), other) => self.fail(path, &format!("expected map, got &{{{}}}", go_value(other))),
            (Shape::List(list), Value::Array(items)) => self.list(&list, items, path),
            (Shape::List(_), other) => {
                self.fail(path, &format!("expected list, got &{{{}}}", go_value(other)));
            }
        }
    }

    fn scalar(&mut self, kind: ScalarKind, value: &Value, path: &Place<'_>) {
        let message = match (kind, value) {
            (ScalarKind::Numeric, Value::Number(_))
            | (ScalarKind::String, Value::String(_))
            | (ScalarKind::Boolean, Value::Bool(_))
            | (ScalarKind::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => return,
            (ScalarKind::Numeric, other) => {
                format!("expected numeric (int or float), got {}", go_type(other))
            }
            (ScalarKind::String, other) => {
                format!(
                    "expected string, got &value.valueUnstructured{{Value:{}}}",
                    go_value(other)
                )
            }
            (ScalarKind::Boolean, other) => format!("expected boolean, got &{{{}}}", go_value(other)),
            (ScalarKind::Untyped, other) => format!("expected any scalar, got &{{{}}}", go_value(other)),
        };
        self.fail(path, &message);
    }

    fn map(&mut self, map: &MapShape<'_>, fields: &Map<String, Value>, path: &Place<'_>) {
        for (name, value) in fields {
            if matches!(path, Place::Root) && self.scope.reset.has(name) {
                continue;
            }
            let below = Place::Field(path, name);
            match map.field(name) {
                Some(place) => self.value(place, value, &below),
                None => self.fail(&below, "field not declared in schema"),
            }
        }
    }

    fn list(&mut self, list: &ListShape<'_>, items: &[Value], path: &Place<'_>) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let step = match list.items {
                Items::Whole => Step::Index(index as i64),
                Items::Set | Items::Keyed(_) => match list.step(item) {
                    Ok(step) => step,
                    Err(message) => return self.fail(path, &format!("element {index}: {message}")),
                },
            };
            if !self.scope.duplicates_allowed && seen.contains(&step) {
                self.fail(path, &format!("duplicate entries for key {step}"));
            }
            self.value(list.element, item, &Place::Item(path, &step));
            seen.insert(step);
        }
    }
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

fn go_value(value: &Value) -> String {
    match value {
        Value::String(text) => go_quote(text).trim_matches('"').to_owned(),
        other => other.to_string(),
    }
}

/// All paths an object mentions.
pub(super) fn paths(node: &Node, object: &Value) -> PathSet {
    mentioned(Type::root(node), object).below
}

/// The paths that a value mentions: its own, if it is a leaf, and those below it.
#[derive(Default)]
struct Mentioned {
    itself: bool,
    below: PathSet,
}

fn mentioned(place: Type<'_>, value: &Value) -> Mentioned {
    let leaf = || Mentioned {
        itself: true,
        ..Mentioned::default()
    };
    let mut below = PathSet::default();
    match (shape(place, value), value) {
        (Shape::Scalar(_), _) => return leaf(),
        (Shape::Map(map), _) if map.whole => return leaf(),
        (Shape::Map(map), Value::Object(fields)) => {
            for (name, value) in fields {
                let field = map.field(name).map(|field| mentioned(field, value));
                let field = field.unwrap_or_default();
                let is_empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                let is_member = field.itself || is_empty || !map.names(name);
                below.put(Step::field(name), is_member, field.below);
            }
        }
        (Shape::List(list), _) if matches!(list.items, Items::Whole) => return leaf(),
        (Shape::List(list), Value::Array(items)) => below = mentioned_items(&list, items),
        (Shape::Map(_) | Shape::List(_), _) => {}
    }
    Mentioned { itself: false, below }
}

/// An item that occurs twice is mentioned as a whole.
fn mentioned_items(list: &ListShape<'_>, items: &[Value]) -> PathSet {
    let mut found: BTreeMap<Step, Option<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(step) = list.step(item) {
            found
                .entry(step)
                .and_modify(|only| *only = None)
                .or_insert(Some(item));
        }
    }
    let mut set = PathSet::default();
    for (step, only) in found {
        let below = only.map(|item| mentioned(list.element, item).below);
        set.put(step, true, below.unwrap_or_default());
    }
    set
}

/// The object without the paths of the set.
pub(super) fn remove(node: &Node, object: &Value, paths: &PathSet) -> Value {
    without(Type::root(node), object, paths).unwrap_or(Value::Null)
}

fn without(place: Type<'_>, value: &Value, paths: &PathSet) -> Option<Value> {
    match (shape(place, value), value) {
        (Shape::Scalar(_), _) => Some(value.clone()),
        (Shape::Map(map), Value::Object(fields)) if !map.whole => {
            let mut kept = Map::new();
            for (name, below) in fields {
                let step = Step::field(name);
                if paths.has_member(&step) {
                    continue;
                }
                let below = match (paths.below(&step), map.field(name)) {
                    (Some(subset), Some(field)) => without(field, below, subset).unwrap_or(Value::Null),
                    _ => below.clone(),
                };
                kept.insert(name.clone(), below);
            }
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        (Shape::List(list), Value::Array(items)) if !matches!(list.items, Items::Whole) => {
            let kept: Vec<Value> = items
                .iter()
                .filter_map(|item| item_without(&list, item, paths))
                .collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        (Shape::Map(_) | Shape::List(_), _) => None,
    }
}

fn item_without(list: &ListShape<'_>, item: &Value, paths: &PathSet) -> Option<Value> {
    let Ok(step) = list.step(item) else {
        return Some(item.clone());
    };
    if paths.has_member(&step) {
        return None;
    }
    match paths.below(&step) {
        Some(subset) => Some(without(list.element, item, subset).unwrap_or(Value::Null)),
        None => Some(item.clone()),
    }
}

/// The set in which each named field that has something below it is a member itself.
pub(super) fn with_named_fields(node: &Node, set: &PathSet) -> PathSet {
    named_fields(Some(Type::root(node)), set)
}

fn named_fields(place: Option<Type<'_>>, set: &PathSet) -> PathSet {
    let as_map = place.and_then(|place| match shape(place, &Value::Null) {
        Shape::Map(map) => Some(map),
        Shape::List(_) | Shape::Scalar(_) => None,
    });
    let as_list = place.and_then(|place| match shape(place, &Value::Array(Vec::new())) {
        Shape::List(list) => Some(list),
        Shape::Map(_) | Shape::Scalar(_) => None,
    });
    let mut named = PathSet::default();
    for (step, is_member, below) in set.steps() {
        let (is_named, place) = match step {
            Step::Field(name) => (
                as_map.is_some_and(|map| map.names(name)),
                as_map.and_then(|map| map.field(name)),
            ),
            Step::Key(_) => (false, as_list.map(|list| list.element)),
            Step::Value(_) | Step::Index(_) => (false, None),
        };
        let is_member = is_member || (is_named && !below.is_empty());
        named.put(step.clone(), is_member, named_fields(place, below));
    }
    named
}
