//! The controller of UpgradeConfig: woken by it, by ClusterVersion, by the pool of the workers and by the ConfigMap.

mod cache;
mod configuration;
mod notifications;
mod observe;
mod perform;
mod reconcile;
mod write;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::UpgradeConfig;
use drydock_runtime::Clock;
use drydock_runtime::admin::Readiness;
use drydock_runtime::backoff::Backoff;
use drydock_runtime::events::Publisher;
use drydock_runtime::panics::catch_panic;
use drydock_runtime::watch_backoff::{stopped_before_the_first_list, with_backoff};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use kube::runtime::controller::{Action, Config};
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::http::Network;
use crate::metrics::Metrics;
use crate::monitoring::Monitoring;
use crate::notify::outbox::Outbox;
use crate::providers::{Provider, ProviderInput};
use cache::Cache;
use reconcile::ReconcileError;

/// What every reconcile needs.
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    pub namespace: String,
    pub publisher: Publisher,
    pub metrics: Metrics,
    pub backoff: Backoff<String>,
    pub network: Network,
    pub monitoring: Arc<Monitoring>,
    pub provider: Arc<Provider>,
    pub outbox: Outbox,
    /// What the provider's synchronizer needs to know.
    pub known: watch::Sender<ProviderInput>,
}

/// Which alerts fired during the upgrade that was completed at a time.
#[derive(Debug, Default)]
struct Results(Mutex<Option<(Timestamp, BTreeSet<String>)>>);

impl Results {
    fn of(&self, completed: Timestamp) -> Option<BTreeSet<String>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, alerts) = known.as_ref()?;
        (*at == completed).then(|| alerts.clone())
    }

    fn note(&self, completed: Timestamp, alerts: &BTreeSet<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((completed, alerts.clone()));
    }
}

/// The context, and what is seen of the cluster.
struct Shared {
    context: Context,
    cache: Cache,
    configuration: configuration::LastGood,
    latest: write::WriteCache,
    ignored: reconcile::Ignored,
    last_drain_check: perform::LastDrainCheck,
    refusals: perform::Refusals,
    results: Results,
}

impl Shared {
    /// Tells the provider's synchronizer how things are.
    async fn know(&self) {
        let Ok(cluster) = self.cache.cluster(self.context.clock.now()) else {
            return;
        };
        let in_force = self.in_force().await;
        let is_known = in_force.problem.is_none_or(|problem| !problem.is_unknown);
        let known = ProviderInput {
            configuration: is_known.then_some(in_force.configuration),
            cluster: cluster.id,
            asked: cluster.asked.map(|release| release.version),
        };
        self.context.known.send_if_modified(|before| {
            let is_new = *before != known;
            *before = known;
            is_new
        });
    }
}

/// Runs until `shutdown`, then lets a reconcile under way finish.
pub(crate) async fn run(
    context: Context,
    woken: mpsc::Receiver<()>,
    readiness: Readiness,
    shutdown: CancellationToken,
) -> Result<(), Infallible> {
    let api: Api<UpgradeConfig> = Api::namespaced(context.client.clone(), &context.namespace);
    let (reader, writer) = reflector::store();
    // Any name is seen, so that a wrong one can be reported.
    let upgrades = with_backoff(watcher(api, watcher::Config::default()))
        .inspect(forget_what_is_gone(context.metrics.clone()))
        .modify(|upgrade| upgrade.managed_fields_mut().clear())
        .reflect(writer)
        .touched_objects()
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let (cache, mut changes) = Cache::follow(&context.client, &context.namespace, &context.clock);
    let woken = stream::unfold(woken, |mut woken| async move {
        woken.recv().await.map(|()| ((), woken))
    });
    changes.push(woken.boxed());
    readiness.expect("cluster");
    let ready = {
        let (cache, readiness) = (cache.clone(), readiness.clone());
        async move {
            cache.wait_until_looked().await;
            readiness.ready("cluster");
        }
    };
    let shared = Arc::new(Shared {
        context,
        cache,
        configuration: configuration::LastGood::default(),
        latest: write::WriteCache::default(),
        ignored: reconcile::Ignored::default(),
        last_drain_check: perform::LastDrainCheck::default(),
        refusals: perform::Refusals::default(),
        results: Results::default(),
    });
    let store = reader.clone();
    let changed = Arc::new(Notify::new());
    let changes = changes.inspect({
        let changed = Arc::clone(&changed);
        move |()| changed.notify_one()
    });
    let knowing = {
        let shared = Arc::clone(&shared);
        async move {
            shared.cache.wait_until_looked().await;
            loop {
                shared.know().await;
                changed.notified().await;
            }
        }
    };
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
        () = knowing => {}
    }
    Ok(())
}

/// Takes the metrics of an UpgradeConfig away that is gone, whether its deletion was seen or the watch was cut meanwhile.
fn forget_what_is_gone(metrics: Metrics) -> impl FnMut(&watcher::Result<watcher::Event<UpgradeConfig>>) {
    let mut is_listed = false;
    move |event| match event {
        Ok(watcher::Event::Init) => is_listed = false,
        Ok(watcher::Event::InitApply(upgrade)) => is_listed |= upgrade.name_any() == UPGRADE_CONFIG,
        Ok(watcher::Event::InitDone) if !is_listed => metrics.forget(),
        Ok(watcher::Event::Delete(gone)) if gone.name_any() == UPGRADE_CONFIG => metrics.forget(),
        _ => {}
    }
}

async fn reconcile(upgrade: Arc<UpgradeConfig>, shared: Arc<Shared>) -> Result<Action, ReconcileError> {
    let outcome = match catch_panic(Box::pin(reconcile::reconcile(&upgrade, &shared))).await {
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
