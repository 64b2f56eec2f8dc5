//! Says what happened: in the status, and as Events, metrics and log lines with the same words.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_api::mcu::{ForecastStatus, ManagedClustersUpgrade, ManagedClustersUpgradeStatus};
use drydock_api::ocm::ManagedCluster;
use drydock_objects::{Planned, render_status, status as rendered};
use drydock_rollout::{Transition, Uid, Upgrade, UpgradeKey};
use drydock_runtime::events::{self, Severity};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;

use super::{Context, status};

/// Statuses whose write was not answered, with those before them: nobody has reported what is new in them.
#[derive(Debug, Default)]
pub(crate) struct Unreported(Mutex<BTreeMap<UpgradeKey, (Uid, ManagedClustersUpgradeStatus)>>);

impl Unreported {
    /// Forgets an upgrade.
    pub fn forget(&self, key: &UpgradeKey) {
        self.statuses().remove(key);
    }

    /// The status that was reported last, if it is not the one before this look.
    fn reported(&self, upgrade: &Upgrade) -> Option<ManagedClustersUpgradeStatus> {
        let statuses = self.statuses();
        let (uid, status) = statuses.get(&upgrade.key)?;
        (*uid == upgrade.uid).then(|| status.clone())
    }

    fn keep(&self, upgrade: &Upgrade, status: ManagedClustersUpgradeStatus) {
        self.statuses()
            .insert(upgrade.key.clone(), (upgrade.uid.clone(), status));
    }

    fn statuses(&self) -> MutexGuard<'_, BTreeMap<UpgradeKey, (Uid, ManagedClustersUpgradeStatus)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A status that stands in the API server.
pub(super) struct Committed {
    pub status: ManagedClustersUpgradeStatus,
    /// Whether it was written: then nobody had edited the upgrade before.
    pub is_written: bool,
}

/// Writes the status that the plan's report asks for, and reports what is new in it. Nothing of the plan may be done before: a replica
/// that leads no longer, or that has not seen the newest edit, fails here.
pub(super) async fn commit_status(
    context: &Context,
    planned: &Planned,
    forecast: Option<ForecastStatus>,
    now: Timestamp,
) -> Result<Committed, kube::Error> {
    let upgrade = &planned.rollout.upgrade;
    let before = planned.object.status.clone().unwrap_or_default();
    let status = render_status(&planned.plan.report, upgrade.generation, &before, forecast, now);
    let reported = context.unreported.reported(upgrade);
    let written = match Box::pin(status::write(&context.client, &planned.object, &status)).await {
        Ok(written) => written,
        Err(error) => {
            if reported.is_none() && may_be_written(&error) {
                context.unreported.keep(upgrade, before);
            }
            return Err(error);
        }
    };
    let is_written = written.is_some();
    if let Some(written) = written {
        // What the write itself changes needs no further look.
        let _own = context.cache.fleet().set_upgrade(&Arc::new(written));
    }
    for transition in rendered::transitions(&reported.unwrap_or(before), &status) {
        publish(context, &planned.object, &transition);
    }
    context.unreported.forget(&upgrade.key);
    Ok(Committed { status, is_written })
}

/// Whether a status may stand in the API server though its write has failed: nobody has refused it.
fn may_be_written(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code >= 500,
        _ => true,
    }
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
