//! Walks over objects with their schema: check, list the paths, remove paths.

use super::field_path::{Path, PathSet, Step};
use super::shape::{Items, ListShape, MapShape, ScalarKind, Shape, Type, shape};
use crate::schema::{Node, go_quote};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// Checks that an object fits its schema well enough to be merged; errors are prefixed by their path.
pub(super) fn check(node: &Node, object: &Value, duplicates_allowed: bool) -> Result<(), String> {
    let mut checker = Checker {
        duplicates_allowed,
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

impl Place<'_> {
    /// Who manages the fields; what it may be is checked where it is read.
    fn is_managed_fields(&self) -> bool {
        matches!(
            self,
            Self::Field(Self::Field(Self::Root, "metadata"), "managedFields")
        )
    }
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

struct Checker {
    duplicates_allowed: bool,
    errors: Vec<String>,
}

impl Checker {
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
            let below = Place::Field(path, name);
            if below.is_managed_fields() {
                continue;
            }
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
            if !self.duplicates_allowed && seen.contains(&step) {
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
    let mut set = PathSet::default();
    collect(Type::root(node), object, &mut Vec::new(), &mut set);
    set
}

fn collect(place: Type<'_>, value: &Value, path: &mut Path, set: &mut PathSet) {
    match (shape(place, value), value) {
        (Shape::Scalar(_), _) => set.insert(path),
        (Shape::Map(map), _) if map.whole => set.insert(path),
        (Shape::Map(map), Value::Object(fields)) => {
            for (name, below) in fields {
                path.push(Step::field(name));
                if let Some(field) = map.field(name) {
                    collect(field, below, path, set);
                }
                let is_empty = below.is_null() || below.as_object().is_some_and(Map::is_empty);
                if is_empty || !map.names(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        (Shape::List(list), _) if matches!(list.items, Items::Whole) => set.insert(path),
        (Shape::List(list), Value::Array(items)) => collect_items(&list, items, path, set),
        (Shape::Map(_) | Shape::List(_), _) => {}
    }
}

fn collect_items(list: &ListShape<'_>, items: &[Value], path: &mut Path, set: &mut PathSet) {
    let steps: Vec<Option<Step>> = items.iter().map(|item| list.step(item).ok()).collect();
    for (item, step) in items.iter().zip(&steps) {
        let Some(step) = step else { continue };
        let is_alone = steps.iter().flatten().filter(|other| *other == step).count() == 1;
        path.push(step.clone());
        if is_alone {
            collect(list.element, item, path, set);
        }
        set.insert(path);
        path.pop();
    }
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
    let (members, children) = set.parts();
    let mut members = members.clone();
    let children = children.iter().map(|(step, child)| {
        let below = match step {
            Step::Field(name) => {
                if as_map.is_some_and(|map| map.names(name)) {
                    members.insert(step.clone());
                }
                as_map.and_then(|map| map.field(name))
            }
            Step::Key(_) => as_list.map(|list| list.element),
            Step::Value(_) | Step::Index(_) => None,
        };
        (step.clone(), named_fields(below, child))
    });
    let children = children.collect();
    PathSet::from_parts(members, children)
}
