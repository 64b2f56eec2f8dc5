//! Notifications of maintenances that are left out: each is kept in the status until its receivers have it.

use drydock_api::conditions::TRUE;
use drydock_api::schedule::{JobNotification, UpgradeConfig, UpgradeConfigStatus, UpgradeNotificationStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::ConfigEvent;
use crate::job::JobStep;
use crate::notification::{NotificationPayload, description};

/// How many notifications a status keeps: there is one for each maintenance that is left out.
const KEPT: usize = 10;
/// The reason of a notification of a maintenance that is left out.
const SUSPENDED: &str = "Suspended";

/// Who is notified of the maintenances of an UpgradeConfig.
pub fn receivers(config: &UpgradeConfig) -> &[JobNotification] {
    config.spec.notifications.as_deref().unwrap_or_default()
}

/// Raises notifications of the maintenances that have just been left out.
pub(super) fn raise(
    status: &mut UpgradeConfigStatus,
    config: &UpgradeConfig,
    events: &[ConfigEvent],
    now: Timestamp,
) {
    let skipped = JobStep::UpgradeSkipped.name();
    if !receivers(config).iter().any(|receiver| receiver.wants(skipped)) {
        return;
    }
    for event in events {
        let raised = status.notifications.get_or_insert_default();
        raised.push(UpgradeNotificationStatus {
            event: skipped.to_owned(),
            description: Some(description(&event.note())),
            raised_time: Some(Time(now)),
            ..UpgradeNotificationStatus::default()
        });
        let superfluous = raised.len().saturating_sub(KEPT);
        raised.drain(..superfluous);
    }
}

/// What a receiver gets of a notification that was raised.
pub fn payload(
    raised: &UpgradeNotificationStatus,
    receiver: &JobNotification,
    version: Option<String>,
) -> NotificationPayload {
    NotificationPayload {
        version,
        type_: raised.event.clone(),
        status: TRUE.to_owned(),
        reason: SUSPENDED.to_owned(),
        message: raised.description.clone().unwrap_or_default(),
        desired_version: None,
        annotations: receiver.annotations.clone().unwrap_or_default(),
    }
}
