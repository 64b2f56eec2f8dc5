//! The UpgradeJobs of an UpgradeConfig.

use drydock_api::conditions::is_true;
use drydock_api::schedule::{DEFAULT_SUCCESSFUL_JOBS, UpgradeConfig, UpgradeJob};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::NextDecision;

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
    Failed,
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

    /// The start of the last maintenance that has been decided: one that was left out, or the latest UpgradeJob's, where the status has
    /// not been written since.
    pub(super) fn last_decided(&self, config: &UpgradeConfig) -> Option<Timestamp> {
        let status = config.status.as_ref();
        let in_status = status.and_then(|status| status.last_scheduled_upgrade.as_ref());
        let latest = self.0.first().map(|job| job.start);
        latest.max(in_status.map(|last| last.0))
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

    /// The succeeded UpgradeJobs beyond those that are kept. The newest is always kept.
    pub(super) fn superfluous(&self, kept: Option<i64>) -> Vec<PrunedJob> {
        let kept = kept.unwrap_or(DEFAULT_SUCCESSFUL_JOBS);
        let kept = usize::try_from(kept).ok().filter(|kept| *kept > 0);
        let succeeded = self
            .0
            .iter()
            .filter(|job| job.end == JobEnd::Succeeded && !job.deleting);
        let superfluous = succeeded.skip(kept.unwrap_or(usize::MAX)).map(|job| PrunedJob {
            name: job.name.clone(),
            uid: job.uid.clone(),
        });
        superfluous.collect()
    }
}

impl OwnedJob {
    fn of(job: &UpgradeJob) -> Self {
        let metadata = &job.metadata;
        let conditions = job
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_deref());
        let is_true = |type_| is_true(conditions.unwrap_or_default(), type_);
        Self {
            start: job.spec.start_after.0,
            created: metadata.creation_timestamp.as_ref().map(|created| created.0),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone(),
            end: match (is_true("Succeeded"), is_true("Failed")) {
                (true, _) => JobEnd::Succeeded,
                (false, true) => JobEnd::Failed,
                (false, false) => JobEnd::NotEnded,
            },
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
