//! Machine: one machine of a provider, which becomes a node.

use serde::{Deserialize, Serialize};

use crate::{Fields, foreign::foreign_kind};

foreign_kind!(
    /// One machine of a provider.
    Machine, "machine.openshift.io", "v1beta1", "machines", NamespaceResourceScope,
    spec: Fields, status: MachineStatus
);

/// How far the machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineStatus {
    /// `Provisioning`, `Provisioned`, `Running`, `Deleting`, `Failed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The node that it has become.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<NodeRef>,
    /// Why it failed for good, in CamelCase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_reason: Option<String>,
    /// Why it failed for good, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeRef {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
