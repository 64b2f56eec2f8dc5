//! The kinds of the machine API operator on a managed cluster: machines that become nodes, and sets of like ones.

pub mod machine;
pub mod machine_set;

pub use machine::Machine;
pub use machine_set::MachineSet;

/// The namespace of all Machines and MachineSets.
pub const NAMESPACE: &str = "openshift-machine-api";
