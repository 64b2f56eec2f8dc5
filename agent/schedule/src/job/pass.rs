//! One decision while it is made: what has been seen, and what follows so far.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

use drydock_api::conditions::{self, Condition, DesiredCondition, FALSE, TRUE};
use drydock_api::fact::{Fact, Unread};
use drydock_api::schedule::{DesiredVersion, HookStatus, UpgradeJobStatus, UpgradeNotificationStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::condition::{self, Failure, JobCondition, JobReason};
use super::event::{JobEvent, JobStep};
use super::hooks::{self, HookRun};
use super::lock::JobRef;
use super::notification;
use super::settings::Settings;
use super::write::JobWrite;
use super::{JobDecision, JobObservation, Need};
use crate::instants::{later, whole_seconds};

/// Whether the pass goes on to the next step.
pub(super) type Flow = ControlFlow<()>;
/// The step is done.
pub(super) const NEXT: Flow = ControlFlow::Continue(());
/// The step waits, or the UpgradeJob has ended.
pub(super) const STOP: Flow = ControlFlow::Break(());

/// How often that is looked at which no watch tells of.
pub(super) const POLL: SignedDuration = SignedDuration::from_mins(1);
/// Characters of a message that are kept; a server takes 32,768 bytes.
const LONGEST: usize = 4096;

/// A write, or the Job of a hook, which is built when the status is complete.
enum PlannedWrite {
    Write(JobWrite),
    Hook(HookRun),
}

/// One decision while it is made.
pub(super) struct Pass<'a> {
    /// What has been seen.
    pub seen: &'a JobObservation,
    /// The spec.
    pub settings: &'a Settings,
    /// The hooks that have run, or run.
    pub tracker: Vec<HookStatus>,
    /// The release that the cluster has been asked for.
    pub requested: Option<DesiredVersion>,
    conditions: Vec<Condition>,
    notifications: Vec<UpgradeNotificationStatus>,
    needs: BTreeSet<Need>,
    writes: Vec<PlannedWrite>,
    events: Vec<JobEvent>,
    wake: Option<Timestamp>,
    waits: bool,
}

impl<'a> Pass<'a> {
    /// Begins with the status as it was.
    pub fn new(seen: &'a JobObservation, settings: &'a Settings) -> Self {
        let status = seen.job.status.clone().unwrap_or_default();
        Self {
            seen,
            settings,
            tracker: status.hook_tracker.unwrap_or_default(),
            requested: settings.requested.clone(),
            conditions: status.conditions.unwrap_or_default(),
            notifications: status.notifications.unwrap_or_default(),
            needs: BTreeSet::new(),
            writes: Vec::new(),
            events: Vec::new(),
            wake: None,
            waits: false,
        }
    }

    /// The time of the pass.
    pub fn now(&self) -> Timestamp {
        self.seen.now
    }

    /// The UpgradeJob's namespace and name.
    pub fn job_ref(&self) -> JobRef {
        JobRef::of(&self.seen.job)
    }

