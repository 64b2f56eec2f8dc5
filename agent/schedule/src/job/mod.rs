//! The state machine of an UpgradeJob: from what is observed to the status that it should have, and what is to be written once that
//! status is (Maintenance schedules, sections 2.6 to 3.6).
//!
//! The order of a pass is observe, decide, record, write, say: the status is written first, so that what it announces is not done
//! twice and not forgotten whatever ends the process in between. Every write can be repeated and carries the version of the object that
//! the decision has seen.

pub mod condition;
mod ended;
mod event;
pub mod health;
pub mod hooks;
pub mod lock;
pub mod metrics;
pub mod notification;
mod pass;
pub mod pausing_job;
mod pending;
mod pools;
mod running;
mod settings;
pub mod simulation;
mod suspension;
#[cfg(test)]
mod tests;
mod update;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use drydock_api::conditions;
use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::{PlannedUpdate, UpdatePlanState};
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{
    UpgradeJob, UpgradeJobConfig, UpgradeJobHook, UpgradeJobSpec, UpgradeJobStatus, UpgradeSuspensionWindow,
};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;

pub use event::{JobEvent, JobStep};
pub use write::{JobWrite, ObservedVersion, Request, WrittenKind};

use crate::job::condition::JobCondition;
use crate::job::health::Alert;
use crate::job::lock::{HolderState, JobRef, ObservedHolder};
use crate::job::pass::Pass;
use crate::job::settings::Settings;

/// What a pass has seen. What nobody has read yet is `NotAsked`.
#[derive(Clone, Debug)]
pub struct JobObservation {
    /// The UpgradeJob.
    pub job: UpgradeJob,
    /// The UpgradeJobHooks of its namespace.
    pub hooks: Fact<Vec<UpgradeJobHook>>,
    /// The Jobs of its hooks: those of its namespace that [`hooks::job_selector`] selects.
    pub hook_jobs: Fact<Vec<Job>>,
    /// Jobs of hooks by name that the server has refused as invalid when they were last created, and in which words. Such a hook fails.
    pub refused_hook_jobs: BTreeMap<String, String>,
    /// The UpgradeSuspensionWindows of its namespace.
    pub windows: Fact<Vec<UpgradeSuspensionWindow>>,
    /// OpenShift's ClusterVersion.
    pub cluster_version: Fact<ClusterVersion>,
    /// All machine config pools.
    pub pools: Fact<Vec<MachineConfigPool>>,
    /// All cluster operators.
    pub operators: Fact<Vec<ClusterOperator>>,
    /// The labels of the alerts that [`health::ALERTS`] selects.
    pub alerts: Fact<Vec<Alert>>,
    /// The UpgradeJob that holds the lock, if it is another one.
    pub holder: Fact<ObservedHolder>,
    /// What the UpdatePlan of the version says.
    pub update_plan: Fact<UpdatePlanState>,
    /// What has become of other UpgradeJobs that have paused machine config pools.
    pub pausing_jobs: BTreeMap<JobRef, Fact<HolderState>>,
    /// The time of the pass.
    pub now: Timestamp,
}

impl JobObservation {
    /// An observation of which nothing but the UpgradeJob has been read.
    pub fn new(job: UpgradeJob, now: Timestamp) -> Self {
        Self {
            job,
            hooks: Err(Unread::NotAsked),
            hook_jobs: Err(Unread::NotAsked),
            refused_hook_jobs: BTreeMap::new(),
            windows: Err(Unread::NotAsked),
            cluster_version: Err(Unread::NotAsked),
            pools: Err(Unread::NotAsked),
            operators: Err(Unread::NotAsked),
            alerts: Err(Unread::NotAsked),
            holder: Err(Unread::NotAsked),
            update_plan: Err(Unread::NotAsked),
            pausing_jobs: BTreeMap::new(),
            now,
        }
    }
}

