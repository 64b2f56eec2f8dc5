//! MachineConfigPool: nodes that share a configuration and are updated together.

use serde::{Deserialize, Serialize};

use crate::{Fields, List, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// Nodes that share a configuration.
    MachineConfigPool, "machineconfiguration.openshift.io", "v1", "machineconfigpools", ClusterResourceScope,
    spec: MachineConfigPoolSpec, status: MachineConfigPoolStatus
);

/// The configuration that the nodes should have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineConfigPoolSpec {
    /// The configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
    /// Are updates of the nodes held back?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A rendered MachineConfig.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PoolConfiguration {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How far the nodes are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineConfigPoolStatus {
    /// `Updated`, `Updating`, `Degraded`.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// The configuration that all nodes had last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<PoolConfiguration>,
    /// How many nodes there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_count: Option<i64>,
    /// How many have the wanted configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_machine_count: Option<i64>,
    /// How many have it and are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_machine_count: Option<i64>,
    /// How many are not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_machine_count: Option<i64>,
    /// How many could not be configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded_machine_count: Option<i64>,
    /// The `metadata.generation` that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
