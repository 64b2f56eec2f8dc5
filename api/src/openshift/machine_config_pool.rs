//! MachineConfigPool: nodes that share a configuration and are updated together.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::de::DeserializeOwned;
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

impl MachineConfigPoolSpec {
    /// Which nodes are in the pool; nothing if it does not say, or what it says is no selector.
    pub fn node_selector(&self) -> Option<LabelSelector> {
        self.read("nodeSelector")
    }

    /// How many nodes may be unavailable at a time, as a number or a percentage.
    pub fn max_unavailable(&self) -> Option<IntOrString> {
        self.read("maxUnavailable")
    }

    /// A field whose type is closed: read here, so that an odd value does not make the whole pool unreadable.
    fn read<T: DeserializeOwned>(&self, field: &str) -> Option<T> {
        let value = self.other.get(field)?;
        serde_json::from_value(value.clone()).ok()
    }
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
