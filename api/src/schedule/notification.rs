//! Who is notified of maintenances.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A receiver of notifications. A delivery that fails never holds up an upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
pub struct JobNotification {
    /// Where notifications are posted to.
    pub webhook: WebhookReceiver,
    /// The events that are sent, such as `UpgradeSkipped`. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(
        merge_strategy = ListMerge::Atomic,
        validation = Rule::new("self.all(event, event in ['UpgradeScheduled', 'UpgradeStarted', 'UpgradeWaiting', 'ClusterUnhealthy', 'PreHealthCheckCompleted', 'UpgradeCommenced', 'UpgradeCompleted', 'PostHealthCheckCompleted', 'MachineConfigPoolsPaused', 'MachineConfigPoolsUnpaused', 'UpgradePaused', 'UpgradeSucceeded', 'UpgradeSkipped', 'UpgradeFailed'])")
            .message("events must be events that are notified, such as UpgradeSkipped or UpgradeFailed: see Maintenance schedules")
    )]
    pub events: Option<Vec<String>>,
    /// Sent with each notification, such as the identifiers of the cluster and its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

impl JobNotification {
    /// Does the receiver want this event?
    pub fn wants(&self, event: &str) -> bool {
        let events = self.events.as_deref().unwrap_or_default();
        events.is_empty() || events.iter().any(|wanted| wanted == event)
    }
}

/// A receiver of CloudEvents by HTTP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookReceiver {
    /// The address, which is often a secret in itself: https, but for loopback.
    pub url_secret_ref: SecretKey,
    /// The key with which notifications are signed. They are not signed if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing_key_secret_ref: Option<SecretKey>,
}

/// A value in a Secret of the object's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretKey {
    /// The name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}