/// Something that is read only when a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The UpgradeJobHooks of the namespace.
    Hooks,
    /// The Jobs of the hooks of this UpgradeJob.
    HookJobs,
    /// The UpgradeSuspensionWindows of the namespace.
    Windows,
    /// OpenShift's ClusterVersion.
    ClusterVersion,
    /// The machine config pools.
    Pools,
    /// The cluster operators.
    Operators,
    /// The critical alerts that fire.
    Alerts,
    /// What has become of the UpgradeJob that holds the lock.
    Holder(JobRef),
    /// What the UpdatePlan of this update says.
    UpdatePlan(PlannedUpdate),
    /// What has become of an UpgradeJob that has paused a machine config pool.
    PausingJob(JobRef),
}

impl fmt::Display for Need {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hooks => formatter.write_str("the UpgradeJobHooks"),
            Self::HookJobs => formatter.write_str("the Jobs of its hooks"),
            Self::Windows => formatter.write_str("the UpgradeSuspensionWindows"),
            Self::ClusterVersion => formatter.write_str("ClusterVersion"),
            Self::Pools => formatter.write_str("the machine config pools"),
            Self::Operators => formatter.write_str("the cluster operators"),
            Self::Alerts => formatter.write_str("the critical alerts"),
            Self::Holder(job) => write!(formatter, "UpgradeJob {job}, which has the lock of the cluster"),
            Self::UpdatePlan(update) => write!(formatter, "the UpdatePlan of {}", update.version),
            Self::PausingJob(job) => write!(
                formatter,
                "UpgradeJob {job}, which has paused a machine config pool"
            ),
        }
    }
}

/// What is to be done. The status is written before anything else is.
#[derive(Clone, Debug, PartialEq)]
pub struct JobDecision {
    /// The status as it should be.
    pub status: UpgradeJobStatus,
    /// What must be read before the decision counts.
    pub needs: BTreeSet<Need>,
    /// The writes, in order. Each is tried in every pass, whether an earlier one was refused or not.
    pub writes: Vec<JobWrite>,
    /// What is said of the UpgradeJob to people.
    pub events: Vec<JobEvent>,
    /// When to look again, if nothing changes before. None only if the UpgradeJob has ended and has nothing left to clean up.
    pub wake: Option<Timestamp>,
}

/// Decides.
pub fn decide(seen: &JobObservation) -> JobDecision {
    let status = seen.job.status.as_ref();
    // Until it has asked for something, nobody else says what.
    let has_asked = |status: &&UpgradeJobStatus| {
        let conditions = status.conditions.as_deref().unwrap_or_default();
        conditions::find(conditions, JobCondition::UpgradeCompleted.name()).is_some()
    };
    let requested = status
        .filter(has_asked)
        .and_then(|status| status.requested_version.as_ref());
    let settings = Settings::read(&seen.job.spec, requested);
    let mut pass = Pass::new(seen, &settings);
    hooks::track(&mut pass);
    if seen.job.metadata.deletion_timestamp.is_some() {
        lock::release(&mut pass);
        return pass.decision();
    }
    if !pass.has_ended() {
        // Where it stopped does not matter: what it waits for is in the pass.
        let _ = advance(&mut pass);
    }
    if pass.has_ended() {
        ended::clean_up(&mut pass);
    }
    pass.decision()
}

/// What cannot be used of the config of an UpgradeJob, for people.
pub(crate) fn problems(config: &UpgradeJobConfig) -> Vec<String> {
    let spec = UpgradeJobSpec {
        config: config.clone(),
        ..UpgradeJobSpec::default()
    };
    Settings::read(&spec, None).problems
}

/// Has an UpgradeJob with this status ended, and have its hooks?
pub fn has_settled(status: &UpgradeJobStatus) -> bool {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let tracker = status.hook_tracker.as_deref().unwrap_or_default();
    condition::end(conditions).is_some() && hooks::running(tracker).is_none()
}

fn advance(pass: &mut Pass<'_>) -> pass::Flow {
    if !pass.is_true(JobCondition::Started) {
        pending::advance(pass)?;
    }
    running::advance(pass)
}
