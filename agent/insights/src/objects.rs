//! Facts of objects that were written to files: single ones, or lists as `kubectl get -o yaml` writes them, and alerts as Prometheus answers
//! them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use drydock_api::fact::{Fact, Unread};
use drydock_api::openshift::{ClusterVersion, Etcd, MachineConfig};
use drydock_api::prometheus::{Alert, AlertsResponse};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Pod};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::built_in::{BuiltInFacts, DrainingNode, NodeLoads, draining_nodes};
use crate::facts::{ClusterFacts, operator_image};

/// The Deployment of the machine config operator.
const MACHINE_CONFIG_OPERATOR: &str = "machine-config-operator";

/// Why objects say nothing.
#[derive(Debug, thiserror::Error)]
pub enum ObjectsError {
    /// There is no ClusterVersion among them.
    #[error(
        "no cluster version information available - there must be a ClusterVersion, as `oc get clusterversion version -o yaml` writes it"
    )]
    NoClusterVersion,
    /// The ClusterVersion is none.
    #[error("the ClusterVersion is not one: {0}")]
    InvalidClusterVersion(serde_json::Error),
    /// Nobody knows which of two objects is how it is.
    #[error("{kind} {name} is there twice, and not the same: leave one of them out")]
    Ambiguous {
        /// What it is.
        kind: String,
        /// Its name.
        name: String,
    },
}

/// Facts of documents. Objects of kinds that nothing is said of are left out.
///
/// # Errors
/// If there is no ClusterVersion.
pub fn facts(documents: Vec<Value>) -> Result<ClusterFacts, ObjectsError> {
    let mut objects = Objects::of(documents)?;
    let version = objects.cluster_version()?;
    // They are large, and left out of many dumps: that none is there says nothing of the nodes.
    let are_left_out = objects.has("Node") && !objects.has("MachineConfig");
    let configs: Fact<Vec<MachineConfig>> = if are_left_out {
        Err(Unread::Failed("no MachineConfig is among the files".to_owned()))
    } else {
        objects.read("MachineConfig")
    };
    let deployments: Fact<Vec<Deployment>> = objects.read("Deployment");
    Ok(ClusterFacts {
        version,
        operators: objects.read("ClusterOperator"),
        pools: objects.read("MachineConfigPool"),
        nodes: objects.read("Node"),
        configs: configs.map(|configs| configs.iter().collect()),
        operator_image: deployments.map(|deployments| {
            let mut named = deployments
                .iter()
                .filter(|deployment| deployment.metadata.name.as_deref() == Some(MACHINE_CONFIG_OPERATOR));
            named.find_map(operator_image)
        }),
        alerts: objects.take_alerts(),
    })
}

/// What the agent's own informers look at, of documents. A kind that is not among them was not asked for: nobody says that there is nothing
/// of it.
///
/// # Errors
/// If there is no ClusterVersion.
pub fn built_in_facts(documents: Vec<Value>) -> Result<BuiltInFacts, ObjectsError> {
    let mut objects = Objects::of(documents)?;
    let budgets = objects.read_some("PodDisruptionBudget");
    let all_pods: Fact<Vec<Pod>> = objects.read_some("Pod");
    let pods = match (&budgets, &all_pods) {
        // Without pods it is still known which budgets let none be evicted.
        (Ok(_), Err(Unread::NotAsked)) => Ok(Vec::new()),
        (Ok(_), pods) => pods.clone(),
        (Err(why), _) => Err(why.clone()),
    };
    let nodes: Fact<Vec<Node>> = objects.read_some("Node");
    let draining = nodes
        .as_ref()
        .map(|nodes| draining(nodes, all_pods.as_deref().unwrap_or_default()))
        .map_err(Clone::clone);
    let etcds: Fact<Vec<Etcd>> = objects.read_some("Etcd");
    Ok(BuiltInFacts {
        alerts: objects.take_alerts(),
        draining,
        etcd: etcds.and_then(|etcds| etcds.into_iter().next().ok_or(Unread::NotAsked)),
        installed: objects.read_some("ClusterServiceVersion"),
        loads: all_pods.map(|pods| {
            let mut loads = NodeLoads::default();
            pods.iter().for_each(|pod| loads.add(pod));
            loads
        }),
        nodes,
        // Nobody is there to evaluate them.
        risks: BTreeMap::new(),
        cluster: Ok(objects.cluster_version()?),
        operators: objects.read_some("ClusterOperator"),
        pools: objects.read_some("MachineConfigPool"),
        budgets,
        pods,
        requests: objects.read_some("APIRequestCount"),
    })
}

/// The nodes that are being drained, with their pods.
fn draining(nodes: &[Node], pods: &[Pod]) -> Vec<DrainingNode> {
    let of_node = |name: String| {
        let is_of = |pod: &&Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref()) == Some(&name);
        let pods = pods.iter().filter(is_of).cloned().collect();
        DrainingNode { name, pods }
    };
    draining_nodes(nodes).into_iter().map(of_node).collect()
}

/// Objects by their kinds; each once: a folder may have one in a list and alone.
#[derive(Default)]
struct Objects {
    by_kind: BTreeMap<String, Vec<Value>>,
    /// Where the object of a kind, a namespace and a name is among those of its kind.
    places: HashMap<(String, Option<String>, String), usize>,
    /// Answers of one Prometheus or more.
    alerts: Vec<Value>,
}

impl Objects {
    fn of(documents: Vec<Value>) -> Result<Self, ObjectsError> {
        let mut objects = Self::default();
        for document in documents {
            objects.add(document)?;
        }
        Ok(objects)
    }

    fn cluster_version(&mut self) -> Result<ClusterVersion, ObjectsError> {
        let versions = self.take("ClusterVersion");
        let version = versions
            .into_iter()
            .next()
            .ok_or(ObjectsError::NoClusterVersion)?;
        serde_json::from_value(version).map_err(ObjectsError::InvalidClusterVersion)
    }

