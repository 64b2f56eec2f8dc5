//! Structural schemas: pruning, defaulting, validation, CEL rules.

pub mod jsonpath;
