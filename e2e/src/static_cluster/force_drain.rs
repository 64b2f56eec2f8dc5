//! What a NodeForceDrain does about drains that take too long: nodes, pods and budgets are what is written here, and no kubelet removes
//! what is being deleted.

use anyhow::{bail, ensure};
use drydock_api::names::AGENT_NAMESPACE;
use drydock_api::schedule::NodeForceDrain;
use drydock_runtime::Clock;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{StaticCluster, Watched, until};

const DRAINED: &str = "drained";
const WANTED: &str = "machineconfiguration.openshift.io/desiredDrain";
const DONE: &str = "machineconfiguration.openshift.io/lastAppliedDrain";

/// A cluster with nodes that are drained, and the NodeForceDrain.
pub struct ForceDrains {
    cluster: StaticCluster,
    looks: usize,
}

fn node(name: &str, wanted: &str, done: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "labels": {"node-role.kubernetes.io/worker": ""},
            "annotations": {WANTED: wanted, DONE: done},
        },
    })
}

/// A pod on a node; `more` is merged into its metadata.
fn pod(namespace: &str, name: &str, node: &str, more: &Value) -> Value {
    let mut metadata = json!({"namespace": namespace, "name": name});
    for (key, value) in more.as_object().into_iter().flatten() {
        metadata[key] = value.clone();
    }
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {
            "nodeName": node, "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 300,
            "containers": [{"name": "c", "image": "registry.example/c"}],
        },
    })
}

fn owned(kind: &str, name: &str, uid: Option<String>) -> Value {
    let version = if kind == "Node" { "v1" } else { "apps/v1" };
    json!({"ownerReferences": [{
        "apiVersion": version, "kind": kind, "name": name, "uid": uid.unwrap_or_default(), "controller": true,
    }]})
}

