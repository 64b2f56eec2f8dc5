//! Commands about the upgrades of a hub: what they do, what has been done, and what people want changed.

mod accept;
mod accuracy;
pub mod arguments;
mod calendar;
mod clusters;
mod edit;
pub mod fleet;
mod forecast;
mod history;
pub mod hub;
mod pre_checks;
mod spreadsheet;
mod status;
pub mod table;

pub use arguments::Command;
use std::process::ExitCode;

use hub::Hub;
pub use status::target;

/// Carries out a command. The exit code is that of a command that says something by it.
///
/// # Errors
/// If the hub cannot be reached, or there is no such upgrade.
pub async fn run(command: &Command) -> anyhow::Result<ExitCode> {
    let done = match command {
        Command::Status(arguments) => {
            let hub = Hub::connect(&arguments.connection).await?;
            status::run(&hub, arguments).await
        }
        Command::Clusters(arguments) => {
            let hub = Hub::connect(&arguments.upgrade.connection).await?;
            clusters::run(&hub, arguments).await
        }
        Command::History(arguments) => {
            let hub = Hub::connect(&arguments.connection).await?;
            history::run(&hub, arguments).await
        }
        Command::Calendar(arguments) => {
            let hub = Hub::connect(&arguments.connection).await?;
            calendar::run(&hub, arguments).await
        }
        Command::PreChecks(arguments) => {
            let hub = Hub::connect(&arguments.upgrade.connection).await?;
            return pre_checks::run(&hub, arguments).await;
        }
        Command::Accept(arguments) => {
            let hub = Hub::connect(&arguments.upgrade.connection).await?;
            accept::run(&hub, arguments).await
        }
        Command::Pause(upgrade) => {
            let hub = Hub::connect(&upgrade.connection).await?;
            edit::set_paused(&hub, &upgrade.name, true).await
        }
        Command::Resume(upgrade) => {
            let hub = Hub::connect(&upgrade.connection).await?;
            edit::set_paused(&hub, &upgrade.name, false).await
        }
        Command::Retry(arguments) => {
            let hub = Hub::connect(&arguments.upgrade.connection).await?;
            edit::retry(&hub, arguments).await
        }
    };
    done.map(|()| ExitCode::SUCCESS)
}
