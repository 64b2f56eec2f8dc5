//! Which accepted risks have ended on which clusters, written on the objects that accept them.

use drydock_api::mcu::UpgradeRiskAcceptance;
use drydock_api::names::HUB_STATUS_MANAGER;
use drydock_objects::Ending;
use drydock_rollout::UpgradeKey;
use kube::api::{Patch, PatchParams};
use kube::{Api, Resource};
use serde_json::json;

use super::Context;

/// Writes what clusters say has ended. The cache has it from the watch alone: an answer may come later than what somebody has changed
/// since. An object that is gone, or has changed since it was read, is looked at again when the watch brings that.
///
/// # Errors
/// If the server refuses: the others are written all the same.
pub(super) async fn commit_endings(context: &Context, upgrade: &UpgradeKey) -> Result<(), kube::Error> {
    let endings = context.cache.fleet().endings(upgrade);
    let mut first = Ok(());
    for ending in endings {
        match write(context, &ending).await {
            Ok(()) => {
                let Ending { namespace, name, .. } = &ending;
                tracing::info!(
                    acceptance = %format_args!("{namespace}/{name}"),
                    "what was accepted has become worse: its status says where it has ended"
                );
            }
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => {
                let Ending { namespace, name, .. } = &ending;
                tracing::warn!(
                    acceptance = %format_args!("{namespace}/{name}"),
                    "it is gone, or its definition has no status: apply the definitions of this version"
                );
            }
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

async fn write(context: &Context, ending: &Ending) -> Result<(), kube::Error> {
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(context.client.clone(), &ending.namespace);
    let body = json!({
        "apiVersion": UpgradeRiskAcceptance::api_version(&()),
        "kind": UpgradeRiskAcceptance::kind(&()),
        "metadata": {"name": ending.name, "resourceVersion": ending.version},
        "status": ending.status,
    });
    let parameters = PatchParams::apply(HUB_STATUS_MANAGER).force();
    api.patch_status(&ending.name, &parameters, &Patch::Apply(body))
        .await?;
    Ok(())
}
