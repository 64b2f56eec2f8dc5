//! Kubernetes' dialect of JSONPath, as kubectl, printer columns and OCM's feedback rules read it.
//!
//! Fields (`.a.b`, `['x']`), indexes and slices (`[0]`, `[-1:]`, `[::2]`), unions (`[0,2]`), wildcards, recursive
//! descent and filters (`[?(@.type=="Ready")].status`). Quirks of the original are kept: a dot within `['a.b']` splits
//! the key unless written `\.`, comparisons of unlike kinds of numbers fail.

mod evaluate;
mod parse;

use serde_json::Value;
use thiserror::Error;

/// Why a path could not be read, or does not fit the object; worded as client-go words it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct JsonPathError(String);

impl JsonPathError {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A parsed path.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    nodes: Vec<Node>,
}

impl JsonPath {
    /// Reads a path with or without braces: `.status.phase` and `{.status.phase}` are the same.
    ///
    /// # Errors
    /// When the path does not parse, in client-go's words.
    pub fn parse(path: &str) -> Result<Self, JsonPathError> {
        let trimmed = path.trim();
        let inner = trimmed
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(path);
        Ok(Self {
            nodes: parse::action(inner)?,
        })
    }

    /// What the path selects in `root`, in order; a missing key selects nothing (`AllowMissingKeys`).
    ///
    /// # Errors
    /// When the object has another shape than the path assumes, in client-go's words.
    pub fn find<'a>(&'a self, root: &'a Value) -> Result<Vec<&'a Value>, JsonPathError> {
        evaluate::list(&self.nodes, vec![root])
    }
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq)]
enum Node {
    Field(String),
    Literal(Value),
    Identifier(String),
    Wildcard,
    Recursive,
    Slice(Slice),
    Union(Vec<Vec<Node>>),
    Filter {
        left: Vec<Node>,
        operator: String,
        right: Vec<Node>,
    },
}

/// `[start:end:step]`; an index is a slice of one whose end was derived from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    end_is_derived: bool,
    step: Option<i64>,
}

#[cfg(test)]
mod tests;
