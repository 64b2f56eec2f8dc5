//! The second engine: maintenance schedules, the kinds of `managedupgrade.appuio.io`. Decisions are [`drydock_schedule`]'s; here is
//! what is watched and written. Nothing is asked of a cluster that does not have these kinds, but now and then whether it has them.

mod cluster_version;
mod hook_job;
mod job_write;
mod lock;
mod metrics;
mod node_force_drain;
mod notifications;
mod pool_mark;
mod settings;
mod suspension_window;
mod upgrade_config;
mod upgrade_job;
mod upgrade_job_hook;
mod watches;
mod write;
mod written;

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use drydock_api::schedule::{GROUP, UpgradeConfig, UpgradeJob};
use drydock_runtime::Clock;
use drydock_runtime::events::Publisher;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use kube::Client;
use prometheus::Registry;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use settings::{ScheduleNamespace, SchedulePart, ScheduleSettings};

use crate::http::Network;
use crate::metrics::Metrics;
use crate::monitoring::Monitoring;
use crate::reconcile::changes::Wakers;
use crate::reconcile::control::{Controller, Reconcile};
use crate::reconcile::presence::{Discovery, presence};
use crate::reconcile::written::{Changed, Created};
use cluster_version::ClusterVersions;
use hook_job::HookJobs;
use lock::Locks;
use node_force_drain::{DeletedPods, NodeForceDrains};
use notifications::Notifications;
use pool_mark::PoolMarks;
use suspension_window::SuspensionWindows;
use upgrade_config::UpgradeConfigs;
use upgrade_job::UpgradeJobs;
use upgrade_job_hook::UpgradeJobHooks;
use watches::{Seen, Watching, WokenBy};
use written::Written;

/// What every controller needs.
#[derive(Clone)]
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    /// The agent's own namespace.
    pub namespace: String,
    pub publisher: Publisher,
    pub metrics: Metrics,
    pub monitoring: Arc<Monitoring>,
    pub network: Network,
}

/// The engine, not running yet.
pub(crate) struct Engine {
    context: Context,
    settings: ScheduleSettings,
    seen: Seen,
    watches: Vec<BoxFuture<'static, ()>>,
    discovery: Discovery,
    woken: Woken,
    deleted: DeletedPods,
}

/// What wakes each controller.
#[derive(Default)]
struct Woken {
    configs: Arc<Notify>,
    jobs: Arc<Notify>,
    hooks: Arc<Notify>,
    hook_jobs: Arc<Notify>,
    locks: Arc<Notify>,
    pool_marks: Arc<Notify>,
    windows: Arc<Notify>,
    versions: Arc<Notify>,
    drains: Arc<Notify>,
    config_notifications: Arc<Notify>,
    job_notifications: Arc<Notify>,
}

