//! The controller of the lock of the cluster: frees one whose UpgradeJob or UpgradeConfig is gone or was created anew, even if nobody waits
//! for it (Maintenance schedules, section 2.7).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_api::fact::{Fact, Unread};
use drydock_api::lock::{self, LockKey};
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::UpgradeJob;
use drydock_api::upgradeconfig::UpgradeConfig;
use drydock_schedule::job::lock::{HolderState, JobRef, ObservedHolder, free_if_stale};
use drydock_schedule::job::{JobWrite, ObservedVersion};
use jiff::{SignedDuration, Timestamp};
use kube::{Api, ResourceExt};

use super::Context;
use super::job_write;
use super::watches::Seen;
use super::written::Written;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::refusal;

/// When it is looked again for whoever is not watched.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(5);

/// What has become of an UpgradeJob that has the lock, or has paused pools. That it is gone is asked for: a watch may be of other
/// namespaces, or lag.
///
/// # Errors
/// If it cannot be read.
pub(super) async fn state(
    context: &Context,
    seen: &Seen,
    written: &Written,
    job: &JobRef,
    now: Timestamp,
) -> Fact<HolderState> {
    seen.jobs.known(now)?;
    let known = seen.jobs.objects();
    if let Some(known) = known.iter().find(|known| JobRef::of(known) == *job) {
        return Ok(HolderState::of(Some(&written.jobs.newest(known))));
    }
    let api: Api<UpgradeJob> = Api::namespaced(context.client.clone(), &job.namespace);
    let found = api.get_opt(&job.name).await;
    let found = found.map_err(|error| Unread::Failed(refusal::words(&error)))?;
    Ok(HolderState::of(found.as_ref()))
}

/// What the controller has.
pub(super) struct Locks {
    pub context: Context,
    pub seen: Seen,
    pub written: Arc<Written>,
    /// When it was last seen that the UpgradeConfig that has the lock is there.
    pub was_there: Mutex<Option<Timestamp>>,
}

impl Reconcile for Locks {
    type Object = ClusterVersion;

    fn objects(&self) -> Vec<Arc<ClusterVersion>> {
        if self.seen.jobs.is_looked_for() {
            self.seen.upstream.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(
        &self,
        seen: &Arc<ClusterVersion>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let cluster = self.written.upstream.newest(seen);
        if let Some(name) = lock::holder(cluster.annotations()).and_then(LockKey::upgrade_config) {
            return self.of_upgrade_config(&cluster, name, now).await;
        }
        *self.was_there() = None;
        let holder = match free_if_stale(&cluster, &Err(Unread::NotAsked)) {
            Ok(_) => return Ok(None),
            Err(job) => {
                let state = state(&self.context, &self.seen, &self.written, &job, now).await;
                state.map(|state| ObservedHolder { job, state })
            }
        };
        let is_unreadable = holder.is_err();
        let Ok(Some(write)) = free_if_stale(&cluster, &holder) else {
            return Ok(is_unreadable.then(|| later(now, LOOK_AGAIN)));
        };
        self.free(&write, now).await
    }
}

impl Locks {
    /// An UpgradeConfig of the agent's other engine frees its lock itself, unless it is gone.
    async fn of_upgrade_config(
        &self,
        cluster: &ClusterVersion,
        name: &str,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        // ClusterVersion changes all the time during an upgrade.
        let next = self.was_there().map_or(now, |seen| later(seen, LOOK_AGAIN));
        if next > now {
            return Ok(Some(next));
        }
        let api: Api<UpgradeConfig> = Api::namespaced(self.context.client.clone(), &self.context.namespace);
        let found = match api.get_opt(name).await {
            Ok(found) => found,
            Err(_unreadable) => return Ok(Some(later(now, LOOK_AGAIN))),
        };
        let uid = lock::holder_uid(cluster.annotations());
        if found.is_some_and(|found| found.metadata.uid.as_deref() == uid) {
            *self.was_there() = Some(now);
            return Ok(Some(later(now, LOOK_AGAIN)));
        }
        *self.was_there() = None;
        self.free(&JobWrite::ReleaseLock(ObservedVersion::of(cluster)), now)
            .await
    }

    fn was_there(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.was_there.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn free(&self, write: &JobWrite, now: Timestamp) -> Result<Option<Timestamp>, ReconcileError> {
        job_write::perform(&self.context.client, &self.written, write, now).await?;
        Ok(None)
    }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}
