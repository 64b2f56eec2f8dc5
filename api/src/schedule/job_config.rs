//! How an UpgradeJob upgrades the cluster.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HealthChecks, JobNotification};

/// How the cluster is upgraded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeJobConfig {
    /// How long after `startAfter` the upgrade may take. After that the UpgradeJob has failed.
    #[serde(default = "twelve_hours")]
    #[schemars(extend("format" = "duration"))]
    pub upgrade_timeout: String,
    /// Whether the cluster is healthy enough to be upgraded.
    pub pre_upgrade_health_checks: HealthChecks,
    /// Whether the cluster is healthy after the upgrade.
    pub post_upgrade_health_checks: HealthChecks,
    /// Machine config pools that are upgraded later than the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_config_pools: Option<Vec<MachineConfigPoolConfig>>,
    /// Pauses machine config pools if the UpgradeJob fails, so that nodes are not upgraded further. They are not unpaused again by
    /// themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_machine_config_pools_on_failure: Option<PauseMachineConfigPoolsOnFailure>,
    /// Who is notified of the states of the UpgradeJob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub notifications: Option<Vec<JobNotification>>,
}

impl Default for UpgradeJobConfig {
    fn default() -> Self {
        Self {
            upgrade_timeout: twelve_hours(),
            pre_upgrade_health_checks: HealthChecks::default(),
            post_upgrade_health_checks: HealthChecks::default(),
            machine_config_pools: None,
            pause_machine_config_pools_on_failure: None,
            notifications: None,
        }
    }
}

fn twelve_hours() -> String {
    "12h".to_owned()
}

/// When some machine config pools are upgraded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineConfigPoolConfig {
    /// The pools, by their labels: an empty selector selects all of them, none if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub match_labels: Option<LabelSelector>,
    /// How much later they are upgraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_upgrade: Option<PoolUpgradeDelay>,
}

/// How much later machine config pools are upgraded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolUpgradeDelay {
    /// How long after `startAfter` the pools stay paused. Default 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_min: Option<String>,
    /// How long after `startAfter` the pools may still be paused. After that the UpgradeJob has failed. Default 0, which is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_max: Option<String>,
}

/// Pauses machine config pools if an UpgradeJob fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PauseMachineConfigPoolsOnFailure {
    /// If true, pools that are not yet upgraded are paused. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The pools, by their labels: an empty selector selects all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<LabelSelector>,
}
