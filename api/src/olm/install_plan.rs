//! InstallPlan: the bundles that will be installed together in a namespace, once that is approved.

use serde::{Deserialize, Serialize};

use crate::{Fields, List, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// Bundles that are installed together.
    InstallPlan, "operators.coreos.com", "v1alpha1", "installplans", NamespaceResourceScope,
    spec: InstallPlanSpec, status: InstallPlanStatus
);

/// What is installed, and whether it may be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InstallPlanSpec {
    /// `Automatic` or `Manual`.
    pub approval: String,
    /// Whether it may be carried out.
    pub approved: bool,
    /// The versions that it installs: of all Subscriptions of the namespace that have an upgrade.
    pub cluster_service_version_names: List<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InstallPlanStatus {
    /// `Planning`, `RequiresApproval`, `Installing`, `Complete`, `Failed`. Complete says that the bundles' objects are
    /// made, not that the operators run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// `Installed`.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