    fn take_alerts(&mut self) -> Fact<Vec<Alert>> {
        if self.alerts.is_empty() {
            return Err(Unread::NotAsked);
        }
        let answers = std::mem::take(&mut self.alerts).into_iter().map(alerts_of);
        let all: Vec<Vec<Alert>> = answers.collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    fn add(&mut self, mut document: Value) -> Result<(), ObjectsError> {
        let kind = kind_of(&document).to_owned();
        if kind.is_empty() && is_answer_of_prometheus(&document) {
            self.alerts.push(document);
            return Ok(());
        }
        let Some(of_items) = kind.strip_suffix("List") else {
            return self.put(kind, document);
        };
        let Some(Value::Array(items)) = document.get_mut("items").map(Value::take) else {
            return Ok(());
        };
        // A list of one kind without items says that there are none.
        if !of_items.is_empty() {
            self.by_kind.entry(of_items.to_owned()).or_default();
        }
        for item in items {
            // Items of a list of one kind need not say which it is.
            let kind = first(kind_of(&item), of_items).to_owned();
            self.put(kind, item)?;
        }
        Ok(())
    }

    fn put(&mut self, kind: String, object: Value) -> Result<(), ObjectsError> {
        let said = |field: &str| {
            let text = object.pointer(field).and_then(Value::as_str);
            text.map(ToOwned::to_owned)
        };
        let of_kind = self.by_kind.entry(kind.clone()).or_default();
        let Some(name) = said("/metadata/name") else {
            of_kind.push(object);
            return Ok(());
        };
        let place = (kind, said("/metadata/namespace"), name);
        match self.places.entry(place) {
            Entry::Vacant(entry) => {
                entry.insert(of_kind.len());
                of_kind.push(object);
                Ok(())
            }
            Entry::Occupied(entry)
                if of_kind
                    .get(*entry.get())
                    .is_some_and(|known| is_same(known, &object)) =>
            {
                Ok(())
            }
            Entry::Occupied(entry) => {
                let (kind, _, name) = entry.key().clone();
                Err(ObjectsError::Ambiguous { kind, name })
            }
        }
    }

    fn take(&mut self, kind: &str) -> Vec<Value> {
        self.by_kind.remove(kind).unwrap_or_default()
    }

    fn has(&self, kind: &str) -> bool {
        self.by_kind.contains_key(kind)
    }

    fn read_some<K: DeserializeOwned>(&mut self, kind: &str) -> Fact<Vec<K>> {
        if self.has(kind) {
            self.read(kind)
        } else {
            Err(Unread::NotAsked)
        }
    }

    fn read<K: DeserializeOwned>(&mut self, kind: &str) -> Fact<Vec<K>> {
        let objects = self.take(kind).into_iter();
        objects
            .map(serde_json::from_value)
            .collect::<Result<_, _>>()
            .map_err(|error| Unread::Failed(format!("a {kind} is not one: {error}")))
    }
}

/// Are two objects the same, but for what a list leaves out of its items?
fn is_same(one: &Value, other: &Value) -> bool {
    let parts = ["metadata", "spec", "status"];
    parts.iter().all(|part| one.get(part) == other.get(part))
}

/// The alerts of an answer.
fn alerts_of(answer: Value) -> Fact<Vec<Alert>> {
    let answer: AlertsResponse =
        serde_json::from_value(answer).map_err(|error| Unread::Failed(format!("parsing alerts: {error}")))?;
    // Who has cut the alerts out of an answer has left out that it was a success.
    if !matches!(answer.status.as_str(), "" | "success") {
        let why = answer.error.unwrap_or(answer.status);
        return Err(Unread::Failed(format!(
            "the alerts are of an answer that failed: {why}"
        )));
    }
    Ok(answer.data.alerts)
}

/// Is this the answer of Prometheus' API about alerts, or its error?
fn is_answer_of_prometheus(document: &Value) -> bool {
    let is_error = document.get("status").and_then(Value::as_str) == Some("error");
    document.pointer("/data/alerts").is_some() || (is_error && document.get("error").is_some())
}

fn kind_of(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

fn first<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As when a folder has a list of all nodes, and one of them alone.
    #[test]
    fn an_object_that_is_there_twice_counts_once_and_must_be_the_same() {
        let node = |name: &str, label: &str| json!({"kind": "Node", "metadata": {"name": name, "labels": {"a": label}}});
        let read = |label: &str| {
            facts(vec![
                json!({"kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {"clusterID": "c"}}),
                json!({"kind": "NodeList", "items": [node("a", "old"), node("b", "old")]}),
                node("a", label),
            ])
        };
        assert_eq!(read("old").unwrap().nodes.unwrap().len(), 2);
        let refused = read("new").unwrap_err();
        assert!(
            matches!(&refused, ObjectsError::Ambiguous { name, .. } if name == "a"),
            "{refused}"
        );
    }

    #[test]
    fn alerts_of_an_answer_that_failed_are_not_known() {
        let read = |alerts: Value| {
            let version = json!({"kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {"clusterID": "c"}});
            built_in_facts(vec![version, alerts]).unwrap().alerts
        };
        for failed in [
            json!({"status": "error", "errorType": "timeout", "error": "too slow"}),
            json!({"status": "error", "error": "too slow", "data": {"alerts": []}}),
        ] {
            let why = read(failed).unwrap_err().to_string();
            assert!(why.contains("too slow"), "{why}");
        }
        for well in [
            json!({"status": "success", "data": {"alerts": []}}),
            json!({"data": {"alerts": []}}),
        ] {
            assert_eq!(read(well).unwrap(), []);
        }
    }
}
