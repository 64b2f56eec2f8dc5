//! What is written about maintenance schedules. Statuses, and OpenShift's ClusterVersion, are written over the version that was
//! seen, or not at all.

use std::fmt::Debug;

use drydock_api::names::AGENT_MANAGER;
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::UpgradeJob;
use drydock_schedule::config::PrunedJob;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::reconcile::error::ReconcileError;
use crate::reconcile::write;

/// Writes a status, and gives the object as it is then.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn status<K>(
    client: &Client,
    object: &K,
    status: &impl Serialize,
) -> Result<K, ReconcileError>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    let namespace = object.namespace().unwrap_or_default();
    write::status(&Api::namespaced(client.clone(), &namespace), object, status).await
}

/// Creates an UpgradeJob. Gives nothing if it is there already.
///
/// # Errors
/// If the server refuses.
pub(super) async fn create_job(
    client: &Client,
    job: &UpgradeJob,
) -> Result<Option<UpgradeJob>, ReconcileError> {
    let api: Api<UpgradeJob> = Api::namespaced(client.clone(), &job.namespace().unwrap_or_default());
    let parameters = PostParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match api.create(&parameters, job).await {
        Ok(created) => Ok(Some(created)),
        Err(kube::Error::Api(refusal)) if refusal.is_already_exists() => is_own(&api, job).await,
        Err(error) => Err(ReconcileError::write(
            format!("UpgradeJob {}", job.name_any()),
            &error,
        )),
    }
}

/// An UpgradeJob of this name that is there already must be the one that was to be created: the maintenance would be lost otherwise.
async fn is_own(api: &Api<UpgradeJob>, job: &UpgradeJob) -> Result<Option<UpgradeJob>, ReconcileError> {
    let name = job.name_any();
    let found = api.get_opt(&name).await;
    let found = found.map_err(|error| ReconcileError::write(format!("UpgradeJob {name}"), &error))?;
    let owner = |job: &UpgradeJob| job.owner_references().first().map(|owner| owner.uid.clone());
    match found {
        Some(found) if owner(&found) != owner(job) => Err(ReconcileError::Write {
            what: format!("UpgradeJob {name}"),
            why: "there is another of this name, which this UpgradeConfig does not own: delete it, or give it another name".to_owned(),
        }),
        _ => Ok(None),
    }
}

/// Deletes an UpgradeJob; it must be the one that was looked at. One that is gone is as good.
///
/// # Errors
/// If the server refuses.
pub(super) async fn delete_job(
    client: &Client,
    namespace: &str,
    job: &PrunedJob,
) -> Result<(), ReconcileError> {
    let api: Api<UpgradeJob> = Api::namespaced(client.clone(), namespace);
    let parameters = DeleteParams::background().preconditions(Preconditions {
        uid: job.uid.clone(),
        resource_version: None,
    });
    match api.delete(&job.name, &parameters).await {
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() || refusal.is_conflict() => Ok(()),
        Err(error) => Err(ReconcileError::write(
            format!("the deletion of UpgradeJob {}", job.name),
            &error,
        )),
        Ok(_) => Ok(()),
    }
}

/// Changes the spec of OpenShift's ClusterVersion.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn cluster_version(
    client: &Client,
    seen: &ClusterVersion,
    spec: &Value,
) -> Result<ClusterVersion, kube::Error> {
    let patch = json!({
        "metadata": {"resourceVersion": seen.metadata.resource_version},
        "spec": spec,
    });
    let parameters = PatchParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api: Api<ClusterVersion> = Api::all(client.clone());
    api.patch(&seen.name_any(), &parameters, &Patch::Merge(patch))
        .await
}
