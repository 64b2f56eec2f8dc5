//! The names that Open Cluster Management gives to its labels, annotations, finalizers and taints.

/// Label of a ManagedCluster that makes it a member of one exclusive cluster set.
pub const CLUSTER_SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
/// Label of a cluster's namespace, lease and related objects: the cluster's name.
pub const CLUSTER_NAME_LABEL: &str = "open-cluster-management.io/cluster-name";
/// Label of a PlacementDecision: the name of its Placement.
pub const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";
/// Label of a PlacementDecision: the name of its group, empty for the unnamed ones.
pub const DECISION_GROUP_NAME_LABEL: &str = "cluster.open-cluster-management.io/decision-group-name";
/// Label of a PlacementDecision: the index of its group, counted from 0.
pub const DECISION_GROUP_INDEX_LABEL: &str = "cluster.open-cluster-management.io/decision-group-index";
/// Annotation by which a Placement is left to another controller.
pub const SCHEDULING_DISABLED: &str = "cluster.open-cluster-management.io/experimental-scheduling-disable";
/// Taint of a cluster whose API server reports that it is not healthy.
pub const TAINT_UNAVAILABLE: &str = "cluster.open-cluster-management.io/unavailable";
/// Taint of a cluster whose heartbeat stopped, or that never had one.
pub const TAINT_UNREACHABLE: &str = "cluster.open-cluster-management.io/unreachable";
/// Finalizer that the work agent holds on each ManifestWork.
pub const WORK_FINALIZER: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";
/// Finalizer that the work agent holds on each AppliedManifestWork.
pub const APPLIED_WORK_FINALIZER: &str = "cluster.open-cluster-management.io/applied-manifest-work-cleanup";
/// Field manager of works that name none.
pub const DEFAULT_FIELD_MANAGER: &str = "work-agent";
/// Claim of a cluster with the version of OpenShift that it runs.
pub const CLUSTER_VERSION_CLAIM: &str = "version.openshift.io";
