//! The lock of a cluster: one upgrade at a time, whoever makes it (Maintenance schedules, section 2.7). It is an annotation on
//! OpenShift's ClusterVersion that is taken with the version that was seen, so that of two only one gets it. A lock whose UpgradeJob is
//! gone, was created anew or has ended is taken over.

use std::fmt;

use drydock_api::fact::{Fact, Unread};
use drydock_api::lock::{self, LockKey};
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::UpgradeJob;
use kube::ResourceExt;

use super::Need;
use super::condition::JobReason;
use super::event::JobStep;
use super::pass::{Flow, NEXT, Pass, STOP};
use super::write::{JobWrite, ObservedVersion};

/// An UpgradeJob, by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobRef {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl JobRef {
    /// That of an UpgradeJob.
    pub fn of(job: &UpgradeJob) -> Self {
        Self {
            namespace: job.namespace().unwrap_or_default(),
            name: job.name_any(),
        }
    }

    /// Reads the value of the annotation.
    pub fn parse(value: &str) -> Option<Self> {
        let (namespace, name) = lock::upgrade_job(value)?;
        Some(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for JobRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// The key of an UpgradeJob.
pub fn key(job: &UpgradeJob) -> LockKey {
    LockKey {
        holder: JobRef::of(job).to_string(),
        uid: job.metadata.uid.clone().unwrap_or_default(),
    }
}

/// What is known of the UpgradeJob that has the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedHolder {
    /// Which it is.
    pub job: JobRef,
    /// What has become of it.
    pub state: HolderState,
}

/// What has become of an UpgradeJob that has the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderState {
    /// There is no such UpgradeJob.
    Absent,
    /// There is one.
    Present {
        /// Its UID.
        uid: String,
        /// Whether it has succeeded or failed.
        has_ended: bool,
    },
}

impl HolderState {
    /// That of the UpgradeJob that was found under the name, if one was.
    pub fn of(job: Option<&UpgradeJob>) -> Self {
        let Some(job) = job else {
            return Self::Absent;
        };
        let conditions = job.status.as_ref().and_then(|status| status.conditions.as_ref());
        Self::Present {
            uid: job.uid().unwrap_or_default(),
            has_ended: conditions
                .and_then(|conditions| super::condition::end(conditions))
                .is_some(),
        }
    }
}

/// Whose the lock is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockState {
    /// Nobody's.
    Free,
    /// That of the one who asks.
    Ours,
    /// Of somebody who does not need it any more, for this reason: it may be taken over.
    Stale(String),
    /// Of somebody else, in words.
    Held(String),
    /// Of an UpgradeJob of which has to be known what has become of it.
    Ask(JobRef),
}

/// Whose the lock is, for `key`. `holder` is what is known of the UpgradeJob that has it.
pub fn assess(cluster: &ClusterVersion, key: &LockKey, holder: &Fact<ObservedHolder>) -> LockState {
    let Some(value) = lock::holder(cluster.annotations()) else {
        return LockState::Free;
    };
    let uid = lock::holder_uid(cluster.annotations());
    if value == key.holder {
        return match uid {
            Some(uid) if uid == key.uid => LockState::Ours,
            // The original says nothing of UIDs: it is ours by its name, and is marked as such.
            None => LockState::Free,
            Some(_) => LockState::Stale(format!("{value} had it, which was deleted and created anew")),
        };
    }
    let Some(job) = JobRef::parse(value) else {
        return LockState::Held(lock::describe(value));
    };
    match holder {
        Err(Unread::NotAsked) => LockState::Ask(job),
        Ok(known) if known.job != job => LockState::Ask(job),
        Err(Unread::Failed(why)) => {
            LockState::Held(format!("{} (it cannot be read: {why})", lock::describe(value)))
        }
        Ok(known) => of_job(&job, uid, &known.state),
    }
}

