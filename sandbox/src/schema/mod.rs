//! Structural schemas over JSON: pruning, defaulting, validation with CEL rules, and the built-in kinds' own.
//! Messages are worded as kube-apiserver words them, because people and controllers read them.

mod defaulting;
mod field_error;
pub mod jsonpath;
mod node;
mod object_meta;
mod parse;
mod prune;
mod rule;
mod structural;

pub use field_error::{ErrorType, FieldError, go_quote, invalid};
pub use node::{Additional, Checks, ListType, Node, PatchStrategy, ValueType};
pub use object_meta::object_meta;
pub use rule::Rule;
pub use structural::{GroupVersionKind, Structural};
