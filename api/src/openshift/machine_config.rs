//! MachineConfig: a configuration of nodes, as it was rendered for a pool.

use crate::{Fields, foreign::foreign_kind};

foreign_kind!(
    /// A configuration of nodes. Its annotations say by which release it was rendered; its spec is large, and is not read.
    MachineConfig, "machineconfiguration.openshift.io", "v1", "machineconfigs", ClusterResourceScope,
    spec: Fields
);
