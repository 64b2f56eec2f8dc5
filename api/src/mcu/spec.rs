//! What an upgrade of a fleet is asked to do.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, ManagedClustersUpgradeStatus, PreChecks, UpgradeStrategy};
use crate::selector::LabelRequirement;

/// Which clusters are upgraded, to what, and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "ManagedClustersUpgrade",
    plural = "managedclustersupgrades",
    singular = "managedclustersupgrade",
    shortname = "mcu",
    namespaced,
    status = "ManagedClustersUpgradeStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ManagedClustersUpgrade upgrades a group of managed clusters: canaries first, then the others in batches.",
    printcolumn = r#"{"name": "Selected", "type": "integer", "jsonPath": ".status.selectedClusters", "description": "How many clusters are selected"}"#,
    printcolumn = r#"{"name": "Complete", "type": "integer", "jsonPath": ".status.clustersSummery.complete", "description": "How many clusters are upgraded"}"#,
    printcolumn = r#"{"name": "Failed", "type": "integer", "jsonPath": ".status.clustersSummery.failed", "description": "How many clusters have failed"}"#,
    printcolumn = r#"{"name": "Progress", "type": "string", "jsonPath": ".status.progress", "description": "Upgraded clusters of the selected ones"}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase", "description": "The reason of the newest true condition"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(has(self.placement) && size(self.placement) > 0) || has(self.clusterSelector)")
        .message("placement or clusterSelector is required: say which clusters to upgrade"),
    validation = Rule::new("has(self.clusterVersion) || has(self.ocpOperators)")
        .message("clusterVersion or ocpOperators is required: say what to upgrade to")
)]
pub struct ManagedClustersUpgradeSpec {
    /// Placements whose clusters are upgraded: the union of their decisions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub placement: Option<Vec<PlacementReference>>,
    /// Clusters that are upgraded, by cluster set and labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<ClusterSelector>,
    /// The release that the clusters are upgraded to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_version: Option<ClusterVersion>,
    /// The installed operators whose upgrades are approved, after the platform's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ocp_operators: Option<OcpOperators>,
    /// In which order, how many at a time, and how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade_strategy: Option<UpgradeStrategy>,
    /// What is done on each cluster before its upgrade; the upgrade starts when all its Jobs have succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_upgrade_action: Option<Action>,
    /// What is done on each cluster after its upgrade; the cluster is complete when all its Jobs have succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_upgrade_action: Option<Action>,
    /// Whether clusters are asked, before they start, what would be a problem with their upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_checks: Option<PreChecks>,
    /// While true, no further cluster starts; running upgrades continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// A Placement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace. Another namespace than the upgrade's own needs the permission to get Placements there.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
}

/// Clusters by set and labels. A cluster must match all parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSelector {
    /// The cluster sets from which clusters are selected; none means all sets that are bound to the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub cluster_sets: Option<Vec<String>>,
    /// Requirements on the clusters' labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub match_expressions: Option<Vec<LabelRequirement>>,
    /// Labels that a cluster must have with exactly these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 32))]
    pub match_labels: Option<std::collections::BTreeMap<String, String>>,
}

/// The release that the clusters are upgraded to: a version, an image by digest, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(has(self.version) && self.version != '') || (has(self.image) && self.image != '')")
        .message("version or image is required: say which release to upgrade to")
)]
pub struct ClusterVersion {
    /// The channel that the clusters follow from then on, such as `stable-4.14`. Left as it is if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub channel: Option<String>,
    /// The release's version, such as `4.14.12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    #[x_kube(
        validation = Rule::new(r"self == '' || self.matches('^(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')")
            .message("version must be a semantic version, for example 4.14.12")
    )]
    pub version: Option<String>,
    /// The update service. Left as it is if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub upstream: Option<String>,
    /// The release's image by digest. With a version as well, the image must be of that version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    #[x_kube(
        validation = Rule::new(r"self == '' || self.matches('^[^ @/]+(/[^ @/]+)+@sha256:[0-9a-f]{64}$')")
            .message("image must name the release by digest: registry/repository/name@sha256: and 64 hexadecimal digits; a tag is refused because it can be moved")
    )]
    pub image: Option<String>,
    /// Overrides the cluster's own verification and preconditions. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// Installed operators whose upgrades are approved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OcpOperators {
    /// Approves the upgrades of all operators that are not excluded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approve_all_upgrades: Option<bool>,
    /// The operators whose upgrades are approved; none, unless `approveAllUpgrades` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub include: Option<Vec<OperatorReference>>,
    /// The operators whose upgrades are not approved, whatever else is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub exclude: Option<Vec<OperatorReference>>,
}

/// The Subscription of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
}
