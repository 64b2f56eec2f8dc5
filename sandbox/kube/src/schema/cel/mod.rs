//! CEL rules of schemas (`x-kubernetes-validations`).

mod evaluate;
mod rule;
mod value;

pub(super) use evaluate::check;
pub use rule::Rule;
