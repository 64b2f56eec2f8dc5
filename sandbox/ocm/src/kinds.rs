//! The kinds that the stand-ins read and write.

use kube_sandbox::access::Kind;

/// A cluster of the fleet.
pub const MANAGED_CLUSTER: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1",
    "ManagedCluster",
    "managedclusters",
    false,
);
/// A set of clusters.
pub const MANAGED_CLUSTER_SET: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta2",
    "ManagedClusterSet",
    "managedclustersets",
    false,
);
/// A set that a namespace may select from.
pub const MANAGED_CLUSTER_SET_BINDING: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta2",
    "ManagedClusterSetBinding",
    "managedclustersetbindings",
    true,
);
/// A selection of clusters.
pub const PLACEMENT: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta1",
    "Placement",
    "placements",
    true,
);
/// A page of the clusters that a Placement selected.
pub const PLACEMENT_DECISION: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta1",
    "PlacementDecision",
    "placementdecisions",
    true,
);
/// Manifests for one cluster.
pub const MANIFEST_WORK: Kind = Kind::new(
    "work.open-cluster-management.io",
    "v1",
    "ManifestWork",
    "manifestworks",
    true,
);
/// What the work agent applied of a work; on the spoke.
pub const APPLIED_MANIFEST_WORK: Kind = Kind::new(
    "work.open-cluster-management.io",
    "v1",
    "AppliedManifestWork",
    "appliedmanifestworks",
    false,
);
/// An add-on on one cluster.
pub const MANAGED_CLUSTER_ADD_ON: Kind = Kind::new(
    "addon.open-cluster-management.io",
    "v1alpha1",
    "ManagedClusterAddOn",
    "managedclusteraddons",
    true,
);
/// A heartbeat.
pub const LEASE: Kind = Kind::new("coordination.k8s.io", "v1", "Lease", "leases", true);
/// A namespace.
pub const NAMESPACE: Kind = Kind::new("", "v1", "Namespace", "namespaces", false);
/// A machine of a cluster.
pub const NODE: Kind = Kind::new("", "v1", "Node", "nodes", false);
/// The version of the platform that a cluster runs; on the spoke.
pub const CLUSTER_VERSION: Kind = Kind::new(
    "config.openshift.io",
    "v1",
    "ClusterVersion",
    "clusterversions",
    false,
);
