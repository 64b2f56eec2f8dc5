//! The flags of `plan`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

use crate::upgrades::arguments::{Connection, Output};

/// Flags of `plan`.
#[derive(Args, Debug)]
pub struct PlanArguments {
    /// An upgrade of the hub
    #[arg(value_name = "MCU", conflicts_with = "file", required_unless_present = "file")]
    pub name: Option<String>,
    /// A file with the upgrade that is thought of; - is standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Rehearse it so often, each time with other durations, for percentiles
    #[arg(long, default_value = "1", value_name = "N")]
    pub runs: NonZeroU32,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// Which hub.
    #[command(flatten)]
    pub connection: Connection,
}
