//! One place of a schema: what may stand there, and how it merges.

use super::cel::Rule;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The JSON types a schema may demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
}

impl ValueType {
    /// Reads the word a schema uses.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The word a schema uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// How a list merges (`x-kubernetes-list-type`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Nothing was said: it merges as a whole.
    #[default]
    Unspecified,
    /// Merges as a whole.
    Atomic,
    /// A set of scalars.
    Set,
    /// Items are identified by these keys.
    Map(Vec<String>),
}

/// What else than the named properties an object may hold.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// Nothing was said.
    #[default]
    Unspecified,
    /// Anything.
    Any,
    /// Nothing.
    Nothing,
    /// Values of this schema: the object is a map.
    Values(Arc<Node>),
}

/// How a strategic merge patch treats a list or a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Items are merged (else the list is replaced).
    pub merge: bool,
    /// The key that identifies an item of a list of objects.
    pub merge_key: Option<String>,
    /// Keys of an object that the patch does not name are dropped (`retainKeys`).
    pub retain_keys: bool,
    /// The object is replaced as a whole.
    pub replace: bool,
}

/// The limits a value must keep to.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// `minimum`, and whether it is exclusive.
    pub minimum: Option<(f64, bool)>,
    /// `maximum`, and whether it is exclusive.
    pub maximum: Option<(f64, bool)>,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `minLength`, in characters.
    pub min_length: Option<u64>,
    /// `maxLength`, in characters.
    pub max_length: Option<u64>,
    /// `pattern`, as written and compiled.
    pub pattern: Option<(String, Regex)>,
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `maxItems`.
    pub max_items: Option<u64>,
    /// `minProperties`.
    pub min_properties: Option<u64>,
    /// `maxProperties`.
    pub max_properties: Option<u64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `required`, in the order written.
    pub required: Vec<String>,
    /// `enum`; empty when anything goes.
    pub allowed: Vec<Value>,
    /// `allOf`.
    pub all_of: Vec<Node>,
    /// `anyOf`.
    pub any_of: Vec<Node>,
    /// `oneOf`.
    pub one_of: Vec<Node>,
    /// `not`.
    pub not: Option<Box<Node>>,
}

/// One place of a schema.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The type demanded, if one is.
    pub value_type: Option<ValueType>,
    /// `format`.
    pub format: Option<String>,
    /// Whether null may stand here.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// Named properties.
    pub properties: BTreeMap<String, Arc<Node>>,
    /// What else an object may hold.
    pub additional: Additional,
    /// What a list holds.
    pub items: Option<Arc<Node>>,
    /// How a list merges.
    pub list_type: ListType,
    /// Whether an object merges as a whole (`x-kubernetes-map-type: atomic`).
    pub atomic_map: bool,
    /// The value of a missing field.
    pub default: Option<Value>,
    /// Limits.
    pub checks: Checks,
    /// CEL rules (`x-kubernetes-validations`).
    pub rules: Vec<Arc<Rule>>,
    /// Whether there are CEL rules here or anywhere below.
    pub rules_within: bool,
    /// Whether there is an embedded resource, or a list whose items are unique, here or anywhere below.
    pub invariants_within: bool,
    /// How a strategic merge patch treats it.
    pub patch: PatchStrategy,
    /// The name of the definition it comes from (`io.k8s.api.core.v1.PodSpec`), if it has one.
    pub definition: Option<Arc<str>>,
}

impl Node {
    /// The schema of a field of this object, if it has one.
    pub fn field(&self, name: &str) -> Option<&Arc<Self>> {
        self.properties.get(name).or(match &self.additional {
            Additional::Values(values) => Some(values),
            Additional::Unspecified | Additional::Any | Additional::Nothing => None,
        })
    }

    /// The schemas of everything this value may hold.
    pub fn children(&self) -> impl Iterator<Item = &Arc<Self>> {
        let values = match &self.additional {
            Additional::Values(values) => Some(values),
            Additional::Unspecified | Additional::Any | Additional::Nothing => None,
        };
        self.properties.values().chain(values).chain(&self.items)
    }
}
