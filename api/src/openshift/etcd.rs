//! Etcd: what the operator of the cluster's etcd says.

use serde::{Deserialize, Serialize};

use crate::{Fields, List, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// The cluster's etcd.
    Etcd, "operator.openshift.io", "v1", "etcds", ClusterResourceScope,
    spec: Fields, status: EtcdStatus
);

/// How it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EtcdStatus {
    /// `EtcdMembersAvailable`, `EtcdMembersDegraded` and others.
    pub conditions: List<ForeignCondition>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
