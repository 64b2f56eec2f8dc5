//! The compiled schema of one kind in one version.

use super::defaulting;
use super::field_error::{ErrorType, FieldError};
use super::node::{Node, ValueType};
use super::object_meta::add_type_and_object_meta;
use super::parse::Parser;
use super::path::Path;
use super::{cel, invariant, prune, validate};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which kind a schema is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl GroupVersionKind {
    /// The kind `kind` of `group` in `version`.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// `group/version`, or `version` alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone();
        }
        format!("{}/{}", self.group, self.version)
    }
}

/// A compiled schema: share it by `Arc` between servers.
#[derive(Debug)]
pub struct Structural {
    kind: GroupVersionKind,
    node: Arc<Node>,
}

impl Structural {
    /// Compiles the `openAPIV3Schema` of one version of a CRD. The errors' fields are relative to the schema.
    pub fn compile(schema: &Value, kind: &GroupVersionKind) -> Result<Self, Vec<FieldError>> {
        let definitions = BTreeMap::new();
        let mut parser = Parser::new(&definitions);
        let root = parser.node(schema, "");
        if !parser.errors.is_empty() {
            return Err(parser.errors);
        }
        Ok(Self::of(root_of(&root), kind))
    }

    /// Wraps a root that is complete already: it knows its `metadata`.
    pub(super) fn of(root: Node, kind: &GroupVersionKind) -> Self {
        Self {
            kind: kind.clone(),
            node: Arc::new(root),
        }
    }

    /// Drops unknown fields; gives their paths (`spec.x`), sorted.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(&self.node, object)
    }

    /// Fills in defaults, and drops nulls where none may stand.
    pub fn default(&self, object: &mut Value) {
        defaulting::default(&self.node, object);
    }

    /// What is wrong with `new`, which follows `old` if that is given (`old` defaulted and pruned as well).
    /// What was wrong already, and did not change, is not reported.
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        self.validate_unless(new, old, false)
    }

    /// The same; with `blocked` no rule is evaluated, because something is missing that they may be about.
    pub fn validate_unless(&self, new: &Value, old: Option<&Value>, blocked: bool) -> Vec<FieldError> {
        let mut errors = validate::validate(&self.node, new, old, &Path::Root).errors;
        errors.extend(invariant::check(&self.node, new, old));
        if !self.node.rules_within {
            return errors;
        }
        if blocked || errors.iter().any(|error| blocks_rules(error.error_type)) {
            let detail = "some validation rules were not checked because the object was invalid; correct the \
                          existing errors to complete validation";
            errors.push(FieldError::invalid("<nil>", Value::Null, detail));
        } else {
            cel::check(&self.node, new, old, &Path::Root, &mut errors);
        }
        errors
    }

    /// What is wrong with a value for one place of a schema; the errors' fields are relative to it.
    pub fn type_errors(node: &Node, value: &Value) -> Vec<FieldError> {
        validate::validate(node, value, None, &Path::Root).errors
    }

    /// The root of the schema: what apply and strategic merge walk.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// The kind it is for.
    pub fn kind(&self) -> &GroupVersionKind {
        &self.kind
    }
}

/// A custom resource's root also has what every object has.
fn root_of(schema: &Node) -> Node {
    let mut root = schema.clone();
    root.value_type.get_or_insert(ValueType::Object);
    add_type_and_object_meta(&mut root);
    root
}

/// Rules are not asked about values that are not even of their type.
fn blocks_rules(error: ErrorType) -> bool {
    matches!(
        error,
        ErrorType::Required
            | ErrorType::TooLong
            | ErrorType::TooMany
            | ErrorType::TypeInvalid
            | ErrorType::NotSupported
    )
}
