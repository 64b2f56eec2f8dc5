//! What is watched besides the UpgradeConfig: three objects, each by its name.

use std::sync::Arc;

use drydock_api::names::{CLUSTER_VERSION, WORKER_POOL};
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_runtime::patience::patient;
use futures::stream::{BoxStream, SelectAll};
use futures::{Stream, StreamExt};
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
}

impl View {
    /// Starts to watch; the stream has an item for each change, and has to be polled.
    pub fn follow(client: &Client, namespace: &str) -> (Self, SelectAll<BoxStream<'static, ()>>) {
        let mut changes = SelectAll::new();
        let view = Self {
            versions: follow(Api::all(client.clone()), CLUSTER_VERSION, &mut changes),
            pools: follow(Api::all(client.clone()), WORKER_POOL, &mut changes),
            configurations: follow(
                Api::namespaced(client.clone(), namespace),
                CONFIG_MAP,
                &mut changes,
            ),
        };
        (view, changes)
    }

    /// Waits until all three have been looked for.
    pub async fn wait_until_ready(&self) {
        // A store is dropped with its watch, which is when the process ends.
        let _ended = self.versions.wait_until_ready().await;
        let _ended = self.pools.wait_until_ready().await;
        let _ended = self.configurations.wait_until_ready().await;
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
