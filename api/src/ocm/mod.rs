//! Open Cluster Management's kinds: which clusters there are, which are chosen, and what is sent to them.

pub mod managed_cluster;
pub mod managed_cluster_addon;
pub mod managed_cluster_set;
pub mod manifest_work;
pub mod placement;
pub mod placement_decision;

pub use managed_cluster::ManagedCluster;
pub use managed_cluster_addon::ManagedClusterAddOn;
pub use managed_cluster_set::{ManagedClusterSet, ManagedClusterSetBinding};
pub use manifest_work::ManifestWork;
pub use placement::Placement;
pub use placement_decision::PlacementDecision;
