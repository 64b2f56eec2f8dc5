//! The agent's writes: its UpgradeConfig's status and finalizer, and what steps ask for.

use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::lock::LockKey;
use drydock_api::machine_api::{MachineSet, NAMESPACE};
use drydock_api::names::{
    AGENT_MANAGER, CLEANUP_FINALIZER, CLUSTER_VERSION, REINITIALIZED_ANNOTATION, UPGRADE_LOCK_ANNOTATION,
    UPGRADE_LOCK_OWNER_ANNOTATION, VERSION_OF_ANNOTATION,
};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use drydock_engine::drains::{Action, Strategy};

pub(super) use crate::refusal::words;

/// The UpgradeConfig as we wrote it last, until the watch has it, too.
#[derive(Debug, Default)]
pub(super) struct WriteCache(Mutex<Option<Arc<UpgradeConfig>>>);

impl WriteCache {
    /// The newest known version of an UpgradeConfig.
    pub fn of(&self, seen: &Arc<UpgradeConfig>) -> Arc<UpgradeConfig> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match written.as_ref() {
            Some(ours) if ours.uid() == seen.uid() && version(ours) > version(seen) => Arc::clone(ours),
            _ => {
                *written = Some(Arc::clone(seen));
                Arc::clone(seen)
            }
        }
    }

    /// The UpgradeConfig as we wrote it last.
    fn known(&self) -> Option<Arc<UpgradeConfig>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn wrote(&self, upgrade: UpgradeConfig) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(upgrade));
    }
}

fn version(upgrade: &UpgradeConfig) -> Option<u64> {
    upgrade.metadata.resource_version.as_ref()?.parse().ok()
}

/// Writes the status if it says something new. Says whether it did.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn status(
    client: &Client,
    latest: &WriteCache,
    upgrade: &UpgradeConfig,
    status: &UpgradeConfigStatus,
) -> Result<bool, kube::Error> {
    if upgrade.status.as_ref() == Some(status) {
        return Ok(false);
    }
    let name = upgrade.name_any();
    let api: Api<UpgradeConfig> = Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default());
    let body = json!({
        "apiVersion": UpgradeConfig::api_version(&()),
        "kind": UpgradeConfig::kind(&()),
        "metadata": {"name": name, "resourceVersion": upgrade.metadata.resource_version},
        "status": status,
    });
    let parameters = PatchParams::apply(AGENT_MANAGER).force();
    latest.wrote(api.patch_status(&name, &parameters, &Patch::Apply(body)).await?);
    Ok(true)
}

/// Adds our finalizer, or takes it away.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn finalizer(
    client: &Client,
    latest: &WriteCache,
    upgrade: &UpgradeConfig,
    wanted: bool,
) -> Result<UpgradeConfig, kube::Error> {
    let name = upgrade.name_any();
    let api: Api<UpgradeConfig> = Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default());
    let mut finalizers = upgrade.finalizers().to_vec();
    finalizers.retain(|finalizer| finalizer != CLEANUP_FINALIZER);
    if wanted {
        finalizers.push(CLEANUP_FINALIZER.to_owned());
    }
    let patch = json!({
        "metadata": {"resourceVersion": upgrade.metadata.resource_version, "finalizers": finalizers},
    });
    let written = api.patch(&name, &ours(), &Patch::Merge(patch)).await?;
    latest.wrote(written.clone());
    Ok(written)
}

/// Writes the version of the image that is asked for into the UpgradeConfig, and which image that is.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn version_of_image(
    client: &Client,
    latest: &WriteCache,
    version: &str,
    image: &str,
) -> Result<(), kube::Error> {
    let Some(upgrade) = latest.known() else {
        return Ok(());
    };
    let api: Api<UpgradeConfig> = Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default());
    let patch = json!({
        "metadata": {
            "resourceVersion": upgrade.metadata.resource_version,
            "annotations": {VERSION_OF_ANNOTATION: image},
        },
        "spec": {"desired": {"version": version}},
    });
    let written = api
        .patch(&upgrade.name_any(), &ours(), &Patch::Merge(patch))
        .await?;
    latest.wrote(written);
    Ok(())
}

fn ours() -> PatchParams {
    PatchParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Takes the lock of the cluster, or frees it.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn lock(
    client: &Client,
    seen: Option<&ClusterVersion>,
    key: Option<&LockKey>,
) -> Result<(), kube::Error> {
    let annotations = json!({
        UPGRADE_LOCK_ANNOTATION: key.map(|key| &key.holder),
        UPGRADE_LOCK_OWNER_ANNOTATION: key.map(LockKey::owner),
    });
    let metadata = json!({"annotations": annotations});
    patch_cluster_version(client, seen, json!({"metadata": metadata})).await
}

/// Tells ClusterVersion the channel.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn channel(
    client: &Client,
    seen: Option<&ClusterVersion>,
    channel: &str,
) -> Result<(), kube::Error> {
    cluster_version(client, seen, &json!({"channel": channel})).await
}

