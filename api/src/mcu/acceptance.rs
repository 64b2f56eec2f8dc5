//! UpgradeRiskAcceptance (short `mcura`): which findings somebody accepts for the clusters of an upgrade. It is a kind of its own so that
//! rights can part those who plan an upgrade from those who accept its risks.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::selector::LabelMatch;

/// The most risks that one object accepts.
pub const ACCEPTED_RISKS_LIMIT: usize = 64;

/// The risks that somebody accepts for the clusters of one upgrade and one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1beta1",
    kind = "UpgradeRiskAcceptance",
    plural = "upgraderiskacceptances",
    singular = "upgraderiskacceptance",
    shortname = "mcura",
    status = "UpgradeRiskAcceptanceStatus",
    namespaced,
    derive = "PartialEq",
    derive = "Default",
    doc = "UpgradeRiskAcceptance accepts findings of pre-checks for the clusters of a ManagedClustersUpgrade.",
    printcolumn = r#"{"name": "Upgrade", "type": "string", "jsonPath": ".spec.upgrade", "description": "The ManagedClustersUpgrade"}"#,
    printcolumn = r#"{"name": "Target", "type": "string", "jsonPath": ".spec.target", "description": "The release for which it counts"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeRiskAcceptanceSpec {
    /// The ManagedClustersUpgrade, of the same namespace.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("upgrade cannot be changed: accept the risks of another upgrade in another object"))]
    pub upgrade: String,
    /// The version that the upgrade leads to, or the image where it names no version. What is accepted counts for no other.
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("target cannot be changed: accept the risks of another target in another object"))]
    pub target: String,
    /// What is accepted.
    #[serde(default)]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub accepted_risks: Vec<AcceptedRisk>,
}

/// What has become of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeRiskAcceptanceStatus {
    /// Entries that have ended on clusters because a finding became worse there. They accept nothing there any more, also when it is better
    /// again, until the entry is changed. The hub writes this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ended: Vec<EndedRisk>,
}

/// An entry that has ended on clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedRisk {
    /// Which entry: a digest of what it says. One that is changed has another.
    #[schemars(length(max = 16))]
    pub id: String,
    /// What it accepts, to be read: the uuid of the finding, or informer and uid.
    #[schemars(length(max = 128))]
    pub finding: String,
    /// On which clusters; on all, also on those that join later, if not given, as beyond 256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub clusters: Option<Vec<String>>,
}

/// The most clusters on which an entry ends one by one.
pub const ENDED_CLUSTERS_LIMIT: usize = 256;

/// A finding that is accepted: by its uuid, or by informer and uid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.informer) == has(self.uid)").message("informer and uid are given together"),
    validation = Rule::new("has(self.finding) != has(self.informer)")
        .message("either finding, or informer and uid, say what is accepted")
)]
pub struct AcceptedRisk {
    /// The uuid of the finding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 32, max = 32), regex(pattern = "^[0-9a-f]{32}$"))]
    pub finding: Option<String>,
    /// Who reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub informer: Option<String>,
    /// What it is to its informer: every finding of that uid is accepted, whatever objects of the cluster it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub uid: Option<String>,
    /// The level up to which it is accepted: a finding that is worse, or becomes so, is not. Default Warning. Unknown is covered by Unknown and
    /// by Critical alone, and covers nothing that is worse than Info but itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Warning", "Unknown", "Error", "Critical"]))]
    pub level: Option<String>,
    /// On which clusters, by name; on all of the upgrade if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512), inner(length(min = 1, max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub clusters: Option<Vec<String>>,
    /// On which clusters, by the labels of their ManagedClusters; on all of the upgrade if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelMatch>,
    /// Why.
    #[schemars(length(min = 1, max = 1024), regex(pattern = r"\S"))]
    pub reason: String,
    /// Who accepts it: the user who writes this, where the admission policy of `manifests/risk-acceptance` is installed.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"\S"))]
    pub accepted_by: String,
    /// When it was accepted; when this object was created if not given. Whoever accepts anew what has become worse since, says a later time.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    #[schemars(extend("format" = "date-time"))]
    pub accepted_at: Option<Time>,
    /// Until when; for as long as this object is there if not given.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<Time>,
}
