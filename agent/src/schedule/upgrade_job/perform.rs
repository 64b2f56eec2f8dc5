//! The writes that a decision about an UpgradeJob asks for. Each is tried, whether another was refused or not.

use drydock_api::schedule::UpgradeJob;
use drydock_runtime::events::Severity;
use drydock_schedule::job::{JobDecision, JobWrite};
use jiff::Timestamp;
use kube::ResourceExt;

use super::super::error::ReconcileError;
use super::super::job_write::{self, Refusal};
use super::UpgradeJobs;

/// What has come of the writes.
pub(super) enum Performed {
    /// All are done.
    Done,
    /// An object has changed since it was looked at: it has to be decided anew.
    Outdated,
    /// The server does not do one.
    Failed(ReconcileError),
}

impl Performed {
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Done)
    }
}

impl UpgradeJobs {
    /// Does what is decided.
    pub(super) async fn perform(
        &self,
        job: &UpgradeJob,
        decision: &JobDecision,
        now: Timestamp,
    ) -> Performed {
        let mut performed = Performed::Done;
        for write in &decision.writes {
            let result = job_write::perform(&self.context.client, &self.written, write, now).await;
            let uid = job.uid().unwrap_or_default();
            match result {
                Ok(()) => {}
                Err(Refusal::Outdated) => {
                    if performed.is_complete() {
                        performed = Performed::Outdated;
                    }
                }
                Err(Refusal::Invalid { name, why }) => {
                    // Decided anew, the hook has failed.
                    self.memory().refused.entry(uid).or_default().insert(name, why);
                    if performed.is_complete() {
                        performed = Performed::Outdated;
                    }
                }
                Err(Refusal::Failed(error)) => {
                    self.complain(job, write, &error);
                    performed = Performed::Failed(error);
                }
            }
        }
        if performed.is_complete() {
            self.memory().failing.remove(&job.uid().unwrap_or_default());
        }
        performed
    }

    /// Says once why something is not written.
    fn complain(&self, job: &UpgradeJob, write: &JobWrite, error: &ReconcileError) {
        let message = error.to_string();
        let uid = job.uid().unwrap_or_default();
        let before = self.memory().failing.insert(uid, message.clone());
        if before.as_ref() != Some(&message) {
            tracing::debug!(?write, "refused");
            self.publish(job, Severity::Warning, "WriteRefused", message);
        }
    }
}
