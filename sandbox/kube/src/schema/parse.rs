//! From `JSONSchemaProps` to a [`Node`].

use super::cel::Rule;
use super::field_error::{ErrorType, FieldError};
use super::node::{Additional, Checks, ListType, Node, PatchStrategy, ValueType};
use super::object_meta::add_type_and_object_meta;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads a schema; `definitions` are what its `$ref`s name.
pub(super) struct Parser<'d> {
    /// Definitions that are parsed already.
    pub definitions: &'d BTreeMap<String, Arc<Node>>,
    /// What could not be read.
    pub errors: Vec<FieldError>,
}

impl<'d> Parser<'d> {
    /// A parser that knows these definitions.
    pub fn new(definitions: &'d BTreeMap<String, Arc<Node>>) -> Self {
        Self {
            definitions,
            errors: Vec::new(),
        }
    }

    /// Parses the schema at `path` (used in errors only).
    pub fn node(&mut self, schema: &Value, path: &str) -> Arc<Node> {
        if let Some(name) = reference(schema) {
            let node = self
                .definitions
                .get(name)
                .cloned()
                .unwrap_or_else(|| Arc::new(anything()));
            return with_own_extensions(node, schema);
        }
        Arc::new(self.own(schema, path))
    }

    fn own(&mut self, schema: &Value, path: &str) -> Node {
        let mut node = self.as_written(schema, path);
        if node.embedded_resource {
            add_type_and_object_meta(&mut node);
        }
        node.rules_within = !node.rules.is_empty() || node.children().any(|child| child.rules_within);
        node.invariants_within = node.embedded_resource
            || matches!(node.list_type, ListType::Set | ListType::Map(_))
            || node.children().any(|child| child.invariants_within);
        node
    }

    fn as_written(&mut self, schema: &Value, path: &str) -> Node {
        let flag = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
        Node {
            value_type: schema
                .get("type")
                .and_then(Value::as_str)
                .and_then(ValueType::parse),
            format: schema.get("format").and_then(Value::as_str).map(str::to_owned),
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            properties: self.properties(schema, path),
            additional: self.additional(schema, path),
            items: schema
                .get("items")
                .map(|items| self.node(items, &format!("{path}.items"))),
            list_type: list_type(schema),
            atomic_map: schema["x-kubernetes-map-type"] == "atomic",
            default: schema.get("default").cloned(),
            checks: self.checks(schema, path),
            rules: self.rules(schema, path),
            rules_within: false,
            invariants_within: false,
            patch: patch_strategy(schema),
            definition: None,
        }
    }

