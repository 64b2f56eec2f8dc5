//! The controller of ManagedClustersUpgrade: wakes, decides once a reconcile, writes, and says what happened.

mod announce;
mod obstruction;
mod reconcile;
mod record;
mod status;
mod write;

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::RETRY_ANNOTATION;
use drydock_runtime::Clock;
use drydock_runtime::backoff::Backoff;
use drydock_runtime::digest_index::ObjectKey;
use drydock_runtime::events::Publisher;
use drydock_runtime::panics::caught;
use drydock_runtime::patience::{patient, stopped_before_the_first_list};
use futures::StreamExt;
use kube::runtime::controller::{Action, Config};
use kube::runtime::{Controller, Predicate, PredicateConfig, WatchStreamExt, predicates, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::view::{View, Wakes};
pub(crate) use announce::Drifts;
pub(crate) use obstruction::Obstructions;
pub(crate) use reconcile::ReconcileError;
pub(crate) use status::Latest;

/// Upgrades that are reconciled at once.
const RECONCILES_AT_ONCE: u16 = 4;

/// What every reconcile needs.
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    pub view: View,
    pub publisher: Publisher,
    pub metrics: Metrics,
    pub same_namespace_placements: bool,
    pub grant_cluster_admin: bool,
    pub agent_image: String,
    pub backoff: Backoff<ObjectKey>,
    pub obstructions: Obstructions,
    pub latest: Latest,
    pub drifts: Drifts,
}

/// Runs until `shutdown`, then lets reconciles under way finish.
pub(crate) async fn run(
    context: Context,
    wakes: Wakes,
    shutdown: CancellationToken,
) -> Result<(), Infallible> {
    let (reader, writer) = reflector::store();
    let api: Api<ManagedClustersUpgrade> = Api::all(context.client.clone());
    // Every upgrade is the hub's: there is no label to select by.
    let upgrades = patient(watcher(api, watcher::Config::default()))
        .modify(|upgrade| upgrade.managed_fields_mut().clear())
        .reflect(writer)
        .touched_objects()
        .predicate_filter(
            predicates::generation
                .combine(predicates::finalizers)
                .combine(being_deleted)
                .combine(retry),
            PredicateConfig::default(),
        );
    let context = Arc::new(context);
    let store = reader.clone();
    let running = Controller::for_stream(upgrades, reader)
        .with_config(Config::default().concurrency(RECONCILES_AT_ONCE))
        .reconcile_on(wakes.upgrades())
        .reconcile_all_on(wakes.all())
        .graceful_shutdown_on(shutdown.clone().cancelled_owned())
        .run(reconcile, on_error, context)
        .for_each(|outcome| async move {
            if let Err(error) = outcome {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "a reconcile ended with an error"
                );
            }
        });
    tokio::select! {
        () = running => {}
        () = stopped_before_the_first_list(&store, &shutdown) => {}
    }
    Ok(())
}

/// A predicate: when the deletion of the upgrade was asked for.
fn being_deleted(upgrade: &ManagedClustersUpgrade) -> Option<u64> {
    let deletion = upgrade.metadata.deletion_timestamp.as_ref()?;
    Some(deletion.0.as_second().unsigned_abs())
}

/// A predicate: the retry that the user asks for.
fn retry(upgrade: &ManagedClustersUpgrade) -> Option<u64> {
    let asked = upgrade.annotations().get(RETRY_ANNOTATION)?;
    let mut hasher = DefaultHasher::new();
    asked.hash(&mut hasher);
    Some(hasher.finish())
}

async fn reconcile(
    upgrade: Arc<ManagedClustersUpgrade>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let outcome = match caught(reconcile::reconcile(&upgrade, &context)).await {
        Ok(outcome) => outcome,
        Err(panicked) => Err(ReconcileError::Panicked(panicked)),
    };
    context
        .metrics
        .reconciled(started.elapsed(), outcome.as_ref().err());
    if outcome.is_ok() {
        context.backoff.succeeded(&ObjectKey::of(&*upgrade));
    }
    outcome
}

// kube's controller hands over all three as they are.
#[expect(clippy::needless_pass_by_value, reason = "the signature is kube's")]
fn on_error(upgrade: Arc<ManagedClustersUpgrade>, error: &ReconcileError, context: Arc<Context>) -> Action {
    let wait = context.backoff.failed(&ObjectKey::of(&*upgrade));
    let object = ObjectKey::of(&*upgrade);
    let error: &dyn std::error::Error = error;
    tracing::warn!(%object, error, wait_seconds = wait.as_secs(), "reconciling an upgrade failed; it is tried again");
    Action::requeue(wait)
}

/// How soon to look again when the view has not caught up with our own writes; their events come before that.
const CATCH_UP: Duration = Duration::from_secs(1);
