//! Notifications of the steps of a maintenance: each is kept in the status until its receivers have it.

use drydock_api::conditions::{self, Condition, FALSE, TRUE};
use drydock_api::schedule::{JobNotification, UpgradeJob, UpgradeNotificationStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::condition::{self, Failure, JobCondition, JobReason};
use super::event::JobStep;
use crate::notification::{NotificationPayload, description};

/// The reason of a notification that the upgrade is skipped because the cluster is not healthy.
const UNHEALTHY: &str = "ClusterUnhealthy";

/// The same, in the same words, is notified again after so long: what comes and goes must not flood receivers.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_hours(1);
/// Notifications that a status keeps.
const MOST_KEPT: usize = 64;

/// Raises a notification if a receiver wants it, unless it was raised in these words a while ago.
pub(super) fn raise(
    notifications: &mut Vec<UpgradeNotificationStatus>,
    receivers: &[JobNotification],
    step: JobStep,
    message: &str,
    now: Timestamp,
) {
    let is_wanted = receivers.iter().any(|receiver| receiver.wants(step.name()));
    let description = description(message);
    let is_recent = |raised: &UpgradeNotificationStatus| {
        let since = raised.raised_time.as_ref().map_or(now, |time| time.0);
        now.duration_since(since) < AGAIN_AFTER
    };
    let was_raised = notifications.iter().any(|raised| {
        raised.event == step.name() && raised.description.as_ref() == Some(&description) && is_recent(raised)
    });
    if !is_wanted || was_raised {
        return;
    }
    if notifications.len() >= MOST_KEPT {
        let sent = notifications.iter().position(|raised| raised.sent_time.is_some());
        notifications.remove(sent.unwrap_or_default());
    }
    notifications.push(UpgradeNotificationStatus {
        event: step.name().to_owned(),
        description: Some(description),
        raised_time: Some(Time(now)),
        ..UpgradeNotificationStatus::default()
    });
}

/// What a receiver gets of a notification that was raised.
pub fn payload(
    job: &UpgradeJob,
    raised: &UpgradeNotificationStatus,
    receiver: &JobNotification,
    version: Option<String>,
) -> NotificationPayload {
    let (status, reason) = about(job, &raised.event);
    NotificationPayload {
        version,
        type_: raised.event.clone(),
        status,
        reason,
        message: raised.description.clone().unwrap_or_default(),
        desired_version: job.spec.desired_version.clone(),
        annotations: receiver.annotations.clone().unwrap_or_default(),
    }
}

/// Status and reason of the condition that a step is about. Those of the end are in the status; the others follow from the step.
fn about(job: &UpgradeJob, step: &str) -> (String, String) {
    let conditions = job
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let conditions = conditions.unwrap_or_default();
    let reason_of = |condition: Option<&Condition>| condition.map(|condition| condition.reason.clone());
    let fixed = |status: &str, reason: JobReason| (status.to_owned(), reason.name().to_owned());
    let Some(step) = JobStep::named(step) else {
        return (TRUE.to_owned(), step.to_owned());
    };
    match step {
        JobStep::UpgradeSucceeded | JobStep::UpgradeSkipped | JobStep::UpgradeFailed => {
            let reason = reason_of(condition::end(conditions)).unwrap_or_default();
            let is_unhealthy = reason == Failure::PreHealthCheckFailed.name();
            let reason = if is_unhealthy {
                UNHEALTHY.to_owned()
            } else {
                reason
            };
            (TRUE.to_owned(), reason)
        }
        JobStep::UpgradeWaiting => {
            let waiting = conditions::find(conditions, JobCondition::Waiting.name());
            let waiting = waiting.filter(|waiting| waiting.status == TRUE);
            let reason = reason_of(waiting).unwrap_or_else(|| JobReason::LockHeld.name().to_owned());
            (TRUE.to_owned(), reason)
        }
        JobStep::UpgradeStarted => fixed(TRUE, JobReason::Started),
        JobStep::ClusterUnhealthy => (FALSE.to_owned(), UNHEALTHY.to_owned()),
        JobStep::UpgradeCommenced => fixed(FALSE, JobReason::InProgress),
        JobStep::PreHealthCheckCompleted | JobStep::UpgradeCompleted | JobStep::PostHealthCheckCompleted => {
            fixed(TRUE, JobReason::Completed)
        }
        JobStep::MachineConfigPoolsPaused | JobStep::UpgradePaused => fixed(TRUE, JobReason::DelaySet),
        JobStep::MachineConfigPoolsUnpaused => fixed(FALSE, JobReason::DelaySet),
        JobStep::UpgradeScheduled
        | JobStep::UpgradeLockTakenOver
        | JobStep::HookStarted
        | JobStep::HookFailed => (TRUE.to_owned(), step.name().to_owned()),
    }
}