fn of_job(job: &JobRef, known: Option<&str>, state: &HolderState) -> LockState {
    match state {
        HolderState::Absent => LockState::Stale(format!("UpgradeJob {job} had it, which does not exist")),
        HolderState::Present { uid, .. } if known.is_some_and(|known| known != uid) => LockState::Stale(
            format!("UpgradeJob {job} had it, which was deleted and created anew"),
        ),
        HolderState::Present { has_ended: true, .. } => {
            LockState::Stale(format!("UpgradeJob {job} had it, which has ended"))
        }
        HolderState::Present { .. } => LockState::Held(format!("UpgradeJob {job}")),
    }
}

/// The write that frees a lock which nobody waits for: that of an UpgradeJob that is gone, or was created anew. One that has ended frees its
/// own, once its pools are in order.
///
/// # Errors
/// The UpgradeJob of which has to be known what has become of it.
pub fn free_if_stale(
    cluster: &ClusterVersion,
    holder: &Fact<ObservedHolder>,
) -> Result<Option<JobWrite>, JobRef> {
    let nobody = LockKey::default();
    let frees_it_itself = |uid: &str, has_ended: bool| {
        let known = lock::holder_uid(cluster.annotations());
        has_ended && known.is_none_or(|known| known == uid)
    };
    if let Ok(known) = holder
        && let HolderState::Present { uid, has_ended } = &known.state
        && frees_it_itself(uid, *has_ended)
    {
        return Ok(None);
    }
    match assess(cluster, &nobody, holder) {
        LockState::Ask(job) => Err(job),
        LockState::Stale(_) => Ok(Some(JobWrite::ReleaseLock(ObservedVersion::of(cluster)))),
        LockState::Free | LockState::Ours | LockState::Held(_) => Ok(None),
    }
}

/// May this UpgradeJob take the lock, which it has not?
pub(super) fn is_free(pass: &Pass<'_>, cluster: &ClusterVersion) -> bool {
    let state = assess(cluster, &key(&pass.seen.job), &pass.seen.holder);
    matches!(state, LockState::Free | LockState::Stale(_))
}

/// Has this UpgradeJob the lock, or may it take it?
pub(super) fn may_have(pass: &Pass<'_>, cluster: &ClusterVersion) -> bool {
    let state = assess(cluster, &key(&pass.seen.job), &pass.seen.holder);
    matches!(state, LockState::Ours | LockState::Free | LockState::Stale(_))
}

/// Goes on only with the lock.
pub(super) fn hold(pass: &mut Pass<'_>, cluster: &ClusterVersion) -> Flow {
    let key = key(&pass.seen.job);
    let take = |pass: &mut Pass<'_>| {
        pass.write(JobWrite::TakeLock {
            cluster_version: ObservedVersion::of(cluster),
            key: key.clone(),
        });
        STOP
    };
    match assess(cluster, &key, &pass.seen.holder) {
        LockState::Ours => NEXT,
        LockState::Free => take(pass),
        LockState::Stale(why) => {
            let message = format!("takes over the lock of the cluster: {why}");
            pass.say(JobStep::UpgradeLockTakenOver, &message);
            take(pass)
        }
        LockState::Held(by) => {
            let message = format!(
                "waits for {by}, which has the lock of the cluster: annotation {UPGRADE_LOCK_ANNOTATION} of ClusterVersion {}",
                cluster.name_any()
            );
            pass.wait_for(JobReason::LockHeld, &message)
        }
        LockState::Ask(job) => {
            pass.need(Need::Holder(job));
            STOP
        }
    }
}

/// Frees the lock if this UpgradeJob has it.
pub(super) fn release(pass: &mut Pass<'_>) {
    let key = key(&pass.seen.job);
    match &pass.seen.cluster_version {
        Err(Unread::NotAsked) => pass.need(Need::ClusterVersion),
        Err(Unread::Failed(_)) => pass.poll(),
        Ok(cluster) => {
            // A namesake that had it is gone.
            if cluster.annotations().get(UPGRADE_LOCK_ANNOTATION) == Some(&key.holder) {
                pass.write(JobWrite::ReleaseLock(ObservedVersion::of(cluster)));
            }
        }
    }
}
