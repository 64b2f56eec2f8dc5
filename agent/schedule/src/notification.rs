//! What receivers of notifications get (the design document: every step is notified, and a maintenance that is skipped says why).

use std::collections::BTreeMap;

use drydock_api::schedule::{DesiredVersion, JobNotification, UpgradeNotificationStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Characters of a description that are kept.
const LONGEST: usize = 1024;
/// For how long a notification is tried.
const TRIED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// A description, cut to what is kept.
pub(crate) fn description(message: &str) -> String {
    message.chars().take(LONGEST).collect()
}

/// What a receiver gets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotificationPayload {
    /// The release that the cluster runs, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Which step, such as `UpgradeSkipped`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The status of the condition that the step is about.
    pub status: String,
    /// Why, such as `ClusterUnhealthy`.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// The release that the UpgradeJob upgrades to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_version: Option<DesiredVersion>,
    /// The annotations of the receiver.
    pub annotations: BTreeMap<String, String>,
}

/// The name of a receiver in a status: where its address is, which is no secret.
pub fn receiver_name(receiver: &JobNotification) -> String {
    let reference = &receiver.webhook.url_secret_ref;
    format!("{}/{}", reference.name, reference.key)
}

/// What tells two notifications of one event and moment apart.
pub fn words_digest(raised: &UpgradeNotificationStatus) -> String {
    let words = Sha256::digest(raised.description.as_deref().unwrap_or_default());
    words.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

/// Is there something to send? What could not be sent for a day is given up.
pub fn is_pending(raised: &UpgradeNotificationStatus, now: Timestamp) -> bool {
    let since = raised.raised_time.as_ref().map_or(now, |time| time.0);
    raised.sent_time.is_none() && now.duration_since(since) <= TRIED_FOR
}

/// Who has not got a notification that was raised.
pub fn missing<'a>(
    raised: &UpgradeNotificationStatus,
    receivers: &'a [JobNotification],
) -> Vec<&'a JobNotification> {
    let delivered = raised.delivered_to.as_deref().unwrap_or_default();
    let wanting = receivers.iter().filter(|receiver| receiver.wants(&raised.event));
    wanting
        .filter(|receiver| !delivered.contains(&receiver_name(receiver)))
        .collect()
}

/// Notes that a receiver has it. Once nobody is missing, that is all that is kept.
pub fn note(
    raised: &mut UpgradeNotificationStatus,
    receiver: &JobNotification,
    receivers: &[JobNotification],
    now: Timestamp,
) {
    let delivered = raised.delivered_to.get_or_insert_default();
    delivered.push(receiver_name(receiver));
    close(raised, receivers, now);
}

/// Closes a notification that nobody misses.
pub fn close(raised: &mut UpgradeNotificationStatus, receivers: &[JobNotification], now: Timestamp) {
    if raised.sent_time.is_none() && missing(raised, receivers).is_empty() {
        raised.sent_time = Some(Time(Timestamp::from_second(now.as_second()).unwrap_or(now)));
        raised.delivered_to = None;
    }
}
