//! ClusterOperator: one of the operators that make up a release.

use serde::{Deserialize, Serialize};

use crate::{Fields, List, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// One of the operators that make up a release.
    ClusterOperator, "config.openshift.io", "v1", "clusteroperators", ClusterResourceScope,
    spec: Fields, status: ClusterOperatorStatus
);

/// How an operator is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterOperatorStatus {
    /// `Available`, `Progressing`, `Degraded`, `Upgradeable`.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// The versions of the operator (`operator`) and of what it operates.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub versions: List<OperandVersion>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// The version of an operator or of what it operates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OperandVersion {
    /// `operator`, or the operand's name.
    pub name: String,
    /// The version.
    pub version: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
