//! The kinds of a cluster that is played.

use kube_sandbox::access::Kind;

/// ClusterVersion.
pub static CLUSTER_VERSION: Kind = Kind::new(
    "config.openshift.io",
    "v1",
    "ClusterVersion",
    "clusterversions",
    false,
);
/// ClusterOperator.
pub static CLUSTER_OPERATOR: Kind = Kind::new(
    "config.openshift.io",
    "v1",
    "ClusterOperator",
    "clusteroperators",
    false,
);
/// MachineConfigPool.
pub static POOL: Kind = Kind::new(
    "machineconfiguration.openshift.io",
    "v1",
    "MachineConfigPool",
    "machineconfigpools",
    false,
);
/// Node.
pub static NODE: Kind = Kind::new("", "v1", "Node", "nodes", false);
/// Pod.
pub static POD: Kind = Kind::new("", "v1", "Pod", "pods", true);
/// PodDisruptionBudget.
pub static POD_DISRUPTION_BUDGET: Kind = Kind::new(
    "policy",
    "v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    true,
);
/// Machine.
pub static MACHINE: Kind = Kind::new("machine.openshift.io", "v1beta1", "Machine", "machines", true);
/// MachineSet.
pub static MACHINE_SET: Kind = Kind::new(
    "machine.openshift.io",
    "v1beta1",
    "MachineSet",
    "machinesets",
    true,
);
/// Job.
pub static JOB: Kind = Kind::new("batch", "v1", "Job", "jobs", true);
/// The namespace of Machines and MachineSets.
pub const MACHINE_API_NAMESPACE: &str = "openshift-machine-api";
