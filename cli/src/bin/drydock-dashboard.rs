//! The server of the fleet page: what the plugin's page shows, for all users of a hub, in its cluster.

use std::process::ExitCode;

/// It gives back what is free, a page at a time, as its environment says: see `manifests/dashboard`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    drydock_cli::run_dashboard()
}
