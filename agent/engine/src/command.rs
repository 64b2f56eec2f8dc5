//! The writes that a decision asks for.

use drydock_api::insights::{PlanAsker, PlannedUpdate};
use drydock_api::lock::LockKey;
use drydock_api::machine_api::MachineSet;

use crate::drains;
use crate::facts::Write;
use crate::silences;

/// A write that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// The lock of the cluster, for this UpgradeConfig.
    TakeLock(LockKey),
    /// Frees the lock of the cluster.
    ReleaseLock,
    /// ClusterVersion's channel.
    SetChannel(String),
    /// ClusterVersion's desired update: a version, and an image if that was asked for.
    SetDesiredUpdate {
        /// The version.
        version: Option<String>,
        /// The image.
        image: Option<String>,
    },
    /// The version of the image, into the UpgradeConfig.
    SetVersion {
        /// The version.
        version: String,
        /// The image that has it.
        image: String,
    },
    /// A silence.
    Silence(silences::SilenceChange),
    /// A copy of a MachineSet.
    CreateMachineSet(Box<MachineSet>),
    /// The end of a copy.
    DeleteMachineSet(String),
    /// The file-integrity operator starts over, for this version.
    ReinitializeFileIntegrity(String),
    /// The informers of update insights are asked about this update: its UpdatePlan is created, or refreshed.
    RequestUpdatePlan {
        /// The update.
        update: Box<PlannedUpdate>,
        /// Whose plan it is.
        asker: PlanAsker,
    },
    /// Removes what blocks drains.
    ActOnPods(Vec<drains::Action>),
}

impl Command {
    /// What it writes.
    pub fn write(&self) -> Write {
        match self {
            Self::TakeLock(_) | Self::ReleaseLock => Write::Lock,
            Self::SetChannel(_) | Self::SetDesiredUpdate { .. } => Write::ClusterVersion,
            Self::SetVersion { .. } => Write::UpgradeConfig,
            Self::Silence(_) => Write::Silence,
            Self::CreateMachineSet(_) | Self::DeleteMachineSet(_) => Write::MachineSet,
            Self::ReinitializeFileIntegrity(_) => Write::FileIntegrity,
            Self::RequestUpdatePlan { .. } => Write::UpdatePlan,
            Self::ActOnPods(_) => Write::Pod,
        }
    }
}