    /// The UpgradeJob's UID.
    pub fn uid(&self) -> &'a str {
        self.seen.job.metadata.uid.as_deref().unwrap_or_default()
    }

    /// The condition of a type.
    pub fn find(&self, type_: JobCondition) -> Option<&Condition> {
        conditions::find(&self.conditions, type_.name())
    }

    /// Is there a condition of this type, and is it true?
    pub fn is_true(&self, type_: JobCondition) -> bool {
        conditions::is_true(&self.conditions, type_.name())
    }

    /// Since when a condition has had this status.
    pub fn since(&self, type_: JobCondition, status: &str) -> Option<Timestamp> {
        let condition = self.find(type_).filter(|condition| condition.status == status);
        condition.map(|condition| condition.last_transition_time.0)
    }

    /// The condition with which it has ended.
    pub fn end(&self) -> Option<&Condition> {
        condition::end(&self.conditions)
    }

    /// Has it ended?
    pub fn has_ended(&self) -> bool {
        self.end().is_some()
    }

    /// Sets a condition. Says whether its status or reason is another than before.
    pub fn set(&mut self, type_: JobCondition, status: bool, reason: JobReason, message: &str) -> bool {
        let status = if status { TRUE } else { FALSE };
        let reason = reason.name();
        let is_new = self
            .find(type_)
            .is_none_or(|before| before.status != status || before.reason != reason);
        let message = shortened(message);
        let wanted = DesiredCondition {
            type_: type_.name(),
            status,
            reason,
            message: &message,
            observed_generation: self.seen.job.metadata.generation,
        };
        // On the wire times have whole seconds: what is compared later must be what is read then.
        let now = whole_seconds(self.now());
        conditions::set(&mut self.conditions, &wanted, now);
        is_new
    }

    /// Sets a condition, and says so if that is news.
    pub fn record(
        &mut self,
        type_: JobCondition,
        status: bool,
        reason: JobReason,
        step: JobStep,
        message: &str,
    ) {
        if self.set(type_, status, reason, message) {
            self.say(step, message);
        }
    }

    /// The UpgradeJob, which has not ended, has failed.
    pub fn fail(&mut self, failure: Failure, message: &str) -> Flow {
        let step = match failure {
            Failure::PreHealthCheckFailed | Failure::UpgradeWithdrawn => JobStep::UpgradeSkipped,
            _ => JobStep::UpgradeFailed,
        };
        let reason = JobReason::Failed(failure);
        self.record(JobCondition::Failed, true, reason, step, message);
        STOP
    }

    /// The UpgradeJob, which has not ended, has succeeded, or was skipped.
    pub fn succeed(&mut self, reason: JobReason, step: JobStep, message: &str) -> Flow {
        self.record(JobCondition::Succeeded, true, reason, step, message);
        STOP
    }

    /// Cannot go on for now.
    pub fn wait_for(&mut self, reason: JobReason, message: &str) -> Flow {
        self.poll();
        if self.has_ended() {
            return STOP;
        }
        self.waits = true;
        self.record(
            JobCondition::Waiting,
            true,
            reason,
            JobStep::UpgradeWaiting,
            message,
        );
        STOP
    }

    /// A fact; if there is none, the pass ends, asks for it or says why it waits.
    pub fn read<T>(
        &mut self,
        fact: &'a Fact<T>,
        need: Need,
        what: impl fmt::Display,
    ) -> ControlFlow<(), &'a T> {
        match fact {
            Ok(value) => ControlFlow::Continue(value),
            Err(Unread::NotAsked) => {
                self.need(need);
                ControlFlow::Break(())
            }
            Err(Unread::Failed(why)) => {
                let message = format!("cannot read {what}: {why}");
                self.wait_for(JobReason::Unreadable, &message)?;
                ControlFlow::Break(())
            }
        }
    }

    /// Must be read before the decision counts.
    pub fn need(&mut self, need: Need) {
        self.needs.insert(need);
        self.poll();
    }

    /// Is to be written.
    pub fn write(&mut self, write: JobWrite) {
        self.writes.push(PlannedWrite::Write(write));
        self.poll();
    }

    /// The Job of a hook is to be created.
    pub fn run_hook(&mut self, run: HookRun) {
        self.writes.push(PlannedWrite::Hook(run));
        self.poll();
    }

    /// Something is said, and notified.
    pub fn say(&mut self, step: JobStep, message: &str) {
        let message = shortened(message);
        if step.is_notified() {
            let receivers = &self.seen.job.spec.config.notifications;
            let receivers = receivers.as_deref().unwrap_or_default();
            notification::raise(&mut self.notifications, receivers, step, &message, self.seen.now);
        }
        self.events.push(JobEvent { step, message });
    }

    /// Is looked at again then, or earlier.
    pub fn wake_at(&mut self, time: Timestamp) {
        let time = time.max(self.now());
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    /// Is looked at again soon, as no watch tells.
    pub fn poll(&mut self) {
        self.wake_at(later(self.now(), POLL));
    }

    /// What has been decided.
    pub fn decision(mut self) -> JobDecision {
        if !self.waits && self.is_true(JobCondition::Waiting) {
            let why = if self.has_ended() {
                "the UpgradeJob has ended"
            } else {
                "it goes on"
            };
            self.set(JobCondition::Waiting, false, JobReason::NotWaiting, why);
        }
        let mut job = self.seen.job.clone();
        self.tracker.sort_by(|one, other| key(one).cmp(&key(other)));
        let status = UpgradeJobStatus {
            observed_generation: job.metadata.generation,
            conditions: filled(self.conditions),
            requested_version: self.requested,
            hook_tracker: filled(self.tracker),
            notifications: filled(self.notifications),
        };
        job.status = Some(status.clone());
        // The tracker and the conditions say already that the Jobs are created: that is what the Jobs are given to read.
        let writes = self.writes.into_iter().map(|write| match write {
            PlannedWrite::Write(write) => write,
            PlannedWrite::Hook(run) => JobWrite::CreateHookJob(Box::new(hooks::build(&job, &run))),
        });
        JobDecision {
            writes: writes.collect(),
            status,
            needs: self.needs,
            events: self.events,
            wake: self.wake,
        }
    }

    /// What the UpgradeJob was waiting for, as the rest of a message.
    pub fn blocked_by(&self) -> Option<String> {
        let waiting = self.find(JobCondition::Waiting);
        let waiting = waiting.filter(|waiting| waiting.status == TRUE);
        let why = waiting.map(|waiting| waiting.message.clone());
        let hooks = || hooks::running(&self.tracker).map(|names| format!("hooks have not ended: {names}"));
        why.or_else(hooks).map(|why| format!("; {why}"))
    }

    /// The labels of the UpgradeJob.
    pub fn labels(&self) -> &'a std::collections::BTreeMap<String, String> {
        self.seen.job.labels()
    }

    /// When a condition was set that is set in this pass, as it is read later.
    pub fn ended_at(&self) -> Timestamp {
        let time = self.end().map(|end| &end.last_transition_time);
        time.map_or(self.now(), |Time(time)| *time)
    }
}

/// By what entries of the tracker are sorted.
fn key(entry: &HookStatus) -> (&Option<String>, &Option<String>, &Option<String>) {
    (&entry.upgrade_job_hook, &entry.hook_event, &entry.tracking_key)
}

fn filled<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn shortened(message: &str) -> String {
    message.chars().take(LONGEST).collect()
}
