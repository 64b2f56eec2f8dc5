//! How far an upgrade of a fleet has come.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far an upgrade of a fleet has come: counts, and the clusters that have failed, are in flight
/// or cannot start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClustersUpgradeStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The reason of the newest true condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Upgraded clusters of the selected ones, such as `12/40`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// How many clusters are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_clusters: Option<i64>,
    /// When the first cluster started.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub start_time: Option<Time>,
    /// When the last cluster completed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub completion_time: Option<Time>,
    /// When the last cluster is expected to end: the median of the forecast.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub estimated_completion_time: Option<Time>,
    /// When the upgrade is expected to end, and how sure that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<ForecastStatus>,
    /// The pre-upgrade actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_upgrade_action_summary: Option<ActionSummary>,
    /// The canaries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_clusters_summery: Option<ClustersSummary>,
    /// All selected clusters, canaries included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters_summery: Option<ClustersSummary>,
    /// The post-upgrade actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_upgrade_action_summary: Option<ActionSummary>,
    /// What clusters that have not started have found, while something is; those that have not answered only where `spec.preChecks.mode`
    /// is Require.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_checks: Option<PreChecksSummary>,
    /// The clusters that have failed, are in flight or cannot start: at most 100, failed and in flight first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub clusters: Option<Vec<ClusterStatusEntry>>,
    /// How many more of these clusters there are than are listed in `clusters`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters_not_listed: Option<i64>,
    /// Selected, Applied, InProgress, Complete, Failed; Deleting while the upgrade is being deleted.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::conditions::deserialize_some"
    )]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,
}

/// What clusters that have not started have found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreChecksSummary {
    /// How many of them have findings that nobody has accepted.
    pub with_findings: i64,
    /// How many of those have a finding whose acceptance counts no more: its time is over, or the finding has become worse.
    pub acceptance_ended: i64,
    /// How many are not started because they have not answered.
    pub unanswered: i64,
}

/// When an upgrade is expected to end, and how sure that is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForecastStatus {
    /// One in ten simulated rollouts that come to an end has ended by then. Absent, with p50 and p90, if none comes to an end.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub p10: Option<Time>,
    /// Half of them have ended by then.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub p50: Option<Time>,
    /// Nine in ten of them have ended by then.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub p90: Option<Time>,
    /// When it was computed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub computed_at: Option<Time>,
    /// What it is based on, such as `214 z-stream upgrades of this fleet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub basis: Option<String>,
    /// The chance that the rollout stops before its end, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub stop_percent: Option<i32>,
    /// Why it would stop most probably, such as `Paused`, `CanaryFailed` or `FailureBudgetSpent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub stop_reason: Option<String>,
    /// Whether it is expected to end later than nine in ten simulated rollouts did when it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<bool>,
    /// The forecast that was made when the rollout began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_start: Option<ForecastBand>,
}

/// When a rollout was expected to end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForecastBand {
    /// One in ten simulated rollouts had ended by then.
    #[serde(default, deserialize_with = "crate::instant::deserialize_some")]
    pub p10: Option<Time>,
    /// Half of them had ended by then.
    #[serde(default, deserialize_with = "crate::instant::deserialize_some")]
    pub p50: Option<Time>,
    /// Nine in ten of them had ended by then.
    #[serde(default, deserialize_with = "crate::instant::deserialize_some")]
    pub p90: Option<Time>,
    /// When it was computed.
    #[serde(default, deserialize_with = "crate::instant::deserialize_some")]
    pub computed_at: Option<Time>,
    /// The rollout that it is about: when that began.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub rollout_since: Option<Time>,
    /// Changes with the spec, the retries and the number of clusters: what becomes of the rollout then is not compared with this forecast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub fingerprint: Option<String>,
}

/// How many clusters an action has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionSummary {
    /// Clusters on which the action was started.
    #[serde(default)]
    pub total: i64,
    /// Clusters on which its objects are applied.
    #[serde(default)]
    pub applied: i64,
    /// Clusters on which it has succeeded.
    #[serde(default)]
    pub available: i64,
    /// Clusters on which it is running.
    #[serde(default)]
    pub progressing: i64,
    /// Clusters on which it has failed.
    #[serde(default)]
    pub degraded: i64,
}

/// How far clusters are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClustersSummary {
    /// Selected clusters.
    #[serde(default)]
    pub total: i64,
    /// Clusters whose upgrade was started, finished ones included.
    #[serde(default)]
    pub initialized: i64,
    /// Clusters whose upgrade is running.
    #[serde(default)]
    pub partial_upgrade: i64,
    /// Clusters that are upgraded.
    #[serde(default)]
    pub complete: i64,
    /// Clusters that have failed.
    #[serde(default)]
    pub failed: i64,
    /// Selected clusters that are not yet started.
    #[serde(default)]
    pub pending: i64,
}

/// One cluster that has failed, is in flight or cannot start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterStatusEntry {
    /// Its name.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Whether the cluster is a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<bool>,
    /// `NotStarted`, `PreAction`, `Initialized`, `PartialUpgrade`, `Operators`, `PostAction`, `Complete` or `Failed`.
    pub state: String,
    /// The version that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why it is where it is, in CamelCase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it is where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when it is in this state.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub since: Option<Time>,
}

/// The types of conditions.
pub mod condition {
    /// At least one cluster is selected.
    pub const SELECTED: &str = "Selected";
    /// At least one work is applied.
    pub const APPLIED: &str = "Applied";
    /// Clusters are being upgraded.
    pub const IN_PROGRESS: &str = "InProgress";
    /// All selected clusters are upgraded.
    pub const COMPLETE: &str = "Complete";
    /// A cluster has failed, or the spec is invalid.
    pub const FAILED: &str = "Failed";
    /// Nothing that its pre-checks have found keeps a cluster from starting.
    pub const PRE_CHECKS_PASSED: &str = "PreChecksPassed";
    /// The upgrade is being deleted, and something keeps it.
    pub const DELETING: &str = "Deleting";
}
