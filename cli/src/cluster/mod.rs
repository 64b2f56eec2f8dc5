//! `kubectl drydock cluster`: how the update of one cluster proceeds, which updates it may have, what would be a problem, and to request one.
//! Read from the cluster itself, or from files of its objects. Only `pre-checks` and `start` write.

mod alerts;
pub mod arguments;
mod files;
mod live;
mod pre_checks;
pub mod print;
mod recommend;
mod start;
mod status;
mod update_arguments;

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
        Command::PreChecks(arguments) => Box::pin(pre_checks::run(arguments)).await,
        Command::Start(arguments) => Box::pin(start::run(arguments)).await,
    }
}
