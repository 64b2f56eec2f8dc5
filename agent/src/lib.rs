//! The per-cluster agent: reconciles UpgradeConfig, maintenance schedules and update insights. [`run`] is the whole process; the binary, the sandbox and the tests
//! call it alike.

mod controller;
mod http;
mod insights;
pub mod install_plans;
mod metrics;
mod monitoring;
mod notify;
mod providers;
mod reconcile;
mod refusal;
mod registry;
mod schedule;
mod scraped;
mod settings;
mod update_graph;
pub mod update_plan;
mod watched;

use drydock_runtime::Clock;
use drydock_runtime::admin::{self, Readiness};
use drydock_runtime::backoff::Backoff;
use drydock_runtime::events::publisher;
use drydock_runtime::tasks::{TaskEnded, Tasks};
use kube::Client;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use drydock_engine::configuration;

pub use crate::http::{Body, Exchange, Network};
pub use insights::{InsightsPart, InsightsSettings, cluster_objects};
pub use monitoring::EndpointConfig;
pub use schedule::{ScheduleNamespace, SchedulePart, ScheduleSettings};
pub use settings::Settings;

use std::sync::Arc;

use controller::Context;
use metrics::Metrics;
use monitoring::Monitoring;
use notify::outbox::outbox;
use providers::{Provider, ProviderInput, Synchronizer};

/// Why the agent ended.
#[derive(Debug, Error)]
pub enum Error {
    /// The metrics have names that the registry has already.
    #[error("registering the agent's metrics")]
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

/// Runs the agent until `shutdown`.
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
    serve(&settings, &readiness, &mut tasks, &shutdown).await?;
    let (publisher, writer) = publisher(client.clone(), clock.clone(), "drydock-agent", &settings.registry)?;
    tasks.spawn("events", writer.run(shutdown.clone()));
    let metrics = Metrics::register(&settings.registry)?;
    let provider = Arc::new(Provider::new(client.clone(), settings.network.clone()));
    let (outbox, sender, woken) = outbox(
        client.clone(),
        settings.namespace.clone(),
        settings.network.clone(),
        Arc::clone(&provider),
        metrics.clone(),
    );
    tasks.spawn("outbox", sender.run(shutdown.clone()));
    let (known, knows) = tokio::sync::watch::channel(ProviderInput::default());
    let synchronizer = Synchronizer {
        client: client.clone(),
        namespace: settings.namespace.clone(),
        provider: Arc::clone(&provider),
        known: knows,
        metrics: metrics.clone(),
        clock: clock.clone(),
    };
    tasks.spawn("provider", synchronizer.run(shutdown.clone()));
    let monitoring = Monitoring::new(client.clone(), settings.network.clone(), settings.monitoring);
    let monitoring = Arc::new(monitoring);
    let schedules = schedule::Engine::new(
        schedule::Context {
            client: client.clone(),
            clock: clock.clone(),
            namespace: settings.namespace.clone(),
            publisher: publisher.clone(),
            metrics: metrics.clone(),
            monitoring: Arc::clone(&monitoring),
            network: settings.network.clone(),
        },
        settings.schedule,
        &settings.registry,
    )?;
    tasks.spawn("schedules", schedules.run(shutdown.clone()));
    let insights_context = insights::Context {
        client: client.clone(),
        clock: clock.clone(),
        publisher: publisher.clone(),
        metrics: metrics.clone(),
        network: settings.network.clone(),
        monitoring: Arc::clone(&monitoring),
    };
    let insights = insights::Engine::new(insights_context, settings.insights, &settings.registry)?;
    tasks.spawn("insights", insights.run(shutdown.clone()));
    let context = Context {
        monitoring,
        network: settings.network,
        namespace: settings.namespace,
        metrics,
        client,
        clock,
        publisher,
        backoff: Backoff::default(),
        provider,
        outbox,
        known,
    };
    tasks.spawn("controller", controller::run(context, woken, readiness, shutdown));
    Ok(tasks.finished().await?)
}

/// Serves probes and metrics, where that is asked for.
async fn serve(
    settings: &Settings,
    readiness: &Readiness,
    tasks: &mut Tasks,
    shutdown: &CancellationToken,
) -> Result<(), Error> {
    let Some(address) = settings.admin_address else {
        return Ok(());
    };
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| Error::Listen { address, source })?;
    let router = admin::router(settings.registry.clone(), readiness.clone());
    tasks.spawn("admin", admin::serve(listener, router, shutdown.clone()));
    Ok(())
}
