//! One reconcile: read, decide, act; again while a step asks for something; then the status, and what it means to users.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drydock_api::conditions::FALSE;
use drydock_api::names::{CLEANUP_FINALIZER, UPGRADE_CONFIG};
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus};
use drydock_runtime::events::{self, Severity};
use drydock_runtime::panics::Panicked;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::controller::Action;
use kube::{Resource, ResourceExt};
use thiserror::Error;

use super::{Shared, act, letters, observe, write};
use crate::configuration::{Configuration, ConfigurationError};
use crate::facts::{self, Facts, Seen};
use crate::phase::{self, Next};
use crate::steps::Command;

/// How often one reconcile may read or write something before it leaves the rest to the next.
const PASSES: usize = 32;
/// How soon to look again where nothing can be done.
const LATER: Duration = Duration::from_mins(1);

/// Why a reconcile failed. It is tried again.
#[derive(Debug, Error)]
pub(crate) enum ReconcileError {
    /// There is nothing to upgrade.
    #[error(
        "the cluster has no ClusterVersion {}: is it OpenShift?",
        drydock_api::names::CLUSTER_VERSION
    )]
    NoClusterVersion,
    /// The ConfigMap is refused, and none was good before.
    #[error(
        "no good configuration has been read yet: mend the ConfigMap {}",
        crate::configuration::CONFIG_MAP
    )]
    NoConfiguration,
    /// Objects cannot be read.
    #[error("listing {what}")]
    List {
        /// Which.
        what: &'static str,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// What a step asks for cannot be written.
    #[error("writing {what}")]
    Write {
        /// What was to be written, and where.
        what: String,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// The status cannot be written.
    #[error("writing the status of the UpgradeConfig")]
    Status(#[source] Box<kube::Error>),
    /// The finalizer cannot be written.
    #[error("writing the finalizer of the UpgradeConfig")]
    Finalizer(#[source] Box<kube::Error>),
    /// A step asks for the same again and again.
    #[error("a step keeps asking for the same: {0}")]
    Circles(String),
    /// A bug.
    #[error(transparent)]
    Panicked(Panicked),
}

impl ReconcileError {
    /// What the API server says to a request that it refuses for good: forbidden, unknown, invalid.
    fn refusal(&self) -> Option<&str> {
        let (Self::List { source, .. } | Self::Write { source, .. }) = self else {
            return None;
        };
        match source.as_ref() {
            kube::Error::Api(refusal) if matches!(refusal.code, 400 | 401 | 403 | 404 | 422) => {
                Some(&refusal.message)
            }
            _ => None,
        }
    }
}

/// UpgradeConfigs of other names, each told of once.
#[derive(Debug, Default)]
pub(super) struct Ignored(Mutex<BTreeSet<String>>);

/// Brings one UpgradeConfig a step further.
pub(super) async fn reconcile(seen: &Arc<UpgradeConfig>, shared: &Shared) -> Result<Action, ReconcileError> {
    if seen.name_any() != UPGRADE_CONFIG {
        ignore(seen, shared);
        return Ok(Action::await_change());
    }
    shared.view.wait_until_ready().await;
    let mut upgrade = (*shared.latest.of(seen)).clone();
    let is_going = upgrade.metadata.deletion_timestamp.is_some();
    if is_going && !is_held(&upgrade) {
        return Ok(Action::await_change());
    }
    let configuration = configuration(shared)?;
    let before = upgrade.status.clone().unwrap_or_default();
    let mut status = before.clone();
    let decided = decide(shared, &mut upgrade, configuration, &mut status).await;
    let (mut facts, wait) = match decided {
        Ok(decided) => decided,
        Err(error) => {
            complain(shared, &upgrade, &mut status, &error).await;
            return Err(error);
        }
    };
    letters::post(shared, &upgrade, &facts, &mut status);
    let client = &shared.context.client;
    let written = write::status(client, &shared.latest, &upgrade, &status)
        .await
        .map_err(|error| ReconcileError::Status(Box::new(error)))?;
    shared.context.metrics.show(&facts, &status);
    act::sum_up(shared, &mut facts, &status).await;
    if written {
        for transition in phase::transitions(&before, &status) {
            tell(shared, upgrade.object_ref(&()), &transition);
        }
    }
    if is_held(&upgrade) && !phase::is_held(&status) {
        let upgrade = shared.latest.of(&Arc::new(upgrade));
        write::finalizer(client, &shared.latest, &upgrade, false)
            .await
            .map_err(|error| ReconcileError::Finalizer(Box::new(error)))?;
    }
    Ok(wait.map_or_else(Action::await_change, Action::requeue))
}

fn is_held(upgrade: &UpgradeConfig) -> bool {
    upgrade
        .finalizers()
        .iter()
        .any(|finalizer| finalizer == CLEANUP_FINALIZER)
}

/// Shows in the condition of the step that waits what the API server refuses; what passes by itself is not worth a write.
async fn complain(
    shared: &Shared,
    upgrade: &UpgradeConfig,
    status: &mut UpgradeConfigStatus,
    error: &ReconcileError,
) {
    let Some(refusal) = error.refusal() else {
        return;
    };
    let mut conditions = status
        .history
        .iter_mut()
        .flatten()
        .take(1)
        .flat_map(|entry| entry.conditions.iter_mut().flatten());
    let Some(waiting) = conditions.find(|condition| condition.status == FALSE) else {
        return;
    };
    waiting.message = Some(format!("{error}: {refusal}"));
    let client = &shared.context.client;
    if let Err(error) = write::status(client, &shared.latest, upgrade, status).await {
        let error: &dyn std::error::Error = &error;
        tracing::debug!(error, "the refusal cannot be shown in the status");
    }
}

/// Decides, and does what steps ask for, until there is nothing to do but wait.
async fn decide(
    shared: &Shared,
    upgrade: &mut UpgradeConfig,
    configuration: Configuration,
    status: &mut UpgradeConfigStatus,
) -> Result<(Facts, Option<Duration>), ReconcileError> {
    let version = shared.view.version().ok_or(ReconcileError::NoClusterVersion)?;
    let mut version = (*version).clone();
    let now = shared.context.clock.now();
    let mut facts = Facts {
        spec: upgrade.spec.clone(),
        cluster: facts::cluster(&version),
        workers: shared.view.workers().map(|pool| facts::workers(&pool)),
        seen: Seen::default(),
        configuration,
        now,
        is_going: upgrade.metadata.deletion_timestamp.is_some(),
        tends: shared.tended.is_due(now),
    };
    let mut last: Option<Command> = None;
    for _ in 0..PASSES {
        let decision = phase::decide(&facts, status);
        *status = decision.status;
        match decision.next {
            Next::Rest(wait) => {
                shared.tended.note(&facts);
                return Ok((facts, wait));
            }
            Next::Read(need) => {
                if let Err(error) = observe::observe(shared, need, &mut facts).await {
                    act::note_unread(shared, &facts, status, need);
                    return Err(error);
                }
            }
            Next::Write(command) => {
                if last.as_ref() == Some(&command) {
                    // Another client takes it back at once: more patience than that is in the back-off.
                    return Err(ReconcileError::Circles(format!("{command:?}")));
                }
                if phase::is_held(status) && !is_held(upgrade) && !facts.is_going {
                    *upgrade = write::finalizer(&shared.context.client, &shared.latest, upgrade, true)
                        .await
                        .map_err(|error| ReconcileError::Finalizer(Box::new(error)))?;
                }
                act::carry_out(shared, &command, upgrade, &mut version, &mut facts).await?;
                last = Some(command);
            }
        }
    }
    Ok((facts, Some(LATER)))
}

fn configuration(shared: &Shared) -> Result<Configuration, ReconcileError> {
    let map = shared.view.configuration();
    let in_force = shared.configuration.in_force(map.as_deref());
    if let (Some(error), Some(map)) = (in_force.refused, map) {
        refuse(shared, map.object_ref(&()), &error);
    }
    in_force.configuration.ok_or(ReconcileError::NoConfiguration)
}

fn refuse(shared: &Shared, map: ObjectReference, error: &ConfigurationError) {
    let transition = phase::Transition {
        warning: true,
        reason: "InvalidConfiguration",
        message: error.to_string(),
    };
    tell(shared, map, &transition);
}

fn ignore(upgrade: &UpgradeConfig, shared: &Shared) {
    let uid = upgrade.uid().unwrap_or_default();
    let is_news = shared
        .ignored
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(uid);
    if is_news {
        let transition = phase::Transition {
            warning: true,
            reason: "IgnoredUpgradeConfig",
            message: format!(
                "only the UpgradeConfig {UPGRADE_CONFIG} is acted on: rename {}",
                upgrade.name_any()
            ),
        };
        tell(shared, upgrade.object_ref(&()), &transition);
    }
}

fn tell(shared: &Shared, object: ObjectReference, transition: &phase::Transition) {
    shared.context.publisher.publish(&events::Transition {
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
