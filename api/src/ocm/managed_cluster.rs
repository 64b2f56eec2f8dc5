//! ManagedCluster: a cluster that the hub knows.

use serde::{Deserialize, Serialize};

use crate::{Fields, List, Nullable, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// A cluster that the hub knows.
    ManagedCluster, "cluster.open-cluster-management.io", "v1", "managedclusters", ClusterResourceScope,
    spec: ManagedClusterSpec, status: ManagedClusterStatus
);

/// What the hub wants of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// Has the hub accepted the cluster?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_accepts_client: Option<bool>,
    /// How often the klusterlet renews its lease, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i64>,
    /// What keeps the cluster out of placements that do not tolerate it.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub taints: List<Taint>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What keeps a cluster out of placements that do not tolerate it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Taint {
    /// The taint's key.
    pub key: String,
    /// The taint's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `NoSelect`, `PreferNoSelect` or `NoSelectIfNew`.
    pub effect: String,
    /// Since when (RFC 3339).
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub time_added: Nullable<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What is known of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterStatus {
    /// Accepted, joined, available.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// What the cluster says of itself.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub cluster_claims: List<ClusterClaim>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// One thing that a cluster says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterClaim {
    /// What it is about.
    pub name: String,
    /// What it says.
    pub value: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

impl ManagedCluster {
    /// The value of a cluster claim.
    pub fn claim(&self, name: &str) -> Option<&str> {
        let claims = &self.status.as_ref()?.cluster_claims;
        let claim = claims.iter().find(|claim| claim.name == name)?;
        Some(&claim.value)
    }

    /// The cluster's conditions; none before it has a status.
    pub fn conditions(&self) -> &[ForeignCondition] {
        self.status.as_ref().map_or(&[], |status| &status.conditions)
    }
}
