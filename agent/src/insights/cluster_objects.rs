//! What the agent's own informers look at, read of a cluster when they are asked and not before: by the agent itself, and by the plugin
//! where there is none.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use drydock_api::Fields;
use drydock_api::fact::{Fact, Unread};
use drydock_api::olm::ClusterServiceVersion;
use drydock_api::openshift::{APIRequestCount, ClusterOperator, ClusterVersion, Etcd, MachineConfigPool};
use drydock_api::prometheus::Alert;
use drydock_insights::built_in::{
    BuiltInFacts, DrainingNode, NodeLoads, Question, blocked_namespaces, draining_nodes, risk_queries,
};
use drydock_runtime::pages::{each_page, list_all, list_all_metadata, list_in_short};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod, PodSpec, PodStatus};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use crate::refusal;

/// How long pods are kept that a budget keeps.
const KEPT: SignedDuration = SignedDuration::from_mins(5);
/// Pods of a page whose requests are added up: they are large, and there are many.
const PODS: u32 = 50;
/// Pods of a page that are kept in short.
const WHOLE_PODS: u32 = 20;
/// APIRequestCounts of a page: each may have hundreds of kilobytes.
const REQUEST_COUNTS: u32 = 10;
/// Nodes of a page.
const NODES: u32 = 100;
/// The one object of etcd's operator.
const ETCD: &str = "cluster";
/// OLM copies a ClusterServiceVersion into each namespace that it is for: only the one that was installed counts.
const NOT_COPIED: &str = "!olm.copiedFrom";

/// The cluster's Prometheus, however it is reached.
pub trait Prometheus: Sync {
    /// The alerts that are pending or fire. `NotAsked` if the cluster has no Prometheus.
    fn alerts(&self) -> impl Future<Output = Fact<Vec<Alert>>> + Send;

    /// Whether a query says 1, and not 0.
    fn holds(&self, query: &str) -> impl Future<Output = Fact<bool>> + Send;
}

/// Reads everything that the agent's own informers need for a question, besides what is already known.
pub async fn read(
    client: &Client,
    cluster: Fact<ClusterVersion>,
    pools: Fact<Vec<MachineConfigPool>>,
    prometheus: &impl Prometheus,
    kept: &KeptPods,
    question: Question<'_>,
    now: Timestamp,
) -> BuiltInFacts {
    let mut facts = BuiltInFacts {
        pools,
        operators: list::<ClusterOperator>(client, ListParams::default()).await,
        budgets: list::<PodDisruptionBudget>(client, ListParams::default()).await,
        nodes: nodes(client).await,
        alerts: prometheus.alerts().await,
        etcd: etcd(client).await,
        ..BuiltInFacts::of(cluster)
    };
    facts.pods = match &facts.budgets {
        Ok(budgets) => kept.pods(client, budgets, now).await,
        Err(why) => Err(why.clone()),
    };
    match question {
        Question::Status => {
            facts.draining = match &facts.nodes {
                Ok(nodes) => draining(client, nodes).await,
                Err(why) => Err(why.clone()),
            };
        }
        Question::Plan(target) => {
            facts.requests = request_counts(client).await;
            facts.loads = loads(client).await;
            facts.installed = installed(client).await;
            if let Ok(cluster) = &facts.cluster {
                facts.risks = risks(prometheus, &risk_queries(cluster, target.version)).await;
            }
        }
    }
    facts
}

async fn risks(prometheus: &impl Prometheus, queries: &[String]) -> BTreeMap<String, Fact<bool>> {
    let mut answers = BTreeMap::new();
    for query in queries {
        answers.insert(query.clone(), prometheus.holds(query).await);
    }
    answers
}

/// The pods of namespaces where a budget lets none be evicted, and when they were read: there is a request for each, and they only say whose
/// pods these are.
#[derive(Debug, Default)]
pub struct KeptPods(Mutex<BTreeMap<String, (Timestamp, Vec<Pod>)>>);

impl KeptPods {
    async fn pods(&self, client: &Client, budgets: &[PodDisruptionBudget], now: Timestamp) -> Fact<Vec<Pod>> {
        let namespaces = blocked_namespaces(budgets);
        let mut pods = Vec::new();
        for namespace in &namespaces {
            if let Some(known) = self.recent(namespace, now) {
                pods.extend(known);
                continue;
            }
            let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
            let listed = self::pods(&api, ListParams::default()).await?;
            self.lock().insert(namespace.clone(), (now, listed.clone()));
            pods.extend(listed);
        }
        self.lock().retain(|namespace, _| namespaces.contains(namespace));
        Ok(pods)
    }

