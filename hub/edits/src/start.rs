//! Writes by which clusters start: each is about the upgrade that somebody has looked at.

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::Patch;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::{EditError, parameters};

/// How often a write is tried while others write: a webhook may refuse it with the same status.
const TRIES: usize = 10;

/// Changes an upgrade as it was read, and says whether there was something to change. Where somebody has written it since without an edit, as the
/// hub does with its status, the change is made of what there is then.
///
/// # Errors
/// If somebody has edited it or created it anew, or the API server refuses.
pub(crate) async fn write_as_read(
    client: &Client,
    mut upgrade: ManagedClustersUpgrade,
    change: impl Fn(&ManagedClustersUpgrade) -> Result<Option<Value>, EditError>,
) -> Result<bool, EditError> {
    let api = api_of(client, &upgrade);
    let name = upgrade.name_any();
    let mut tries = 0;
    loop {
        let Some(mut change) = change(&upgrade)? else {
            return Ok(false);
        };
        change["metadata"]["uid"] = json!(upgrade.uid());
        change["metadata"]["resourceVersion"] = json!(upgrade.resource_version());
        tries += 1;
        match api.patch(&name, &parameters(), &Patch::Merge(change)).await {
            Ok(_) => return Ok(true),
            Err(kube::Error::Api(status)) if status.is_conflict() && tries < TRIES => {
                let newer = api.get(&name).await;
                let newer = newer.map_err(|error| EditError::changing(&upgrade, error))?;
                if (newer.uid(), newer.metadata.generation) != (upgrade.uid(), upgrade.metadata.generation) {
                    return Err(EditError::ChangedSinceAsked(key_of(&upgrade)));
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

/// Namespace and name.
pub(crate) fn key_of(upgrade: &ManagedClustersUpgrade) -> String {
    format!(
        "{}/{}",
        upgrade.namespace().unwrap_or_default(),
        upgrade.name_any()
    )
}
