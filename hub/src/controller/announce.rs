//! Says what happened: in the status, and as Events, metrics and log lines with the same words.

use std::sync::Arc;

use drydock_api::mcu::{ForecastStatus, ManagedClustersUpgrade, ManagedClustersUpgradeStatus};
use drydock_api::ocm::ManagedCluster;
use drydock_objects::{Planned, render_status, status as rendered};
use drydock_rollout::Transition;
use drydock_runtime::events::{self, Severity};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;

use super::{Context, status};

/// Writes the status that the plan's report asks for, and reports what is new in it. Nothing of the plan may be done before: a replica
/// that leads no longer, or that has not seen the newest edit, fails here.
pub(super) async fn commit_status(
    context: &Context,
    planned: &Planned,
    forecast: Option<ForecastStatus>,
    now: Timestamp,
) -> Result<ManagedClustersUpgradeStatus, kube::Error> {
    let upgrade = &planned.object;
    let before = upgrade.status.clone().unwrap_or_default();
    let generation = planned.rollout.upgrade.generation;
    let after = render_status(&planned.plan.report, generation, &before, forecast, now);
    if let Some(written) = Box::pin(status::write(&context.client, upgrade, &after)).await? {
        let written = Arc::new(written);
        // What the write itself changes needs no further look.
        let _own = context.cache.fleet().set_upgrade(&written);
        for transition in rendered::transitions(&before, &after) {
            publish(context, upgrade, &transition);
        }
    }
    Ok(after)
}

/// Tells something that happened to an upgrade.
pub(super) fn publish(context: &Context, upgrade: &ManagedClustersUpgrade, transition: &Transition) {
    let related = transition.cluster.as_ref().map(|cluster| ObjectReference {
        api_version: Some(ManagedCluster::api_version(&()).into_owned()),
        kind: Some(ManagedCluster::kind(&()).into_owned()),
        name: Some(cluster.to_string()),
        ..ObjectReference::default()
    });
    context.publisher.publish(&events::NewEvent {
        object: upgrade.object_ref(&()),
        related,
        severity: if transition.warning {
            Severity::Warning
        } else {
            Severity::Normal
        },
        reason: transition.reason,
        action: "Upgrading",
        message: transition.message.clone(),
    });
}
