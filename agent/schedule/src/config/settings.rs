//! The spec of an UpgradeConfig, parsed.

use drydock_api::GoDuration;
use drydock_api::duration::InvalidDuration;
use drydock_api::schedule::UpgradeConfigSpec;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::calendar::{Calendar, InvalidSchedule};
use crate::job;

/// Why an UpgradeConfig must be corrected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidConfig {
    /// The schedule.
    #[error("spec.schedule: {0}")]
    Schedule(#[from] InvalidSchedule),
    /// A duration that is none.
    #[error("spec.{field}: {source}")]
    Duration {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        source: InvalidDuration,
    },
    /// A duration below 0.
    #[error("spec.{field} is {value}: it must not be negative")]
    Negative {
        /// The field.
        field: &'static str,
        /// The duration.
        value: String,
    },
    /// What the UpgradeJobs would wait for until they have expired.
    #[error("{0}")]
    JobTemplate(String),
}

impl InvalidConfig {
    /// Why, as one word: the reason of a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Schedule(schedule) => schedule.reason(),
            Self::Duration { .. } | Self::Negative { .. } => "InvalidDuration",
            Self::JobTemplate(_) => "InvalidJobTemplate",
        }
    }
}

/// The spec of an UpgradeConfig, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// When maintenances start.
    pub calendar: Calendar,
    /// How long before its maintenance an UpgradeJob is created.
    pub pin_version_window: SignedDuration,
    /// How late an UpgradeJob may still be created.
    pub max_scheduling_delay: SignedDuration,
    /// How late an UpgradeJob may still start.
    pub max_upgrade_start_delay: SignedDuration,
    /// Are all maintenances left out?
    pub suspend: bool,
}

impl Settings {
    /// Parses a spec. `local` is the time zone of the process.
    ///
    /// # Errors
    /// If a part of it cannot be used.
    pub fn parse(spec: &UpgradeConfigSpec, local: &TimeZone) -> Result<Self, InvalidConfig> {
        let pin = spec.pin_version_window.as_deref().unwrap_or("0s");
        let problems = job::problems(&spec.job_template.spec.config);
        if !problems.is_empty() {
            let problems = problems
                .iter()
                .map(|problem| format!("spec.jobTemplate.{problem}"));
            return Err(InvalidConfig::JobTemplate(
                problems.collect::<Vec<_>>().join("; "),
            ));
        }
        Ok(Self {
            calendar: Calendar::parse(&spec.schedule, local)?,
            pin_version_window: duration("pinVersionWindow", pin)?,
            max_scheduling_delay: duration("maxSchedulingDelay", &spec.max_scheduling_delay)?,
            max_upgrade_start_delay: duration("maxUpgradeStartDelay", &spec.max_upgrade_start_delay)?,
            suspend: spec.schedule.suspend.unwrap_or(false),
        })
    }
}

fn duration(field: &'static str, text: &str) -> Result<SignedDuration, InvalidConfig> {
    let duration = text
        .parse::<GoDuration>()
        .map_err(|source| InvalidConfig::Duration { field, source })?;
    if duration.signed().is_negative() {
        return Err(InvalidConfig::Negative {
            field,
            value: text.to_owned(),
        });
    }
    Ok(duration.signed())
}
