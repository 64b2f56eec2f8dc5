//! The fleet as watches show it, for who looks on without acting.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_objects::{ClusterDetails, Fleet};
use drydock_rollout::{Report, UpgradeKey};
use drydock_runtime::Clock;
use drydock_runtime::admin::Readiness;
use drydock_runtime::tasks::Tasks;
use drydock_runtime::watch_backoff::with_backoff;
use drydock_runtime::watch_doubts::WatchDoubts;
use futures::{Stream, StreamExt};
use jiff::Timestamp;
use kube::runtime::watcher;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use crate::Pace;
use crate::cache::{self, Cache, ReconcileTriggers, Refusals, Watching, follow_upgrades};

/// The fleet as watches show it. Clones share it.
#[derive(Clone)]
pub struct LiveFleet {
    cache: Cache,
    readiness: Readiness,
    triggers: ReconcileTriggers,
    clock: Clock,
    refusals: Refusals,
    doubts: WatchDoubts,
}

/// Why what is seen of a kind is old that has not been listed since the API server was silent.
const DOUBTED: &str =
    "the API server did not answer for a while, and what has changed meanwhile is still being read";

impl LiveFleet {
    /// Starts the watches as `tasks`. Changes are gathered for as long as `pace` says.
    pub fn follow(
        client: &Client,
        clock: &Clock,
        pace: Pace,
        tasks: &mut Tasks,
        shutdown: &CancellationToken,
    ) -> Self {
        let readiness = Readiness::default();
        let triggers = ReconcileTriggers::new(pace);
        let refusals = Refusals::default();
        let doubts = WatchDoubts::default();
        let cache = Cache::new(Fleet::new(false), triggers.clone());
        let watching = Watching {
            client,
            cache: &cache,
            readiness: &readiness,
            health: None,
            refusals: Some(&refusals),
            doubts: Some(&doubts),
            clock,
            shutdown,
        };
        cache::follow(&watching, tasks);
        readiness.expect("upgrades");
        let api: Api<ManagedClustersUpgrade> = Api::all(client.clone());
        let make = move || with_backoff(watcher(api.clone(), watcher::Config::default()));
        let events = doubts.watch("upgrades").events(make);
        let events = follow_upgrades(events, cache.clone(), |_| {});
        let (ready, refused, until) = (readiness.clone(), refusals.clone(), shutdown.clone());
        let by = clock.clone();
        tasks.spawn("upgrades", async move {
            let mut events = std::pin::pin!(events.take_until(until.cancelled_owned()));
            while let Some(event) = events.next().await {
                // An attempt to list says nothing yet.
                if !matches!(event, Ok(watcher::Event::Init)) {
                    refused.saw("upgrades", event.as_ref().err(), by.now());
                }
                if matches!(event, Ok(watcher::Event::InitDone)) {
                    ready.ready("upgrades");
                }
            }
            Ok::<_, std::convert::Infallible>(())
        });
        let (looking, until) = (doubts.clone(), shutdown.clone());
        tasks.spawn("doubted watches", async move {
            until.run_until_cancelled(looking.look_after()).await;
            Ok::<_, std::convert::Infallible>(())
        });
        Self {
            cache,
            readiness,
            triggers,
            clock: clock.clone(),
            refusals,
            doubts,
        }
    }

    /// An upgrade as it was last seen; `None` if there is none of this name, or not all that concerns it has been seen.
    pub fn upgrade(&self, key: &UpgradeKey) -> Option<Arc<ManagedClustersUpgrade>> {
        self.readiness
            .is_ready()
            .then(|| self.cache.fleet().object(key))?
    }

    /// Where an upgrade and each of its clusters is; `None` where [`LiveFleet::upgrade`] is.
    pub fn look(&self, key: &UpgradeKey) -> Option<(Report, Vec<ClusterDetails>)> {
        let now = self.clock.now();
        self.readiness
            .is_ready()
            .then(|| self.cache.fleet().look(key, now))?
    }

    /// Reads the fleet as of now, while no watch changes it; `None` where not all that concerns it has been seen. Who reads must not
    /// change it: what is looked at has to be mutable for what it computes.
    pub fn read<T>(&self, read: impl FnOnce(&mut Fleet, Timestamp) -> T) -> Option<T> {
        let now = self.clock.now();
        self.readiness
            .is_ready()
            .then(|| read(&mut self.cache.fleet(), now))
    }

    /// The kinds of which not all objects have been seen yet.
    pub fn waiting_for(&self) -> Vec<&'static str> {
        self.readiness.waiting_for()
    }

    /// What may not be read, or could not be when it was last tried, and why: the watch goes on trying.
    pub fn refusals(&self) -> BTreeMap<&'static str, String> {
        self.refusals.all()
    }

    /// The API server has not answered somebody: watches may have died without a word, and are begun anew.
    pub fn doubt(&self) {
        self.doubts.doubt();
    }

    /// The kinds whose watches have failed again and again for at least half a minute, or have not listed since the API server did not answer, and
    /// why: what is seen of them is old, until they are read again. Not those that the rest shows without.
    pub fn outdated(&self) -> BTreeMap<&'static str, String> {
        let doubted = self.doubts.doubted().into_iter();
        let doubted = doubted.filter(|part| !self.refusals.leave_out(part));
        let mut outdated: BTreeMap<_, _> = doubted.map(|part| (part, DOUBTED.to_owned())).collect();
        outdated.extend(self.refusals.lasting(self.clock.now()));
        outdated
    }

    /// The clock by which the fleet is looked at.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// An item each time that something about an upgrade has changed, at most once in the time of the pace.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        let some = self.triggers.upgrades().map(|_| ());
        futures::stream::select(some, self.triggers.all())
    }

    /// An item each time that a cluster has changed, also one that no upgrade concerns, at most once in the time of the pace.
    pub fn cluster_changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        self.triggers.clusters()
    }
}
