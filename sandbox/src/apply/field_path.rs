//! Steps into an object, and sets of paths: what `fieldsV1` writes down.

use crate::schema::go_quote;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A scalar with the order that sets of paths use: numbers, strings, booleans, lists, objects, null.
#[derive(Clone, Debug)]
pub struct Literal(pub Value);

impl Literal {
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

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathSet {
    members: BTreeSet<Step>,
    children: BTreeMap<Step, PathSet>,
}

impl PathSet {
    /// Adds a path; the root itself cannot be a member.
    pub fn insert(&mut self, path: &[Step]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether it holds no path.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// Whether the step from the root is a member.
    pub fn has_member(&self, step: &Step) -> bool {
        self.members.contains(step)
    }

    /// Whether the path is in the set.
    pub fn has(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.has(rest)),
        }
    }

    /// The paths below a step, if there are any.
    pub fn below(&self, step: &Step) -> Option<&Self> {
        self.children.get(step).filter(|child| !child.is_empty())
    }

    /// The paths of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        joined.absorb(other);
        joined
    }

    /// Adds the paths of another set.
    pub fn absorb(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (step, theirs) in &other.children {
            match self.children.get_mut(step) {
                Some(child) => child.absorb(theirs),
                None => {
                    self.children.insert(step.clone(), theirs.clone());
                }
            }
        }
    }

    /// Whether a path is in both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (few, many) = if self.members.len() < other.members.len() {
            (&self.members, &other.members)
        } else {
            (&other.members, &self.members)
        };
        few.iter().any(|step| many.contains(step))
            || self.children.iter().any(|(step, child)| {
                let theirs = other.children.get(step);
                theirs.is_some_and(|theirs| child.overlaps(theirs))
            })
    }

    /// Whether all paths of `other` are in this set.
    pub fn covers(&self, other: &Self) -> bool {
        other.members.iter().all(|step| self.members.contains(step))
            && other.children.iter().all(|(step, theirs)| {
                let child = self.children.get(step);
                child.map_or_else(|| theirs.is_empty(), |child| child.covers(theirs))
            })
    }

    /// The paths of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(step, child)| {
            let shared = child.intersection(other.children.get(step)?);
            (!shared.is_empty()).then(|| (step.clone(), shared))
        });
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// The paths that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(step, child)| {
            let rest = other
                .children
                .get(step)
                .map_or_else(|| child.clone(), |theirs| child.difference(theirs));
            (!rest.is_empty()).then(|| (step.clone(), rest))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// The paths that are neither in `other` nor below one of its members.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(step, child)| {
            if other.members.contains(step) {
                return None;
            }
            let rest = match other.children.get(step) {
                Some(theirs) => child.recursive_difference(theirs),
                None => child.clone(),
            };
            (!rest.is_empty()).then(|| (step.clone(), rest))
        });
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: children.collect(),
        }
    }

    /// The steps from the root, with what lies below them.
    pub(super) fn parts(&self) -> (&BTreeSet<Step>, &BTreeMap<Step, Self>) {
        (&self.members, &self.children)
    }

    /// Puts a set together again.
    pub(super) fn from_parts(members: BTreeSet<Step>, children: BTreeMap<Step, Self>) -> Self {
        Self { members, children }
    }

    /// All paths: members first, then what lies deeper.
    pub fn paths(&self) -> Vec<Path> {
        let mut found: Vec<Path> = self.members.iter().map(|step| vec![step.clone()]).collect();
        for (step, child) in &self.children {
            found.extend(child.paths().into_iter().map(|rest| {
                let mut path = vec![step.clone()];
                path.extend(rest);
                path
            }));
        }
        found
    }

    /// The form of `fieldsV1`.
    pub fn encode(&self) -> Value {
        let mut fields = Map::new();
        for step in &self.members {
            fields.insert(step.encode(), Value::Object(Map::new()));
        }
        for (step, child) in self.children.iter().filter(|(_, child)| !child.is_empty()) {
            let mut below = child.encode();
            if let Some(below) = below.as_object_mut().filter(|_| self.members.contains(step)) {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(step.encode(), below);
        }
        Value::Object(fields)
    }

    /// Reads the form of `fieldsV1`; `None` when it is malformed.
    pub fn decode(fields: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (key, below) in fields.as_object()? {
            if key == "." {
                continue;
            }
            let step = Step::decode(key)?;
            let below_fields = below.as_object()?;
            if below_fields.is_empty() || below_fields.contains_key(".") {
                set.members.insert(step.clone());
            }
            let child = Self::decode(below)?;
            if !child.is_empty() {
                set.children.insert(step, child);
            }
        }
        Some(set)
    }
}

impl FromIterator<Path> for PathSet {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path);
        }
        set
    }
}
