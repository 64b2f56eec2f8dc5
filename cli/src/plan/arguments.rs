//! The flags of `plan`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use drydock_api::mcu::Limit;
use drydock_api::{GoDuration, IntOrPercent};
use drydock_forecast::{FailureRate, GroupBy, SimulationSettings};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::Disambiguation;

use crate::upgrades::arguments::{Connection, Output};

/// Flags of `plan`.
#[derive(Args, Debug)]
pub struct PlanArguments {
    /// An upgrade of the hub: forecast from where it is
    #[arg(value_name = "MCU", conflicts_with = "file", required_unless_present = "file")]
    pub name: Option<String>,
    /// A file with an upgrade that is not applied yet, or with a change to one that is; - is standard input
    #[arg(long = "filename", short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The number of simulated rollouts, from 1 to 100000
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000), value_name = "N")]
    pub runs: u32,
    /// The same seed gives the same forecast of the same fleet
    #[arg(long, default_value_t = 0, value_name = "S")]
    pub seed: u64,
    /// Clusters with the same value of this label are alike; default: the same provider (cloud) and about as many nodes (nodes)
    #[arg(long, value_name = "LABEL")]
    pub group_by: Option<String>,
    /// The share of upgrades that fail, such as 0.02 or 2%; default: by the records
    #[arg(long, value_name = "RATE")]
    pub failure_rate: Option<Share>,
    /// No upgrade fails, unless it takes longer than its timeout
    #[arg(long, conflicts_with = "failure_rate")]
    pub no_failures: bool,
    /// List every cluster instead of waves
    #[arg(long)]
    pub clusters: bool,
    /// When the rollout must have ended: 2026-12-01T06:00:00Z, or 2026-12-01T06:00[Europe/Berlin]
    #[arg(long, value_name = "TIME")]
    pub finish_by: Option<Deadline>,
    /// The share of the runs in which the rollout must complete, by --finish-by if that is given; else the exit code is 1
    #[arg(long, default_value = "0.9", value_name = "SHARE")]
    pub confidence: Share,
    /// A rollout completes when all clusters have that can start, though others are left that cannot
    #[arg(long)]
    pub ignore_blocked: bool,
    /// Forecast with each of these values: maxConcurrency=10,25%, soakTime=0s,2h, maxFailures=1,5%, startWindows=a.yaml,b.yaml; repeatable
    #[arg(long, value_name = "KEY=V1,V2,…")]
    pub sweep: Vec<Sweep>,
    /// Forecast with the spec of this file as well
    #[arg(long, value_name = "FILE")]
    pub compare: Option<PathBuf>,
    /// What to print
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// Which hub.
    #[command(flatten)]
    pub connection: Connection,
}

impl PlanArguments {
    /// Which clusters are alike.
    pub fn group_by(&self) -> GroupBy {
        let label = self.group_by.clone();
        label.map_or(GroupBy::ProviderAndSize, GroupBy::Label)
    }

    /// How often upgrades fail.
    pub fn failure_rate(&self) -> FailureRate {
        match self.failure_rate {
            _ if self.no_failures => FailureRate::Fixed(0.0),
            Some(Share(rate)) => FailureRate::Fixed(rate),
            None => FailureRate::Recorded,
        }
    }

    /// How many runs are made.
    pub fn runs(&self, with_clusters: bool) -> SimulationSettings {
        SimulationSettings {
            count: self.runs,
            seed: self.seed,
            with_clusters,
            ignores_blocked: self.ignore_blocked,
        }
    }
}

/// A share, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => text.parse(),
        };
        match share {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Self(share)),
            _ => Err(format!(
                "`{text}` is no share: write a number from 0 to 1, or a percentage, as in 0.05 or 5%"
            )),
        }
    }
}

/// When a rollout must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline(pub Timestamp);

impl FromStr for Deadline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        moment(text).map(Self)
    }
}

/// Reads a moment: a time with its offset or its zone.
///
/// # Errors
/// If it is none, or not one.
pub fn moment(text: &str) -> Result<Timestamp, String> {
    // A time that a change of the clocks leaves out, or repeats, is not guessed.
    let parser = DateTimeParser::new().disambiguation(Disambiguation::Reject);
    let moment = if text.contains('[') {
        parser.parse_zoned(text).map(|zoned| zoned.timestamp())
    } else {
        text.parse()
    };
    moment.map_err(|error| {
        format!(
            "`{text}` is not one moment: {error}. Write 2026-12-01T06:00:00Z or 2026-12-01T06:00[Europe/Berlin]; where the clocks \
             change, with the offset as well: 2027-10-31T02:30+01:00[Europe/Berlin]"
        )
    })
}

