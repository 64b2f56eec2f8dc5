//! What is watched besides the UpgradeConfig: three objects, each by its name. A watch that fails for longer than a moment makes
//! its object unread, and never keeps the agent from the rest.

use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::names::{CLUSTER_VERSION, WORKER_POOL};
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_engine::configuration::CONFIG_MAP;
use drydock_engine::facts::{self, Fact, ObservedCluster, Unread, Workers};
use drydock_runtime::Clock;
use drydock_runtime::watch_backoff::with_backoff;
use futures::stream::{BoxStream, SelectAll};
use futures::{Stream, StreamExt};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::Store;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::write;

/// For how long a watch may fail before what it has seen last does not count any more.
const STALE: SignedDuration = SignedDuration::from_mins(1);
/// After how long without a failure a watch counts as healthy: that it resumed is no event.
const WORKS_AGAIN: SignedDuration = SignedDuration::from_mins(2);

/// The watched objects. Cheap to clone.
#[derive(Clone)]
pub(super) struct Cache {
    versions: Watched<ClusterVersion>,
    pools: Watched<MachineConfigPool>,
    configurations: Watched<ConfigMap>,
}

/// One object, and how its watch does.
struct Watched<K: Resource<DynamicType = ()> + 'static> {
    store: Store<K>,
    state: Arc<Mutex<Health>>,
    looked: watch::Receiver<bool>,
}

impl<K: Resource<DynamicType = ()> + Clone + 'static> Clone for Watched<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            state: Arc::clone(&self.state),
            looked: self.looked.clone(),
        }
    }
}

/// How a watch does.
#[derive(Clone, Debug, Default)]
struct Health {
    /// Whether the object has been listed.
    listed: bool,
    /// Since when it fails.
    failing: Option<Failing>,
}

#[derive(Clone, Debug)]
struct Failing {
    since: Timestamp,
    last: Timestamp,
    why: String,
    /// Whether the server says that there is no such kind.
    is_absent: bool,
}

impl Failing {
    /// Whether it fails for long, and still does.
    fn counts(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) > STALE && now.duration_since(self.last) < WORKS_AGAIN
    }
}

impl<K> Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// The object, if there is one.
    fn object(&self) -> Option<Arc<K>> {
        self.store.state().into_iter().next()
    }

    /// The object, or why it is not known.
    fn fact(&self, now: Timestamp) -> Fact<Option<Arc<K>>> {
        let health = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match health.failing {
            Some(failing) if failing.is_absent => Ok(None),
            Some(failing) if !health.listed => Err(Unread::Failed(failing.why)),
            Some(failing) if failing.counts(now) => Err(Unread::Failed(failing.why)),
            _ => Ok(self.object()),
        }
    }

    /// Starts to watch; `changes` gets an item for each change.
    fn follow(
        api: Api<K>,
        name: &str,
        clock: Clock,
        changes: &mut SelectAll<BoxStream<'static, ()>>,
    ) -> Self {
        let (store, writer) = reflector::store();
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        let state: Arc<Mutex<Health>> = Arc::default();
        let (look, looked) = watch::channel(false);
        let noted = Arc::clone(&state);
        let stream = with_backoff(watcher(api, config))
            .modify(|object| object.managed_fields_mut().clear())
            .reflect(writer)
            .inspect(move |event| {
                note(&noted, event, clock.now());
                if matches!(event, Ok(Event::InitDone) | Err(_)) {
                    look.send_replace(true);
                }
            });
        changes.push(quiet(stream).boxed());
        Self { store, state, looked }
    }

    async fn wait_until_looked(&self) {
        // The other side goes with its watch, which is when the process ends.
        let mut looked = self.looked.clone();
        let _ended = looked.wait_for(|looked| *looked).await;
    }
}

fn note<K>(state: &Mutex<Health>, event: &watcher::Result<Event<K>>, now: Timestamp) {
    let mut health = state.lock().unwrap_or_else(PoisonError::into_inner);
    match event {
        // An attempt to list is no answer yet.
        Ok(Event::Init | Event::InitApply(_)) => {}
        Ok(event) => {
            health.listed |= matches!(event, Event::InitDone);
            health.failing = None;
        }
        Err(error) => {
            let before = health
                .failing
                .take()
                .filter(|failing| now.duration_since(failing.last) < WORKS_AGAIN);
            let since = before.map_or(now, |failing| failing.since);
            let (why, is_absent) = words(error);
            health.failing = Some(Failing {
                since,
                last: now,
                why,
                is_absent,
            });
        }
    }
}

