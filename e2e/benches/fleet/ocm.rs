//! The same works from Open Cluster Management's own controller: a ManifestWorkReplicaSet that its work manager carries out, with
//! its rate limit lifted.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use drydock_api::ocm::ManifestWork;
use drydock_e2e::control_plane::{ADMIN, ControlPlane};
use drydock_e2e::manifests;
use drydock_e2e::process::{self, Used, Workplace};
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::{count_works, floor};

const NAME: &str = "bench";

/// Has a work made for each of this many clusters and deletes them again. Returns how long it took, and what the manager used.
pub async fn measure(
    manager: &Path,
    control_plane: &ControlPlane,
    size: usize,
    work: &ManifestWork,
) -> anyhow::Result<(Duration, Used)> {
    let admin = control_plane.client(ADMIN).await?;
    let workplace = Workplace::new("bench-ocm")?;
    let running = workplace.start(
        "work-manager",
        Command::new(manager)
            .arg("--kubeconfig")
            .arg(control_plane.kubeconfig(ADMIN)?)
            .args([
                "--namespace=default",
                "--disable-leader-election",
                "--listen=127.0.0.1:0",
            ])
            .args(["--kube-api-qps=100000", "--kube-api-burst=100000"]),
    )?;
    // Its caches are full before the clock starts, as the hub's are.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let begun = Instant::now();
    manifests::apply(&admin, &replica_set(work)?).await?;
    let counted = count_works(&admin, size).await;
    let took = begun.elapsed();
    counted.with_context(|| running.log_end())?;
    let used = process::used(running.id())?;
    drop(running);
    delete(&admin).await?;
    floor::delete_all(&admin, size, NAME).await?;
    Ok((took, used))
}

fn replica_set(work: &ManifestWork) -> anyhow::Result<DynamicObject> {
    serde_json::from_value(json!({
        "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {
            "placementRefs": [{"name": "all", "rolloutStrategy": {"type": "All"}}],
            "manifestWorkTemplate": work.spec,
        },
    }))
    .context("building a ManifestWorkReplicaSet")
}

/// Deletes the ManifestWorkReplicaSet, without the controller that would delete its works one by one.
async fn delete(admin: &Client) -> anyhow::Result<()> {
    let kind = GroupVersionKind::gvk(
        "work.open-cluster-management.io",
        "v1alpha1",
        "ManifestWorkReplicaSet",
    );
    let sets: Api<DynamicObject> =
        Api::namespaced_with(admin.clone(), "default", &ApiResource::from_gvk(&kind));
    let without_finalizers = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    sets.patch(NAME, &PatchParams::default(), &without_finalizers)
        .await
        .context("taking its finalizer off")?;
    sets.delete(NAME, &DeleteParams::default())
        .await
        .context("deleting a ManifestWorkReplicaSet")?;
    Ok(())
}