/// One field of the strategy, and the values that it is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sweep {
    /// `maxConcurrency`.
    MaxConcurrency(Vec<String>),
    /// `maxFailures`.
    MaxFailures(Vec<String>),
    /// `canaryClusters.soakTime`.
    SoakTime(Vec<String>),
    /// `startWindows`, by files each of which is a list of them.
    StartWindows(Vec<PathBuf>),
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, values) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is not KEY=V1,V2,…, as in maxConcurrency=10,50,100"))?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        let each = |check: &dyn Fn(&str) -> Result<(), String>| -> Result<(), String> {
            values.iter().try_for_each(|value| check(value))
        };
        match key.trim() {
            "maxConcurrency" => {
                each(&|value| match limit(value)? {
                    limit if limit.is_zero() => Err("maxConcurrency must be at least 1".to_owned()),
                    _ => Ok(()),
                })?;
                Ok(Self::MaxConcurrency(values))
            }
            "maxFailures" => {
                each(&|value| limit(value).map(drop))?;
                Ok(Self::MaxFailures(values))
            }
            "soakTime" => {
                each(&|value| {
                    value
                        .parse::<GoDuration>()
                        .map(drop)
                        .map_err(|error| error.to_string())
                })?;
                Ok(Self::SoakTime(values))
            }
            "startWindows" => {
                each(&|value| match value {
                    "" => Err("startWindows needs the names of files".to_owned()),
                    _ => Ok(()),
                })?;
                Ok(Self::StartWindows(
                    values.into_iter().map(PathBuf::from).collect(),
                ))
            }
            other => Err(format!(
                "`{other}` cannot be swept: write maxConcurrency, soakTime, maxFailures or startWindows"
            )),
        }
    }
}

fn limit(text: &str) -> Result<IntOrPercent, String> {
    text.parse::<IntOrPercent>().map_err(|error| error.to_string())
}

/// A number or a percentage as it stands in a spec.
pub fn spec_limit(text: &str) -> Limit {
    match text.parse::<u32>() {
        Ok(count) => Limit::from(count),
        Err(_) => Limit::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_percentages() {
        for (text, share) in [
            ("0.05", 0.05),
            ("5%", 0.05),
            ("0", 0.0),
            ("100%", 1.0),
            ("1", 1.0),
        ] {
            assert_eq!(text.parse(), Ok(Share(share)), "{text}");
        }
        for text in ["", "%", "2", "-0.1", "101%", "NaN", "often"] {
            let refused = text.parse::<Share>().unwrap_err();
            assert!(refused.contains("from 0 to 1"), "{text}: {refused}");
        }
    }

    #[test]
    fn a_deadline_has_a_zone() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for (text, meant) in [
            ("2026-12-01T06:00:00Z", "2026-12-01T06:00:00Z"),
            ("2026-12-01T06:00:00+01:00", "2026-12-01T05:00:00Z"),
            ("2026-12-01T06:00[Europe/Berlin]", "2026-12-01T05:00:00Z"),
            ("2026-07-01T06:00[Europe/Berlin]", "2026-07-01T04:00:00Z"),
            ("2027-10-31T02:30+01:00[Europe/Zurich]", "2027-10-31T01:30:00Z"),
        ] {
            assert_eq!(text.parse(), Ok(Deadline(at(meant))), "{text}");
        }
        for text in [
            "tomorrow",
            "2026-12-01",
            "2026-12-01T06:00",
            "2026-12-01T06:00[Mars/Olympus]",
            "2027-03-28T02:30[Europe/Zurich]",
            "2027-10-31T02:30[Europe/Zurich]",
            "2026-11-30T06:00+05:00[Europe/Berlin]",
            "9999-12-31T23:59:59Z",
        ] {
            let refused = text.parse::<Deadline>().unwrap_err();
            assert!(refused.contains("is not one moment"), "{text}: {refused}");
        }
    }

    #[test]
    fn what_is_swept_is_checked_before_the_hub_is_asked() {
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        for (text, sweep) in [
            (
                "maxConcurrency=10,25%",
                Sweep::MaxConcurrency(list(&["10", "25%"])),
            ),
            ("maxFailures=0", Sweep::MaxFailures(list(&["0"]))),
            ("soakTime=0s,1h30m", Sweep::SoakTime(list(&["0s", "1h30m"]))),
            (
                "startWindows=a.yaml,b.yaml",
                Sweep::StartWindows(vec!["a.yaml".into(), "b.yaml".into()]),
            ),
        ] {
            assert_eq!(text.parse(), Ok(sweep), "{text}");
        }
        for (text, why) in [
            ("maxConcurrency", "is not KEY=V1,V2"),
            ("maxConcurrency=", "neither a whole number"),
            ("maxConcurrency=0", "at least 1"),
            ("maxFailures=many", "neither a whole number"),
            ("soakTime=soon", "is not a duration"),
            ("startWindows=", "names of files"),
            ("placement=dev", "cannot be swept"),
        ] {
            let refused = text.parse::<Sweep>().unwrap_err();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
