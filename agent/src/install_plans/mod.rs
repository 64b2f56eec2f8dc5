//! `drydock-agent approve-installplans`: the command of the hub's operators work. It approves the manual
//! InstallPlans of the wanted Subscriptions and waits until their operators run.

mod evaluate;
mod settings;

use std::time::Duration;

use drydock_api::olm::InstallPlan;
use drydock_runtime::Clock;
use drydock_runtime::pages::list_all;
use jiff::SignedDuration;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use thiserror::Error;

use evaluate::{Evaluation, Operators, evaluate};
pub use settings::{ApprovalSettings, InvalidSettings, OperatorList};

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(10);

/// Why the operators are not upgraded.
#[derive(Debug, Error)]
pub enum ApprovalError {
    /// It is not said which operators, or for how long.
    #[error(transparent)]
    Settings(#[from] InvalidSettings),
    /// Something has failed that does not recover by itself.
    #[error("upgrading operators failed: {}", .0.join("; "))]
    Failed(Vec<String>),
    /// The time is over.
    #[error("the operators are not upgraded within {}s: {}", .waited.as_secs(), .waiting.join("; "))]
    TimedOut {
        /// How long it took.
        waited: SignedDuration,
        /// What it still waits for.
        waiting: Vec<String>,
    },
}

/// Runs the command with the variables of its environment.
///
/// # Errors
/// If they cannot be read, or as [`approve`].
pub async fn run(
    variable: impl Fn(&str) -> Option<String>,
    client: &Client,
    clock: &Clock,
) -> Result<(), ApprovalError> {
    approve(&ApprovalSettings::from_variables(variable)?, client, clock).await
}

/// Approves and waits. An API server that cannot be reached for a while is waited for, too: the platform may still be
/// settling.
///
/// # Errors
/// If an operator fails, may not be approved, or is not there in time.
pub async fn approve(
    settings: &ApprovalSettings,
    client: &Client,
    clock: &Clock,
) -> Result<(), ApprovalError> {
    let started = clock.now();
    let mut settled_before = false;
    loop {
        let waiting = match look(settings, client).await {
            Ok(evaluation) if !evaluation.failed.is_empty() => {
                return Err(ApprovalError::Failed(evaluation.failed));
            }
            Ok(evaluation) if evaluation.is_settled() => {
                // The next version of a channel shows only after the one before is there: two looks say that it is the last.
                if settled_before {
                    tracing::info!("all wanted operators are at the newest version of their channels");
                    return Ok(());
                }
                settled_before = true;
                Vec::new()
            }
            Ok(evaluation) => {
                settled_before = false;
                approve_all(client, &evaluation).await;
                evaluation.waiting
            }
            Err(error) => {
                settled_before = false;
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "looking at the operators failed; it is tried again"
                );
                vec![format!("the API server: {error}")]
            }
        };
        let waited = clock.now().duration_since(started);
        if waited >= settings.wait {
            return Err(ApprovalError::TimedOut { waited, waiting });
        }
        tokio::time::sleep(PERIOD).await;
    }
}

async fn look(settings: &ApprovalSettings, client: &Client) -> Result<Evaluation, kube::Error> {
    let operators = Operators {
        subscriptions: list_all(&Api::all(client.clone()), ListParams::default()).await?,
        plans: list_all(&Api::all(client.clone()), ListParams::default()).await?,
        versions: list_all(&Api::all(client.clone()), ListParams::default()).await?,
    };
    Ok(evaluate(settings, &operators))
}

async fn approve_all(client: &Client, evaluation: &Evaluation) {
    for plan in &evaluation.approve {
        let (namespace, name) = (plan.namespace().unwrap_or_default(), plan.name_any());
        let patch = json!({
            "metadata": {"uid": plan.uid(), "resourceVersion": plan.resource_version()},
            "spec": {"approved": true},
        });
        let parameters = PatchParams {
            field_manager: Some(drydock_api::names::AGENT_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let api = Api::<InstallPlan>::namespaced(client.clone(), &namespace);
        let versions = plan.spec.cluster_service_version_names.join(", ");
        match api.patch(&name, &parameters, &Patch::Merge(patch)).await {
            Ok(_) => {
                tracing::info!(plan = %format!("{namespace}/{name}"), versions, "approved the InstallPlan");
            }
            // Somebody else wrote, or it was replaced: the next look sees what there is.
            Err(error) => tracing::warn!(
                plan = %format!("{namespace}/{name}"),
                error = &error as &dyn std::error::Error,
                "the InstallPlan could not be approved; it is tried again"
            ),
        }
    }
}
