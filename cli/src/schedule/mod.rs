//! `kubectl drydock schedule`: the maintenance schedules of a cluster, what would come of them, and what people want otherwise.

pub mod arguments;
mod choice;
mod cluster;
mod explain;
mod hits;
mod list;
mod outlook;
mod preview;
mod run_now;
mod skip;
mod state;
mod target;
#[cfg(test)]
mod tests;
mod times;
mod versions;
mod would;
mod write;

use drydock_runtime::Clock;
use jiff::tz::TimeZone;

pub use arguments::ScheduleArguments;
use arguments::{Command, ShowArguments};
use cluster::{ObservedCluster, Scope};

use crate::server::Server;

/// Carries out a command.
///
/// # Errors
/// If the cluster cannot be read, there is no such UpgradeConfig, or what is wanted cannot be done.
pub async fn run(arguments: &ScheduleArguments) -> anyhow::Result<()> {
    let yours = TimeZone::system();
    match &arguments.command {
        None => show(&arguments.show, &yours).await,
        Some(Command::Preview(arguments)) => preview::run(arguments, Clock::system().now(), &yours),
        Some(Command::Skip(arguments)) => skip::run(arguments).await,
        Some(Command::RunNow(arguments)) => run_now::run(arguments).await,
    }
}

async fn show(arguments: &ShowArguments, yours: &TimeZone) -> anyhow::Result<()> {
    let server = Server::connect(&arguments.connection).await?;
    let scope = if arguments.all_namespaces {
        Scope::All
    } else {
        Scope::Namespace(server.namespace.clone())
    };
    let cluster = ObservedCluster::read(&server, scope, &arguments.local_zone.zone).await?;
    match &arguments.explain {
        Some(name) => explain::run(&cluster, name, arguments.output),
        None => list::run(&cluster, arguments.output, yours),
    }
}
