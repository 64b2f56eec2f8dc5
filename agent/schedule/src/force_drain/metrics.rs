//! The series that follow from drains (Maintenance schedules, section 5).

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use super::drains::is_drained;
use super::pods::{Deletion, PodDeletion};
use crate::metrics::{Family, FamilyKind, Sample, number};

/// 1 while a node is drained.
pub const NODE_DRAINING: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_node_draining",
    help: "1 while the machine-config operator drains the node.",
    labels: &["node"],
};
/// Counts the pods that were deleted: one for each request, whatever came of it.
pub const POD_DELETIONS: Family = Family {
    kind: FamilyKind::Counter,
    name: "openshift_upgrade_controller_node_force_drain_pod_deletions_total",
    help: "How often the pod was deleted because the drain of its node took too long.",
    labels: POD,
};
/// Counts the pods that were killed: one for each request, whatever came of it.
pub const POD_TERMINATIONS: Family = Family {
    kind: FamilyKind::Counter,
    name: "openshift_upgrade_controller_node_force_drain_pod_terminations_total",
    help: "How often the pod was killed because its deletion took too long.",
    labels: POD,
};
const POD: &[&str] = &["node_force_drain", "node", "namespace", "pod_name", "pod_uid"];

/// The samples of nodes.
pub fn of_nodes<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<Sample> {
    let of = |node: &Node| Sample::new(&NODE_DRAINING, &[&node.name_any()], number(is_drained(node)));
    nodes.into_iter().map(of).collect()
}

/// By what a counter grows when a NodeForceDrain of this name deletes a pod.
pub fn of_deletion(by: &str, pod: &PodDeletion) -> Sample {
    let family = match pod.deletion {
        Deletion::Delete => &POD_DELETIONS,
        Deletion::Terminate => &POD_TERMINATIONS,
    };
    let labels = [by, &pod.node, &pod.namespace, &pod.name, &pod.uid];
    Sample::new(family, &labels, 1.0)
}
