//! The mark on a machine config pool of the UpgradeJob that has paused it (Maintenance schedules, section 3.5): the original's annotation, and
//! ours beside it with the UID, as on the lock of the cluster. A pool that a person has paused has none.

use drydock_api::fact::Fact;
use drydock_api::lock::{self, LockKey};
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::openshift::MachineConfigPool;
use kube::ResourceExt;

use super::lock::{HolderState, JobRef};
use super::pools::is_paused;
use super::write::{JobWrite, ObservedVersion};

/// The UpgradeJob that has paused a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PausingJob {
    /// Which it is.
    pub job: JobRef,
    /// Its UID, unless a program marked the pool that does not write it.
    pub uid: Option<String>,
}

impl PausingJob {
    /// That of a pool, if an UpgradeJob has paused it.
    pub fn of(pool: &MachineConfigPool) -> Option<Self> {
        Some(Self {
            job: JobRef::parse(mark(pool)?)?,
            uid: lock::holder_uid(pool.annotations()).map(str::to_owned),
        })
    }

    /// Is it this one? One that was created anew under the name is not.
    pub fn is(&self, key: &LockKey) -> bool {
        self.job.to_string() == key.holder && self.uid.as_ref().is_none_or(|uid| *uid == key.uid)
    }

    /// What has become of it, by what there is under its name.
    pub fn state(&self, found: &HolderState) -> HolderState {
        match (found, &self.uid) {
            (HolderState::Present { uid, .. }, Some(known)) if uid != known => HolderState::Absent,
            _ => found.clone(),
        }
    }
}

/// Who has paused the pool by its mark, if it has one.
pub fn mark(pool: &MachineConfigPool) -> Option<&str> {
    let mark = pool.annotations().get(UPGRADE_LOCK_ANNOTATION);
    mark.map(String::as_str).filter(|mark| !mark.is_empty())
}

/// The UpgradeJob that has paused a pool which somebody has unpaused since.
pub fn unpaused_of(pool: &MachineConfigPool) -> Option<PausingJob> {
    PausingJob::of(pool).filter(|_| !is_paused(pool))
}

/// The write that takes the mark off a pool which somebody has unpaused, once its UpgradeJob has ended or is gone: who pauses the pool after that is
/// not the UpgradeJob. One that has not ended sees to it itself. `found` is what there is under its name.
pub fn take_off_mark(pool: &MachineConfigPool, found: &Fact<HolderState>) -> Option<JobWrite> {
    let by = unpaused_of(pool)?;
    match by.state(found.as_ref().ok()?) {
        HolderState::Absent | HolderState::Present { has_ended: true, .. } => {
            Some(JobWrite::UnpausePool(ObservedVersion::of(pool)))
        }
        HolderState::Present { has_ended: false, .. } => None,
    }
}
