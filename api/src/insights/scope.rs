//! Which part of a cluster a finding is about (insights.md, section 1.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of a cluster a finding is about. It is part of the finding's identity: another scope is another finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// The control plane, or pools of workers.
    #[serde(rename = "type")]
    pub scope_type: ScopeType,
    /// The pools, where it is about pools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub worker_pool: Vec<PoolReference>,
    /// The objects that are involved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub resources: Vec<ResourceReference>,
}

/// The control plane, or pools of workers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ScopeType {
    /// The control plane.
    #[default]
    ControlPlane,
    /// Pools of workers.
    WorkerPool,
}

impl ScopeType {
    /// The scope's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ControlPlane => "ControlPlane",
            Self::WorkerPool => "WorkerPool",
        }
    }
}

/// A pool of workers: a MachineConfigPool, or a MachineSet of the Machine API or of Cluster API.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolReference {
    /// Its kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its namespace, where it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// An object that is involved in a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceReference {
    /// Its group, if it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub group: Option<String>,
    /// Its kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Its namespace, where it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub namespace: Option<String>,
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}
