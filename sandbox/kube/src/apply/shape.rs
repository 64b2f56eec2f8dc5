//! What a schema says about merging one value: scalar, list or map, whole or item by item.

use super::field_path::{Literal, Step};
use crate::schema::{Additional, ListType, Node, ValueType, go_quote};
use serde_json::Value;
use std::collections::BTreeMap;

/// The type of a place, as merging sees it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Type<'s> {
    /// A schema says; the flag tells whether unknown fields are kept here.
    Declared(&'s Node, bool),
    /// Nothing is said: objects merge field by field, lists as a whole.
    Deduced,
    /// Nothing is said within something that merges as a whole.
    Whole,
}

impl<'s> Type<'s> {
    /// The type of the root of an object.
    pub(super) fn root(node: &'s Node) -> Self {
        Self::declared(node, false)
    }

    fn declared(node: &'s Node, keeps_unknown: bool) -> Self {
        Self::Declared(node, keeps_unknown || node.preserve_unknown)
    }
}

/// Which scalars a place accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarKind {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// How the items of a list are distinguished.
#[derive(Clone, Copy, Debug)]
pub(super) enum Items<'s> {
    Whole,
    Set,
    Keyed(&'s [String]),
}

/// A list as merging sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListShape<'s> {
    pub items: Items<'s>,
    pub element: Type<'s>,
}

/// An object as merging sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MapShape<'s> {
    pub whole: bool,
    node: Option<&'s Node>,
    rest: Option<Type<'s>>,
    keeps_unknown: bool,
}

impl<'s> MapShape<'s> {
    /// The type of a field; `None` when the schema does not know it.
    pub(super) fn field(&self, name: &str) -> Option<Type<'s>> {
        match self.node.and_then(|node| node.properties.get(name)) {
            Some(property) => Some(Type::declared(property, self.keeps_unknown)),
            None => self.rest,
        }
    }

    /// Whether the field is named in the schema (and not a key of a map).
    pub(super) fn names(&self, name: &str) -> bool {
        self.node.is_some_and(|node| node.properties.contains_key(name))
    }
}

/// One of the three forms a value may take.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'s> {
    Map(MapShape<'s>),
    Scalar(ScalarKind),
    List(ListShape<'s>),
}

impl Shape<'_> {
    /// Whether two values of the same type take the same form.
    pub(super) fn same_form(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// The form of `value` under its type; null takes the first form the type allows.
pub(super) fn shape<'s>(place: Type<'s>, value: &Value) -> Shape<'s> {
    let form = match value {
        Value::Object(_) | Value::Null => ValueType::Object,
        Value::Array(_) => ValueType::Array,
        Value::String(_) | Value::Number(_) | Value::Bool(_) => ValueType::String,
    };
    match place {
        Type::Deduced => match form {
            ValueType::Object => Shape::Map(free_map(false)),
            ValueType::Array => Shape::List(ListShape {
                items: Items::Whole,
                element: Type::Whole,
            }),
            _ => Shape::Scalar(ScalarKind::Untyped),
        },
        Type::Whole => match form {
            ValueType::Object => Shape::Map(free_map(true)),
            ValueType::Array => Shape::List(ListShape {
                items: Items::Whole,
                element: Type::Whole,
            }),
            _ => Shape::Scalar(ScalarKind::Untyped),
        },
        Type::Declared(node, keeps_unknown) => declared_shape(node, keeps_unknown, form),
    }
}

fn free_map<'s>(whole: bool) -> MapShape<'s> {
    let rest = if whole { Type::Whole } else { Type::Deduced };
    MapShape {
        whole,
        node: None,
        rest: Some(rest),
        keeps_unknown: false,
    }
}

fn declared_shape(node: &Node, keeps_unknown: bool, form: ValueType) -> Shape<'_> {
    match node.value_type {
        Some(ValueType::Object) => Shape::Map(map_shape(node, keeps_unknown)),
        Some(ValueType::Array) => Shape::List(list_shape(node, keeps_unknown)),
        Some(ValueType::Boolean) => Shape::Scalar(ScalarKind::Boolean),
        Some(ValueType::Integer | ValueType::Number) => Shape::Scalar(ScalarKind::Numeric),
        Some(ValueType::String) => Shape::Scalar(match node.format.as_deref() {
            None | Some("" | "byte") => ScalarKind::String,
            Some(_) => ScalarKind::Untyped,
        }),
        None => match form {
            ValueType::Object => Shape::Map(map_shape(node, keeps_unknown)),
            ValueType::Array => Shape::List(list_shape(node, keeps_unknown)),
            _ => Shape::Scalar(ScalarKind::Untyped),
        },
    }
}

fn map_shape(node: &Node, keeps_unknown: bool) -> MapShape<'_> {
    let rest = match &node.additional {
        Additional::Values(values) => Some(Type::declared(values, keeps_unknown)),
        Additional::Any => Some(Type::Deduced),
        Additional::Nothing => None,
        Additional::Unspecified => (keeps_unknown || node.properties.is_empty()).then_some(Type::Deduced),
    };
    MapShape {
        whole: node.atomic_map,
        node: Some(node),
        rest,
        keeps_unknown,
    }
}

fn list_shape(node: &Node, keeps_unknown: bool) -> ListShape<'_> {
    let items = match &node.list_type {
        ListType::Unspecified | ListType::Atomic => Items::Whole,
        ListType::Set => Items::Set,
        ListType::Map(keys) => Items::Keyed(keys),
    };
    let element = node
        .items
        .as_ref()
        .map_or(Type::Whole, |items| Type::declared(items, keeps_unknown));
    ListShape { items, element }
}

impl ListShape<'_> {
    /// The step to an item, or why it cannot be distinguished from the others.
    pub(super) fn step(&self, item: &Value) -> Result<Step, String> {
        match self.items {
            Items::Whole => Err("invalid indexing of non-associative list".to_owned()),
            Items::Set => set_step(item),
            Items::Keyed(keys) => self.keyed_step(keys, item),
        }
    }

    fn keyed_step(&self, keys: &[String], item: &Value) -> Result<Step, String> {
        let Value::Object(fields) = item else {
            let what = if item.is_null() {
                "a null element"
            } else {
                "non-map elements"
            };
            return Err(format!("associative list with keys may not have {what}"));
        };
        let mut found = BTreeMap::new();
        for key in keys {
            let default = || match self.element {
                // A string of a built-in type that is no pointer is empty when it is missing.
                Type::Declared(node, _) if node.definition.is_some() => {
                    let property = node.properties.get(key)?;
                    let is_text = property.value_type == Some(ValueType::String);
                    property
                        .default
                        .clone()
                        .or_else(|| is_text.then(|| Value::from("")))
                }
                Type::Declared(node, _) => node.properties.get(key)?.default.clone(),
                Type::Deduced | Type::Whole => None,
            };
            if let Some(value) = fields.get(key).cloned().or_else(default) {
                found.insert(key.clone(), Literal(value));
            }
        }
        if found.is_empty() && !keys.is_empty() {
            let quoted: Vec<String> = keys.iter().map(|key| go_quote(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                quoted.join(" ")
            ));
        }
        Ok(Step::Key(found))
    }
}

fn set_step(item: &Value) -> Result<Step, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(Step::Value(Literal(scalar.clone()))),
    }
}
