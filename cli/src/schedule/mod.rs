//! `kubectl drydock schedule`: when maintenances of a cluster may start.

mod preview;

use clap::{Args, Subcommand};
use drydock_runtime::Clock;
use jiff::tz::TimeZone;

use preview::PreviewArguments;

/// Flags of `schedule`.
#[derive(Args, Debug)]
pub struct ScheduleArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the next times of a schedule, and where it is not regular: no cluster is asked
    #[command(name = "test", after_help = PREVIEW_EXAMPLES)]
    Preview(PreviewArguments),
}

const PREVIEW_EXAMPLES: &str = "\
Examples:
  # each second Tuesday at 22:00 in Zurich, and what happens at the turn of the year
  kubectl drydock schedule test \"0 22 * * 2\" --iso-week @odd --location Europe/Zurich

  # where the clocks change
  kubectl drydock schedule test \"30 2 * * *\" --location Europe/Zurich --after 2027-03-26T00:00:00Z

  # for a script
  kubectl drydock schedule test @weekly --location UTC --count 52 -o json";

/// Runs a command of `schedule`.
///
/// # Errors
/// If the schedule cannot be read, or the output cannot be written.
pub fn run(arguments: &ScheduleArguments) -> anyhow::Result<()> {
    match &arguments.command {
        Command::Preview(arguments) => preview::run(arguments, Clock::system().now(), &TimeZone::system()),
    }
}
