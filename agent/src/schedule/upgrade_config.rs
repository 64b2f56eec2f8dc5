//! The controller of UpgradeConfigs (Maintenance schedules, sections 2.4 and 11): creates the UpgradeJobs of their maintenances,
//! and deletes those that are no longer needed.

use std::sync::Arc;

use drydock_api::conditions::{self, Condition};
use drydock_api::schedule::{
    UpgradeConfig, UpgradeConfigStatus, UpgradeJob, UpgradeSuspensionWindow, condition,
};
use drydock_runtime::events::{NewEvent, Severity};
use drydock_schedule::config::{Observed, Plan, decide, refused};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use kube::{Resource, ResourceExt};

use super::Context;
use super::watches::Seen;
use super::write;
use super::written::Written;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::written::Created;

/// What the controller has.
pub(super) struct UpgradeConfigs {
    pub context: Context,
    pub seen: Seen,
    pub local_zone: TimeZone,
    pub written: Arc<Written>,
    pub created: Created<UpgradeJob>,
}

impl Reconcile for UpgradeConfigs {
    type Object = UpgradeConfig;

    fn objects(&self) -> Vec<Arc<UpgradeConfig>> {
        let Seen {
            configs,
            jobs,
            windows,
            upstream,
            ..
        } = &self.seen;
        if jobs.is_looked_for() && windows.is_looked_for() && upstream.is_looked_for() {
            configs.objects()
        } else {
            Vec::new()
        }
    }

    async fn reconcile(
        &self,
        seen: &Arc<UpgradeConfig>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        let config = self.written.configs.newest(seen);
        let jobs = self.jobs(now)?;
        let windows = self.windows(now)?;
        let upstream = self.seen.upstream.fact(now).ok().flatten();
        let status = upstream.as_ref().and_then(|version| version.status.as_ref());
        let observed = Observed {
            config: &config,
            jobs: jobs.iter().map(AsRef::as_ref).collect(),
            windows: windows.iter().map(AsRef::as_ref).collect(),
            available_updates: status.map(|status| status.available_updates.as_slice()),
            local_zone: &self.local_zone,
        };
        let plan = decide(&observed, now);
        self.carry_out(&config, &plan, now).await?;
        Ok(plan.wake)
    }
}

impl UpgradeConfigs {
    /// UpgradeJobs, those included that have just been created: else one maintenance might have two.
    fn jobs(&self, now: Timestamp) -> Result<Vec<Arc<UpgradeJob>>, ReconcileError> {
        let known = self.seen.jobs.known(now);
        known.map_err(ReconcileError::not_read("UpgradeJobs"))?;
        Ok(self.created.with(self.seen.jobs.objects(), now))
    }

    fn windows(&self, now: Timestamp) -> Result<Vec<Arc<UpgradeSuspensionWindow>>, ReconcileError> {
        let known = self.seen.windows.known(now);
        known.map_err(ReconcileError::not_read("UpgradeSuspensionWindows"))?;
        Ok(self.seen.windows.objects())
    }

    /// Does what is planned, in the order in which it can be interrupted anywhere.
    async fn carry_out(
        &self,
        config: &UpgradeConfig,
        plan: &Plan,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        let client = &self.context.client;
        if let Some(job) = &plan.create {
            match write::create_job(client, job).await {
                Ok(None) => {}
                Ok(Some(created)) => {
                    let message = creation(&created);
                    self.created.note(created, now);
                    self.publish(config, Severity::Normal, "UpgradeJobCreated", message);
                }
                Err(error) => {
                    if let ReconcileError::Write { why, .. } = &error {
                        let status = refused(config, job.spec.start_after.0, why, now);
                        self.write_status(config, &status).await?;
                    }
                    return Err(error);
                }
            }
        }
        if self.write_status(config, &plan.status).await? {
            for event in &plan.events {
                self.publish(config, Severity::Normal, event.reason(), event.note());
            }
        }
        let namespace = config.namespace().unwrap_or_default();
        for job in &plan.prune {
            write::delete_job(client, &namespace, job).await?;
        }
        Ok(())
    }

    /// Writes the status, and says what keeps UpgradeJobs from being created if that is news. Says whether it was another one.
    async fn write_status(
        &self,
        config: &UpgradeConfig,
        status: &UpgradeConfigStatus,
    ) -> Result<bool, ReconcileError> {
        if config.status.as_ref() == Some(status) {
            return Ok(false);
        }
        let written = write::status(&self.context.client, config, status).await?;
        self.written.configs.note(written);
        if let Some(problem) = new_problem(config.status.as_ref(), status) {
            let why = problem.message.clone();
            self.publish(config, Severity::Warning, "UpgradeConfigNotReady", why);
        }
        Ok(true)
    }

    fn publish(&self, config: &UpgradeConfig, severity: Severity, reason: &'static str, message: String) {
        self.context.publisher.publish(&NewEvent {
            object: config.object_ref(&()),
            related: None,
            severity,
            reason,
            action: "Scheduling",
            message,
        });
    }
}

fn creation(job: &UpgradeJob) -> String {
    let version = job.spec.desired_version.as_ref();
    let version = version.and_then(|version| version.version.as_deref());
    let what = version.map_or_else(
        || "no update is available, so that only hooks run".to_owned(),
        |version| format!("it upgrades to {version}"),
    );
    format!(
        "UpgradeJob {} is created for the maintenance at {}: {what}",
        job.name_any(),
        job.spec.start_after.0
    )
}

/// What keeps UpgradeJobs from being created, if that is something else than before.
fn new_problem<'a>(
    before: Option<&UpgradeConfigStatus>,
    after: &'a UpgradeConfigStatus,
) -> Option<&'a Condition> {
    fn problem(status: &UpgradeConfigStatus) -> Option<&Condition> {
        let ready = conditions::find(status.conditions.as_deref()?, condition::READY)?;
        (ready.status == conditions::FALSE && ready.reason != "Deleting").then_some(ready)
    }
    let after = problem(after)?;
    let is_known = before
        .and_then(problem)
        .is_some_and(|before| before.reason == after.reason);
    (!is_known).then_some(after)
}
