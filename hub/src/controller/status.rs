//! Writing status: on change only, and only over the version that was read.

use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeStatus};
use drydock_api::names::HUB_STATUS_MANAGER;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

/// Writes `status` if it says something new; gives back the object as it is then.
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
    api.patch_status(&name, &parameters, &Patch::Apply(body))
        .await
        .map(Some)
}
