//! The flags of these commands.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use drydock_insights::estimate::Method;
use drydock_insights::render;
use jiff::Timestamp;
use semver::Version;

use super::update_arguments::{PRE_CHECKS_EXAMPLES, PreChecksArguments, START_EXAMPLES, StartArguments};
use crate::plan::arguments::moment;
use crate::upgrades::arguments::Connection;

/// Flags of `cluster`.
#[derive(Args, Debug)]
pub struct ClusterArguments {
    /// What is asked.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show how the update of a cluster proceeds, in the words of `oc adm upgrade status`
    #[command(after_help = STATUS_EXAMPLES)]
    Status(StatusArguments),
    /// Show which updates a cluster may have and what speaks against them, in the words of `oc adm upgrade recommend`
    #[command(after_help = RECOMMEND_EXAMPLES, disable_version_flag = true)]
    Recommend(RecommendArguments),
    /// Show what would be a problem with an update, and accept it
    #[command(after_help = PRE_CHECKS_EXAMPLES, disable_version_flag = true)]
    PreChecks(PreChecksArguments),
    /// Request an update, unless something holds it that nobody has accepted
    #[command(after_help = START_EXAMPLES, disable_version_flag = true)]
    Start(StartArguments),
}

/// Examples of `cluster` itself.
pub const EXAMPLES: &str = "\
Examples:
  kubectl drydock cluster status
  kubectl drydock cluster recommend
  kubectl drydock cluster pre-checks --version 4.16.32
  kubectl drydock cluster start --version 4.16.32";

const STATUS_EXAMPLES: &str = "\
Examples:
  # with all nodes, and with where to read what to do
  kubectl drydock cluster status --details=all

  # the remaining time by how long this cluster's own updates took, and of its worker pools
  kubectl drydock cluster status --estimate=history

  # of objects in files, as of when something last happened to them
  kubectl drydock cluster status --from dump/

  # for a script
  kubectl drydock cluster status -o json";

const RECOMMEND_EXAMPLES: &str = "\
Examples:
  # the newest releases
  kubectl drydock cluster recommend

  # one of them; the exit code is 1 if something speaks against it that is not accepted
  kubectl drydock cluster recommend --version 4.16.32 --accept PodDisruptionBudgetAtLimit

  # only what speaks against it
  kubectl drydock cluster recommend --version 4.16.32 --quiet";

/// Flags of `cluster status`.
#[derive(Args, Debug)]
pub struct StatusArguments {
    /// Show a section in full
    #[arg(long, value_enum, default_value_t = DetailsArgument::None)]
    pub details: DetailsArgument,
    /// How the remaining time is estimated
    #[arg(long, value_enum, default_value_t = EstimateArgument::Oc)]
    pub estimate: EstimateArgument,
    /// Where the cluster is.
    #[command(flatten)]
    pub source: Source,
    /// What to print instead of text
    #[arg(long, short, value_enum)]
    pub output: Option<Format>,
}

/// Flags of `cluster recommend`.
#[derive(Args, Debug)]
pub struct RecommendArguments {
    /// One release; the exit code says whether it may be updated to as things are
    #[arg(long, conflicts_with = "show_outdated_releases")]
    pub version: Option<Version>,
    /// Also older releases, which have issues that are fixed in newer ones
    #[arg(long)]
    pub show_outdated_releases: bool,
    /// Names of issues that are accepted; repeatable
    #[arg(long, value_delimiter = ',', value_name = "ISSUE,…")]
    pub accept: Vec<String>,
    /// Print only the names of issues that are not accepted
    #[arg(long, requires = "version")]
    pub quiet: bool,
    /// Where the cluster is.
    #[command(flatten)]
    pub source: Source,
    /// What to print instead of text
    #[arg(long, short, value_enum)]
    pub output: Option<Format>,
}

/// Where a cluster is looked at.
#[derive(Args, Debug)]
pub struct Source {
    /// A folder with YAML and JSON files of its objects and alerts, instead of the cluster itself
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// The moment to look at; default: now, or when something last happened to the objects in files
    #[arg(long, value_parser = moment, value_name = "TIME")]
    pub now: Option<Timestamp>,
    /// Where it is.
    #[command(flatten)]
    pub connection: Connection,
}

/// What `--details` shows in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DetailsArgument {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// All nodes of each pool.
    Nodes,
    /// What matters, with where to read what to do.
    Health,
    /// The operators that are being updated.
    Operators,
}

impl From<DetailsArgument> for render::Details {
    fn from(argument: DetailsArgument) -> Self {
        match argument {
            DetailsArgument::None => Self::None,
            DetailsArgument::All => Self::All,
            DetailsArgument::Nodes => Self::Nodes,
            DetailsArgument::Health => Self::Health,
            DetailsArgument::Operators => Self::Operators,
        }
    }
}

/// How the remaining time is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EstimateArgument {
    /// As `oc` does: by how operators usually advance; the control plane only.
    Oc,
    /// By how long this cluster's own updates took; worker pools as well.
    History,
}

impl From<EstimateArgument> for Method {
    fn from(argument: EstimateArgument) -> Self {
        match argument {
            EstimateArgument::Oc => Self::Oc,
            EstimateArgument::History => Self::History,
        }
    }
}

/// A form for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}
