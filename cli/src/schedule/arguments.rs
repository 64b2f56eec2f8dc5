//! The flags of these commands.

use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::preview::PreviewArguments;
use crate::plan::arguments::moment;
use crate::upgrades::arguments::{Connection, Output};

/// Flags of `schedule`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ScheduleArguments {
    /// What is wanted otherwise; nothing to look.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What is looked at.
    #[command(flatten)]
    pub show: ShowArguments,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the next times of a schedule, and where it is not regular: no cluster is asked
    #[command(name = "test", after_help = PREVIEW_EXAMPLES)]
    Preview(PreviewArguments),
    /// Leave one maintenance out, by an UpgradeSuspensionWindow
    #[command(after_help = SKIP_EXAMPLES)]
    Skip(SkipArguments),
    /// Start a maintenance beside the schedule, by an UpgradeJob from the template of an UpgradeConfig
    #[command(after_help = RUN_NOW_EXAMPLES, disable_version_flag = true)]
    RunNow(RunNowArguments),
}

/// Examples of `schedule` itself.
pub const EXAMPLES: &str = "\
Examples:
  # when each schedule of a cluster runs next, and what would come of it as things are
  kubectl drydock schedule -A

  # why
  kubectl drydock schedule --explain nights -n openshift-managed-upgrade-operator

  # for a script
  kubectl drydock schedule -A -o json";

const PREVIEW_EXAMPLES: &str = "\
Examples:
  # each second Tuesday at 22:00 in Zurich, and what happens at the turn of the year
  kubectl drydock schedule test \"0 22 * * 2\" --iso-week @odd --location Europe/Zurich

  # where the clocks change
  kubectl drydock schedule test \"30 2 * * *\" --location Europe/Zurich --after 2027-03-26T00:00:00Z

  # for a script
  kubectl drydock schedule test @weekly --location UTC --count 52 -o json";

const SKIP_EXAMPLES: &str = "\
Examples:
  # the next maintenance of nights; what else that would leave out is said, and not done without --yes
  kubectl drydock schedule skip nights --reason \"the shop has its sale\"

  # a later one
  kubectl drydock schedule skip nights --at 2026-12-29T22:00[Europe/Zurich]

  # an UpgradeConfig without labels, or with those of others, gets one of its own
  kubectl drydock schedule skip nights --label

  # what would be written
  kubectl drydock schedule skip nights --dry-run";

const RUN_NOW_EXAMPLES: &str = "\
Examples:
  # at once, to the version that would be pinned now
  kubectl drydock schedule run-now nights

  # in half an hour, to another of the available versions
  kubectl drydock schedule run-now nights --start-in 30m --version 4.16.9

  # what would be written, and what would come of it
  kubectl drydock schedule run-now nights --dry-run";

/// Flags of `schedule` itself.
#[derive(Args, Debug)]
pub struct ShowArguments {
    /// Walk through the decision about this UpgradeConfig
    #[arg(long, value_name = "CONFIG")]
    pub explain: Option<String>,
    /// Show schedules in all namespaces
    #[arg(long, short = 'A', conflicts_with_all = ["namespace", "explain"])]
    pub all_namespaces: bool,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// What `Local` means.
    #[command(flatten)]
    pub local_zone: LocalZone,
    /// Where they are.
    #[command(flatten)]
    pub connection: Connection,
}

/// What `location: Local` means.
#[derive(Args, Clone, Debug)]
pub struct LocalZone {
    /// What `location: Local` means: the time zone of the agent's process, by its IANA name
    #[arg(long = "local-zone", default_value = "UTC", value_parser = zone, value_name = "ZONE")]
    pub zone: TimeZone,
}

/// Flags of `schedule skip`.
#[derive(Args, Debug)]
pub struct SkipArguments {
    /// The UpgradeConfig
    #[arg(value_name = "CONFIG")]
    pub config: String,
    /// The start of the maintenance to leave out; default: the next one
    #[arg(long, value_parser = moment, value_name = "TIME")]
    pub at: Option<Timestamp>,
    /// Why, for those who wonder
    #[arg(
        long,
        default_value = "left out by kubectl drydock schedule skip",
        value_name = "TEXT"
    )]
    pub reason: String,
    /// Set a label on the UpgradeConfig (or on its UpgradeJob, if there is one) by which it is selected alone
    #[arg(long)]
    pub label: bool,
    /// Even if other maintenances are left out as well
    #[arg(long)]
    pub yes: bool,
    /// Ask the API server whether it would accept it, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// What `Local` means.
    #[command(flatten)]
    pub local_zone: LocalZone,
    /// Where it is.
    #[command(flatten)]
    pub connection: Connection,
}

/// Flags of `schedule run-now`.
#[derive(Args, Debug)]
pub struct RunNowArguments {
    /// The UpgradeConfig
    #[arg(value_name = "CONFIG")]
    pub config: String,
    /// Not at once, but after this time, such as 30m
    #[arg(long, default_value = "0s", value_parser = wait, value_name = "DURATION")]
    pub start_in: SignedDuration,
    /// One of the available versions; default: the highest
    #[arg(long, value_name = "VERSION")]
    pub version: Option<String>,
    /// Although the schedule is suspended, or a suspension window is in force for it
    #[arg(long)]
    pub ignore_suspension: bool,
    /// Ask the API server whether it would accept it, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    /// What `Local` means.
    #[command(flatten)]
    pub local_zone: LocalZone,
    /// Where it is.
    #[command(flatten)]
    pub connection: Connection,
}

fn zone(name: &str) -> Result<TimeZone, String> {
    TimeZone::get(name)
        .map_err(|_| format!("`{name}` is no time zone: write an IANA name such as Europe/Zurich"))
}

fn wait(text: &str) -> Result<SignedDuration, String> {
    let wait = text.parse::<SignedDuration>().ok();
    wait.filter(|wait| !wait.is_negative() && *wait <= SignedDuration::from_hours(24 * 366))
        .ok_or_else(|| format!("`{text}` is no time to wait: write 30m, 2h or 1h30m, a year at most"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_durations_that_are_not_negative() {
        for (text, seconds) in [("0s", 0), ("30m", 1_800), ("1h30m", 5_400), ("PT2H", 7_200)] {
            assert_eq!(wait(text), Ok(SignedDuration::from_secs(seconds)), "{text}");
        }
        for text in ["", "-5m", "soon", "30", "9000h"] {
            assert!(wait(text).unwrap_err().contains("is no time to wait"), "{text}");
        }
    }
}
