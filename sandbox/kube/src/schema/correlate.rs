//! Which former value a new one continues (`apiextensions` `common.CorrelatedObject`): only what is the same
//! thing can be compared with its past.

use super::node::{ListType, Node};
use serde_json::Value;

/// The former value of a field.
pub(super) fn field<'v>(node: &Node, old: Option<&'v Value>, name: &str) -> Option<&'v Value> {
    if node.atomic_map {
        return None;
    }
    old?.get(name)
}

/// The former value of an item: lists other than maps do not say which item is which.
pub(super) fn item<'v>(node: &Node, old: Option<&'v Value>, item: &Value) -> Option<&'v Value> {
    let ListType::Map(keys) = &node.list_type else {
        return None;
    };
    old?.as_array()?
        .iter()
        .find(|former| keys.iter().all(|key| former.get(key) == item.get(key)))
}
