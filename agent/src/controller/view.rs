//! What is watched besides the UpgradeConfig: three objects, each by its name.

use std::sync::Arc;

use drydock_api::names::{CLUSTER_VERSION, WORKER_POOL};
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_runtime::patience::patient;
use futures::future::{BoxFuture, Shared};
use futures::stream::{BoxStream, SelectAll};
use futures::{FutureExt, Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::reflector::Store;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use crate::configuration::CONFIG_MAP;

/// The watched objects. Cheap to clone.
#[derive(Clone)]
pub(super) struct View {
    versions: Store<ClusterVersion>,
    pools: Store<MachineConfigPool>,
    configurations: Store<ConfigMap>,
    ready: Shared<BoxFuture<'static, ()>>,
}

impl View {
    /// Starts to watch; the stream has an item for each change, and has to be polled.
    pub fn follow(client: &Client, namespace: &str) -> (Self, SelectAll<BoxStream<'static, ()>>) {
        let mut changes = SelectAll::new();
        let versions = follow(Api::all(client.clone()), CLUSTER_VERSION, &mut changes);
        let pools = follow(Api::all(client.clone()), WORKER_POOL, &mut changes);
        let configurations = follow(
            Api::namespaced(client.clone(), namespace),
            CONFIG_MAP,
            &mut changes,
        );
        // A store wakes only the one who asked last.
        let ready = all_ready(versions.clone(), pools.clone(), configurations.clone());
        let view = Self {
            versions,
            pools,
            configurations,
            ready: ready.boxed().shared(),
        };
        (view, changes)
    }

    /// Waits until all three have been looked for.
    pub async fn wait_until_ready(&self) {
        self.ready.clone().await;
    }

    /// ClusterVersion `version`.
    pub fn version(&self) -> Option<Arc<ClusterVersion>> {
        self.versions.state().into_iter().next()
    }

    /// The pool of the workers.
    pub fn workers(&self) -> Option<Arc<MachineConfigPool>> {
        self.pools.state().into_iter().next()
    }

    /// The agent's ConfigMap.
    pub fn configuration(&self) -> Option<Arc<ConfigMap>> {
        self.configurations.state().into_iter().next()
    }
}

async fn all_ready(
    versions: Store<ClusterVersion>,
    pools: Store<MachineConfigPool>,
    configurations: Store<ConfigMap>,
) {
    // A store is dropped with its watch, which is when the process ends.
    let _ended = versions.wait_until_ready().await;
    let _ended = pools.wait_until_ready().await;
    let _ended = configurations.wait_until_ready().await;
}

fn follow<K>(api: Api<K>, name: &str, changes: &mut SelectAll<BoxStream<'static, ()>>) -> Store<K>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    let (reader, writer) = reflector::store();
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let stream = patient(watcher(api, config))
        .modify(|object| object.managed_fields_mut().clear())
        .reflect(writer)
        .touched_objects();
    changes.push(quiet(stream).boxed());
    reader
}

/// A change, without what changed: the stores have that. Failed watches are tried again by themselves.
fn quiet<K>(stream: impl Stream<Item = watcher::Result<K>>) -> impl Stream<Item = ()> {
    stream.filter_map(|change| async move {
        match change {
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

    use drydock_runtime::Clock;
    use drydock_runtime::client::{RequestMetrics, from_service};
    use drydock_sandbox::bed::spoke_types;
    use drydock_sandbox::server::{ApiServer, ServerSettings};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn everyone_who_waits_is_woken() {
        let types = spoke_types().unwrap();
        let server = ApiServer::new(ServerSettings::new("dev1", Clock::system(), 1, types));
        let metrics = RequestMetrics::register(&prometheus::Registry::new()).unwrap();
        let client = from_service(server.service("agent"), "default", &metrics);
        let (view, mut changes) = View::follow(&client, "default");
        let waiters = [view.clone(), view].map(|view| {
            tokio::spawn(async move {
                view.wait_until_ready().await;
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
