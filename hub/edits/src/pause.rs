//! Pauses: one patch.

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::Patch;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::{EditError, parameters};

/// How often a resume is tried while others write: a webhook may refuse it with the same status.
const TRIES: usize = 10;

/// Pauses or resumes an upgrade. False if it is so already. What resumes is what was read: an upgrade that somebody has edited since may start
/// something else. A pause is for whatever there is.
///
/// # Errors
/// If it is edited meanwhile, is being deleted, or the API server refuses.
pub async fn set_paused(
    client: &Client,
    mut upgrade: ManagedClustersUpgrade,
    paused: bool,
) -> Result<bool, EditError> {
    let api = api_of(client, &upgrade);
    let name = upgrade.name_any();
    let key = format!("{}/{name}", upgrade.namespace().unwrap_or_default());
    let mut tries = 0;
    loop {
        tries += 1;
        if upgrade.metadata.deletion_timestamp.is_some() {
            return Err(EditError::BeingDeleted(key));
        }
        if upgrade.spec.paused.unwrap_or(false) == paused {
            return Ok(false);
        }
        // One of the same name that has come since is another.
        let mut metadata = json!({"uid": upgrade.uid()});
        if !paused {
            metadata["resourceVersion"] = json!(upgrade.resource_version());
        }
        let patch = Patch::Merge(json!({"metadata": metadata, "spec": {"paused": paused}}));
        match api.patch(&name, &parameters(), &patch).await {
            Ok(_) => return Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() && !paused && tries < TRIES => {
                let newer = api.get(&name).await;
                let newer = newer.map_err(|error| EditError::changing(&upgrade, error))?;
                // The hub writes the status at any time: that is no edit.
                if (newer.uid(), newer.metadata.generation) != (upgrade.uid(), upgrade.metadata.generation) {
                    return Err(EditError::ChangedSinceAsked(key));
                }
                upgrade = newer;
            }
            Err(error) => return Err(EditError::changing(&upgrade, error)),
        }
    }
}

pub(crate) fn api_of(client: &Client, upgrade: &ManagedClustersUpgrade) -> Api<ManagedClustersUpgrade> {
    Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default())
}
