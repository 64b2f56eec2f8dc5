//! One reconcile: read, decide, act; again while a step asks for something; then the status, and what it means to users.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::openshift::{ClusterOperator, ClusterVersion};
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus};
use drydock_runtime::events::{self, Severity};
use drydock_runtime::panics::Panicked;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::ListParams;
use kube::runtime::controller::Action;
use kube::{Api, Client, Resource, ResourceExt};
use thiserror::Error;

use super::{Shared, write};
use crate::configuration::{Configuration, ConfigurationError};
use crate::facts::{self, Facts, IllOperator};
use crate::phase::{self, Next};
use crate::steps::Need;

/// How often a step may ask for something in one reconcile: the channel, the release, the operators, and each once more.
const PASSES: usize = 6;
/// Cluster operators a request; a cluster has some 35.
const OPERATORS_A_PAGE: u32 = 100;
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
    /// The operators cannot be read.
    #[error("listing the cluster operators for the health check")]
    Operators(#[source] Box<kube::Error>),
    /// ClusterVersion cannot be written.
    #[error("writing the desired update into ClusterVersion")]
    Commence(#[source] Box<kube::Error>),
    /// The status cannot be written.
    #[error("writing the status of the UpgradeConfig")]
    Status(#[source] Box<kube::Error>),
    /// A step asks for the same again and again.
    #[error("a step keeps asking for the same: {0}")]
    Circles(String),
    /// A bug.
    #[error(transparent)]
    Panicked(Panicked),
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
    if seen.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    shared.view.wait_until_ready().await;
    let configuration = configuration(shared)?;
    let version = shared.view.version().ok_or(ReconcileError::NoClusterVersion)?;
    let upgrade = shared.latest.of(seen);
    let (status, wait) = decide(shared, &upgrade, &version, configuration).await?;
    let before = upgrade.status.clone().unwrap_or_default();
    let client = &shared.context.client;
    let written = write::status(client, &shared.latest, &upgrade, &status)
        .await
        .map_err(|error| ReconcileError::Status(Box::new(error)))?;
    shared.context.metrics.show(&status);
    if written {
        for transition in phase::transitions(&before, &status) {
            tell(shared, upgrade.object_ref(&()), &transition);
        }
    }
    Ok(wait.map_or_else(Action::await_change, Action::requeue))
}

/// Decides, and does what steps ask for, until there is nothing to do but wait.
async fn decide(
    shared: &Shared,
    upgrade: &UpgradeConfig,
    version: &ClusterVersion,
    configuration: Configuration,
) -> Result<(UpgradeConfigStatus, Option<Duration>), ReconcileError> {
    let client = &shared.context.client;
    let mut version = version.clone();
    let mut status = upgrade.status.clone().unwrap_or_default();
    let mut facts = Facts {
        spec: upgrade.spec.clone(),
        cluster: facts::cluster(&version),
        workers: shared.view.workers().map(|pool| facts::workers(&pool)),
        ill: None,
        configuration,
        now: shared.context.clock.now(),
    };
    let mut last = None;
    for _ in 0..PASSES {
        let decision = phase::decide(&facts, &status);
        status = decision.status;
        match decision.next {
            Next::Rest(wait) => return Ok((status, wait)),
            Next::Read(Need::Operators) => facts.ill = Some(ill_operators(client).await?),
            Next::Write(command) => {
                if last.as_ref() == Some(&command) {
                    // Another client takes it back at once: more patience than that is in the back-off.
                    return Err(ReconcileError::Circles(format!("{command:?}")));
                }
                version = write::carry_out(client, &version, &command)
                    .await
                    .map_err(|error| ReconcileError::Commence(Box::new(error)))?;
                facts.cluster = facts::cluster(&version);
                last = Some(command);
            }
        }
    }
    Ok((status, Some(LATER)))
}

async fn ill_operators(client: &Client) -> Result<Vec<IllOperator>, ReconcileError> {
    let api: Api<ClusterOperator> = Api::all(client.clone());
    let mut operators = Vec::new();
    let mut parameters = ListParams::default().limit(OPERATORS_A_PAGE);
    loop {
        let page = api
            .list(&parameters)
            .await
            .map_err(|error| ReconcileError::Operators(Box::new(error)))?;
        operators.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(facts::ill(&operators)),
        }
    }
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
