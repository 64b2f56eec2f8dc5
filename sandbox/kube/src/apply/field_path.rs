//! Steps into an object, as `fieldsV1` writes them down.

use crate::schema::go_quote;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A scalar with the order that sets of paths use: numbers, strings, booleans, lists, objects, null.
#[derive(Clone, Debug)]
pub struct Literal(pub Value);

impl Literal {
    fn length_without_escapes(&self) -> usize {
        match &self.0 {
            // A key's quotes are escaped within the key of `fieldsV1`.
            Value::String(text) => text.len() + 4,
            other => other.to_string().len(),
        }
    }

    fn rank(&self) -> u8 {
        match self.0 {
            Value::Number(_) => 0,
            Value::String(_) => 1,
            Value::Bool(_) => 2,
            Value::Array(_) => 3,
            Value::Object(_) => 4,
            Value::Null => 5,
        }
    }
}

impl Ord for Literal {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = match (&self.0, &other.0) {
            (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left.cmp(&right),
                _ => left
                    .as_f64()
                    .unwrap_or(0.0)
                    .total_cmp(&right.as_f64().unwrap_or(0.0)),
            },
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            (left, right) => left.to_string().cmp(&right.to_string()),
        };
        self.rank().cmp(&other.rank()).then(by_value)
    }
}

impl PartialOrd for Literal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Literal {}

impl fmt::Display for Literal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => formatter.write_str(&go_quote(text)),
            other => write!(formatter, "{other}"),
        }
    }
}

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// A field of an object (`f:name`).
    Field(String),
    /// An item of a list map, by its keys (`k:{…}`).
    Key(BTreeMap<String, Literal>),
    /// An item of a set, by its value (`v:…`).
    Value(Literal),
    /// An item by its index (`i:0`); read for completeness, never written.
    Index(i64),
}

impl Step {
    /// The step to a field.
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// The form within `fieldsV1`.
    pub fn encode(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => {
                let keys: Map<String, Value> = keys
                    .iter()
                    .map(|(name, value)| (name.clone(), value.0.clone()))
                    .collect();
                format!("k:{}", Value::Object(keys))
            }
            Self::Value(value) => format!("v:{}", value.0),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    /// No less than the length of its form if no character in it needs an escape.
    pub(super) fn length_without_escapes(&self) -> usize {
        match self {
            Self::Field(name) => name.len(),
            Self::Key(keys) => keys
                .iter()
                .map(|(name, value)| name.len() + 7 + value.length_without_escapes())
                .sum(),
            Self::Value(value) => value.length_without_escapes(),
            Self::Index(_) => 20,
        }
    }

    /// Reads the form within `fieldsV1`.
    pub fn decode(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        Some(match kind {
            "f" => Self::field(rest),
            "k" => {
                let keys: Map<String, Value> = serde_json::from_str(rest).ok()?;
                Self::Key(
                    keys.into_iter()
                        .map(|(name, value)| (name, Literal(value)))
                        .collect(),
                )
            }
            "v" => Self::Value(Literal(serde_json::from_str(rest).ok()?)),
            "i" => Self::Index(rest.parse().ok()?),
            _ => return None,
        })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(keys) => {
                let keys: Vec<String> = keys
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(formatter, "[{}]", keys.join(","))
            }
            Self::Value(value) => write!(formatter, "[={value}]"),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// A path from the root of an object.
pub type Path = Vec<Step>;

/// A path as a conflict names it: `.spec.ports[port=80].name`.
pub fn display(path: &[Step]) -> String {
    path.iter().map(ToString::to_string).collect()
}
