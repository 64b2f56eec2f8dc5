//! Placement: a choice of clusters.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Fields, List, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// A choice of clusters, from the sets that are bound to its namespace.
    Placement, "cluster.open-cluster-management.io", "v1beta1", "placements", NamespaceResourceScope,
    spec: PlacementSpec, status: PlacementStatus
);

/// Which clusters are chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlacementSpec {
    /// The sets from which to choose; none = all that are bound to the namespace.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub cluster_sets: List<String>,
    /// At most this many clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_clusters: Option<i64>,
    /// A cluster is chosen if it satisfies any of these.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub predicates: List<ClusterPredicate>,
    /// Taints that do not keep a cluster out.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub tolerations: List<Toleration>,
    /// How decisions are grouped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_strategy: Option<DecisionStrategy>,
    /// All other fields (prioritisers, spreading).
    #[serde(flatten)]
    pub other: Fields,
}

/// One way for a cluster to be chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterPredicate {
    /// What the cluster must be like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_cluster_selector: Option<PlacementClusterSelector>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// The requirements for a cluster, all of which it must meet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlacementClusterSelector {
    /// By labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// By cluster claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_selector: Option<ClaimSelector>,
    /// By CEL expressions over the ManagedCluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cel_selector: Option<CelSelector>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// Requirements on cluster claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimSelector {
    /// A cluster must meet all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_expressions: Option<Vec<LabelSelectorRequirement>>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// CEL expressions over the ManagedCluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CelSelector {
    /// All of them must be true.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub cel_expressions: List<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A taint that does not keep a cluster out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Toleration {
    /// The taint's key; none = every key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `Equal` (the default) or `Exists`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    /// The taint's value, for `Equal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The taint's effect; none = every effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// For how long the taint is tolerated; none = forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How decisions are grouped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DecisionStrategy {
    /// The groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_strategy: Option<GroupStrategy>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// Groups of decisions: named ones first, the remaining clusters in groups of equal size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GroupStrategy {
    /// Named groups, in order.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub decision_groups: List<DecisionGroup>,
    /// The size of the other groups: a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters_per_decision_group: Option<Value>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A named group of decisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DecisionGroup {
    /// The group's name.
    pub group_name: String,
    /// Which of the chosen clusters belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_cluster_selector: Option<PlacementClusterSelector>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What has been chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlacementStatus {
    /// How many clusters are chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number_of_selected_clusters: Option<i64>,
    /// The groups, and the names of the PlacementDecisions of each.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub decision_groups: List<DecisionGroupStatus>,
    /// `PlacementSatisfied`, `PlacementMisconfigured`.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// One group of decisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DecisionGroupStatus {
    /// The group's place in the order.
    pub decision_group_index: i64,
    /// The group's name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_group_name: Option<String>,
    /// The names of its PlacementDecisions.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub decisions: List<String>,
    /// How many clusters it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_count: Option<i64>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