impl ForceDrains {
    /// Writes the cluster and starts the agent.
    ///
    /// # Errors
    /// If the server refuses something.
    pub async fn start(client: Client, clock: Clock) -> anyhow::Result<Self> {
        let watched = Watched::by_sandbox(&client, &clock);
        let cluster = StaticCluster::make(client, clock, watched).await?;
        for name in ["team", "other"] {
            let labels = json!({"team": (name == "team").to_string()});
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
            cluster.apply(namespace).await?;
        }
        let drained = cluster.apply(node(DRAINED, "drain-a", "uncordon-a")).await?;
        // Not drained any more; on its way back; another role.
        cluster.apply(node("done", "drain-a", "drain-a")).await?;
        cluster.apply(node("back", "uncordon-a", "drain-a")).await?;
        cluster.apply(json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"namespace": "team", "name": "db"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
        }))
        .await?;
        let labels = json!({"app": "set"});
        let set = cluster
            .apply(json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"namespace": "team", "name": "set"},
                "spec": {"selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "registry.example/c"}]},
                }},
            }))
            .await?;
        for pod in [
            pod("team", "plain", DRAINED, &json!({})),
            pod("team", "guarded", DRAINED, &json!({"labels": {"app": "db"}})),
            pod(
                "team",
                "hanging",
                DRAINED,
                &json!({"finalizers": ["example.com/hangs"]}),
            ),
            pod("team", "kept", DRAINED, &json!({"labels": {"keep": "true"}})),
            pod("team", "of-set", DRAINED, &owned("DaemonSet", "set", set.uid())),
            pod("team", "static", DRAINED, &owned("Node", DRAINED, drained.uid())),
            pod("other", "elsewhere", DRAINED, &json!({})),
            pod("team", "on-done", "done", &json!({})),
            pod("team", "on-back", "back", &json!({})),
        ] {
            cluster.apply_at_last(&pod).await?;
        }
        let mut drains = Self { cluster, looks: 0 };
        drains.cluster.start_agent();
        drains
            .cluster
            .apply(json!({
                "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "NodeForceDrain",
                "metadata": {"namespace": AGENT_NAMESPACE, "name": "workers"},
                "spec": {
                    "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}},
                    "namespaceSelector": {"matchLabels": {"team": "true"}},
                    "podJQSelector": ".metadata.labels.keep != \"true\"",
                    "nodeDrainGracePeriod": "1h", "podForceDeleteGracePeriod": "2h",
                },
            }))
            .await?;
        Ok(drains)
    }

    async fn object(&self) -> anyhow::Result<NodeForceDrain> {
        let api: Api<NodeForceDrain> = Api::namespaced(self.cluster.client.clone(), AGENT_NAMESPACE);
        Ok(api.get("workers").await?)
    }

    /// Goes to this many minutes after the beginning, and returns when the agent has looked: a witness begins to be drained, and is
    /// recorded.
    async fn look(&mut self, minutes: i64) -> anyhow::Result<()> {
        self.looks += 1;
        self.cluster.advance_to(minutes).await?;
        let drain = format!("drain-{}", self.looks);
        self.cluster.apply(node("witness", &drain, "uncordon-a")).await?;
        until("the agent looks at the drains", async || {
            let status = self.object().await?.status.unwrap_or_default();
            let mut known = status.last_observed_node_drain.into_iter().flatten();
            Ok(known.any(|known| known.drain_id == drain))
        })
        .await
    }

    /// The pods that are being deleted, with the seconds that they still have.
    async fn going(&self) -> anyhow::Result<Vec<String>> {
        let api: Api<Pod> = Api::all(self.cluster.client.clone());
        let pods = api.list(&ListParams::default().limit(100)).await?;
        let mut going: Vec<String> = pods
            .iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_some())
            .map(|pod| {
                let seconds = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
                format!("{} {seconds}", pod.name_any())
            })
            .collect();
        going.sort();
        Ok(going)
    }

    async fn shows(&self, expected: &[&str]) -> anyhow::Result<()> {
        let shown = until("pods are deleted", async || Ok(self.going().await? == expected));
        if shown.await.is_err() {
            bail!(
                "{:?} are being deleted, not {expected:?}: {:#?}",
                self.going().await?,
                self.object().await?.status
            );
        }
        Ok(())
    }

    /// Goes through a drain, from its beginning to its end and a second one.
    ///
    /// # Errors
    /// What is not as it should be.
    pub async fn what_goes_when_and_what_never_does(mut self) -> anyhow::Result<()> {
        self.look(0).await?;
        self.look(59).await?;
        self.shows(&[]).await?;
        // Budgets do not count.
        self.look(61).await?;
        let asked = ["guarded 300", "hanging 300", "plain 300"];
        self.shows(&asked).await?;
        // How long they have been going is counted from the server's time, which stands still here.
        self.look(119).await?;
        self.shows(&asked).await?;
        self.look(121).await?;
        self.shows(&["guarded 1", "hanging 1", "plain 1"]).await?;

        // The kubelet comes back, and the drain ends.
        let pods: Api<Pod> = Api::namespaced(self.cluster.client.clone(), "team");
        for name in ["guarded", "plain"] {
            pods.delete(name, &DeleteParams::default().grace_period(0))
                .await?;
        }
        let free = json!({"metadata": {"finalizers": null}});
        self.cluster.merge(&pods, "hanging", &free).await?;
        pods.delete("hanging", &DeleteParams::default().grace_period(0))
            .await
            .ok();
        let nodes: Api<Node> = Api::all(self.cluster.client.clone());
        let done = json!({"metadata": {"annotations": {DONE: "drain-a"}}});
        self.cluster.merge(&nodes, DRAINED, &done).await?;
        self.look(130).await?;
        let status = self.object().await?.status.unwrap_or_default();
        let known = status.last_observed_node_drain.unwrap_or_default();
        ensure!(
            known.iter().all(|known| known.node_name == "witness"),
            "{known:?}"
        );

        // The same drain, begun again a week later, has its whole time again.
        self.cluster
            .apply_at_last(&pod("team", "new", DRAINED, &json!({})))
            .await?;
        self.look(10_000).await?;
        let again = json!({"metadata": {"annotations": {DONE: "uncordon-a"}}});
        self.cluster.merge(&nodes, DRAINED, &again).await?;
        until("the drain is recorded again", async || {
            let status = self.object().await?.status.unwrap_or_default();
            let mut known = status.last_observed_node_drain.into_iter().flatten();
            Ok(known.any(|known| known.node_name == DRAINED))
        })
        .await?;
        self.look(10_059).await?;
        self.shows(&[]).await?;
        self.look(10_061).await?;
        until("the new pod is deleted", async || {
            Ok(self.going().await?.iter().any(|pod| pod.starts_with("new ")))
        })
        .await
    }
}
