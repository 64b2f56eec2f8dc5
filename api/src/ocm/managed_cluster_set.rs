//! ManagedClusterSet and ManagedClusterSetBinding: groups of clusters, and who may select from them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use crate::{Fields, List, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// A group of clusters.
    ManagedClusterSet, "cluster.open-cluster-management.io", "v1beta2", "managedclustersets", ClusterResourceScope,
    spec: ManagedClusterSetSpec, status: ConditionsStatus
);

foreign_kind!(
    /// The permission of a namespace to select from a ManagedClusterSet.
    ManagedClusterSetBinding, "cluster.open-cluster-management.io", "v1beta2", "managedclustersetbindings",
    NamespaceResourceScope, spec: ManagedClusterSetBindingSpec, status: ConditionsStatus
);

/// Which clusters belong to a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterSetSpec {
    /// How clusters are chosen; by the label `clusterset` if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<SetSelector>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How the clusters of a set are chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SetSelector {
    /// `ExclusiveClusterSetLabel` (a cluster names its one set) or `LabelSelector`.
    pub selector_type: String,
    /// The labels, for `LabelSelector`; an empty selector means all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// Which set is bound.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterSetBindingSpec {
    /// The set's name, which is also the binding's.
    pub cluster_set: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A status that has conditions and little else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConditionsStatus {
    /// `ClusterSetEmpty` on a set, `Bound` on a binding.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
