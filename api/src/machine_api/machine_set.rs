//! MachineSet: a number of machines of one kind.

use serde::{Deserialize, Serialize};

use crate::{Fields, foreign::foreign_kind};

foreign_kind!(
    /// This many machines of one kind.
    MachineSet, "machine.openshift.io", "v1beta1", "machinesets", NamespaceResourceScope,
    spec: MachineSetSpec, status: MachineSetStatus
);

/// How many machines, and of which kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSetSpec {
    /// How many; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// All other fields: `selector`, `template` and the like.
    #[serde(flatten)]
    pub other: Fields,
}

/// How many there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MachineSetStatus {
    /// Machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines whose node is Ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
