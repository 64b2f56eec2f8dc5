//! The notifications in the status, and the outbox.

use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::Shared;
use drydock_engine::facts::Observation;
use drydock_engine::notification::UpgradeEvent;

use crate::notify::outbox::{Notification, has_receivers};

/// Writes what is to be sent, and notes in the status what every receiver has got; nothing while the cluster is not known.
pub(super) fn write(
    shared: &Shared,
    upgrade: &UpgradeConfig,
    seen: &Observation,
    status: &mut UpgradeConfigStatus,
) -> Option<Vec<Notification>> {
    let only_logged = !has_receivers(&seen.in_force.configuration);
    // A notification names the cluster: it waits until that is known.
    let cluster = seen.cluster.as_ref().ok()?.id.clone();
    let mut to_send = Vec::new();
    for entry in status.history.iter_mut().flatten() {
        let version = entry.version.clone().unwrap_or_default();
        let unsent = entry.notifications.iter_mut().flatten();
        for notification in unsent.filter(|notification| notification.sent_time.is_none()) {
            let Some(event) = UpgradeEvent::named(&notification.event) else {
                continue;
            };
            let queued = Notification {
                upgrade: upgrade.uid().unwrap_or_default(),
                name: upgrade.name_any(),
                cluster: cluster.clone(),
                version: version.clone(),
                upgrade_at: seen.spec.upgrade_at.clone(),
                event,
                description: notification.description.clone().unwrap_or_default(),
                delivered: notification.delivered_to.iter().flatten().cloned().collect(),
                raised: notification.raised_time.as_ref().map_or(seen.now, |time| time.0),
            };
            if only_logged || shared.context.outbox.has_sent(&queued) {
                notification.sent_time = Some(Time(seen.now));
                notification.delivered_to = None;
                let (event, description) = (queued.event.name(), &queued.description);
                tracing::info!(
                    version,
                    event,
                    description,
                    "all receivers have the notification of a state"
                );
            } else {
                let delivered = shared.context.outbox.delivered(&queued);
                notification.delivered_to = (!delivered.is_empty()).then(|| delivered.into_iter().collect());
                to_send.push(queued);
            }
        }
    }
    Some(to_send)
}