/// Why a watch fails, and whether because there is no such kind.
fn words(error: &watcher::Error) -> (String, bool) {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            let is_absent = matches!(error, kube::Error::Api(refusal) if refusal.code == 404);
            (write::words(error), is_absent)
        }
        error => (error.to_string(), false),
    }
}

impl Cache {
    /// Starts to watch; the stream has an item for each change, and has to be polled.
    pub fn follow(
        client: &Client,
        namespace: &str,
        clock: &Clock,
    ) -> (Self, SelectAll<BoxStream<'static, ()>>) {
        let mut changes = SelectAll::new();
        let configurations = Api::namespaced(client.clone(), namespace);
        let cache = Self {
            versions: Watched::follow(
                Api::all(client.clone()),
                CLUSTER_VERSION,
                clock.clone(),
                &mut changes,
            ),
            pools: Watched::follow(Api::all(client.clone()), WORKER_POOL, clock.clone(), &mut changes),
            configurations: Watched::follow(configurations, CONFIG_MAP, clock.clone(), &mut changes),
        };
        (cache, changes)
    }

    /// Waits until all three have been looked for, successfully or not.
    pub async fn wait_until_looked(&self) {
        self.versions.wait_until_looked().await;
        self.pools.wait_until_looked().await;
        self.configurations.wait_until_looked().await;
    }

    /// ClusterVersion `version`, as it was seen last.
    pub fn version(&self) -> Option<Arc<ClusterVersion>> {
        self.versions.object()
    }

    /// What ClusterVersion says.
    pub fn cluster(&self, now: Timestamp) -> Fact<ObservedCluster> {
        match self.versions.fact(now)? {
            Some(version) => Ok(facts::cluster(&version)),
            None => Err(Unread::Failed(
                "the cluster has none: is it OpenShift?".to_owned(),
            )),
        }
    }

    /// The pool of the workers.
    pub fn workers(&self, now: Timestamp) -> Fact<Option<Workers>> {
        let pool = self.pools.fact(now)?;
        Ok(pool.map(|pool| facts::workers(&pool)))
    }

    /// The agent's ConfigMap.
    pub fn configuration(&self, now: Timestamp) -> Fact<Option<Arc<ConfigMap>>> {
        self.configurations.fact(now)
    }
}

/// A change, without what changed: the stores have that. Failed watches are tried again by themselves.
fn quiet<K>(stream: impl Stream<Item = watcher::Result<Event<K>>>) -> impl Stream<Item = ()> {
    stream.filter_map(|change| async move {
        match change {
            // While a list is read, the store still has what was there before.
            Ok(Event::Init | Event::InitApply(_)) => None,
            Ok(_) => Some(()),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::debug!(error, "a watch is tried again");
                None
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use drydock_runtime::client::{RequestMetrics, from_service};
    use kube_sandbox::server::{ApiServer, ServerSettings, Types, read_definitions};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn everyone_who_waits_is_woken() {
        let mut definitions = read_definitions(openshift_sandbox::crds::CLUSTER).unwrap();
        definitions.extend(
            drydock_api::crds()
                .iter()
                .map(|definition| serde_json::json!(definition)),
        );
        let types = Types::with_definition_values(definitions).unwrap();
        let server = ApiServer::new(ServerSettings::new("dev1", Clock::system(), 1, types));
        let metrics = RequestMetrics::register(&prometheus::Registry::new()).unwrap();
        let client = from_service(server.service("agent"), "default", &metrics);
        let (cache, mut changes) = Cache::follow(&client, "default", &Clock::system());
        let waiters = [cache.clone(), cache].map(|cache| {
            tokio::spawn(async move {
                cache.wait_until_looked().await;
            })
        });
        // Both wait before anything is read.
        tokio::task::yield_now().await;
        let all = futures::future::join_all(waiters);
        let all = tokio::time::timeout(Duration::from_mins(1), all);
        tokio::select! {
            ended = all => assert_eq!(ended.unwrap().len(), 2),
            () = async { while changes.next().await.is_some() {} } => panic!("the watches ended"),
        }
    }
}
