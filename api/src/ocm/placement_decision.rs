//! PlacementDecision: a page of at most 100 clusters that a Placement has chosen.

use serde::{Deserialize, Serialize};

use crate::{ClusterName, Fields, List, foreign::foreign_kind};

foreign_kind!(
    /// A page of the clusters that a Placement has chosen.
    PlacementDecision, "cluster.open-cluster-management.io", "v1beta1", "placementdecisions",
    NamespaceResourceScope, status: PlacementDecisionStatus
);

/// The clusters of a page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PlacementDecisionStatus {
    /// The clusters, by name.
    pub decisions: List<ClusterDecision>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// One chosen cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterDecision {
    /// The cluster.
    pub cluster_name: ClusterName,
    /// Why it was chosen; mostly empty.
    pub reason: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
