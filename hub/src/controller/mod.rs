//! The controller of ManagedClustersUpgrade: decides once a reconcile, writes, and says what happened.

mod acceptance;
mod act;
mod announce;
mod answer;
mod forecast;
mod prune;
mod reconcile;
mod status;
mod write;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION};
use drydock_rollout::UpgradeKey;
use drydock_runtime::Clock;
use drydock_runtime::backoff::Backoff;
use drydock_runtime::events::Publisher;
use drydock_runtime::object_key::ObjectKey;
use drydock_runtime::panics::catch_panic;
use drydock_runtime::watch_backoff::{stopped_before_the_first_list, with_backoff};
use futures::StreamExt;
use kube::runtime::controller::{Action, Config};
use kube::runtime::{Controller, Predicate, PredicateConfig, WatchStreamExt, predicates, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cache::{Cache, ReconcileTriggers, follow_upgrades};
use crate::metrics::{Metrics, WatchHealth};
pub(crate) use announce::Unreported;
pub(crate) use forecast::Forecasts;
pub(crate) use prune::prune;
pub(crate) use reconcile::ReconcileError;

/// Upgrades that are reconciled at once.
const RECONCILES_AT_ONCE: u16 = 4;

/// What every reconcile needs.
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    pub cache: Cache,
    pub readiness: drydock_runtime::admin::Readiness,
    pub publisher: Publisher,
    pub metrics: Metrics,
    pub health: WatchHealth,
    pub grant_cluster_admin: bool,
    pub agent_image: String,
    pub backoff: Backoff<ObjectKey>,
    /// When records of an upgrade were last written.
    pub records_written: Mutex<BTreeMap<UpgradeKey, Instant>>,
    pub unreported: Unreported,
    pub forecasts: Forecasts,
    /// Runs of a forecast; none are made with 0.
    pub forecast_runs: u32,
}

/// Runs until `shutdown`, then lets reconciles under way finish.
pub(crate) async fn run(
    context: Context,
    triggers: ReconcileTriggers,
    shutdown: CancellationToken,
) -> Result<(), Infallible> {
    let (reader, writer) = reflector::store();
    let api: Api<ManagedClustersUpgrade> = Api::all(context.client.clone());
    // Every upgrade is the hub's: there is no label to select by.
    let health = context.health.clone();
    let events = with_backoff(watcher(api, watcher::Config::default()))
        .inspect(move |event| health.saw("upgrades", event.is_err()));
    let context = Arc::new(context);
    let upgrades = follow_upgrades(events, context.cache.clone(), forgetting(&context))
        .reflect(writer)
        .touched_objects()
        .predicate_filter(
            predicates::generation
                .combine(predicates::finalizers)
                .combine(being_deleted)
                .combine(retries),
            PredicateConfig::default(),
        );
    let store = reader.clone();
    let running = Controller::for_stream(upgrades, reader)
        .with_config(Config::default().concurrency(RECONCILES_AT_ONCE))
        .reconcile_on(triggers.upgrades())
        .reconcile_all_on(triggers.all())
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

/// Forgets what is kept of an upgrade beside the cache. Nobody reconciles one that is gone.
fn forgetting(context: &Arc<Context>) -> impl Fn(&UpgradeKey) + Send + use<> {
    let context = Arc::clone(context);
    move |key| {
        context.metrics.forget(key);
        context.forecasts.forget(key);
        context.unreported.forget(key);
        context
            .backoff
            .succeeded(&ObjectKey::new(&*key.namespace, &*key.name));
    }
}

/// A predicate: when the deletion of the upgrade was asked for.
fn being_deleted(upgrade: &ManagedClustersUpgrade) -> Option<u64> {
    let deletion = upgrade.metadata.deletion_timestamp.as_ref()?;
    Some(deletion.0.as_second().unsigned_abs())
}

/// A predicate: the retries that the user asks for.
#[expect(clippy::unnecessary_wraps, reason = "the signature is kube's")]
fn retries(upgrade: &ManagedClustersUpgrade) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for name in [RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION] {
        upgrade.annotations().get(name).hash(&mut hasher);
    }
    Some(hasher.finish())
}

async fn reconcile(
    upgrade: Arc<ManagedClustersUpgrade>,
    context: Arc<Context>,
) -> Result<Action, ReconcileError> {
    let started = Instant::now();
    let key = drydock_objects::upgrade::key(&upgrade);
    let outcome = match catch_panic(reconcile::reconcile(&key, &context)).await {
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

/// How soon to look again when the first lists are not complete.
const CATCH_UP: Duration = Duration::from_secs(1);
