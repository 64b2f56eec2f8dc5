//! The controller of the marks on machine config pools: takes off those that mean nothing any more, so that whoever pauses such a pool later is
//! not taken for an UpgradeJob (Maintenance schedules, section 11).

use std::sync::Arc;

use drydock_api::openshift::MachineConfigPool;
use drydock_schedule::job::pausing_job;
use jiff::{SignedDuration, Timestamp};

use super::Context;
use super::job_write;
use super::lock;
use super::watches::Seen;
use super::written::Written;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;

/// When it is looked again for an UpgradeJob that cannot be read.
const LOOK_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// What the controller has.
pub(super) struct PoolMarks {
    pub context: Context,
    pub seen: Seen,
    pub written: Arc<Written>,
}

impl Reconcile for PoolMarks {
    type Object = MachineConfigPool;

    fn objects(&self) -> Vec<Arc<MachineConfigPool>> {
        if self.seen.jobs.is_looked_for() {
            self.seen.pools.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(
        &self,
        seen: &Arc<MachineConfigPool>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let pool = self.written.pools.newest(seen);
        let Some(by) = pausing_job::unpaused_of(&pool) else {
            return Ok(None);
        };
        let state = lock::state(&self.context, &self.seen, &self.written, &by.job, now).await;
        if state.is_err() {
            return Ok(now.checked_add(LOOK_AGAIN).ok());
        }
        if let Some(write) = pausing_job::take_off_mark(&pool, &state) {
            job_write::perform(&self.context.client, &self.written, &write, now).await?;
        }
        Ok(None)
    }
}
