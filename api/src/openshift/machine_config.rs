//! MachineConfig: a configuration of nodes, as it was rendered for a pool.

use jiff::SignedDuration;

use crate::{Fields, foreign::foreign_kind};

/// On a node: the MachineConfig that it has.
pub const CURRENT_CONFIG: &str = "machineconfiguration.openshift.io/currentConfig";
/// On a node: the MachineConfig that it should have.
pub const DESIRED_CONFIG: &str = "machineconfiguration.openshift.io/desiredConfig";

/// How long the reboot of a node takes at most (the forecast specification: 1 to 15 minutes): one that is not ready for longer does not come back by
/// itself.
pub const LONGEST_REBOOT: SignedDuration = SignedDuration::from_mins(15);

foreign_kind!(
    /// A configuration of nodes. Its annotations say by which release it was rendered; its spec is large, and is not read.
    MachineConfig, "machineconfiguration.openshift.io", "v1", "machineconfigs", ClusterResourceScope,
    spec: Fields
);
