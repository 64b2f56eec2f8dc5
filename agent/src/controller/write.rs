//! The agent's writes: the status of its UpgradeConfig, and what steps ask of ClusterVersion.

use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::names::{AGENT_MANAGER, CLUSTER_VERSION};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::steps::Command;

/// The UpgradeConfig as we wrote it last, until the watch has it, too.
#[derive(Debug, Default)]
pub(super) struct Latest(Mutex<Option<Arc<UpgradeConfig>>>);

impl Latest {
    /// The newest known version of an UpgradeConfig.
    pub fn of(&self, seen: &Arc<UpgradeConfig>) -> Arc<UpgradeConfig> {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match written.as_ref() {
            Some(ours) if ours.uid() == seen.uid() && version(ours) > version(seen) => Arc::clone(ours),
            _ => {
                *written = None;
                Arc::clone(seen)
            }
        }
    }

    fn wrote(&self, upgrade: UpgradeConfig) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(upgrade));
    }
}

fn version(upgrade: &UpgradeConfig) -> Option<u64> {
    upgrade.metadata.resource_version.as_ref()?.parse().ok()
}

/// Writes the status if it says something new. Says whether it did.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn status(
    client: &Client,
    latest: &Latest,
    upgrade: &UpgradeConfig,
    status: &UpgradeConfigStatus,
) -> Result<bool, kube::Error> {
    if upgrade.status.as_ref() == Some(status) {
        return Ok(false);
    }
    let name = upgrade.name_any();
    let api: Api<UpgradeConfig> = Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default());
    let body = json!({
        "apiVersion": UpgradeConfig::api_version(&()),
        "kind": UpgradeConfig::kind(&()),
        "metadata": {"name": name, "resourceVersion": upgrade.metadata.resource_version},
        "status": status,
    });
    let parameters = PatchParams::apply(AGENT_MANAGER).force();
    latest.wrote(api.patch_status(&name, &parameters, &Patch::Apply(body)).await?);
    Ok(true)
}

/// Does what a step asks for. Returns ClusterVersion as it is then.
///
/// # Errors
/// If the server refuses, for example because the object has changed since.
pub(super) async fn carry_out(
    client: &Client,
    seen: &ClusterVersion,
    command: &Command,
) -> Result<ClusterVersion, kube::Error> {
    let patch = json!({
        "metadata": {"resourceVersion": seen.metadata.resource_version},
        "spec": spec_of(command),
    });
    let parameters = PatchParams {
        field_manager: Some(AGENT_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api: Api<ClusterVersion> = Api::all(client.clone());
    api.patch(CLUSTER_VERSION, &parameters, &Patch::Merge(patch))
        .await
}

fn spec_of(command: &Command) -> Value {
    match command {
        Command::SetChannel(channel) => json!({"channel": channel}),
        // An image, or force, of an earlier update must not go with this version.
        Command::SetDesiredUpdate { version, image } => {
            json!({"desiredUpdate": {"version": version, "image": image, "force": null}})
        }
    }
}
