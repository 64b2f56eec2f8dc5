//! The controller of the Jobs of hooks whose UpgradeJob is gone: their finalizer keeps them from going, too (Maintenance schedules,
//! section 3.2). As long as there is an UpgradeJob, its own controller lets them go.

use std::sync::Arc;

use drydock_schedule::job::hooks::orphans;
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;

use super::Context;
use super::job_write;
use super::watches::Seen;
use super::written::Written;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;

/// What the controller has.
pub(super) struct HookJobs {
    pub context: Context,
    pub seen: Seen,
    pub written: Arc<Written>,
}

impl Reconcile for HookJobs {
    type Object = Job;

    fn objects(&self) -> Vec<Arc<Job>> {
        if self.seen.jobs.is_looked_for() {
            self.seen.hook_jobs.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(&self, seen: &Arc<Job>, now: Timestamp) -> Result<Option<Timestamp>, ReconcileError> {
        let known = self.seen.jobs.known(now);
        known.map_err(ReconcileError::not_read("UpgradeJobs"))?;
        let job = self.written.hook_jobs.newest(seen);
        if job.finalizers().is_empty() {
            return Ok(None);
        }
        let owners = self.seen.jobs.objects();
        for write in orphans([job.as_ref()], owners.iter().map(AsRef::as_ref)) {
            job_write::perform(&self.context.client, &self.written, &write, now).await?;
        }
        Ok(None)
    }
}
