//! The spec of an UpgradeJob, read. What cannot be used is a problem in words, and nothing starts before it is corrected.

use std::collections::BTreeMap;

use drydock_api::GoDuration;
use drydock_api::schedule::{DesiredVersion, HealthChecks, PoolUpgradeDelay, UpgradeJobSpec};
use jiff::{SignedDuration, Timestamp};

use crate::instants::later;
use crate::selector::Selection;

/// The defaults of the definition.
const DEFAULT_UPGRADE_TIMEOUT: SignedDuration = SignedDuration::from_hours(12);
const DEFAULT_HEALTH_TIMEOUT: SignedDuration = SignedDuration::from_hours(1);

/// The spec of an UpgradeJob, read.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When it starts.
    pub start_after: Timestamp,
    /// Until when it may start, this moment included.
    pub start_before: Timestamp,
    /// Until when it must have ended, this moment included.
    pub ends_by: Timestamp,
    /// The health check before the upgrade.
    pub before: HealthSettings,
    /// The health check after the upgrade.
    pub after: HealthSettings,
    /// The pools that are upgraded later.
    pub delays: Vec<PoolDelay>,
    /// The pools that are paused if it fails.
    pub pause_on_failure: Option<Selection>,
    /// The release; none if only hooks run.
    pub target: Option<DesiredVersion>,
    /// The release that the cluster has been asked for.
    pub requested: Option<DesiredVersion>,
    /// `spec.desiredVersion` is not what the cluster has been asked for.
    pub is_edited: bool,
    /// Whether the release must be available at the start.
    pub check_availability: bool,
    /// What cannot be used, for people.
    pub problems: Vec<String>,
}

/// A health check.
#[derive(Clone, Debug)]
pub struct HealthSettings {
    /// What is checked.
    pub checks: HealthChecks,
    /// How long the cluster may be unhealthy.
    pub timeout: SignedDuration,
}

/// Some pools, and how much later they are upgraded.
#[derive(Clone, Debug)]
pub struct PoolDelay {
    /// Which pools.
    pub pools: Selection,
    /// Until when they stay paused.
    pub until: Timestamp,
    /// Until when they may be paused, this moment included.
    pub at_most: Option<Timestamp>,
}

impl Settings {
    /// Reads a spec. What the cluster has been asked for stays the target: to be sent elsewhere in mid-upgrade does a cluster no good, and to be
    /// forgotten would be called a success.
    pub fn read(spec: &UpgradeJobSpec, requested: Option<&DesiredVersion>) -> Self {
        let mut reader = Reader::default();
        let start_after = spec.start_after.0;
        let config = &spec.config;
        let timeout = reader.duration("config.upgradeTimeout", &config.upgrade_timeout);
        let before = reader.health("config.preUpgradeHealthChecks", &config.pre_upgrade_health_checks);
        let after = reader.health(
            "config.postUpgradeHealthChecks",
            &config.post_upgrade_health_checks,
        );
        let entries = config.machine_config_pools.iter().flatten().enumerate();
        let delays = entries.filter_map(|(index, entry)| {
            let path = format!("config.machineConfigPools[{index}]");
            let delay = entry.delay_upgrade.as_ref()?;
            let (min, max) = reader.delay(&path, delay);
            if min.is_zero() && max.is_zero() {
                return None;
            }
            let selection = Selection::or_nothing(entry.match_labels.as_ref());
            Some(PoolDelay {
                pools: reader.selection(&format!("{path}.matchLabels"), selection)?,
                until: later(start_after, min),
                at_most: (!max.is_zero()).then(|| later(start_after, max)),
            })
        });
        let delays = delays.collect();
        let on_failure = config.pause_machine_config_pools_on_failure.as_ref();
        let on_failure = on_failure.filter(|pause| pause.enabled == Some(true));
        let pause_on_failure = on_failure.and_then(|pause| {
            let selection = Selection::or_everything(pause.selector.as_ref());
            reader.selection("config.pauseMachineConfigPoolsOnFailure.selector", selection)
        });
        let start_before = spec.start_before.0;
        if start_before < start_after {
            let problem = "spec.startBefore is before spec.startAfter: it can never start";
            reader.problems.push(problem.to_owned());
        }
        Self {
            start_after,
            start_before,
            ends_by: later(start_after, timeout.unwrap_or(DEFAULT_UPGRADE_TIMEOUT)),
            before,
            after,
            delays,
            pause_on_failure,
            requested: requested.cloned(),
            is_edited: requested.is_some() && requested != spec.desired_version.as_ref(),
            target: match requested {
                Some(requested) => Some(requested.clone()),
                None => reader.target(spec.desired_version.as_ref()),
            },
            check_availability: spec.desired_version_check_availability.unwrap_or(true),
            problems: reader.problems,
        }
    }

    /// How a pool with these labels is delayed, if it is: of several entries the latest start and the earliest end.
    pub fn delay_of(&self, labels: &BTreeMap<String, String>) -> Option<(Timestamp, Option<Timestamp>)> {
        let matching = || self.delays.iter().filter(|delay| delay.pools.selects(labels));
        let until = matching().map(|delay| delay.until).max()?;
        Some((until, matching().filter_map(|delay| delay.at_most).min()))
    }
}

/// Reads texts, and notes what cannot be read.
#[derive(Default)]
struct Reader {
    problems: Vec<String>,
}

impl Reader {
    fn duration(&mut self, path: &str, text: &str) -> Option<SignedDuration> {
        match text.parse::<GoDuration>() {
            Ok(duration) if duration.signed().is_negative() => {
                self.problems.push(format!("spec.{path}: {text} is negative"));
                None
            }
            Ok(duration) => Some(duration.signed()),
            Err(error) => {
                self.problems.push(format!("spec.{path}: {error}"));
                None
            }
        }
    }

    fn health(&mut self, path: &str, checks: &HealthChecks) -> HealthSettings {
        let timeout = self.duration(&format!("{path}.timeout"), &checks.timeout);
        HealthSettings {
            checks: checks.clone(),
            timeout: timeout.unwrap_or(DEFAULT_HEALTH_TIMEOUT),
        }
    }

    fn delay(&mut self, path: &str, delay: &PoolUpgradeDelay) -> (SignedDuration, SignedDuration) {
        let mut read = |name: &str, text: Option<&String>| {
            let text = text.filter(|text| !text.is_empty());
            let path = format!("{path}.delayUpgrade.{name}");
            text.and_then(|text| self.duration(&path, text))
                .unwrap_or_default()
        };
        (
            read("delayMin", delay.delay_min.as_ref()),
            read("delayMax", delay.delay_max.as_ref()),
        )
    }

    fn selection<E: std::fmt::Display>(
        &mut self,
        path: &str,
        selection: Result<Selection, E>,
    ) -> Option<Selection> {
        selection
            .map_err(|error| self.problems.push(format!("spec.{path}: {error}")))
            .ok()
    }

    /// A release without version and image is no release, and not meant as none.
    fn target(&mut self, desired: Option<&DesiredVersion>) -> Option<DesiredVersion> {
        let desired = desired?;
        let is_given = |field: &Option<String>| field.as_ref().is_some_and(|text| !text.is_empty());
        if !is_given(&desired.version) && !is_given(&desired.image) {
            self.problems
                .push("spec.desiredVersion has neither version nor image: give one, or remove it".to_owned());
        }
        Some(desired.clone())
    }
}
