//! Pauses: one patch.

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::Patch;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use crate::start::{api_of, key_of, write_as_read};
use crate::{EditError, parameters};

/// Pauses or resumes an upgrade. False if it is so already. What resumes is what was read: an upgrade that somebody has edited since may start
/// something else. A pause is for whatever there is.
///
/// # Errors
/// If it is edited meanwhile, is being deleted, or the API server refuses.
pub async fn set_paused(
    client: &Client,
    upgrade: ManagedClustersUpgrade,
    paused: bool,
) -> Result<bool, EditError> {
    let change = |upgrade: &ManagedClustersUpgrade| {
        if upgrade.metadata.deletion_timestamp.is_some() {
            return Err(EditError::BeingDeleted(key_of(upgrade)));
        }
        let is_so = upgrade.spec.paused.unwrap_or(false) == paused;
        Ok((!is_so).then(|| json!({"spec": {"paused": paused}})))
    };
    if !paused {
        return write_as_read(client, upgrade, change).await;
    }
    match change(&upgrade)? {
        None => Ok(false),
        Some(change) => pause(client, &upgrade, change).await.map(|()| true),
    }
}

async fn pause(
    client: &Client,
    upgrade: &ManagedClustersUpgrade,
    mut change: Value,
) -> Result<(), EditError> {
    // One of the same name that has come since is another.
    change["metadata"]["uid"] = json!(upgrade.uid());
    let paused = api_of(client, upgrade)
        .patch(&upgrade.name_any(), &parameters(), &Patch::Merge(change))
        .await;
    paused
        .map(|_| ())
        .map_err(|error| EditError::changing(upgrade, error))
}
