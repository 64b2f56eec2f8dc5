//! The controller of UpgradeJobs (Maintenance schedules, sections 2.6 to 3.6): reads what a decision needs, records what it decides,
//! and then does it.

mod observe;
mod perform;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_api::schedule::{UpgradeJob, UpgradeJobStatus};
use drydock_runtime::events::{NewEvent, Severity};
use drydock_schedule::job::{JobDecision, JobEvent, has_settled};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

use super::Context;
use super::watches::Seen;
use super::write;
use super::written::Written;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use perform::Performed;

/// What the controller has.
pub(super) struct UpgradeJobs {
    pub context: Context,
    pub seen: Seen,
    pub written: Arc<Written>,
    pub memory: Mutex<Memory>,
}

/// What is kept between passes. If it is lost, requests are repeated, and nothing else.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// UpgradeJobs about which nothing is left to do, by UID, and the version of which that is known.
    settled: BTreeMap<String, String>,
    /// The Jobs of hooks that were refused as invalid, by UID of the UpgradeJob and name, and why.
    refused: BTreeMap<String, BTreeMap<String, String>>,
    /// What each UpgradeJob, by UID, could not write last, and why.
    failing: BTreeMap<String, String>,
}

impl Reconcile for UpgradeJobs {
    type Object = UpgradeJob;

    fn objects(&self) -> Vec<Arc<UpgradeJob>> {
        let Seen {
            jobs,
            hooks,
            hook_jobs,
            windows,
            upstream,
            pools,
            ..
        } = &self.seen;
        let looked = [
            hooks.is_looked_for(),
            hook_jobs.is_looked_for(),
            windows.is_looked_for(),
            upstream.is_looked_for(),
            pools.is_looked_for(),
        ];
        if looked.contains(&false) {
            return Vec::new();
        }
        let jobs = jobs.objects();
        self.memory().forget_others(&jobs);
        jobs
    }

    async fn reconcile(
        &self,
        seen: &Arc<UpgradeJob>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let job = self.written.jobs.newest(seen);
        if self.memory().is_settled(&job) {
            return Ok(None);
        }
        let decision = self.decide(&job, now).await;
        let (job, is_recorded) = self.record(job, &decision.status).await?;
        let performed = self.perform(&job, &decision, now).await;
        let is_done = matches!(performed, Performed::Done);
        let is_news = |event: &&JobEvent| {
            if event.step.is_recorded() {
                is_recorded
            } else {
                is_done
            }
        };
        decision
            .events
            .iter()
            .filter(is_news)
            .for_each(|event| self.say(&job, event));
        if decision.wake.is_none() && decision.writes.is_empty() && has_settled(&decision.status) {
            self.memory().settle(&job);
        }
        match performed {
            Performed::Done => Ok(decision.wake),
            Performed::HookRefused => Ok(Some(now)),
            Performed::Failed(error) => Err(error),
        }
    }
}

impl UpgradeJobs {
    /// Decides, with everything that the decision asks for.
    async fn decide(&self, job: &UpgradeJob, now: Timestamp) -> JobDecision {
        let mut observation = self.begin(job, now);
        let mut asked = BTreeSet::new();
        loop {
            let decision = drydock_schedule::job::decide(&observation);
            let needs: Vec<_> = decision.needs.difference(&asked).cloned().collect();
            if needs.is_empty() {
                return decision;
            }
            for need in needs {
                self.read(&mut observation, &need).await;
                asked.insert(need);
            }
        }
    }

    /// Writes the status, if it is another. Gives the UpgradeJob as it is then, and whether it was written.
    async fn record(
        &self,
        job: Arc<UpgradeJob>,
        status: &UpgradeJobStatus,
    ) -> Result<(Arc<UpgradeJob>, bool), ReconcileError> {
        if job.status.as_ref() == Some(status) {
            return Ok((job, false));
        }
        let written = write::status(&self.context.client, job.as_ref(), status).await?;
        self.written.jobs.note(written.clone());
        // What was refused is in the status now.
        self.memory().refused.remove(&job.uid().unwrap_or_default());
        Ok((Arc::new(written), true))
    }

    fn say(&self, job: &UpgradeJob, event: &JobEvent) {
        let severity = if event.step.is_warning() {
            Severity::Warning
        } else {
            Severity::Normal
        };
        self.publish(job, severity, event.step.name(), event.message.clone());
    }

    fn publish(&self, job: &UpgradeJob, severity: Severity, reason: &'static str, message: String) {
        self.context.publisher.publish(&NewEvent {
            object: job.object_ref(&()),
            related: None,
            severity,
            reason,
            action: "Upgrading",
            message,
        });
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn is_settled(&self, job: &UpgradeJob) -> bool {
        let uid = job.metadata.uid.as_ref();
        uid.is_some_and(|uid| self.settled.get(uid) == job.metadata.resource_version.as_ref())
    }

    fn settle(&mut self, job: &UpgradeJob) {
        if let (Some(uid), Some(version)) = (job.uid(), job.resource_version()) {
            self.settled.insert(uid, version);
        }
    }

    /// Forgets UpgradeJobs that are gone.
    fn forget_others(&mut self, jobs: &[Arc<UpgradeJob>]) {
        let known: BTreeSet<&str> = jobs
            .iter()
            .filter_map(|job| job.metadata.uid.as_deref())
            .collect();
        self.settled.retain(|uid, _| known.contains(uid.as_str()));
        self.refused.retain(|uid, _| known.contains(uid.as_str()));
        self.failing.retain(|uid, _| known.contains(uid.as_str()));
    }
}
