//! The flags of these commands.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use drydock_api::ClusterName;
use drydock_api::selector::{is_label_key, is_label_value};
use drydock_rollout::{ClusterState, FindingLevel};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the progress of upgrades: of all in a namespace, or of one with its clusters that are in flight or need attention
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArguments),
    /// List all clusters of an upgrade, however many, with where each is and why
    #[command(after_help = CLUSTERS_EXAMPLES)]
    Clusters(ClustersArguments),
    /// List the outcomes of clusters in the order in which they finished, also of deleted upgrades
    #[command(after_help = HISTORY_EXAMPLES)]
    History(HistoryArguments),
    /// Write upgrades that have not ended, with their forecasts, and their freezes as a calendar (.ics)
    #[command(after_help = CALENDAR_EXAMPLES)]
    Calendar(CalendarArguments),
    /// Show what clusters have found before they start, over the fleet: what would hold how many of them
    #[command(after_help = PRE_CHECKS_EXAMPLES)]
    PreChecks(PreChecksArguments),
    /// Accept findings of pre-checks, for all clusters of an upgrade or for some
    #[command(after_help = ACCEPT_EXAMPLES)]
    Accept(AcceptArguments),
    /// Start no further cluster; running upgrades continue
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause(UpgradeArguments),
    /// Continue after a pause
    #[command(after_help = PAUSE_EXAMPLES)]
    Resume(UpgradeArguments),
    /// Let failed clusters start over
    #[command(after_help = RETRY_EXAMPLES)]
    Retry(RetryArguments),
}

const STATUS_EXAMPLES: &str = "\
Examples:
  # all upgrades of the current namespace
  kubectl drydock status

  # one of them, until it ends
  kubectl drydock status spring --watch

  # for a script
  kubectl drydock status spring -o json";

const CLUSTERS_EXAMPLES: &str = "\
Examples:
  # the clusters that have failed, and what to do
  kubectl drydock clusters spring --state failed

  # the ones in flight
  kubectl drydock clusters spring --state in-flight";

const HISTORY_EXAMPLES: &str = "\
Examples:
  kubectl drydock history spring

  # of all upgrades of the namespace, in the last thirty days, for a spreadsheet
  kubectl drydock history --since 30d -o csv

  # since a date, for a script
  kubectl drydock history --since 2026-03-01 -o json";

const CALENDAR_EXAMPLES: &str = "\
Examples:
  # a file to import, or to serve to calendars that subscribe
  kubectl drydock calendar --output upgrades.ics

  # of all namespaces
  kubectl drydock calendar -A";

const PRE_CHECKS_EXAMPLES: &str = "\
Examples:
  # with preChecks.mode Require the exit code is 1 while a cluster is held: by findings that
  # nobody has accepted, or because it has not answered yet or could not be asked; with any
  # mode while one that has been started is held by its own agent
  kubectl drydock pre-checks spring

  # one cluster
  kubectl drydock pre-checks spring --cluster dev3

  # for a script
  kubectl drydock pre-checks spring -o json";

const ACCEPT_EXAMPLES: &str = "\
Examples:
  # a finding, for all clusters of the upgrade, until Saturday
  kubectl drydock accept spring 0123456789abcdef0123456789abcdef --reason 'lifted in the window' --until 2026-12-05T00:00:00Z

  # all findings that an informer calls so, on clusters with a label
  kubectl drydock accept spring drydock.pod-disruption-budgets/budget-at-limit --reason 'known' --selector environment=dev";

const PAUSE_EXAMPLES: &str = "\
Examples:
  kubectl drydock pause spring
  kubectl drydock resume spring";

const RETRY_EXAMPLES: &str = "\
Examples:
  # all clusters that have failed
  kubectl drydock retry spring

  # two of them
  kubectl drydock retry spring --cluster dev3 --cluster dev7";

/// How to reach an API server: the options of kubectl.
#[derive(Args, Clone, Debug)]
pub struct Connection {
    /// The kubeconfig; default: KUBECONFIG, else ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// The namespace; else the context's
    #[arg(long, short, value_name = "NAME")]
    pub namespace: Option<String>,
}

/// One upgrade.
#[derive(Args, Clone, Debug)]
pub struct UpgradeArguments {
    /// The ManagedClustersUpgrade
    #[arg(value_name = "MCU")]
    pub name: String,
    /// Where it is.
    #[command(flatten)]
    pub connection: Connection,
}

/// Flags of `status`.
#[derive(Args, Debug)]
pub struct StatusArguments {
    /// Name of the ManagedClustersUpgrade; if omitted, all in the namespace
    #[arg(value_name = "MCU")]
    pub name: Option<String>,
    /// Show upgrades in all namespaces
    #[arg(long, short = 'A', conflicts_with_all = ["namespace", "name"])]
    pub all_namespaces: bool,
    /// Show it again with each change, until it is over
    #[arg(long, short, requires = "name")]
    pub watch: bool,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// Where they are.
    #[command(flatten)]
    pub connection: Connection,
}

