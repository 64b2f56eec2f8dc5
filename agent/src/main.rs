//! The `drydock-agent` process.
fn main() {}