impl Woken {
    fn by(&self) -> WokenBy {
        let Self {
            configs,
            jobs,
            hooks,
            hook_jobs,
            locks,
            pool_marks,
            windows,
            versions,
            drains,
            config_notifications,
            job_notifications,
        } = self;
        WokenBy {
            configs: Wakers::of([configs, windows, config_notifications]),
            jobs: Wakers::of([
                jobs,
                configs,
                windows,
                hook_jobs,
                locks,
                pool_marks,
                job_notifications,
            ]),
            hooks: Wakers::of([jobs, hooks]),
            hook_jobs: Wakers::of([jobs, hook_jobs]),
            windows: Wakers::of([configs, windows, jobs]),
            managed: Wakers::of([versions]),
            upstream: Wakers::of([configs, versions, jobs, locks]),
            pools: Wakers::of([jobs, pool_marks]),
            drains: Wakers::of([drains]),
            nodes: Wakers::of([drains]),
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
        let (presence, discovery) = presence(
            context.client.clone(),
            format!("{GROUP}/v1beta1"),
            watches::kinds(&settings),
        );
        let woken = Woken::default();
        let watching = Watching::new(
            &context.client,
            &context.clock,
            &context.namespace,
            &settings,
            &presence,
        );
        let (seen, watches) = watching.start(woken.by());
        let deleted = DeletedPods::register(registry)?;
        metrics::register(registry, seen.clone(), context.clock.clone())?;
        Ok(Self {
            context,
            settings,
            seen,
            watches,
            discovery,
            woken,
            deleted,
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
        let written = Arc::new(Written::default());
        let mut controllers = self.of_configs(&written, shutdown);
        controllers.push(self.of_versions(Arc::clone(&written), shutdown));
        controllers.push(self.of_drains(shutdown));
        if self.settings.is_on(SchedulePart::UpgradeJobs) {
            controllers.extend(self.of_jobs(&written, shutdown));
        }
        join_all(controllers).map(drop)
    }

    fn of_configs(
        &self,
        written: &Arc<Written>,
        shutdown: &CancellationToken,
    ) -> Vec<BoxFuture<'static, ()>> {
        let configs = UpgradeConfigs {
            context: self.context.clone(),
            seen: self.seen.clone(),
            local_zone: self.settings.local_zone.clone(),
            written: Arc::clone(written),
            created: Created::default(),
        };
        let windows = SuspensionWindows {
            context: self.context.clone(),
            seen: self.seen.clone(),
            changed: Changed::default(),
        };
        let notifications = self.notifications::<UpgradeConfig>(written);
        vec![
            self.controller(configs, &self.woken.configs, shutdown),
            self.controller(windows, &self.woken.windows, shutdown),
            self.controller(notifications, &self.woken.config_notifications, shutdown),
        ]
    }

    fn notifications<K>(&self, written: &Arc<Written>) -> Notifications<K> {
        Notifications {
            context: self.context.clone(),
            seen: self.seen.clone(),
            written: Arc::clone(written),
            sent: Mutex::default(),
            failing: Mutex::default(),
            left_alone: Mutex::default(),
            kind: PhantomData,
        }
    }

    fn of_versions(&self, written: Arc<Written>, shutdown: &CancellationToken) -> BoxFuture<'static, ()> {
        let versions = ClusterVersions {
            context: self.context.clone(),
            seen: self.seen.clone(),
            changed: Changed::default(),
            written,
            last_change: Mutex::default(),
        };
        self.controller(versions, &self.woken.versions, shutdown)
    }

    fn of_drains(&self, shutdown: &CancellationToken) -> BoxFuture<'static, ()> {
        let drains = NodeForceDrains {
            context: self.context.clone(),
            seen: self.seen.clone(),
            changed: Changed::default(),
            deleted: self.deleted.clone(),
            recheck: self.settings.drain_interval,
        };
        self.controller(drains, &self.woken.drains, shutdown)
    }

    fn of_jobs(&self, written: &Arc<Written>, shutdown: &CancellationToken) -> [BoxFuture<'static, ()>; 6] {
        let jobs = UpgradeJobs {
            context: self.context.clone(),
            seen: self.seen.clone(),
            written: Arc::clone(written),
            memory: Mutex::default(),
        };
        let hooks = UpgradeJobHooks {
            context: self.context.clone(),
            seen: self.seen.clone(),
            written: Arc::clone(written),
        };
        let hook_jobs = HookJobs {
            context: self.context.clone(),
            seen: self.seen.clone(),
            written: Arc::clone(written),
        };
        let locks = Locks {
            context: self.context.clone(),
            seen: self.seen.clone(),
            written: Arc::clone(written),
            was_there: Mutex::default(),
        };
        let pool_marks = PoolMarks {
            context: self.context.clone(),
            seen: self.seen.clone(),
            written: Arc::clone(written),
        };
        let notifications = self.notifications::<UpgradeJob>(written);
        [
            self.controller(notifications, &self.woken.job_notifications, shutdown),
            self.controller(jobs, &self.woken.jobs, shutdown),
            self.controller(hooks, &self.woken.hooks, shutdown),
            self.controller(hook_jobs, &self.woken.hook_jobs, shutdown),
            self.controller(locks, &self.woken.locks, shutdown),
            self.controller(pool_marks, &self.woken.pool_marks, shutdown),
        ]
    }

    fn controller<R: Reconcile + Send + 'static>(
        &self,
        reconciler: R,
        changed: &Arc<Notify>,
        shutdown: &CancellationToken,
    ) -> BoxFuture<'static, ()> {
        let controller = Controller {
            reconciler,
            changed: Arc::clone(changed),
            clock: self.context.clock.clone(),
            metrics: self.context.metrics.clone(),
        };
        controller.run(shutdown.clone()).boxed()
    }
}
