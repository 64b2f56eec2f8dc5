//! What a test environment's hub has before anything runs: the clusters of the fleet, their set, and who may select from it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::settings::{ClusterSettings, TestEnvSettings};
use kube_sandbox::access::{Access, AccessError, Key};
use ocm_sandbox::{kinds, names};

/// Makes the set, its bindings and the placement.
pub(super) async fn prepare(hub: &Access, settings: &TestEnvSettings) -> Result<(), AccessError> {
    let set = settings.cluster_set.as_str();
    ensure(
        hub,
        &kinds::MANAGED_CLUSTER_SET,
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": set},
            "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
        }),
    )
    .await?;
    let namespaces: BTreeSet<&str> = std::iter::once(settings.namespace.as_str())
        .chain(settings.placement.iter().map(|(namespace, _)| namespace.as_str()))
        .collect();
    for namespace in namespaces {
        ensure(hub, &kinds::NAMESPACE, namespace_of(namespace, None)).await?;
        ensure(hub, &kinds::MANAGED_CLUSTER_SET_BINDING, json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": {"namespace": namespace, "name": set},
            "spec": {"clusterSet": set},
        }))
        .await?;
    }
    if let Some((namespace, name)) = &settings.placement {
        ensure(
            hub,
            &kinds::PLACEMENT,
            json!({
                "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
                "metadata": {"namespace": namespace, "name": name},
                "spec": {"clusterSets": [set]},
            }),
        )
        .await?;
    }
    Ok(())
}

/// Makes the ManagedCluster, its namespace and its add-on.
pub(super) async fn join(
    hub: &Access,
    settings: &TestEnvSettings,
    cluster: &ClusterSettings,
) -> Result<(), AccessError> {
    let name = cluster.name.as_str();
    let mut labels = json!({
        names::CLUSTER_SET_LABEL: settings.cluster_set, "name": name, "vendor": "OpenShift",
    });
    for (key, value) in &cluster.labels {
        labels[key] = value.as_str().into();
    }
    ensure(
        hub,
        &kinds::MANAGED_CLUSTER,
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels},
            "spec": {"hubAcceptsClient": true, "leaseDurationSeconds": 60},
        }),
    )
    .await?;
    ensure(hub, &kinds::NAMESPACE, namespace_of(name, Some(name))).await?;
    if !cluster.agent {
        return Ok(());
    }
    let addon = drydock_api::names::AGENT_ADDON;
    ensure(
        hub,
        &kinds::MANAGED_CLUSTER_ADD_ON,
        json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
            "metadata": {"namespace": name, "name": addon},
            "spec": {"installNamespace": drydock_api::names::AGENT_NAMESPACE},
        }),
    )
    .await?;
    let available = json!({"status": {"conditions": [{
        "type": "Available", "status": "True", "reason": "ManagedClusterAddOnLeaseUpdated",
        "message": format!("{addon} add-on is available."),
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    hub.merge_patch_status(
        &kinds::MANAGED_CLUSTER_ADD_ON,
        &Key::namespaced(name, addon),
        available,
    )
    .await?;
    Ok(())
}

/// A namespace, with the label of the cluster it belongs to.
pub(super) fn namespace_of(name: &str, cluster: Option<&str>) -> Value {
    let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    if let Some(cluster) = cluster {
        namespace["metadata"]["labels"] = json!({names::CLUSTER_NAME_LABEL: cluster});
    }
    namespace
}

/// Makes an object unless it is there.
pub(super) async fn ensure(
    access: &Access,
    kind: &kube_sandbox::access::Kind,
    object: Value,
) -> Result<(), AccessError> {
    match access.create(kind, object).await {
        Err(error) if !error.is_already_exists() => Err(error),
        _ => Ok(()),
    }
}
