//! Structural schemas over JSON: pruning, defaulting, validation with CEL rules, and the built-in kinds' own.
//! Messages are worded as kube-apiserver words them, because people and controllers read them.

pub mod builtin;
mod cel;
mod correlate;
mod defaulting;
mod field_error;
mod format;
mod invariant;
pub mod jsonpath;
mod label;
mod node;
mod object_meta;
mod parse;
mod path;
mod prune;
mod scalar;
mod structural;
#[cfg(test)]
mod tests;
mod validate;

pub use field_error::{ErrorType, FieldError, go_quote};
pub use node::{Additional, ListType, Node, ValueType};
pub use object_meta::object_meta;
pub use structural::{GroupVersionKind, Structural};
