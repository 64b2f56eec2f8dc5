//! Says what happened: in the status, and as Events, metrics and log lines with the same words.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::ocm::ManagedCluster;
use drydock_rollout::{Action, Observed, Plan, Report, Transition, render_status, transition};
use drydock_runtime::events::{self, Severity};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;

use super::reconcile::ReconcileError;
use super::{Context, status};

/// Writes the status that the plan's report asks for and tells what is new in it.
pub(super) async fn write_status(
    context: &Context,
    upgrade: &ManagedClustersUpgrade,
    observed: &Observed,
    plan: &Plan,
    now: Timestamp,
) -> Result<(), ReconcileError> {
    let before = upgrade.status.clone().unwrap_or_default();
    let after = render_status(&plan.report, observed.upgrade.generation, &before, now);
    let written = status::write(&context.client, &context.latest, upgrade, &after)
        .await
        .map_err(|error| ReconcileError::Status(Box::new(error)))?;
    if written {
        for transition in transition::of_status(&before, &after) {
            tell(context, upgrade, &transition);
        }
    }
    context.drifts.tell(context, upgrade, &plan.report);
    Ok(())
}

/// Tells what an action that was carried out means.
pub(super) fn carried_out(
    context: &Context,
    upgrade: &ManagedClustersUpgrade,
    observed: &Observed,
    action: &Action,
) {
    if let Some(transition) = transition::of_action(observed, action) {
        tell(context, upgrade, &transition);
    }
}

fn tell(context: &Context, upgrade: &ManagedClustersUpgrade, transition: &Transition) {
    let related = transition.cluster.as_ref().map(|cluster| ObjectReference {
        api_version: Some(ManagedCluster::api_version(&()).into_owned()),
        kind: Some(ManagedCluster::kind(&()).into_owned()),
        name: Some(cluster.to_string()),
        ..ObjectReference::default()
    });
    context.publisher.publish(&events::Transition {
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

/// Clusters that were seen beyond their target, so that each is told once.
#[derive(Debug, Default)]
pub(crate) struct Drifts {
    told: Mutex<BTreeSet<(Option<String>, drydock_api::ClusterName)>>,
}

impl Drifts {
    fn tell(&self, context: &Context, upgrade: &ManagedClustersUpgrade, report: &Report) {
        let uid = &upgrade.metadata.uid;
        for (cluster, standing) in report.clusters.iter().filter(|(_, standing)| standing.drifted) {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.insert((uid.clone(), cluster.clone())) {
                drop(told);
                let version = standing.version.as_deref().unwrap_or("a newer version");
                let message = format!(
                    "{cluster}: runs {version}, which is beyond the target {}",
                    report.target
                );
                let cluster = Some(cluster.clone());
                tell(
                    context,
                    upgrade,
                    &Transition {
                        cluster,
                        warning: false,
                        reason: "ClusterDrifted",
                        message,
                    },
                );
            }
        }
    }
}
