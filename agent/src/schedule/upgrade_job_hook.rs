//! The controller of UpgradeJobHooks: their status says whether they can be used. It is UpgradeJobs that run them.

use std::sync::Arc;

use drydock_api::schedule::UpgradeJobHook;
use drydock_schedule::job::hooks::hook_status;
use jiff::Timestamp;

use super::Context;
use super::watches::Seen;
use super::write;
use super::written::Written;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;

/// What the controller has.
pub(super) struct UpgradeJobHooks {
    pub context: Context,
    pub seen: Seen,
    pub written: Arc<Written>,
}

impl Reconcile for UpgradeJobHooks {
    type Object = UpgradeJobHook;

    fn objects(&self) -> Vec<Arc<UpgradeJobHook>> {
        self.seen.hooks.objects()
    }

    async fn reconcile(
        &self,
        seen: &Arc<UpgradeJobHook>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let hook = self.written.hooks.newest(seen);
        let status = hook_status(&hook, now);
        if hook.metadata.deletion_timestamp.is_none() && hook.status.as_ref() != Some(&status) {
            let written = write::status(&self.context.client, hook.as_ref(), &status).await?;
            self.written.hooks.note(written);
        }
        Ok(None)
    }
}