/// Tells ClusterVersion the release. An image, or force, of an earlier update must not go with this version.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn desired_update(
    client: &Client,
    seen: Option<&ClusterVersion>,
    version: Option<&str>,
    image: Option<&str>,
) -> Result<(), kube::Error> {
    let spec = json!({"desiredUpdate": {"version": version, "image": image, "force": null}});
    cluster_version(client, seen, &spec).await
}

async fn cluster_version(
    client: &Client,
    seen: Option<&ClusterVersion>,
    spec: &Value,
) -> Result<(), kube::Error> {
    patch_cluster_version(client, seen, json!({"metadata": {}, "spec": spec})).await
}

/// Only the version that was seen is changed.
async fn patch_cluster_version(
    client: &Client,
    seen: Option<&ClusterVersion>,
    mut patch: Value,
) -> Result<(), kube::Error> {
    patch["metadata"]["resourceVersion"] =
        json!(seen.and_then(|seen| seen.metadata.resource_version.clone()));
    let api: Api<ClusterVersion> = Api::all(client.clone());
    api.patch(CLUSTER_VERSION, &ours(), &Patch::Merge(patch))
        .await
        .map(|_| ())
}

/// Makes a copy of a MachineSet. One that is there already is as good.
///
/// # Errors
/// If the server refuses.
pub(super) async fn create_machine_set(client: &Client, set: &MachineSet) -> Result<(), kube::Error> {
    let api: Api<MachineSet> = Api::namespaced(client.clone(), NAMESPACE);
    let parameters = PostParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match api.create(&parameters, set).await {
        Err(kube::Error::Api(refusal)) if refusal.is_already_exists() => Ok(()),
        created => created.map(|_| ()),
    }
}

/// Deletes a copy of a MachineSet. One that is gone is as good.
///
/// # Errors
/// If the server refuses.
pub(super) async fn delete_machine_set(client: &Client, name: &str) -> Result<(), kube::Error> {
    let api: Api<MachineSet> = Api::namespaced(client.clone(), NAMESPACE);
    gone(api.delete(name, &DeleteParams::default()).await.map(|_| ()))
}

/// The objects of the file-integrity operator.
pub(super) fn file_integrity(client: &Client) -> Api<DynamicObject> {
    let kind = ApiResource {
        group: "fileintegrity.openshift.io".to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: "fileintegrity.openshift.io/v1alpha1".to_owned(),
        kind: "FileIntegrity".to_owned(),
        plural: "fileintegrities".to_owned(),
    };
    Api::namespaced_with(client.clone(), "openshift-file-integrity", &kind)
}

/// Tells the file-integrity operator that the files are the good ones since the upgrade to `version`.
///
/// # Errors
/// If the server refuses.
pub(super) async fn reinitialize_file_integrity(client: &Client, version: &str) -> Result<(), kube::Error> {
    let patch = json!({"metadata": {"annotations": {
        "file-integrity.openshift.io/re-init": "", REINITIALIZED_ANNOTATION: version,
    }}});
    file_integrity(client)
        .patch("osd-fileintegrity", &ours(), &Patch::Merge(patch))
        .await
        .map(|_| ())
}

/// Does one thing about a pod. The pod must be the one that was looked at; one that is gone is as good.
///
/// # Errors
/// If the server refuses.
pub(super) async fn act_on_pod(client: &Client, action: &Action) -> Result<(), kube::Error> {
    let pod = &action.pod;
    let api: Api<Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let deletion = DeleteParams::default().preconditions(Preconditions {
        uid: Some(pod.uid.clone()),
        resource_version: None,
    });
    let done = match action.strategy {
        Strategy::Delete | Strategy::PdbDelete => api.delete(&pod.name, &deletion).await.map(|_| ()),
        Strategy::PodStuckTerminating => api.delete(&pod.name, &deletion.grace_period(0)).await.map(|_| ()),
        Strategy::DefaultFinalizer | Strategy::PdbFinalizer => {
            let patch = json!({"metadata": {"uid": pod.uid, "finalizers": null}});
            api.patch(&pod.name, &ours(), &Patch::Merge(patch))
                .await
                .map(|_| ())
        }
    };
    gone(done)
}

/// That something is gone, or another by now, is no failure of what was to remove it.
fn gone(done: Result<(), kube::Error>) -> Result<(), kube::Error> {
    match done {
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() || refusal.is_conflict() => Ok(()),
        done => done,
    }
}