/// Flags of `calendar`.
#[derive(Args, Debug)]
pub struct CalendarArguments {
    /// Name of the ManagedClustersUpgrade; if omitted, all in the namespace
    #[arg(value_name = "MCU")]
    pub name: Option<String>,
    /// Upgrades of all namespaces
    #[arg(long, short = 'A', conflicts_with_all = ["namespace", "name"])]
    pub all_namespaces: bool,
    /// The file to write; else standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where they are.
    #[command(flatten)]
    pub connection: Connection,
}

/// Flags of `clusters`.
#[derive(Args, Debug)]
pub struct ClustersArguments {
    /// Which upgrade.
    #[command(flatten)]
    pub upgrade: UpgradeArguments,
    /// Only those in this state
    #[arg(long, value_enum, value_name = "STATE")]
    pub state: Option<StateFilter>,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
}

/// Flags of `pre-checks`.
#[derive(Args, Debug)]
pub struct PreChecksArguments {
    /// Which upgrade.
    #[command(flatten)]
    pub upgrade: UpgradeArguments,
    /// Only what this cluster has found
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<ClusterName>,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
}

/// Flags of `accept`.
#[derive(Args, Debug)]
pub struct AcceptArguments {
    /// Which upgrade.
    #[command(flatten)]
    pub upgrade: UpgradeArguments,
    /// The findings: UUIDs, or INFORMER/UID for all that an informer calls so
    #[arg(value_name = "FINDING", required = true)]
    pub findings: Vec<String>,
    /// Why
    #[arg(long, value_parser = crate::arguments::reason)]
    pub reason: String,
    /// Until when; for as long as the UpgradeRiskAcceptance is there if not given
    #[arg(long, value_name = "TIME")]
    pub until: Option<Timestamp>,
    /// Up to which level; default: on each cluster the level that it has reported, Warning for INFORMER/UID
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<LevelArgument>,
    /// Only on this cluster; repeatable
    #[arg(long = "cluster", value_name = "NAME")]
    pub clusters: Vec<ClusterName>,
    /// Only on clusters with this label; repeatable
    #[arg(long = "selector", short = 'l', value_name = "LABEL=VALUE", value_parser = label)]
    pub labels: Vec<(String, String)>,
}

/// A level that can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelArgument(pub FindingLevel);

impl FromStr for LevelArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let level = FindingLevel::parse(text);
        level
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no level: write Warning, Unknown, Error or Critical"))
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is no label: write LABEL=VALUE"))?;
    if !is_label_key(key) || !is_label_value(value) {
        return Err(format!("`{text}` is no label: write LABEL=VALUE"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Flags of `history`.
#[derive(Args, Debug)]
pub struct HistoryArguments {
    /// Name of the ManagedClustersUpgrade; if omitted, all in the namespace; it may have been deleted
    #[arg(value_name = "MCU")]
    pub name: Option<String>,
    /// Only what ended in this time (7d, 12h), or since this date or time (2026-03-01, 2026-03-01T12:00:00Z)
    #[arg(long, value_name = "TIME")]
    pub since: Option<Since>,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = HistoryOutput::Table)]
    pub output: HistoryOutput,
    /// Where they are.
    #[command(flatten)]
    pub connection: Connection,
}

/// From when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// So long ago.
    Ago(SignedDuration),
    /// From this moment.
    At(Timestamp),
}

impl Since {
    /// The moment, as of `now`.
    pub fn moment(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Ago(duration) => now.saturating_sub(duration).unwrap_or(Timestamp::MIN),
            Self::At(moment) => moment,
        }
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let span = text.parse::<Span>().ok();
        let ago = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
        let date = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok();
        let moment = || text.parse::<Timestamp>().ok();
        match ago.filter(|ago| !ago.is_negative()) {
            Some(ago) => Ok(Self::Ago(ago)),
            None => moment()
                .or_else(|| date().map(|date| date.timestamp()))
                .map(Self::At)
                .ok_or_else(|| {
                    format!("`{text}` is not a time: write 7d, 12h, 2026-03-01 or 2026-03-01T12:00:00Z")
                }),
        }
    }
}

/// Flags of `retry`.
#[derive(Args, Debug)]
pub struct RetryArguments {
    /// Which upgrade.
    #[command(flatten)]
    pub upgrade: UpgradeArguments,
    /// Only this cluster; repeatable
    #[arg(long = "cluster", value_name = "NAME")]
    pub clusters: Vec<ClusterName>,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table for people.
    Table,
    /// A table with more columns.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// What `history` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryOutput {
    /// A table for people.
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Comma-separated values, for spreadsheets.
    Csv,
}

/// Which clusters are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StateFilter {
    /// Those that failed.
    Failed,
    /// Those that are done.
    Complete,
    /// Those in flight.
    InFlight,
    /// Those that have not started.
    NotStarted,
}

impl StateFilter {
    /// Whether a cluster in this state is listed.
    pub fn matches(self, state: ClusterState) -> bool {
        match self {
            Self::Failed => state == ClusterState::Failed,
            Self::Complete => state == ClusterState::Complete,
            Self::InFlight => state.in_flight(),
            Self::NotStarted => state == ClusterState::NotStarted,
        }
    }
}
