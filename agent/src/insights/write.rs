//! What is written about update insights. Statuses are written over the version that was seen, or not at all.

use std::fmt::Debug;

use drydock_api::insights::{
    GROUP, UPDATE_STATUS, UpdatePlan, UpdatePlanInsight, UpdateStatus, UpdateStatusSpec, VERSION,
};
use drydock_api::names::AGENT_MANAGER;
use drydock_insights::InformerName;
use drydock_insights::plan::part_name;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

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
    K: Resource<DynamicType = (), Scope = ClusterResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize,
{
    write::status(&Api::all(client.clone()), object, status).await
}

/// Creates the UpdateStatus. Gives nothing if it is there already: the watch will bring it.
///
/// # Errors
/// If the server refuses.
pub(super) async fn create_update_status(client: &Client) -> Result<Option<UpdateStatus>, ReconcileError> {
    let api: Api<UpdateStatus> = Api::all(client.clone());
    let parameters = PostParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PostParams::default()
    };
    let status = UpdateStatus::new(UPDATE_STATUS, UpdateStatusSpec {});
    match api.create(&parameters, &status).await {
        Ok(created) => Ok(Some(created)),
        Err(kube::Error::Api(refusal)) if refusal.is_already_exists() => Ok(None),
        Err(error) => Err(ReconcileError::write(
            format!("UpdateStatus {UPDATE_STATUS}"),
            &error,
        )),
    }
}

/// Makes an informer's part of a plan, or makes the plan its owner: somebody may have made it before, to accept what is known from
/// another cluster. What is accepted is left as it is.
///
/// # Errors
/// If the server refuses.
pub(super) async fn own_part(
    client: &Client,
    plan: &UpdatePlan,
    informer: &InformerName,
) -> Result<UpdatePlanInsight, ReconcileError> {
    let target = &plan.spec.target_release;
    let name = part_name(target, informer);
    let owner = OwnerReference {
        api_version: UpdatePlan::api_version(&()).into_owned(),
        kind: UpdatePlan::kind(&()).into_owned(),
        name: plan.name_any(),
        uid: plan.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    };
    let body = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"),
        "kind": UpdatePlanInsight::kind(&()),
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"targetRelease": target, "updateInformer": informer.as_str()},
    });
    let api: Api<UpdatePlanInsight> = Api::all(client.clone());
    let parameters = PatchParams::apply(AGENT_MANAGER).force();
    let written = api.patch(&name, &parameters, &Patch::Apply(body)).await;
    written.map_err(|error| ReconcileError::write(format!("UpdatePlanInsight {name}"), &error))
}

/// Deletes an object; it must be the one that was looked at. One that is gone is as good.
///
/// # Errors
/// If the server refuses.
pub(super) async fn delete<K>(client: &Client, object: &K) -> Result<(), ReconcileError>
where
    K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    let parameters = DeleteParams::background().preconditions(Preconditions {
        uid: object.uid(),
        resource_version: object.resource_version(),
    });
    match api.delete(&object.name_any(), &parameters).await {
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() || refusal.is_conflict() => Ok(()),
        Err(error) => {
            let what = format!("the deletion of {} {}", K::kind(&()), object.name_any());
            Err(ReconcileError::write(what, &error))
        }
        Ok(_) => Ok(()),
    }
}
