//! The UpgradeJobs of an UpgradeConfig.

use drydock_api::conditions::Condition;
use drydock_api::schedule::{DEFAULT_SUCCESSFUL_JOBS, UpgradeConfig, UpgradeJob};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::NextDecision;
use crate::job::condition::{self, JobCondition, JobReason};

/// An UpgradeJob that is no longer needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedJob {
    /// Its name.
    pub name: String,
    /// Its UID, so that no other of the same name is deleted.
    pub uid: Option<String>,
}

/// How an UpgradeJob has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobEnd {
    NotEnded,
    Succeeded,
    /// It succeeded without having started, for a suspension window.
    Skipped,
    Failed,
}

impl JobEnd {
    fn of(job: &UpgradeJob) -> Self {
        let is_succeeded = |end: &Condition| end.type_ == JobCondition::Succeeded.name();
        match end_of(job) {
            None => Self::NotEnded,
            Some(end) if !is_succeeded(end) => Self::Failed,
            Some(end) if end.reason == JobReason::Skipped.name() => Self::Skipped,
            Some(_) => Self::Succeeded,
        }
    }
}

fn end_of(job: &UpgradeJob) -> Option<&Condition> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    condition::end(conditions)
}

/// When an UpgradeJob of an UpgradeConfig last succeeded without being skipped. `jobs` are those of its namespace, or more.
pub(crate) fn last_success<'a>(
    config: &UpgradeConfig,
    jobs: impl IntoIterator<Item = &'a UpgradeJob>,
) -> Option<Timestamp> {
    let own = jobs.into_iter().filter(|job| {
        is_controlled_by(&job.metadata, &config.metadata) && JobEnd::of(job) == JobEnd::Succeeded
    });
    own.filter_map(end_of).map(|end| end.last_transition_time.0).max()
}

/// An UpgradeJob of an UpgradeConfig. They are ordered by their start.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedJob {
    start: Timestamp,
    created: Option<Timestamp>,
    name: String,
    uid: Option<String>,
    end: JobEnd,
    deleting: bool,
}

/// The UpgradeJobs of an UpgradeConfig, the latest first.
pub(super) struct OwnedJobs(Vec<OwnedJob>);

impl OwnedJobs {
    /// The UpgradeJobs that an UpgradeConfig controls: by its UID, so not those of one of the same name that was deleted.
    pub(super) fn of(config: &UpgradeConfig, jobs: &[&UpgradeJob]) -> Self {
        let own = |job: &&&UpgradeJob| is_controlled_by(&job.metadata, &config.metadata);
        let mut jobs: Vec<OwnedJob> = jobs.iter().filter(own).map(|job| OwnedJob::of(job)).collect();
        jobs.sort_by(|one, other| {
            let key = |job: &OwnedJob| (job.start, job.created, job.name.clone());
            key(other).cmp(&key(one))
        });
        Self(jobs)
    }

    /// The latest UpgradeJob, and its start.
    pub(super) fn latest(&self) -> Option<(&str, Timestamp)> {
        self.0.first().map(|job| (job.name.as_str(), job.start))
    }

    /// What keeps another UpgradeJob from being created. There is at most one that has not ended.
    pub(super) fn blocks(&self, now: Timestamp) -> Option<NextDecision> {
        let running = self.0.iter().find(|job| job.end == JobEnd::NotEnded);
        if let Some(job) = running {
            let job = job.name.clone();
            return Some(NextDecision::AwaitEnd { job });
        }
        let latest = self.0.first().filter(|latest| latest.start > now)?;
        Some(NextDecision::AwaitStart {
            job: latest.name.clone(),
            start: latest.start,
        })
    }

    /// The succeeded UpgradeJobs beyond those that are kept. The newest is always kept, and so is the newest that was not skipped: it says
    /// since when the cluster has had no maintenance.
    pub(super) fn superfluous(&self, kept: Option<i64>) -> Vec<PrunedJob> {
        let kept = kept.unwrap_or(DEFAULT_SUCCESSFUL_JOBS);
        let kept = usize::try_from(kept).ok().filter(|kept| *kept > 0);
        let done = |end| matches!(end, JobEnd::Succeeded | JobEnd::Skipped);
        let succeeded = self.0.iter().filter(|job| done(job.end) && !job.deleting);
        let last = succeeded.clone().find(|job| job.end == JobEnd::Succeeded);
        let superfluous = succeeded.skip(kept.unwrap_or(usize::MAX));
        let superfluous = superfluous.filter(|job| Some(*job) != last).map(|job| PrunedJob {
            name: job.name.clone(),
            uid: job.uid.clone(),
        });
        superfluous.collect()
    }
}

impl OwnedJob {
    fn of(job: &UpgradeJob) -> Self {
        let metadata = &job.metadata;
        Self {
            start: job.spec.start_after.0,
            created: metadata.creation_timestamp.as_ref().map(|created| created.0),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            end: JobEnd::of(job),
            deleting: metadata.deletion_timestamp.is_some(),
        }
    }
}

fn is_controlled_by(object: &ObjectMeta, owner: &ObjectMeta) -> bool {
    let mut owners = object.owner_references.iter().flatten();
    object.namespace == owner.namespace
        && owners
            .any(|reference| reference.controller == Some(true) && Some(&reference.uid) == owner.uid.as_ref())
}
