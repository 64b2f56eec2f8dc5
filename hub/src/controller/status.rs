//! Writing status: on change only, and only over the version that was read.

use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeStatus};
use drydock_api::names::HUB_STATUS_MANAGER;
use http::StatusCode;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

/// Writes `status` if it says something new; gives back the object as it is then. What others have written into the status as well, as who
/// restores it does, stays where it is applied, in part: a condition without its time, which the server refuses. Then all is replaced.
///
/// # Errors
/// If the server refuses, for example because somebody else wrote first.
pub(super) async fn write(
    client: &Client,
    upgrade: &ManagedClustersUpgrade,
    status: &ManagedClustersUpgradeStatus,
) -> Result<Option<ManagedClustersUpgrade>, kube::Error> {
    if upgrade.status.as_ref() == Some(status) {
        return Ok(None);
    }
    let name = upgrade.name_any();
    let api: Api<ManagedClustersUpgrade> =
        Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default());
    let body = json!({
        "apiVersion": ManagedClustersUpgrade::api_version(&()),
        "kind": ManagedClustersUpgrade::kind(&()),
        "metadata": {"name": name, "resourceVersion": upgrade.metadata.resource_version},
        "status": status,
    });
    let parameters = PatchParams::apply(HUB_STATUS_MANAGER).force();
    let written = api.patch_status(&name, &parameters, &Patch::Apply(body)).await;
    let is_whole = match &written {
        Ok(written) => written.status.as_ref() == Some(status),
        Err(kube::Error::Api(refused)) => refused.code != StatusCode::UNPROCESSABLE_ENTITY.as_u16(),
        Err(_) => true,
    };
    if is_whole {
        return written.map(Some);
    }
    let version = match written {
        Ok(written) => written.metadata.resource_version,
        Err(_) => upgrade.metadata.resource_version.clone(),
    };
    replace(&api, &name, version, status).await.map(Some)
}

/// Replaces the whole status of this version: another one is a conflict.
async fn replace(
    api: &Api<ManagedClustersUpgrade>,
    name: &str,
    version: Option<String>,
    status: &ManagedClustersUpgradeStatus,
) -> Result<ManagedClustersUpgrade, kube::Error> {
    let operations = json!([
        {"op": "add", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": "/status", "value": status},
    ]);
    let operations = serde_json::from_value(operations).map_err(kube::Error::SerdeError)?;
    let patch: Patch<Value> = Patch::Json(operations);
    let parameters = PatchParams {
        field_manager: Some(HUB_STATUS_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    api.patch_status(name, &parameters, &patch).await
}
