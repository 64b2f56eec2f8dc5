//! `drydock-hub` and `drydock-agent` as processes.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::process::{Process, Workplace};

/// The path of one of our programs, built beside this test.
///
/// # Errors
/// If it is not built.
pub fn path(name: &str) -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe().context("finding out where this test is")?;
    // Tests are in `deps` below the folder of the programs.
    let folder = test
        .parent()
        .and_then(Path::parent)
        .context("this test has no folder")?;
    let path = folder.join(name);
    anyhow::ensure!(
        path.is_file(),
        "{} does not exist: `make e2e` builds it before the tests run",
        path.display()
    );
    Ok(path)
}

/// Starts one of our programs as the holder of a kubeconfig.
///
/// # Errors
/// If it is not built or cannot be started.
pub fn start(
    workplace: &Workplace,
    name: &str,
    program: &str,
    kubeconfig: &Path,
    arguments: &[&str],
) -> anyhow::Result<Process> {
    workplace.start(
        name,
        Command::new(path(program)?)
            .env("KUBECONFIG", kubeconfig)
            .env("RUST_LOG", "info,drydock_hub=debug,drydock_agent=debug")
            .args(arguments),
    )
}
