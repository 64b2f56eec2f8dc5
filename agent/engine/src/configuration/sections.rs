//! The sections of `config.yaml`, each with its defaults.

use jiff::SignedDuration;
use serde::Deserialize;

use super::PolicySource;

/// `configManager`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConfigManager {
    /// Where policies come from.
    pub source: PolicySource,
    /// The address of OpenShift Cluster Manager.
    pub ocm_base_url: Option<String>,
    /// The local policy's name.
    pub local_config_name: Option<String>,
    /// Minutes between two looks at the policies.
    pub watch_interval: i64,
}

impl Default for ConfigManager {
    fn default() -> Self {
        Self {
            source: PolicySource::default(),
            ocm_base_url: None,
            local_config_name: None,
            watch_interval: 60,
        }
    }
}

/// `validation`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Validation {
    /// Ask the update graph about targets of other channels.
    pub cincinnati: bool,
}

/// `environment`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Environment {
    /// Whether it is a FedRAMP environment.
    pub fedramp: bool,
}

/// `maintenance`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Maintenance {
    /// Minutes that a control plane may take.
    pub control_plane_time: i64,
    /// Alerts that are silenced.
    pub ignored_alerts: IgnoredAlerts,
}

impl Default for Maintenance {
    fn default() -> Self {
        Self {
            control_plane_time: 90,
            ignored_alerts: IgnoredAlerts::default(),
        }
    }
}

/// `maintenance.ignoredAlerts`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct IgnoredAlerts {
    /// Critical alerts that fire while a control plane is upgraded.
    pub control_plane_criticals: Vec<String>,
}

/// `scale`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Scale {
    /// Minutes until missing extra capacity is gone without.
    pub time_out: i64,
    /// Globs of further machine pools.
    pub extra_machine_pools: Vec<String>,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            time_out: 30,
            extra_machine_pools: Vec::new(),
        }
    }
}

/// `upgradeWindow`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UpgradeWindow {
    /// Minutes until a delay is reported; 0 is never.
    pub delay_trigger: i64,
    /// Minutes until an upgrade that has not commenced is given up; 0 is never.
    pub time_out: i64,
}

impl Default for UpgradeWindow {
    fn default() -> Self {
        Self {
            delay_trigger: 30,
            time_out: 120,
        }
    }
}

impl UpgradeWindow {
    /// After how long a delay is reported.
    pub fn delay(&self) -> Option<SignedDuration> {
        (self.delay_trigger > 0).then(|| SignedDuration::from_mins(self.delay_trigger))
    }

    /// After how long an upgrade that has not commenced is given up.
    pub fn limit(&self) -> Option<SignedDuration> {
        (self.time_out > 0).then(|| SignedDuration::from_mins(self.time_out))
    }
}

/// `nodeDrain`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeDrainConfig {
    /// Minutes until pods without a budget are deleted.
    pub time_out: i64,
    /// Minutes that a drain usually takes.
    pub expected_node_drain_time: i64,
    /// Only measure.
    pub disable_drain_strategies: bool,
    /// Regular expressions of namespaces whose pods are left alone.
    pub ignored_namespace_patterns: Vec<String>,
}

impl Default for NodeDrainConfig {
    fn default() -> Self {
        Self {
            time_out: 45,
            expected_node_drain_time: 8,
            disable_drain_strategies: false,
            ignored_namespace_patterns: Vec::new(),
        }
    }
}

/// `healthCheck`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HealthCheck {
    /// Critical alerts that do not fail the check.
    pub ignored_criticals: Vec<String>,
    /// Namespaces whose alerts do not fail the check.
    pub ignored_namespaces: Vec<String>,
    /// Whether the UpdatePlan of the version has to say that the update may start, before it does.
    pub check_update_plan: bool,
}

/// `extDependencyAvailabilityChecks`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExternalDependencies {
    /// By HTTP.
    pub http: HttpDependencies,
}

/// `extDependencyAvailabilityChecks.http`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpDependencies {
    /// Seconds that an answer may take.
    pub timeout: i64,
    /// What must answer 200.
    pub urls: Vec<String>,
}

impl Default for HttpDependencies {
    fn default() -> Self {
        Self {
            timeout: 10,
            urls: Vec::new(),
        }
    }
}

/// `featureGate`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FeatureGate {
    /// The features that are on.
    pub enabled: Vec<String>,
}

impl FeatureGate {
    /// Whether health is checked hours before the upgrade, too.
    pub fn pre_health_check(&self) -> bool {
        self.enabled.iter().any(|feature| feature == "PreHealthCheck")
    }

    /// Whether states go to OCM's service log, too.
    pub fn service_log_notification(&self) -> bool {
        self.enabled
            .iter()
            .any(|feature| feature == "ServiceLogNotification")
    }
}

/// `notify`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Notify {
    /// Receivers of CloudEvents.
    pub webhooks: Vec<Webhook>,
}

/// `notify.webhooks[]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Where events are posted to: https, but for loopback.
    pub url: String,
    /// The key with which they are signed; not signed if absent.
    #[serde(default)]
    pub secret_ref: Option<SecretReference>,
    /// The states that are sent, such as `StateStarted`; all if empty.
    #[serde(default)]
    pub events: Vec<String>,
}

impl Webhook {
    /// Whether it receives an event.
    pub fn wants(&self, event: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|wanted| wanted == event)
    }
}

/// A key of a Secret in the agent's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct SecretReference {
    /// The Secret.
    pub name: String,
    /// Its key.
    #[serde(default = "SecretReference::usual_key")]
    pub key: String,
}

impl SecretReference {
    fn usual_key() -> String {
        "key".to_owned()
    }
}
