//! Does what steps ask for, and notes in the facts what has changed by it.

use std::sync::{Mutex, PoisonError};

use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus, UpgradePhase};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde_json::json;

use super::reconcile::ReconcileError;
use super::{Shared, write};
use crate::facts::{self, Facts};
use crate::health::reason;
use crate::monitoring::MonitoringError;
use crate::nodekeeper::Action;
use crate::silences::{Change, Silence, State};
use crate::steps::{Command, Need};

/// How often drains are looked after.
const TEND_EVERY: SignedDuration = SignedDuration::from_secs(55);

/// When drains were last looked after.
#[derive(Debug, Default)]
pub(super) struct Tended(Mutex<Option<Timestamp>>);

impl Tended {
    /// Whether it is time again.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_none_or(|last| now.duration_since(last) >= TEND_EVERY)
    }

    /// Notes that a look was taken, if one was.
    pub fn note(&self, facts: &Facts) {
        if facts.seen.nodes.is_some() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts.now);
        }
    }
}

/// Does what a step asks for.
///
/// # Errors
/// If the cluster's API server refuses, for example because an object has changed since.
pub(super) async fn carry_out(
    shared: &Shared,
    command: &Command,
    upgrade: &mut UpgradeConfig,
    version: &mut ClusterVersion,
    facts: &mut Facts,
) -> Result<(), ReconcileError> {
    let client = &shared.context.client;
    let refused = |what: &str| {
        let what = what.to_owned();
        move |error| ReconcileError::Write {
            what,
            source: Box::new(error),
        }
    };
    match command {
        Command::SetChannel(channel) => {
            let spec = json!({"channel": channel});
            *version = write::cluster_version(client, version, &spec)
                .await
                .map_err(refused("the channel into ClusterVersion"))?;
            facts.cluster = facts::cluster(version);
        }
        // An image, or force, of an earlier update must not go with this version.
        Command::SetDesiredUpdate {
            version: desired,
            image,
        } => {
            let spec = json!({"desiredUpdate": {"version": desired, "image": image, "force": null}});
            *version = write::cluster_version(client, version, &spec)
                .await
                .map_err(refused("the desired update into ClusterVersion"))?;
            facts.cluster = facts::cluster(version);
        }
        Command::SetVersion(found) => {
            *upgrade = write::version_of_image(client, &shared.latest, upgrade, found)
                .await
                .map_err(refused("the version of the image into the UpgradeConfig"))?;
            facts.spec = upgrade.spec.clone();
        }
        Command::Silence(change) => silence(shared, change, facts).await,
        Command::CreateMachineSet(set) => {
            write::create_machine_set(client, set)
                .await
                .map_err(refused(&format!(
                    "MachineSet {} for extra workers",
                    set.name_any()
                )))?;
            facts.seen.capacity = None;
        }
        Command::DeleteMachineSet(name) => {
            write::delete_machine_set(client, name)
                .await
                .map_err(refused(&format!("the deletion of MachineSet {name}")))?;
            facts.seen.capacity = None;
        }
        Command::ReinitializeFileIntegrity => {
            write::reinitialize_file_integrity(client)
                .await
                .map_err(refused("the annotation of FileIntegrity osd-fileintegrity"))?;
            facts.seen.reinitialized = true;
        }
        Command::Tend(actions) => {
            tend(shared, actions).await;
            facts.tends = false;
        }
    }
    Ok(())
}

/// Changes a silence. What was changed is not read again at once: of several Alertmanagers not all know of it at once.
async fn silence(shared: &Shared, change: &Change, facts: &mut Facts) {
    let monitoring = &shared.context.monitoring;
    let done: Result<(), MonitoringError> = match change {
        Change::Create(wanted) => {
            let span = (facts.now, facts.now + wanted.lasts);
            monitoring.silence(None, wanted, span).await
        }
        Change::Renew { id, since, wanted } => {
            let span = (*since, facts.now + wanted.lasts);
            monitoring.silence(Some(id), wanted, span).await
        }
        Change::Expire(id) => monitoring.expire(id).await,
    };
    let Some(Ok(known)) = &mut facts.seen.silences else {
        return;
    };
    match (done, change) {
        (Ok(()), Change::Create(wanted)) => known.push(Silence {
            id: String::new(),
            comment: wanted.comment.clone(),
            state: State::Active,
            starts: facts.now,
            ends: facts.now + wanted.lasts,
        }),
        (Ok(()), Change::Renew { id, wanted, .. }) => {
            for silence in known.iter_mut().filter(|silence| silence.id == *id) {
                silence.ends = facts.now + wanted.lasts;
            }
        }
        (Ok(()), Change::Expire(id)) => {
            for silence in known.iter_mut().filter(|silence| silence.id == *id) {
                silence.state = State::Expired;
            }
        }
        (Err(error), _) => facts.seen.silences = Some(Err(error.to_string())),
    }
}

/// Takes away what holds drains up. What cannot be done about one pod does not keep it from the others.
async fn tend(shared: &Shared, actions: &[Action]) {
    for action in actions {
        let (pod, node) = (&action.pod, &action.pod.node);
        let (object, strategy) = (format!("{}/{}", pod.namespace, pod.name), action.strategy.name());
        match write::tend(&shared.context.client, action).await {
            Ok(()) => tracing::info!(object, node, strategy, "a pod that holds a drain up was acted on"),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(
                    object,
                    node,
                    strategy,
                    error,
                    "a pod that holds a drain up could not be acted on"
                );
            }
        }
    }
}

/// Notes in the metrics that something that a health check needs cannot be read.
pub(super) fn note_unread(shared: &Shared, facts: &Facts, status: &UpgradeConfigStatus, need: Need) {
    let reason = match need {
        Need::Operators => reason::OPERATORS_UNREAD,
        Need::Nodes => reason::NODES_UNREAD,
        Need::Budgets => reason::BUDGETS_UNREAD,
        _ => return,
    };
    let phase = status.history.iter().flatten().next().map(|entry| entry.phase);
    shared
        .context
        .metrics
        .unread(facts, phase.unwrap_or_default(), reason);
}

/// Asks once, after an upgrade, which critical alerts fired during it.
pub(super) async fn sum_up(shared: &Shared, facts: &mut Facts, status: &UpgradeConfigStatus) {
    let Some(entry) = status.history.iter().flatten().next() else {
        return;
    };
    let (UpgradePhase::Upgraded, Some(version)) = (entry.phase, &entry.version) else {
        return;
    };
    let (Some(start), Some(end)) = (&entry.start_time, &entry.complete_time) else {
        return;
    };
    if !shared.summed_up.is_news(version) {
        return;
    }
    let lasted = end.0.duration_since(start.0).as_secs().max(60);
    let ago = facts.now.duration_since(end.0).as_secs().max(0);
    match shared.context.monitoring.alerts_during(lasted, ago).await {
        Ok(alerts) => shared.context.metrics.ended(entry, &alerts),
        Err(error) => {
            let error: &dyn std::error::Error = &error;
            tracing::info!(
                version,
                error,
                "which alerts fired during the upgrade is not known"
            );
        }
    }
}
