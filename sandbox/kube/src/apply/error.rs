//! Why an apply is refused.

use super::field_path::{Path, display};
use std::collections::BTreeMap;
use thiserror::Error;

/// A field that another manager set to something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager, as the message names it: `"oc" using v1`.
    pub manager: String,
    /// The field.
    pub path: Path,
}

/// Why an apply is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ApplyError {
    /// Other managers own fields that would change; apply with force, or leave the fields out.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The request itself is wrong.
    #[error("{0}")]
    BadRequest(String),
    /// The object does not fit the schema.
    #[error("{0}")]
    Internal(String),
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        let path = display(&only.path);
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {path}",
            only.manager
        );
    }
    let mut by_manager: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for conflict in conflicts {
        by_manager
            .entry(&conflict.manager)
            .or_default()
            .push(format!("- {}", display(&conflict.path)));
    }
    let lines = by_manager
        .into_iter()
        .flat_map(|(manager, paths)| std::iter::once(format!("conflicts with {manager}:")).chain(paths));
    let lines: Vec<String> = lines.collect();
    format!(
        "Apply failed with {} conflicts: {}",
        conflicts.len(),
        lines.join("\n")
    )
}
