//! The kinds that every API server has: their schemas, how they merge, their defaults and their rules.

mod decode;
mod defaults;
mod definitions;
mod immutable;
mod merge;
mod validate;
mod wire;
mod zero;

use super::{GroupVersionKind, Node, Structural};
pub use decode::{decode, decode_metadata, json_name};
pub use defaults::{default, prepare_for_create};
use definitions::Definitions;
pub use immutable::validate_update;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
pub use validate::validate;
pub use wire::{WireError, decode as decode_protobuf};
pub use zero::complete_empty;

fn all() -> &'static Definitions {
    static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(definitions::collect);
    &DEFINITIONS
}

/// The schema of a built-in kind; `None` if there is no such kind.
pub fn structural(kind: &GroupVersionKind) -> Option<Arc<Structural>> {
    static COMPILED: LazyLock<BTreeMap<GroupVersionKind, Arc<Structural>>> = LazyLock::new(|| {
        let nodes = all().nodes();
        let compiled = all().kinds.iter().filter_map(|(kind, name)| {
            let root = nodes.get(name)?;
            Some((kind.clone(), Arc::new(Structural::of(Node::clone(root), kind))))
        });
        compiled.collect()
    });
    COMPILED.get(kind).cloned()
}

/// The definitions of the types of all built-in kinds, as an OpenAPI document has them
/// (`#/components/schemas/<name>`), with their merge extensions.
pub fn definitions() -> &'static BTreeMap<String, Value> {
    &all().schemas
}

/// The name of the definition of a built-in kind.
pub fn definition_name(kind: &GroupVersionKind) -> Option<&'static str> {
    all().kinds.get(kind).map(String::as_str)
}

#[cfg(test)]
mod tests;
