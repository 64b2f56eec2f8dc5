//! The series that follow from UpgradeJobs, machine config pools and ClusterVersion (Maintenance schedules, section 5). They are computed
//! from the objects that there are: an object that is missing makes none, and breaks none of the others.

mod cluster;
#[cfg(test)]
mod tests;

use drydock_api::conditions::{self, Condition};
use drydock_api::schedule::{HookStatus, UpgradeJob, UpgradeJobHook};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

pub use cluster::{
    CLUSTER_UPGRADING, POOL_MACHINES, POOL_UPDATED_MACHINES, POOLS_PAUSED, POOLS_UPGRADING, of_cluster,
};

use super::condition::{self, JobCondition};
use super::hooks;
use crate::instants::whole_seconds;
use crate::metrics::{Family, FamilyKind, Sample, key, seconds};

/// The state of an UpgradeJob. The namespace is ours: two of the same name would make the same series.
pub const STATE: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_state",
    help: "1: the UpgradeJob is in this state, for this reason if it has ended.",
    labels: &[
        "upgradejob",
        "start_after",
        "start_before",
        "desired_version_force",
        "desired_version_image",
        "desired_version_version",
        "state",
        "reason",
        "matches_disruptive_hooks",
        "namespace",
    ],
};
/// When an UpgradeJob starts.
pub const START_AFTER: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_start_after_timestamp_seconds",
    help: "When the UpgradeJob starts, in seconds since 1970.",
    labels: &["upgradejob", "namespace"],
};
/// Until when an UpgradeJob may start.
pub const START_BEFORE: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_start_before_timestamp_seconds",
    help: "Until when the UpgradeJob may start, in seconds since 1970.",
    labels: &["upgradejob", "namespace"],
};

/// Why an UpgradeJob waits; ours.
pub const WAITING: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_waiting",
    help: "1 while the UpgradeJob cannot go on: another upgrade is under way, or something cannot be read or used.",
    labels: &["upgradejob", "reason", "namespace"],
};
/// How far a hook of an UpgradeJob is; ours.
pub const HOOK_STATE: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradejob_hook_state",
    help: "1: the hook is in this state for this event of the UpgradeJob: pending, active, complete or failed.",
    labels: &[
        "upgradejob",
        "upgradejobhook",
        "event",
        "pool",
        "state",
        "namespace",
    ],
};

/// The samples of UpgradeJobs; of the hooks those count that are in the namespace of the UpgradeJob.
pub fn of_jobs<'a>(
    jobs: impl IntoIterator<Item = &'a UpgradeJob>,
    all_hooks: impl IntoIterator<Item = &'a UpgradeJobHook>,
) -> Vec<Sample> {
    let all_hooks: Vec<&UpgradeJobHook> = all_hooks.into_iter().collect();
    let mut samples = Vec::new();
    for job in jobs {
        let near = all_hooks
            .iter()
            .copied()
            .filter(|hook| hook.metadata.namespace == job.metadata.namespace);
        let is_disruptive = hooks::matches_disruptive(near, job);
        let labels = key(&job.metadata);
        let (after, before) = (job.spec.start_after.0, job.spec.start_before.0);
        samples.push(of_state(job, is_disruptive));
        samples.push(Sample::new(&START_AFTER, &labels, seconds(after)));
        samples.push(Sample::new(&START_BEFORE, &labels, seconds(before)));
        samples.extend(of_waiting(job));
        let tracker = job.status.iter().flat_map(|status| &status.hook_tracker);
        samples.extend(tracker.flatten().map(|entry| of_hook(job, entry)));
    }
    samples
}

fn conditions_of(job: &UpgradeJob) -> &[Condition] {
    let status = job.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions.unwrap_or_default()
}

fn of_waiting(job: &UpgradeJob) -> Option<Sample> {
    let [name, namespace] = key(&job.metadata);
    let waiting = conditions::find(conditions_of(job), JobCondition::Waiting.name())?;
    let waits = waiting.status == conditions::TRUE;
    waits.then(|| Sample::new(&WAITING, &[name, &waiting.reason, namespace], 1.0))
}

/// A hook whose Job has not been seen yet has no status in the tracker.
fn of_hook(job: &UpgradeJob, entry: &HookStatus) -> Sample {
    let [name, namespace] = key(&job.metadata);
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let state = entry.status.as_deref().unwrap_or("pending");
    let (hook, event) = (text(&entry.upgrade_job_hook), text(&entry.hook_event));
    let labels = [name, &hook, &event, &text(&entry.tracking_key), state, namespace];
    Sample::new(&HOOK_STATE, &labels, 1.0)
}

fn of_state(job: &UpgradeJob, is_disruptive: bool) -> Sample {
    let [name, namespace] = key(&job.metadata);
    let (state, reason) = state(job);
    let time = |time: &Time| whole_seconds(time.0).to_string();
    let desired = job.spec.desired_version.clone().unwrap_or_default();
    let force = job.spec.desired_version.is_some();
    let force = force.then(|| desired.force.unwrap_or(false).to_string());
    let labels = [
        name,
        &time(&job.spec.start_after),
        &time(&job.spec.start_before),
        &force.unwrap_or_default(),
        &desired.image.unwrap_or_default(),
        &desired.version.unwrap_or_default(),
        state,
        &reason,
        &is_disruptive.to_string(),
        namespace,
    ];
    Sample::new(&STATE, &labels, 1.0)
}

/// The state of an UpgradeJob, and its reason if it has ended.
fn state(job: &UpgradeJob) -> (&'static str, String) {
    let conditions = conditions_of(job);
    let is = |type_: JobCondition| conditions::is_true(conditions, type_.name());
    if let Some(end) = condition::end(conditions) {
        let state = if is(JobCondition::Succeeded) {
            "succeeded"
        } else {
            "failed"
        };
        return (state, end.reason.clone());
    }
    let state = if is(JobCondition::Paused) {
        "paused"
    } else if is(JobCondition::Started) {
        "active"
    } else {
        "pending"
    };
    (state, String::new())
}
