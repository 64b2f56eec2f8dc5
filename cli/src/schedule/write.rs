//! What these commands write, under the plugin's field manager, or only ask whether it would be accepted.

use std::fmt::Debug;

use anyhow::{Context, bail};
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::server::MANAGER;
use crate::upgrades::table::printable;

/// Creates an object in its namespace; with `dry_run` it is only asked whether it would be accepted.
///
/// # Errors
/// If the server refuses, for example because there is one of this name.
pub async fn create<K>(client: &Client, object: &K, dry_run: bool) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let (kind, name) = (K::kind(&()), object.name_any());
    let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let parameters = PostParams {
        dry_run,
        field_manager: Some(MANAGER.to_owned()),
    };
    match api.create(&parameters, object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_already_exists() => {
            bail!("there is a {kind} {name} already: look at it, and delete it if it is not wanted")
        }
        Err(kube::Error::Api(status)) if status.code < 500 => {
            bail!(
                "the API server refuses the {kind} {name}: {}",
                printable(&status.message)
            )
        }
        Err(error) => Err(error).with_context(|| format!("creating the {kind} {name}")),
    }
}

/// Sets a label of an object.
///
/// # Errors
/// If the server refuses.
pub async fn label<K>(
    client: &Client,
    object: &K,
    key: &str,
    value: &str,
    dry_run: bool,
) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let (kind, name) = (K::kind(&()), object.name_any());
    let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let parameters = PatchParams {
        dry_run,
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"metadata": {"uid": object.uid(), "labels": {key: value}}}));
    let labelled = api.patch(&name, &parameters, &patch).await;
    labelled
        .map(|_| ())
        .with_context(|| format!("setting the label {key} of the {kind} {name}"))
}
