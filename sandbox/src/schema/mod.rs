//! Structural schemas: pruning, defaulting, validation, CEL rules.
