//! The hub controller: reconciles ManagedClustersUpgrade. [`run`] is the whole process; the binary, the sandbox and the
//! tests call it alike.

mod cache;
mod controller;
mod live;
mod metrics;
mod settings;

use drydock_runtime::Clock;
use drydock_runtime::admin::{self, Readiness};
use drydock_runtime::backoff::Backoff;
use drydock_runtime::events::publisher;
use drydock_runtime::tasks::{TaskEnded, Tasks};
use kube::Client;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use live::LiveFleet;
pub use settings::{FORECAST_RUNS, InvalidRecordTtl, Pace, RecordTtl, Settings};

use drydock_objects::Fleet;

use cache::{Cache, ReconcileTriggers, Watching};
use controller::Context;
use metrics::{Metrics, WatchHealth};

/// Why the hub ended.
#[derive(Debug, Error)]
pub enum Error {
    /// The metrics have names that the registry has already.
    #[error("registering the hub's metrics")]
    Metrics(#[from] prometheus::Error),
    /// The admin address cannot be had.
    #[error("listening on {address} for probes and metrics: choose another --admin-address")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// A part ended early.
    #[error(transparent)]
    Task(#[from] TaskEnded),
}

/// Runs the hub until `shutdown`.
///
/// # Errors
/// If it cannot start, or a part of it ends early.
pub async fn run(
    settings: Settings,
    client: Client,
    clock: Clock,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let readiness = Readiness::default();
    let mut tasks = Tasks::new(shutdown.clone());
    if let Some(address) = settings.admin_address {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| Error::Listen { address, source })?;
        let router = admin::router(settings.registry.clone(), readiness.clone());
        tasks.spawn("admin", admin::serve(listener, router, shutdown.clone()));
    }
    let (publisher, writer) = publisher(client.clone(), clock.clone(), "drydock-hub", &settings.registry)?;
    tasks.spawn("events", writer.run(shutdown.clone()));
    let triggers = ReconcileTriggers::new(settings.pace);
    let cache = Cache::new(Fleet::new(settings.same_namespace_placements), triggers.clone());
    let health = WatchHealth::register(&settings.registry)?;
    let watching = Watching {
        doubts: None,
        client: &client,
        cache: &cache,
        readiness: &readiness,
        health: Some(&health),
        refusals: None,
        clock: &clock,
        shutdown: &shutdown,
    };
    cache::follow(&watching, &mut tasks);
    let context = Context {
        metrics: Metrics::register(&settings.registry)?,
        health,
        client,
        clock,
        cache,
        readiness,
        publisher,
        grant_cluster_admin: settings.grant_cluster_admin,
        agent_image: settings.agent_image(),
        backoff: Backoff::default(),
        records_written: std::sync::Mutex::default(),
        unreported: controller::Unreported::default(),
        forecasts: controller::Forecasts::default(),
        forecast_runs: settings.forecast_runs,
    };
    let leading = CancellationToken::new();
    match settings.election.clone() {
        None => leading.cancel(),
        Some(election) => {
            let (leading, shutdown) = (leading.clone(), shutdown.clone());
            tasks.spawn("leader", async move { election.run(leading, shutdown).await });
        }
    }
    let keep_for = settings.record_ttl.duration();
    tasks.spawn("controller", async move {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => Ok(()),
            () = leading.cancelled() => {
                context.metrics.leads();
                let (client, cache, clock) = (context.client.clone(), context.cache.clone(), context.clock.clone());
                let pruning = controller::prune(client, cache, clock, keep_for, shutdown.clone());
                let running = controller::run(context, triggers, shutdown.clone());
                tokio::try_join!(running, pruning).map(|_| ())
            }
        }
    });
    let ended = tasks.finished().await;
    if let Some(election) = &settings.election {
        election.release().await;
    }
    Ok(ended?)
}
