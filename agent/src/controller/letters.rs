//! The notifications in the status, and the outbox.

use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::Shared;
use crate::facts::Facts;
use crate::notify::Event;
use crate::notify::outbox::{Letter, has_receivers};

/// Puts what is to be told into the outbox, and notes in the status what everybody has been told.
pub(super) fn post(
    shared: &Shared,
    upgrade: &UpgradeConfig,
    facts: &Facts,
    status: &mut UpgradeConfigStatus,
) {
    let only_logged = !has_receivers(&facts.configuration);
    let mut letters = Vec::new();
    for entry in status.history.iter_mut().flatten() {
        let version = entry.version.clone().unwrap_or_default();
        let unsent = entry.notifications.iter_mut().flatten();
        for notification in unsent.filter(|notification| notification.sent_time.is_none()) {
            let Some(event) = Event::named(&notification.event) else {
                continue;
            };
            let letter = Letter {
                upgrade: upgrade.uid().unwrap_or_default(),
                name: upgrade.name_any(),
                cluster: facts.cluster.id.clone(),
                version: version.clone(),
                upgrade_at: facts.spec.upgrade_at.clone(),
                event,
                description: notification.description.clone().unwrap_or_default(),
                raised: notification.raised_time.as_ref().map_or(facts.now, |time| time.0),
            };
            if only_logged || shared.context.outbox.has_sent(&letter) {
                notification.sent_time = Some(Time(facts.now));
                let (event, description) = (letter.event.name(), &letter.description);
                tracing::info!(
                    version,
                    event,
                    description,
                    "a state of the upgrade has been told"
                );
            } else {
                letters.push(letter);
            }
        }
    }
    shared.context.outbox.put(letters, &facts.configuration);
}
