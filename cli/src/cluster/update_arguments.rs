//! The flags of the commands that begin an update: `pre-checks` and `start`.

use std::time::Duration;

use clap::{ArgAction, Args};
use drydock_api::insights::Level;
use drydock_insights::start::Allowed;
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::arguments::{Format, Source};
use crate::plan::arguments::moment;
use crate::upgrades::arguments::Connection;

/// Examples of `cluster pre-checks`.
pub const PRE_CHECKS_EXAMPLES: &str = "\
Examples:
  # what speaks against the newest recommended update
  kubectl drydock cluster pre-checks

  # of one release; the exit code is 1 if something holds it that nobody has accepted
  kubectl drydock cluster pre-checks --version 4.16.32

  # accept a finding, for this update and until Saturday
  kubectl drydock cluster pre-checks --version 4.16.32 --accept 0123456789abcdef0123456789abcdef \\
    --reason 'the budget is lifted in the window' --until 2026-12-05T00:00:00Z

  # of objects in files
  kubectl drydock cluster pre-checks --version 4.16.32 --from dump/";

/// Examples of `cluster start`.
pub const START_EXAMPLES: &str = "\
Examples:
  # nothing is written yet, but everything is looked at
  kubectl drydock cluster start --version 4.16.32 --dry-run

  kubectl drydock cluster start --version 4.16.32

  # with a finding that you accept
  kubectl drydock cluster start --version 4.16.32 --accept 0123456789abcdef0123456789abcdef --reason 'known, harmless'";

/// Flags of `cluster pre-checks`.
#[derive(Args, Debug)]
pub struct PreChecksArguments {
    /// The release to update to; default: the newest that is recommended
    #[arg(long)]
    pub version: Option<Version>,
    /// What is accepted.
    #[command(flatten)]
    pub acceptance: AcceptanceArguments,
    /// How long informers are waited for
    #[arg(long, default_value = "3m", value_parser = wait, value_name = "DURATION")]
    pub timeout: Duration,
    /// Where the cluster is.
    #[command(flatten)]
    pub source: Source,
    /// What to print instead of text
    #[arg(long, short, value_enum)]
    pub output: Option<Format>,
}

/// Flags of `cluster start`.
#[derive(Args, Debug)]
pub struct StartArguments {
    /// The release to update to
    #[arg(long)]
    pub version: Version,
    /// Refuse while something holds the update that nobody has accepted
    #[arg(
        long, action = ArgAction::Set, default_value_t = true, default_missing_value = "true", num_args = 0..=1,
        require_equals = true, value_name = "BOOL"
    )]
    pub pre_checks: bool,
    /// What is accepted.
    #[command(flatten)]
    pub acceptance: AcceptanceArguments,
    /// How long informers are waited for
    #[arg(long, default_value = "3m", value_parser = wait, value_name = "DURATION")]
    pub timeout: Duration,
    /// Only ask the API server whether the update could be requested
    #[arg(long, conflicts_with = "accept")]
    pub dry_run: bool,
    /// Also a release that is not recommended for this cluster
    #[arg(long)]
    pub allow_not_recommended: bool,
    /// Also a release that the update service does not offer
    #[arg(long)]
    pub allow_explicit_upgrade: bool,
    /// Also while ClusterVersion is Invalid, Failing or Progressing
    #[arg(long)]
    pub allow_upgrade_with_warnings: bool,
    /// Where the cluster is.
    #[command(flatten)]
    pub connection: Connection,
}

impl StartArguments {
    /// What is allowed that is refused otherwise.
    pub fn allowed(&self) -> Allowed {
        Allowed {
            explicit: self.allow_explicit_upgrade,
            not_recommended: self.allow_not_recommended,
            with_warnings: self.allow_upgrade_with_warnings,
        }
    }
}

/// What is accepted, by whom says the API server.
#[derive(Args, Clone, Debug, Default)]
pub struct AcceptanceArguments {
    /// The UUIDs of findings that you accept, for this release and no other; one that is worse than a Warning with its level, as UUID=Error;
    /// repeatable
    #[arg(long, value_delimiter = ',', value_name = "UUID[=LEVEL],…", value_parser = acceptance, requires = "reason")]
    pub accept: Vec<Acceptance>,
    /// Why they are accepted
    #[arg(long, requires = "accept", value_name = "TEXT", value_parser = crate::arguments::reason)]
    pub reason: Option<String>,
    /// Until when; default: for the life of the plan
    #[arg(long, requires = "accept", value_parser = moment, value_name = "TIME")]
    pub until: Option<Timestamp>,
}

/// A finding that somebody accepts. It may have become worse since it was shown, so that who accepts more than a Warning says so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acceptance {
    /// The finding.
    pub uuid: String,
    /// Up to which level, if that is said.
    pub level: Option<Level>,
}

/// How long something is waited for: an hour at most.
fn wait(text: &str) -> Result<Duration, String> {
    let wait = text.parse::<SignedDuration>().ok();
    wait.filter(|wait| *wait <= SignedDuration::from_hours(1))
        .and_then(|wait| Duration::try_from(wait).ok())
        .ok_or_else(|| format!("`{text}` is no duration of at most an hour, such as 90s or 2m"))
}

fn acceptance(text: &str) -> Result<Acceptance, String> {
    let (uuid, level) = match text.split_once('=') {
        Some((uuid, level)) => (uuid, Some(level)),
        None => (text, None),
    };
    let level = level.map(|name| {
        let mut gating = Level::ALL.into_iter().filter(|level| level.gates());
        let named = gating.find(|level| level.as_str().eq_ignore_ascii_case(name));
        named.ok_or_else(|| format!("`{name}` is no level: Warning, Unknown, Error or Critical"))
    });
    Ok(Acceptance {
        uuid: self::uuid(uuid)?,
        level: level.transpose()?,
    })
}

fn uuid(text: &str) -> Result<String, String> {
    const LENGTH: usize = 32;
    let is_digit = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
    if text.len() == LENGTH && text.chars().all(is_digit) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "`{text}` is not the UUID of a finding: 32 digits and letters from a to f, as pre-checks prints them"
        ))
    }
}
