//! Deleting: finalizers, owners, propagation, preconditions, namespaces.

use anyhow::ensure;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

use super::{Case, TIMEOUT, object_of, refused};

/// A finalizer holds an object; when it goes, its dependents go with it.
///
/// # Errors
/// If the server behaves in another way.
pub async fn dependents_go_with_their_owner_and_finalizers_hold_it(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "owners").await?;
    let owner = case
        .make(json!({"metadata": {"name": "owner", "finalizers": ["example.com/wait"]}}))
        .await?;
    let reference = json!([owner.owner_ref(&())]);
    let dependent = case
        .make(json!({"metadata": {"name": "dependent", "ownerReferences": reference}}))
        .await?;
    case.maps().delete("owner", &DeleteParams::default()).await?;
    ensure!(
        case.maps()
            .get("owner")
            .await?
            .metadata
            .deletion_timestamp
            .is_some()
    );
    let late = json!({"metadata": {"finalizers": ["example.com/wait", "example.com/late"]}});
    let late = case
        .maps()
        .patch("owner", &PatchParams::default(), &Patch::Merge(late))
        .await;
    refused(late, 422, "Invalid")?;
    let patch = json!({"metadata": {"finalizers": null}});
    case.maps()
        .patch("owner", &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    case.gone(&owner).await?;
    case.gone(&dependent).await
}

/// A deletion may name the object it is about, and what becomes of its dependents.
///
/// # Errors
/// If the server behaves in another way.
pub async fn propagation_and_preconditions_are_honoured(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "propagation").await?;
    let owner = case.make(json!({"metadata": {"name": "owner"}})).await?;
    let reference = json!([owner.owner_ref(&())]);
    case.make(json!({"metadata": {"name": "dependent", "ownerReferences": reference}}))
        .await?;
    let wrong = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some("another".to_owned()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let message = refused(case.maps().delete("owner", &wrong).await, 409, "Conflict")?;
    ensure!(
        message.contains("the UID in the precondition (another) does not match the UID in record"),
        "{message}"
    );
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    case.maps().delete("owner", &orphan).await?;
    case.gone(&owner).await?;
    let left = case.maps().get("dependent").await?;
    ensure!(
        left.owner_references().is_empty(),
        "the orphan has forgotten its owner"
    );
    Ok(())
}

/// A namespace takes its content with it, and takes nothing in while it ends.
///
/// # Errors
/// If the server behaves in another way.
pub async fn a_namespace_takes_its_content_with_it(client: Client) -> anyhow::Result<()> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let case = Case::named(client, "ending").await?;
    case.make(json!({"metadata": {"name": "held", "finalizers": ["example.com/wait"]}}))
        .await?;
    let uid = namespaces.get("ending").await?.uid().unwrap_or_default();
    namespaces.delete("ending", &DeleteParams::default()).await?;
    let late = object_of(json!({"metadata": {"name": "late"}}))?;
    let message = refused(
        case.maps().create(&PostParams::default(), &late).await,
        403,
        "Forbidden",
    )?;
    ensure!(message.contains("because it is being terminated"), "{message}");
    let patch = json!({"metadata": {"finalizers": null}});
    case.maps()
        .patch("held", &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    let gone = await_condition(namespaces, "ending", conditions::is_deleted(&uid));
    tokio::time::timeout(TIMEOUT, gone).await??;
    Ok(())
}
