//! `kubectl drydock cluster`: how the update of one cluster proceeds, and which updates it may have. Read from the cluster itself, or from
//! files of its objects; nothing is written.

mod alerts;
pub mod arguments;
mod files;
mod live;
mod print;
mod recommend;
mod status;

use std::process::ExitCode;

pub use arguments::ClusterArguments;
use arguments::Command;

/// Carries out a command.
///
/// # Errors
/// If the objects of the cluster cannot be read, or say nothing.
pub async fn run(arguments: &ClusterArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::Status(arguments) => status::run(arguments).await,
        Command::Recommend(arguments) => recommend::run(arguments).await,
    }
}
