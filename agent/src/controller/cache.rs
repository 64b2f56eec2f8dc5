//! What is watched besides the UpgradeConfig: three objects, each by its name. A watch that fails for longer than a moment makes
//! its object unread, and never keeps the agent from the rest.

use std::future::ready;
use std::sync::Arc;

use drydock_api::names::{CLUSTER_VERSION, WORKER_POOL};
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_engine::configuration::CONFIG_MAP;
use drydock_engine::facts::{self, Fact, ObservedCluster, Unread, Workers};
use drydock_runtime::Clock;
use drydock_runtime::watch_backoff::with_backoff;
use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use crate::watched::{Report, Watched, watched};

/// The watched objects. Cheap to clone.
#[derive(Clone)]
pub(super) struct Cache {
    versions: Watched<ClusterVersion>,
    pools: Watched<MachineConfigPool>,
    configurations: Watched<ConfigMap>,
}

/// Starts to watch one object; `changes` gets an item for each change.
fn follow<K>(
    api: Api<K>,
    name: &str,
    clock: &Clock,
    changes: &mut SelectAll<BoxStream<'static, ()>>,
) -> Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let (watched, mut sink) = watched(clock.clone());
    // A change comes without what changed: the store has that.
    let stream = with_backoff(watcher(api, config)).filter_map(move |event| {
        let report = sink.apply(event);
        ready((report == Report::Changed).then_some(()))
    });
    changes.push(stream.boxed());
    watched
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
            versions: follow(Api::all(client.clone()), CLUSTER_VERSION, clock, &mut changes),
            pools: follow(Api::all(client.clone()), WORKER_POOL, clock, &mut changes),
            configurations: follow(configurations, CONFIG_MAP, clock, &mut changes),
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
