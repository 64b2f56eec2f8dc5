//! What a drain does with a pod, and whose it is.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;

/// Has it ended? Then it takes no room, and keeps no node from being drained.
pub(super) fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Does it stay when its node is drained? Pods of DaemonSets and of the kubelet itself do.
pub(super) fn stays(pod: &Pod) -> bool {
    controller(pod).is_some_and(|owner| match owner.kind.as_str() {
        // Others have DaemonSets of their own, whose pods are evicted.
        "DaemonSet" => owner.api_version.starts_with("apps/"),
        "Node" => owner.api_version == "v1",
        _ => false,
    })
}

/// Whose it is, for people.
pub(super) fn owner(pod: &Pod) -> String {
    controller(pod).map_or_else(
        || "nobody".to_owned(),
        |owner| format!("{} {}", owner.kind, owner.name),
    )
}

fn controller(pod: &Pod) -> Option<&OwnerReference> {
    pod.owner_references()
        .iter()
        .find(|owner| owner.controller == Some(true))
}
