//! Writing status: on change only, and only over the version that was read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeStatus};
use drydock_api::names::HUB_STATUS_MANAGER;
use drydock_runtime::digest_index::ObjectKey;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;

/// The upgrades as our own last status writes left them: the watch brings them back later.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    written: Mutex<BTreeMap<ObjectKey, Arc<ManagedClustersUpgrade>>>,
}

impl Latest {
    /// The newer of what the watch has brought and what we have written.
    pub fn of(&self, upgrade: &Arc<ManagedClustersUpgrade>) -> Arc<ManagedClustersUpgrade> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let key = ObjectKey::of(&**upgrade);
        match written.get(&key) {
            Some(ours) if version(ours) > version(upgrade) && ours.uid() == upgrade.uid() => Arc::clone(ours),
            Some(_) => {
                written.remove(&key);
                Arc::clone(upgrade)
            }
            None => Arc::clone(upgrade),
        }
    }

    fn wrote(&self, upgrade: ManagedClustersUpgrade) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(ObjectKey::of(&upgrade), Arc::new(upgrade));
    }
}

fn version(upgrade: &ManagedClustersUpgrade) -> Option<u64> {
    upgrade.metadata.resource_version.as_ref()?.parse().ok()
}

/// Writes `status` if it says something new. Says whether it did.
///
/// # Errors
/// If the server refuses, for example because somebody else wrote first.
pub(super) async fn write(
    client: &Client,
    latest: &Latest,
    upgrade: &ManagedClustersUpgrade,
    status: &ManagedClustersUpgradeStatus,
) -> Result<bool, kube::Error> {
    if upgrade.status.as_ref() == Some(status) {
        return Ok(false);
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
    let written = api.patch_status(&name, &parameters, &Patch::Apply(body)).await?;
    latest.wrote(written);
    Ok(true)
}
