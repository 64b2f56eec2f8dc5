//! One reconcile: observe, decide, write the status, write objects, notify.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::names::{CLEANUP_FINALIZER, UPGRADE_CONFIG};
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus};
use drydock_engine::facts::{Observation, Write};
use drydock_engine::phase::{self, Decision, Transition};
use drydock_runtime::events::{self, Severity};
use drydock_runtime::panics::Panicked;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use thiserror::Error;

use super::{Shared, notifications, observe, perform, write};

/// How often a pass reads before it decides with what it has: each thing is read once.
const ROUNDS: usize = 16;

/// Why a pass failed. It is tried again.
#[derive(Debug, Error)]
pub(crate) enum ReconcileError {
    /// What is asked for cannot be written.
    #[error("writing {what}: {why}")]
    Write {
        /// What was to be written, and where.
        what: String,
        /// Why not.
        why: String,
        /// Whether the object has changed since it was read, which passes by itself.
        is_conflict: bool,
    },
    /// The status cannot be written: then nothing that it announces is done.
    #[error("writing the status of the UpgradeConfig")]
    Status(#[source] Box<kube::Error>),
    /// The finalizer cannot be written.
    #[error("writing the finalizer of the UpgradeConfig")]
    Finalizer(#[source] Box<kube::Error>),
    /// A bug.
    #[error(transparent)]
    Panicked(Panicked),
}

/// UpgradeConfigs of other names, each reported once.
#[derive(Debug, Default)]
pub(super) struct Ignored(Mutex<BTreeSet<String>>);

/// Brings one UpgradeConfig a step further.
pub(super) async fn reconcile(known: &Arc<UpgradeConfig>, shared: &Shared) -> Result<Action, ReconcileError> {
    if known.name_any() != UPGRADE_CONFIG {
        ignore(known, shared);
        return Ok(Action::await_change());
    }
    shared.cache.wait_until_looked().await;
    let upgrade = shared.latest.of(known);
    if upgrade.metadata.deletion_timestamp.is_some() && !has_finalizer(&upgrade) {
        return Ok(Action::await_change());
    }
    let before = upgrade.status.clone().unwrap_or_default();
    let (seen, mut decision) = decide(shared, &upgrade, &before).await;
    let to_send = notifications::write(shared, &upgrade, &seen, &mut decision.status);
    shared
        .context
        .metrics
        .show(&drydock_engine::metrics::wanted(&seen, &decision.status));
    let written = record(shared, &upgrade, &decision).await?;
    // What the status does not remember would be sent again after a restart.
    if let Some(to_send) = to_send {
        shared.context.outbox.put(to_send, &seen.in_force.configuration);
    }
    let done = perform::all(shared, &decision.commands).await;
    if written {
        say(shared, &upgrade, &before, &decision.status);
    }
    if decision.is_outdated {
        shared.context.provider.follow();
    }
    done?;
    release(shared, &upgrade, &decision).await?;
    Ok(decision.wait.map_or_else(Action::await_change, Action::requeue))
}

/// Reads what the decision asks for until it asks for nothing more.
async fn decide(
    shared: &Shared,
    upgrade: &UpgradeConfig,
    before: &UpgradeConfigStatus,
) -> (Observation, Decision) {
    let mut seen = observe::first(shared, upgrade).await;
    let mut decision = phase::decide(&seen, before);
    for _ in 0..ROUNDS {
        if decision.needs.is_empty() {
            break;
        }
        for need in std::mem::take(&mut decision.needs) {
            observe::read(shared, need, &mut seen, &decision.status).await;
        }
        decision = phase::decide(&seen, before);
    }
    shared.last_drain_check.note(&seen);
    (seen, decision)
}

/// Writes the status and then the finalizer: what follows from a lost write is that nothing is done.
async fn record(
    shared: &Shared,
    upgrade: &Arc<UpgradeConfig>,
    decision: &Decision,
) -> Result<bool, ReconcileError> {
    let client = &shared.context.client;
    let written = write::status(client, &shared.latest, upgrade, &decision.status)
        .await
        .map_err(|error| ReconcileError::Status(Box::new(error)))?;
    let is_deleting = upgrade.metadata.deletion_timestamp.is_some();
    if decision.needs_finalizer && !has_finalizer(upgrade) && !is_deleting {
        let upgrade = shared.latest.of(upgrade);
        write::finalizer(client, &shared.latest, &upgrade, true)
            .await
            .map_err(|error| {
                shared.refusals.note(Write::UpgradeConfig, &write::words(&error));
                ReconcileError::Finalizer(Box::new(error))
            })?;
    }
    Ok(written)
}

/// Lets the UpgradeConfig go once nothing is left of it.
async fn release(
    shared: &Shared,
    upgrade: &Arc<UpgradeConfig>,
    decision: &Decision,
) -> Result<(), ReconcileError> {
    if !has_finalizer(upgrade) || decision.needs_finalizer {
        return Ok(());
    }
    let upgrade = shared.latest.of(upgrade);
    write::finalizer(&shared.context.client, &shared.latest, &upgrade, false)
        .await
        .map_err(|error| ReconcileError::Finalizer(Box::new(error)))?;
    Ok(())
}

fn has_finalizer(upgrade: &UpgradeConfig) -> bool {
    upgrade
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == CLEANUP_FINALIZER)
}

fn say(shared: &Shared, upgrade: &UpgradeConfig, before: &UpgradeConfigStatus, after: &UpgradeConfigStatus) {
    for transition in phase::transitions(before, after) {
        publish(shared, upgrade.object_ref(&()), &transition);
    }
}

fn ignore(upgrade: &UpgradeConfig, shared: &Shared) {
    let uid = upgrade.uid().unwrap_or_default();
    let is_new = shared
        .ignored
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(uid);
    if is_new {
        let transition = Transition {
            warning: true,
            reason: "IgnoredUpgradeConfig",
            message: format!(
                "only the UpgradeConfig {UPGRADE_CONFIG} is acted on: rename {}",
                upgrade.name_any()
            ),
        };
        publish(shared, upgrade.object_ref(&()), &transition);
    }
}

/// Publishes an Event.
pub(super) fn publish(shared: &Shared, object: ObjectReference, transition: &Transition) {
    shared.context.publisher.publish(&events::NewEvent {
        object,
        related: None,
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
