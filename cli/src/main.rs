//! The `kubectl drydock` plugin.
fn main() {}
