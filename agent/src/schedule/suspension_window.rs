//! The controller of UpgradeSuspensionWindows: their status says what they affect (Maintenance schedules, sections 1.4 and 2.8). It
//! is UpgradeConfigs and UpgradeJobs that are kept from something by them.

use std::sync::Arc;

use drydock_api::schedule::UpgradeSuspensionWindow;
use drydock_schedule::window;
use jiff::Timestamp;

use super::Context;
use super::watches::Seen;
use super::write;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::written::Changed;

/// What the controller has.
pub(super) struct SuspensionWindows {
    pub context: Context,
    pub seen: Seen,
    pub changed: Changed<UpgradeSuspensionWindow>,
}

impl Reconcile for SuspensionWindows {
    type Object = UpgradeSuspensionWindow;

    fn objects(&self) -> Vec<Arc<UpgradeSuspensionWindow>> {
        if self.seen.configs.is_looked_for() && self.seen.jobs.is_looked_for() {
            self.seen.windows.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(
        &self,
        seen: &Arc<UpgradeSuspensionWindow>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let window = self.changed.newest(seen);
        let known = self.seen.configs.known(now);
        known.map_err(ReconcileError::not_read("UpgradeConfigs"))?;
        let known = self.seen.jobs.known(now);
        known.map_err(ReconcileError::not_read("UpgradeJobs"))?;
        let (configs, jobs) = (self.seen.configs.objects(), self.seen.jobs.objects());
        let configs = configs.iter().map(AsRef::as_ref);
        let status = window::status(&window, configs, jobs.iter().map(AsRef::as_ref), now);
        if window.metadata.deletion_timestamp.is_none() && window.status.as_ref() != Some(&status) {
            let written = write::status(&self.context.client, window.as_ref(), &status).await?;
            self.changed.note(written);
        }
        Ok(None)
    }
}
