//! The `kubectl drydock` plugin.

use std::process::ExitCode;

/// A simulated fleet is millions of small JSON values: the allocator is a good part of what a sandbox costs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    drydock_cli::run_plugin()
}
