//! The controller of UpgradeConfig: woken by it, by ClusterVersion, by the pool of the workers and by the ConfigMap.

mod configuration;
mod reconcile;
mod view;
mod write;

use std::convert::Infallible;
use std::sync::Arc;

use drydock_api::upgradeconfig::UpgradeConfig;
use drydock_runtime::Clock;
use drydock_runtime::admin::Readiness;
use drydock_runtime::backoff::Backoff;
use drydock_runtime::events::Publisher;
use drydock_runtime::panics::caught;
use drydock_runtime::patience::{patient, stopped_before_the_first_list};
use futures::StreamExt;
use kube::runtime::controller::{Action, Config};
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use reconcile::ReconcileError;
use view::View;

/// What every reconcile needs.
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    pub namespace: String,
    pub publisher: Publisher,
    pub metrics: Metrics,
    pub backoff: Backoff<String>,
}

/// The context, and what is seen of the cluster.
struct Shared {
    context: Context,
    view: View,
    configuration: configuration::LastGood,
    latest: write::Latest,
    ignored: reconcile::Ignored,
}

/// Runs until `shutdown`, then lets a reconcile under way finish.
pub(crate) async fn run(
    context: Context,
    readiness: Readiness,
    shutdown: CancellationToken,
) -> Result<(), Infallible> {
    let api: Api<UpgradeConfig> = Api::namespaced(context.client.clone(), &context.namespace);
    let (reader, writer) = reflector::store();
    // Any name is seen, so that a wrong one can be told of.
    let upgrades = patient(watcher(api, watcher::Config::default()))
        .modify(|upgrade| upgrade.managed_fields_mut().clear())
        .reflect(writer)
        .touched_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let (view, changes) = View::follow(&context.client, &context.namespace);
    readiness.expect("cluster");
    let ready = {
        let (view, readiness) = (view.clone(), readiness.clone());
        async move {
            view.wait_until_ready().await;
            readiness.ready("cluster");
        }
    };
    let shared = Arc::new(Shared {
        context,
        view,
        configuration: configuration::LastGood::default(),
        latest: write::Latest::default(),
        ignored: reconcile::Ignored::default(),
    });
    let store = reader.clone();
    let controller = Controller::for_stream(upgrades, reader)
        .with_config(Config::default().concurrency(1))
        .reconcile_all_on(changes)
        .graceful_shutdown_on(shutdown.clone().cancelled_owned())
        .run(reconcile, on_error, shared)
        .for_each(|outcome| async move {
            if let Err(error) = outcome {
                let error: &dyn std::error::Error = &error;
                tracing::debug!(error, "a reconcile ended with an error");
            }
        });
    tokio::select! {
        biased;
        () = controller => {}
        () = stopped_before_the_first_list(&store, &shutdown) => {}
        () = async { ready.await; std::future::pending::<()>().await } => {}
    }
    Ok(())
}

async fn reconcile(upgrade: Arc<UpgradeConfig>, shared: Arc<Shared>) -> Result<Action, ReconcileError> {
    let outcome = match caught(reconcile::reconcile(&upgrade, &shared)).await {
        Ok(outcome) => outcome,
        Err(panicked) => Err(ReconcileError::Panicked(panicked)),
    };
    match &outcome {
        Ok(_) => shared.context.backoff.succeeded(&upgrade.name_any()),
        Err(_) => shared.context.metrics.failed(),
    }
    outcome
}

// kube's controller hands over all three as they are.
#[expect(clippy::needless_pass_by_value, reason = "the signature is kube's")]
fn on_error(upgrade: Arc<UpgradeConfig>, error: &ReconcileError, shared: Arc<Shared>) -> Action {
    let wait = shared.context.backoff.failed(&upgrade.name_any());
    let object = upgrade.name_any();
    let error: &dyn std::error::Error = error;
    tracing::warn!(
        object,
        error,
        wait_seconds = wait.as_secs(),
        "reconciling an upgrade failed; it is tried again"
    );
    Action::requeue(wait)
}
