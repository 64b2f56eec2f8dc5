//! The second engine: maintenance schedules, the kinds of `managedupgrade.appuio.io`. Decisions are [`drydock_schedule`]'s; here is
//! what is watched and written. Nothing is asked of a cluster that does not have these kinds, but now and then whether it has them.

mod changes;
mod cluster_version;
mod control;
mod error;
mod metrics;
mod presence;
mod settings;
mod suspension_window;
mod upgrade_config;
mod watches;
mod write;
mod written;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use drydock_runtime::Clock;
use drydock_runtime::events::Publisher;
use futures::future::{BoxFuture, join_all};
use kube::Client;
use prometheus::Registry;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use settings::{ScheduleNamespace, SchedulePart, ScheduleSettings};

use crate::metrics::Metrics;
use changes::Wakers;
use cluster_version::ClusterVersions;
use control::{Controller, Reconcile};
use presence::{Discovery, presence};
use suspension_window::SuspensionWindows;
use upgrade_config::UpgradeConfigs;
use watches::{Seen, Watching, WokenBy};
use written::{Changed, Created};

/// What every controller needs.
#[derive(Clone)]
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    /// The agent's own namespace.
    pub namespace: String,
    pub publisher: Publisher,
    pub metrics: Metrics,
}

/// The engine, not running yet.
pub(crate) struct Engine {
    context: Context,
    settings: ScheduleSettings,
    seen: Seen,
    watches: Vec<BoxFuture<'static, ()>>,
    discovery: Discovery,
    woken: Woken,
}

/// What wakes each controller.
#[derive(Default)]
struct Woken {
    configs: Arc<Notify>,
    windows: Arc<Notify>,
    versions: Arc<Notify>,
}

impl Woken {
    fn by(&self) -> WokenBy {
        let Self {
            configs,
            windows,
            versions,
        } = self;
        WokenBy {
            configs: Wakers::of([configs, windows]),
            jobs: Wakers::of([configs, windows]),
            windows: Wakers::of([configs, windows]),
            managed: Wakers::of([versions]),
            upstream: Wakers::of([configs, versions]),
        }
    }
}

impl Engine {
    /// Prepares the engine, and registers its metrics.
    ///
    /// # Errors
    /// If the registry has one of their names already.
    pub fn new(
        context: Context,
        settings: ScheduleSettings,
        registry: &Registry,
    ) -> Result<Self, prometheus::Error> {
        let (presence, discovery) = presence(context.client.clone(), watches::kinds(&settings));
        let woken = Woken::default();
        let watching = Watching {
            client: &context.client,
            clock: &context.clock,
            namespace: &context.namespace,
            settings: &settings,
            presence: &presence,
        };
        let (seen, watches) = watching.start(woken.by());
        metrics::register(registry, seen.clone(), context.clock.clone())?;
        Ok(Self {
            context,
            settings,
            seen,
            watches,
            discovery,
            woken,
        })
    }

    /// Runs until `shutdown`, then lets reconciles under way finish.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        if watches::kinds(&self.settings).is_empty() {
            shutdown.cancelled().await;
            return Ok(());
        }
        let controllers = self.controllers(&shutdown);
        tokio::select! {
            biased;
            () = controllers => {}
            () = self.discovery.run() => {}
            _ended = join_all(self.watches) => {}
        }
        Ok(())
    }

    /// The controllers, as one future.
    fn controllers(&self, shutdown: &CancellationToken) -> impl Future<Output = ()> + Send + use<> {
        let (context, seen) = (&self.context, &self.seen);
        let configs = UpgradeConfigs {
            context: context.clone(),
            seen: seen.clone(),
            local_zone: self.settings.local_zone.clone(),
            changed: Changed::default(),
            created: Created::default(),
        };
        let windows = SuspensionWindows {
            context: context.clone(),
            seen: seen.clone(),
            changed: Changed::default(),
        };
        let versions = ClusterVersions {
            context: context.clone(),
            seen: seen.clone(),
            changed: Changed::default(),
            upstream: Changed::default(),
            last_change: Mutex::default(),
        };
        let configs = self.controller(configs, &self.woken.configs);
        let windows = self.controller(windows, &self.woken.windows);
        let versions = self.controller(versions, &self.woken.versions);
        let shutdown = shutdown.clone();
        async move {
            tokio::join!(
                configs.run(shutdown.clone()),
                windows.run(shutdown.clone()),
                versions.run(shutdown),
            );
        }
    }

    fn controller<R: Reconcile>(&self, reconciler: R, changed: &Arc<Notify>) -> Controller<R> {
        Controller {
            reconciler,
            changed: Arc::clone(changed),
            clock: self.context.clock.clone(),
            metrics: self.context.metrics.clone(),
        }
    }
}