    fn properties(&mut self, schema: &Value, path: &str) -> BTreeMap<String, Arc<Node>> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return BTreeMap::new();
        };
        let parsed = properties.iter().map(|(name, property)| {
            (
                name.clone(),
                self.node(property, &format!("{path}.properties[{name}]")),
            )
        });
        parsed.collect()
    }

    fn additional(&mut self, schema: &Value, path: &str) -> Additional {
        match schema.get("additionalProperties") {
            None | Some(Value::Null) => Additional::Unspecified,
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Bool(false)) => Additional::Nothing,
            Some(values) => Additional::Values(self.node(values, &format!("{path}.additionalProperties"))),
        }
    }

    fn rules(&mut self, schema: &Value, path: &str) -> Vec<Arc<Rule>> {
        let Some(rules) = schema.get("x-kubernetes-validations").and_then(Value::as_array) else {
            return Vec::new();
        };
        let mut compiled = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            match Rule::compile(rule, &format!("{path}.x-kubernetes-validations[{index}]")) {
                Ok(rule) => compiled.push(Arc::new(rule)),
                Err(error) => self.errors.push(error),
            }
        }
        compiled
    }

    fn branches(&mut self, schema: &Value, key: &str, path: &str) -> Vec<Node> {
        let Some(branches) = schema.get(key).and_then(Value::as_array) else {
            return Vec::new();
        };
        let parsed = branches.iter().enumerate();
        parsed
            .map(|(index, branch)| self.own(branch, &format!("{path}.{key}[{index}]")))
            .collect()
    }

    fn checks(&mut self, schema: &Value, path: &str) -> Checks {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let exclusive = |key: &str| schema.get(key).and_then(Value::as_bool).unwrap_or(false);
        let pattern = schema
            .get("pattern")
            .and_then(Value::as_str)
            .filter(|pattern| !pattern.is_empty());
        let pattern = pattern.and_then(|pattern| match Regex::new(pattern) {
            Ok(compiled) => Some((pattern.to_owned(), compiled)),
            Err(error) => {
                let detail = format!("must be a valid regular expression, but isn't: {error}");
                let field = format!("{path}.pattern");
                self.errors.push(FieldError::new(
                    field,
                    ErrorType::Invalid,
                    Some(pattern.into()),
                    detail,
                ));
                None
            }
        });
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        Checks {
            minimum: number("minimum").map(|limit| (limit, exclusive("exclusiveMinimum"))),
            maximum: number("maximum").map(|limit| (limit, exclusive("exclusiveMaximum"))),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern,
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            unique_items: exclusive("uniqueItems"),
            required: required
                .iter()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            allowed: schema
                .get("enum")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            all_of: self.branches(schema, "allOf", path),
            any_of: self.branches(schema, "anyOf", path),
            one_of: self.branches(schema, "oneOf", path),
            not: schema
                .get("not")
                .map(|not| Box::new(self.own(not, &format!("{path}.not")))),
        }
    }
}

/// A `$ref` may come with its own default, patch strategy or map type.
fn with_own_extensions(node: Arc<Node>, schema: &Value) -> Arc<Node> {
    let patch = patch_strategy(schema);
    let default = schema
        .get("default")
        .filter(|default| !is_empty_object(default))
        .cloned();
    let map_type = schema.get("x-kubernetes-map-type");
    if patch == PatchStrategy::default() && default.is_none() && map_type.is_none() {
        return node;
    }
    let mut changed = Node::clone(&node);
    changed.patch = patch;
    changed.default = default;
    if let Some(map_type) = map_type {
        changed.atomic_map = map_type == "atomic";
    }
    Arc::new(changed)
}

/// The definition that a schema names, if that is all it does.
pub(super) fn reference(schema: &Value) -> Option<&str> {
    let direct = schema.get("$ref").and_then(Value::as_str);
    let wrapped = || match schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([only]) => only.get("$ref").and_then(Value::as_str),
        _ => None,
    };
    direct.or_else(wrapped).and_then(|path| path.rsplit('/').next())
}

/// A schema that accepts everything.
pub(super) fn anything() -> Node {
    Node {
        preserve_unknown: true,
        ..Node::default()
    }
}

fn is_empty_object(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn list_type(schema: &Value) -> ListType {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let keys = keys
                .into_iter()
                .flatten()
                .filter_map(|key| key.as_str().map(str::to_owned));
            ListType::Map(keys.collect())
        }
        Some("atomic") => ListType::Atomic,
        Some(_) | None => {
            let patch = patch_strategy(schema);
            match (patch.merge, patch.merge_key) {
                (true, Some(key)) => ListType::Map(vec![key]),
                (true, None) => ListType::Set,
                (false, _) => ListType::Unspecified,
            }
        }
    }
}

fn patch_strategy(schema: &Value) -> PatchStrategy {
    let words = schema
        .get("x-kubernetes-patch-strategy")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let has = |wanted: &str| words.split(',').any(|word| word == wanted);
    let merge_key = schema.get("x-kubernetes-patch-merge-key").and_then(Value::as_str);
    PatchStrategy {
        merge: has("merge"),
        merge_key: merge_key.map(str::to_owned),
        retain_keys: has("retainKeys"),
        replace: has("replace"),
    }
}