    fn recent(&self, namespace: &str, now: Timestamp) -> Option<Vec<Pod>> {
        let kept = self.lock();
        let (read, pods) = kept.get(namespace)?;
        (now.duration_since(*read).abs() < KEPT).then(|| pods.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (Timestamp, Vec<Pod>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nodes list the images that they have, which nobody looks at, and which are most of what they say.
async fn nodes(client: &Client) -> Fact<Vec<Node>> {
    let in_short = |mut node: Node| {
        node.metadata.managed_fields = None;
        if let Some(status) = &mut node.status {
            status.images = None;
        }
        node
    };
    let api = Api::all(client.clone());
    let listed = list_in_short(&api, ListParams::default(), NODES, in_short).await;
    listed.map_err(|error| unread(&error))
}

async fn draining(client: &Client, nodes: &[Node]) -> Fact<Vec<DrainingNode>> {
    let mut draining = Vec::new();
    for name in draining_nodes(nodes) {
        let on_node = ListParams::default().fields(&format!("spec.nodeName={name}"));
        let pods = pods(&Api::all(client.clone()), on_node).await?;
        draining.push(DrainingNode { name, pods });
    }
    Ok(draining)
}

async fn loads(client: &Client) -> Fact<NodeLoads> {
    let mut loads = NodeLoads::default();
    let add = |pods: Vec<Pod>| pods.iter().for_each(|pod| loads.add(pod));
    let listed = each_page(&Api::all(client.clone()), ListParams::default(), PODS, add).await;
    listed.map_err(|error| unread(&error))?;
    Ok(loads)
}

async fn etcd(client: &Client) -> Fact<Etcd> {
    let api: Api<Etcd> = Api::all(client.clone());
    api.get(ETCD).await.map_err(|error| if_served(&error))
}

/// A cluster without OLM has installed nothing with it.
async fn installed(client: &Client) -> Fact<Vec<PartialObjectMeta<ClusterServiceVersion>>> {
    let api: Api<ClusterServiceVersion> = Api::all(client.clone());
    let listed = list_all_metadata(&api, ListParams::default().labels(NOT_COPIED)).await;
    listed.map_err(|error| if_served(&error))
}

/// How often APIs are used. Who has used each, hour by hour, is most of what they say, and nobody looks at it.
async fn request_counts(client: &Client) -> Fact<Vec<APIRequestCount>> {
    let in_short = |mut count: APIRequestCount| {
        count.metadata.managed_fields = None;
        if let Some(status) = &mut count.status {
            status.other = Fields::default();
        }
        count
    };
    let api = Api::all(client.clone());
    let listed = list_in_short(&api, ListParams::default(), REQUEST_COUNTS, in_short).await;
    listed.map_err(|error| if_served(&error))
}

/// The pods that `parameters` select, of which only that is kept which says whose they are and how they do: the rest is of any size.
async fn pods(api: &Api<Pod>, parameters: ListParams) -> Fact<Vec<Pod>> {
    let listed = list_in_short(api, parameters, WHOLE_PODS, in_short).await;
    listed.map_err(|error| unread(&error))
}

fn in_short(pod: Pod) -> Pod {
    Pod {
        metadata: ObjectMeta {
            managed_fields: None,
            annotations: None,
            ..pod.metadata
        },
        spec: pod.spec.map(|spec| PodSpec {
            node_name: spec.node_name,
            ..PodSpec::default()
        }),
        status: pod.status.map(|status| PodStatus {
            phase: status.phase,
            conditions: status.conditions,
            ..PodStatus::default()
        }),
    }
}

async fn list<K>(client: &Client, parameters: ListParams) -> Fact<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let listed = list_all(&Api::<K>::all(client.clone()), parameters).await;
    listed.map_err(|error| unread(&error))
}

/// What a kind that the cluster does not have says: nothing.
fn if_served(error: &kube::Error) -> Unread {
    match error {
        kube::Error::Api(refusal) if refusal.code == 404 => Unread::NotAsked,
        error => unread(error),
    }
}

fn unread(error: &kube::Error) -> Unread {
    Unread::Failed(refusal::words(error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_pod_is_kept_whose_it_is_and_nothing_of_any_size() {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true});
        let pod = json!({
            "metadata": {
                "name": "web-1", "namespace": "shop", "labels": {"app": "web"}, "ownerReferences": [owner],
                "annotations": {"a": "x".repeat(200_000)}, "managedFields": [{"manager": "m"}],
            },
            "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "x".repeat(200_000)}]},
            "status": {"phase": "Running", "message": "x".repeat(200_000)},
        });
        let kept = serde_json::to_value(in_short(serde_json::from_value(pod).unwrap())).unwrap();
        assert!(kept.to_string().len() < 1000, "{kept}");
        assert_eq!(kept["metadata"]["ownerReferences"][0]["name"], "web");
        assert_eq!(kept["metadata"]["labels"]["app"], "web");
        assert_eq!(
            (&kept["spec"]["nodeName"], &kept["status"]["phase"]),
            (&json!("node-1"), &json!("Running"))
        );
    }
}
