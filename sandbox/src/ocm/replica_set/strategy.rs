//! How a rollout goes through the clusters: `rolloutStrategy` of a Placement's reference (fleet reference 2).

use std::str::FromStr;

use drydock_api::GoDuration;
use jiff::SignedDuration;
use serde_json::Value;

use super::super::object;
use super::groups::GroupRef;

/// A number of clusters, or so many of a hundred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// So many.
    Count(i64),
    /// So many of a hundred, rounded up.
    Percent(f64),
}

/// A strategy that cannot be carried out.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StrategyError {
    /// `maxConcurrency` or `maxFailures`.
    #[error("'{0}' is an invalid maximum threshold value: string is not a percentage")]
    Size(String),
    /// `progressDeadline` or `minSuccessTime`.
    #[error("{0:?} is an invalid duration")]
    Duration(String),
    /// `type`.
    #[error("incorrect rollout strategy type {0}")]
    Kind(String),
}

impl Size {
    fn parse(value: &Value) -> Result<Self, StrategyError> {
        match value {
            Value::String(text) => text
                .strip_suffix('%')
                .and_then(|percent| percent.parse().ok())
                .map(Self::Percent)
                .ok_or_else(|| StrategyError::Size(text.clone())),
            other => Ok(Self::Count(other.as_i64().unwrap_or_default())),
        }
    }

    /// Of `total` clusters; a size that is zero, negative or more than all is `default`, whatever was meant.
    pub fn of(self, total: usize, default: usize) -> usize {
        let size = match self {
            Self::Count(count) => count,
            Self::Percent(percent) => (percent / 100.0 * total as f64).ceil() as i64,
        };
        usize::try_from(size)
            .ok()
            .filter(|size| (1..=total).contains(size))
            .unwrap_or(default)
    }
}

/// What all strategies have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long a cluster that succeeded keeps its place.
    pub soak: SignedDuration,
    /// How long a cluster may progress, or stay failed; for ever if there is none.
    pub deadline: Option<SignedDuration>,
    /// The groups that go first, one after the other, without a failure.
    pub mandatory: Vec<GroupRef>,
}

/// The order in which clusters get their work.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// All at once.
    All(Pace),
    /// So many at a time, by their names.
    Progressive {
        /// Soak, deadline and what goes first.
        pace: Pace,
        /// How many at a time.
        concurrency: Size,
        /// More failures than this stop the rollout.
        failures: Size,
    },
    /// Group after group.
    PerGroup {
        /// Soak, deadline and what goes first.
        pace: Pace,
        /// More failures than this in a group stop the rollout.
        failures: Size,
    },
}

impl Strategy {
    /// Reads `{type, all, progressive, progressivePerGroup}`; no strategy means all at once.
    ///
    /// # Errors
    /// [`StrategyError`] for a type, size or duration that is none.
    pub fn parse(strategy: &Value) -> Result<Self, StrategyError> {
        match strategy["type"].as_str().unwrap_or("All") {
            "All" => Ok(Self::All(Pace {
                soak: SignedDuration::ZERO,
                mandatory: Vec::new(),
                ..Pace::parse(&strategy["all"])?
            })),
            "Progressive" => {
                let settings = &strategy["progressive"];
                Ok(Self::Progressive {
                    pace: Pace::parse(settings)?,
                    concurrency: Size::parse(&settings["maxConcurrency"])?,
                    failures: Size::parse(&settings["maxFailures"])?,
                })
            }
            "ProgressivePerGroup" => {
                let settings = &strategy["progressivePerGroup"];
                Ok(Self::PerGroup {
                    pace: Pace::parse(settings)?,
                    failures: Size::parse(&settings["maxFailures"])?,
                })
            }
            other => Err(StrategyError::Kind(other.to_owned())),
        }
    }
}

impl Pace {
    fn parse(settings: &Value) -> Result<Self, StrategyError> {
        let soak = settings["minSuccessTime"].as_str().unwrap_or("0");
        Ok(Self {
            soak: duration(soak)?,
            deadline: deadline(settings["progressDeadline"].as_str().unwrap_or_default())?,
            mandatory: object::list(&settings["mandatoryDecisionGroups"])
                .iter()
                .map(|group| match group["groupName"].as_str().unwrap_or_default() {
                    "" => GroupRef::Index(group["groupIndex"].as_i64().unwrap_or_default()),
                    name => GroupRef::Name(name.to_owned()),
                })
                .collect(),
        })
    }
}

/// A deadline begins with a whole number and a unit: the real pattern asks for no more, and Go for the rest.
fn deadline(text: &str) -> Result<Option<SignedDuration>, StrategyError> {
    if text.is_empty() || text == "None" {
        return Ok(None);
    }
    let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if unit.len() == text.len() || !unit.starts_with(['h', 'm', 's', '|']) {
        return Err(StrategyError::Duration(text.to_owned()));
    }
    duration(text).map(Some)
}

fn duration(text: &str) -> Result<SignedDuration, StrategyError> {
    GoDuration::from_str(text)
        .map(GoDuration::signed)
        .map_err(|_| StrategyError::Duration(text.to_owned()))
}
