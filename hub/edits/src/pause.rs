//! Pauses: one patch.

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::Patch;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::{EditError, parameters};

/// Pauses or resumes an upgrade. False if it is so already.
///
/// # Errors
/// If the API server refuses.
pub async fn set_paused(
    client: &Client,
    upgrade: &ManagedClustersUpgrade,
    paused: bool,
) -> Result<bool, EditError> {
    if upgrade.metadata.deletion_timestamp.is_some() {
        let key = format!(
            "{}/{}",
            upgrade.namespace().unwrap_or_default(),
            upgrade.name_any()
        );
        return Err(EditError::BeingDeleted(key));
    }
    if upgrade.spec.paused.unwrap_or(false) == paused {
        return Ok(false);
    }
    // One of the same name that has come since is another.
    let patch = Patch::Merge(json!({"metadata": {"uid": upgrade.uid()}, "spec": {"paused": paused}}));
    api_of(client, upgrade)
        .patch(&upgrade.name_any(), &parameters(), &patch)
        .await
        .map_err(|error| EditError::changing(upgrade, error))?;
    Ok(true)
}

pub(crate) fn api_of(client: &Client, upgrade: &ManagedClustersUpgrade) -> Api<ManagedClustersUpgrade> {
    Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default())
}
