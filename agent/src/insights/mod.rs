//! Update insights: informers are asked, what they find about the update that is under way is put into UpdateStatus, and what they find
//! about planned ones into UpdatePlanInsights. Decisions are [`drydock_insights`]'s. Nothing is asked of a cluster that does not have
//! these kinds, but now and then whether it has them.

mod authority;
mod built_in;
pub mod cluster_objects;
mod contacts;
mod hook_client;
mod metrics;
mod question;
mod settings;
mod update_informer;
mod update_plan;
mod update_status;
mod watches;
mod write;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use drydock_api::insights::{GROUP, VERSION};
use drydock_insights::cluster;
use drydock_runtime::Clock;
use drydock_runtime::events::Publisher;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use prometheus::Registry;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub use settings::{InsightsPart, InsightsSettings};

use crate::http::Network;
use crate::metrics::Metrics;
use crate::monitoring::Monitoring;
use crate::reconcile::changes::Wakers;
use crate::reconcile::control::{Controller, Reconcile};
use crate::reconcile::presence::{Discovery, Presence, presence};
use crate::reconcile::written::{Changed, Created};
use authority::Authorities;
use cluster_objects::KeptPods;
use contacts::Contacts;
use hook_client::HookClient;
use question::Questioner;
use update_informer::UpdateInformers;
use update_plan::UpdatePlans;
use update_status::UpdateStatuses;
use watches::{Seen, Watching, WokenBy};

/// How many informers are asked at once: so many answers are in memory.
const AT_ONCE: usize = 4;
/// How many of those who did not answer the last time are asked in one pass: each may take half a minute.
const MOST_SLOW: usize = 2 * AT_ONCE;
/// How often informers are asked while the cluster is not updated.
const IDLE: SignedDuration = SignedDuration::from_mins(5);

/// What every controller needs.
#[derive(Clone)]
pub(crate) struct Context {
    pub client: Client,
    pub clock: Clock,
    pub publisher: Publisher,
    pub metrics: Metrics,
    pub network: Network,
    pub monitoring: Arc<Monitoring>,
}

/// The engine, not running yet.
pub(crate) struct Engine {
    context: Context,
    settings: InsightsSettings,
    seen: Seen,
    watches: Vec<BoxFuture<'static, ()>>,
    presence: Presence,
    discovery: Discovery,
    woken: Woken,
}

/// What wakes each controller.
#[derive(Default)]
struct Woken {
    informers: Arc<Notify>,
    status: Arc<Notify>,
    plans: Arc<Notify>,
    /// Whoever is asking about a plan.
    asking: Arc<Notify>,
}

impl Woken {
    fn by(&self) -> WokenBy {
        let Self {
            informers,
            status,
            plans,
            asking,
        } = self;
        WokenBy {
            informers: Wakers::of([informers, status, plans]),
            status: Wakers::of([status]),
            plans: Wakers::of([plans, asking]),
            parts: Wakers::of([plans]),
            cluster: Wakers::of([informers, status, plans]),
            pools: Wakers::of([status]),
        }
    }
}

impl Engine {
    /// Prepares the engine.
    ///
    /// # Errors
    /// If a metric of its is registered already.
    pub fn new(
        context: Context,
        settings: InsightsSettings,
        registry: &Registry,
    ) -> Result<Self, prometheus::Error> {
        let version = format!("{GROUP}/{VERSION}");
        let (presence, discovery) = presence(context.client.clone(), version, watches::kinds(&settings));
        let woken = Woken::default();
        let watching = Watching {
            client: &context.client,
            clock: &context.clock,
            settings: &settings,
            presence: &presence,
            watches: Vec::new(),
        };
        let (seen, watches) = watching.start(woken.by());
        metrics::register(registry, seen.clone())?;
        Ok(Self {
            context,
            settings,
            seen,
            watches,
            presence,
            discovery,
            woken,
        })
    }

    /// Runs until `shutdown`, then lets reconciles under way finish.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let controllers = self.controllers(&shutdown);
        if controllers.is_empty() {
            shutdown.cancelled().await;
            return Ok(());
        }
        tokio::select! {
            biased;
            _ended = join_all(controllers) => {}
            () = self.discovery.run() => {}
            _ended = join_all(self.watches) => {}
        }
        Ok(())
    }

    fn controllers(&self, shutdown: &CancellationToken) -> Vec<BoxFuture<'static, ()>> {
        let hooks = Arc::new(HookClient::new(
            self.context.network.clone(),
            Authorities {
                client: self.context.client.clone(),
                service_authority: self.settings.service_authority.clone(),
            },
        ));
        let contacts = Contacts::new(Wakers::of([&self.woken.informers]));
        let questioner = Questioner {
            context: self.context.clone(),
            hooks: Arc::clone(&hooks),
            contacts: contacts.clone(),
        };
        let mut controllers = Vec::new();
        if self.settings.is_on(InsightsPart::UpdateInformers) {
            let informers = UpdateInformers {
                context: self.context.clone(),
                seen: self.seen.clone(),
                hooks,
                contacts,
                changed: Changed::default(),
                woken: Arc::clone(&self.woken.informers),
            };
            controllers.push(informers.run(shutdown.clone()).boxed());
        }
        if self.settings.is_on(InsightsPart::UpdateStatus) {
            let status = UpdateStatuses {
                context: self.context.clone(),
                seen: self.seen.clone(),
                presence: self.presence.clone(),
                questioner: questioner.clone(),
                kept: KeptPods::default(),
                has_built_in: self.settings.is_on(InsightsPart::BuiltInInformers),
                changed: Changed::default(),
                shutdown: shutdown.clone(),
                due: Mutex::default(),
                workers: Mutex::default(),
            };
            controllers.push(self.controller(status, &self.woken.status, shutdown));
        }
        if self.settings.is_on(InsightsPart::UpdatePlans) {
            let plans = UpdatePlans {
                context: self.context.clone(),
                seen: self.seen.clone(),
                questioner,
                kept: KeptPods::default(),
                has_built_in: self.settings.is_on(InsightsPart::BuiltInInformers),
                changed: Changed::default(),
                parts: Changed::default(),
                created: Created::default(),
                plans_changed: Arc::clone(&self.woken.asking),
                shutdown: shutdown.clone(),
            };
            controllers.push(self.controller(plans, &self.woken.plans, shutdown));
        }
        controllers
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

/// Is an update under way, as far as is seen?
fn is_updating(seen: &Seen, now: Timestamp) -> bool {
    let control_plane = seen
        .cluster
        .object()
        .map(|cluster| cluster::control_plane(&cluster, now));
    let is_pending =
        control_plane.is_some_and(|progress| progress.is_ok_and(|progress| !progress.is_reconciled));
    is_pending || !seen.pools.objects().iter().all(|pool| cluster::is_settled(pool))
}

#[cfg(test)]
mod tests;
