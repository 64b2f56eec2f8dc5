//! The maintenance that is left out, and the window that does it.

use anyhow::bail;
use drydock_api::schedule::{
    UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow, UpgradeSuspensionWindowSpec,
};
use drydock_schedule::config::{DecisionSpan, Outlook, PlannedMaintenance};
use drydock_schedule::suspension::{Affects, Suspensions};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::ResourceExt;

use super::choice::Choice;
use super::cluster::ObservedCluster;
use super::outlook::has_started;
use super::times;

/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// The shortest window that a definition accepts.
const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// How many maintenances are named to choose from.
const NAMED: usize = 3;

/// The maintenance that is left out.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// Its UpgradeJob exists and has not started.
    Job(&'a UpgradeJob),
    /// It has no UpgradeJob yet.
    Maintenance {
        /// When it starts.
        start: Timestamp,
        /// When it is decided.
        span: DecisionSpan,
    },
}

impl<'a> Target<'a> {
    /// The maintenance at a moment, or else the next one. `current` is the UpgradeJob of the schedule that has not ended.
    ///
    /// # Errors
    /// If there is none, or it has started.
    pub fn find(
        outlook: &Outlook,
        current: Option<&'a UpgradeJob>,
        at: Option<Timestamp>,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        if let Some(job) = current {
            let start = job.spec.start_after.0;
            match (has_started(job), at) {
                (true, Some(at)) if at == start => bail!(
                    "UpgradeJob {} of this maintenance has started: what runs is not stopped by a suspension window",
                    job.name_any()
                ),
                (false, at) if at.is_none_or(|at| at == start) => return Ok(Self::Job(job)),
                _ => {}
            }
        }
        let is_it = |planned: &&PlannedMaintenance| at.is_none_or(|at| planned.start == at);
        let found = outlook.maintenances.iter().find(is_it);
        let span = found.and_then(|found| outlook.decided_in(found.start, now));
        if let Some((found, span)) = found.zip(span) {
            let start = found.start;
            return Ok(Self::Maintenance { start, span });
        }
        let shown = |time| times::shown(time, outlook.settings.calendar.location());
        let next = outlook.maintenances.iter().take(NAMED);
        let next: Vec<String> = next.map(|planned| shown(planned.start)).collect();
        bail!(
            "there is no maintenance{} that can still be left out; the next ones are at {}",
            at.map_or_else(String::new, |at| format!(" at {}", shown(at))),
            next.join(", ")
        )
    }

    /// When it starts.
    pub fn start(&self) -> Timestamp {
        match self {
            Self::Job(job) => job.spec.start_after.0,
            Self::Maintenance { start, .. } => *start,
        }
    }

    /// The object that is selected, for people.
    pub fn described(&self, config: &UpgradeConfig) -> String {
        match self {
            Self::Job(job) => format!("UpgradeJob {}", job.name_any()),
            Self::Maintenance { .. } => format!("UpgradeConfig {}", config.name_any()),
        }
    }

    /// Why it is left out already.
    pub fn left_out_by(&self, cluster: &ObservedCluster, outlook: &Outlook) -> Option<String> {
        match self {
            Self::Job(job) => {
                let windows = cluster.windows.iter().flatten();
                let by = Suspensions::of(&job.metadata, Affects::Jobs, windows).at(self.start())?;
                Some(by.to_string())
            }
            Self::Maintenance { start, .. } => {
                let mut planned = outlook.maintenances.iter();
                let planned = planned.find(|planned| planned.start == *start)?;
                Some(planned.left_out.as_ref()?.to_string())
            }
        }
    }

    /// The window that leaves it out: over the time in which it is decided whether an UpgradeJob is created, or in which its UpgradeJob may
    /// start. `following`, the start of the next maintenance of the schedule, is not in it.
    pub fn window(
        &self,
        config: &UpgradeConfig,
        following: Option<Timestamp>,
        choice: &Choice,
        reason: &str,
    ) -> UpgradeSuspensionWindow {
        let selector = Some(choice.selector());
        let (from, until, config_selector, job_selector) = match self {
            Self::Maintenance { span, .. } => (span.start, span.end, selector, None),
            Self::Job(job) => {
                let (from, until) = (job.spec.start_after.0, job.spec.start_before.0);
                let before = following.map(|following| following.saturating_sub(SECOND).unwrap_or(following));
                let until = before.map_or(until, |before| until.min(before));
                let shortest = from.saturating_add(SECOND).unwrap_or(from);
                (from, until.max(shortest), None, selector)
            }
        };
        let end = format!("-{}", self.start().as_second());
        let mut name = format!("skip-{}", config.name_any());
        // Names of objects are ASCII.
        name.truncate(LONGEST_NAME - end.len());
        UpgradeSuspensionWindow {
            metadata: ObjectMeta {
                name: Some(name + &end),
                namespace: config.namespace(),
                ..ObjectMeta::default()
            },
            spec: UpgradeSuspensionWindowSpec {
                start: Time(from),
                end: Time(until),
                reason: reason.to_owned(),
                config_selector,
                job_selector,
            },
            status: None,
        }
    }
}
