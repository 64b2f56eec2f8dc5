//! The writes that a decision about an UpgradeJob asks for. Each is tried, whether another was refused or not.

use drydock_api::schedule::UpgradeJob;
use drydock_runtime::events::Severity;
use drydock_schedule::job::{JobDecision, JobWrite};
use jiff::Timestamp;
use kube::ResourceExt;

use super::super::job_write::{self, Refusal};
use super::UpgradeJobs;
use crate::reconcile::error::ReconcileError;

/// What has come of the writes.
pub(super) enum Performed {
    /// All are done.
    Done,
    /// A hook's Job cannot be created as it is: it has to be decided anew, and the hook has failed.
    HookRefused,
    /// At least one is not.
    Failed(ReconcileError),
}

impl UpgradeJobs {
    /// Does what is decided.
    pub(super) async fn perform(
        &self,
        job: &UpgradeJob,
        decision: &JobDecision,
        now: Timestamp,
    ) -> Performed {
        let uid = job.uid().unwrap_or_default();
        let mut performed = Performed::Done;
        for write in &decision.writes {
            match job_write::perform(&self.context.client, &self.written, write, now).await {
                Ok(()) => {}
                Err(Refusal::Invalid { name, why }) => {
                    let mut memory = self.memory();
                    memory.refused.entry(uid.clone()).or_default().insert(name, why);
                    performed = match performed {
                        Performed::Done => Performed::HookRefused,
                        other => other,
                    };
                }
                Err(Refusal::Failed(error)) => {
                    self.complain(job, write, &error);
                    performed = Performed::Failed(error);
                }
            }
        }
        if matches!(performed, Performed::Done) {
            self.memory().failing.remove(&uid);
        }
        performed
    }

    /// Says once why something is not written.
    fn complain(&self, job: &UpgradeJob, write: &JobWrite, error: &ReconcileError) {
        if matches!(error, ReconcileError::Outdated { .. }) {
            return;
        }
        let message = error.to_string();
        let uid = job.uid().unwrap_or_default();
        let before = self.memory().failing.insert(uid, message.clone());
        if before.as_ref() != Some(&message) {
            tracing::debug!(?write, "refused");
            self.publish(job, Severity::Warning, "WriteRefused", message);
        }
    }
}
