//! ManagedClusterAddOn: a piece of software that the hub has installed on a cluster.

use serde::{Deserialize, Serialize};

use super::managed_cluster_set::ConditionsStatus;
use crate::{Fields, conditions, foreign::foreign_kind};

foreign_kind!(
    /// A piece of software on a managed cluster; lives in the cluster's namespace.
    ManagedClusterAddOn, "addon.open-cluster-management.io", "v1alpha1", "managedclusteraddons",
    NamespaceResourceScope, spec: ManagedClusterAddOnSpec, status: ConditionsStatus
);

/// What is wanted of an add-on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManagedClusterAddOnSpec {
    /// The namespace on the managed cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_namespace: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

impl ManagedClusterAddOn {
    /// Does the add-on run on the cluster (condition `Available` is `True`)?
    pub fn is_available(&self) -> bool {
        self.status
            .as_ref()
            .is_some_and(|status| conditions::is_true(&status.conditions, "Available"))
    }
}
