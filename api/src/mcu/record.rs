//! ManagedClustersUpgradeRecord (short `mcur`): how the clusters of an upgrade have ended. Records outlive the works and the
//! upgrade: history, forecasts and retries read them.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most entries of a record.
pub const RECORD_ENTRIES_LIMIT: usize = 500;

/// The outcomes of upgrade attempts of one rollout. The hub writes it; it is kept when the ManifestWorks and the upgrade are deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "ManagedClustersUpgradeRecord",
    plural = "managedclustersupgraderecords",
    singular = "managedclustersupgraderecord",
    shortname = "mcur",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "ManagedClustersUpgradeRecord lists the outcomes of up to 200 upgrade attempts of one rollout. It is kept when the ManifestWorks and the upgrade are deleted.",
    printcolumn = r#"{"name": "Upgrade", "type": "string", "jsonPath": ".spec.upgrade.name", "description": "The ManagedClustersUpgrade"}"#,
    printcolumn = r#"{"name": "Target", "type": "string", "jsonPath": ".spec.upgrade.target", "description": "What the clusters were upgraded to"}"#,
    printcolumn = r#"{"name": "Rollout", "type": "date", "jsonPath": ".spec.upgrade.rolloutSince", "description": "When the rollout began"}"#,
    printcolumn = r#"{"name": "Started-By", "type": "string", "jsonPath": ".spec.upgrade.startedBy", "priority": 1, "description": "Who wrote the upgrade"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClustersUpgradeRecordSpec {
    /// The upgrade and the rollout of the attempts.
    pub upgrade: RecordedUpgrade,
    /// One entry for each attempt to upgrade a cluster, in the order of their ends.
    #[serde(default)]
    #[schemars(length(max = 500))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub entries: Vec<RecordEntry>,
}

/// The upgrade and the rollout of the attempts that a record lists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedUpgrade {
    /// The name of the ManagedClustersUpgrade.
    #[schemars(length(max = 253))]
    pub name: String,
    /// Its uid.
    #[schemars(length(max = 64))]
    pub uid: String,
    /// What the clusters were upgraded to.
    #[schemars(length(max = 1024))]
    pub target: String,
    /// A fingerprint of the target and the operators: equal for two rollouts that ask for the same.
    #[schemars(length(max = 64))]
    pub goal: String,
    /// When the rollout began (RFC 3339).
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub rollout_since: String,
    /// Who last wrote the spec of the upgrade, by field manager, or by the annotation `drydock.dev/started-by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub started_by: Option<String>,
    /// The upgrade was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<bool>,
    /// How good the forecast was that was made when the rollout began; on one record of each rollout, when it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<RecordedForecast>,
}

/// How good the forecast of a rollout was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedForecast {
    /// One in ten simulated rollouts had ended by then (RFC 3339).
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub p10: String,
    /// Half of them had ended by then (RFC 3339).
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub p50: String,
    /// Nine in ten of them had ended by then (RFC 3339).
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub p90: String,
    /// When the rollout ended (RFC 3339).
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub ended: String,
    /// By how many seconds it ended later than p50; less than 0 if it ended earlier.
    pub error_seconds: i64,
    /// Whether it ended from p10 to p90, as eight in ten rollouts should.
    pub within_band: bool,
}

/// What became of one cluster in one attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordEntry {
    /// The cluster.
    #[schemars(length(max = 253))]
    pub cluster: String,
    /// Whether the cluster is a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<bool>,
    /// `Complete`, `Failed`, `Drifted` (something else changed its version) or `Abandoned` (the upgrade was deleted, or a later one
    /// took over, while the cluster was in flight).
    #[schemars(length(max = 32))]
    pub outcome: String,
    /// Why, in CamelCase.
    #[schemars(length(max = 64))]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(default)]
    #[schemars(length(max = 256))]
    pub message: String,
    /// The version that the cluster ran before, if that was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub from: Option<String>,
    /// The version or image that it was to come to; of a drift, and of a cluster that needed nothing, the version that was seen.
    #[schemars(length(max = 1024))]
    pub to: String,
    /// When the attempt began (RFC 3339); a drift has none, nor has a cluster that needed nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub started: Option<String>,
    /// How long each stage took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<RecordedStages>,
    /// When it ended, or the drift was seen (RFC 3339).
    #[schemars(length(max = 64), extend("format" = "date-time"))]
    pub completed: String,
    /// The retry that was asked for when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub retry: Option<String>,
}

/// How long each stage of a cluster took, in seconds. A stage that did not run has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordedStages {
    /// The pre-upgrade action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_action: Option<i64>,
    /// The platform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<i64>,
    /// The operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operators: Option<i64>,
    /// The post-upgrade action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_action: Option<i64>,
}
