//! The `drydock-hub` process.
fn main() {}
