//! What the agent does about drains that do not end: nodes, pods and budgets are what is written here.

use anyhow::{Context, bail, ensure};
use drydock_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::{StaticCluster, Watched, until};

/// The node whose cordon comes and goes to show that the agent has looked.
const WITNESS: &str = "witness";
const DRAINED: &str = "drained";

/// A cluster with its control plane done and its workers being drained.
pub struct Drains {
    cluster: StaticCluster,
    is_cordoned: bool,
}

fn cordon(since: Timestamp) -> Value {
    let taint = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": since.to_string()});
    json!({"unschedulable": true, "taints": [taint]})
}

fn node(name: &str, role: &str, state: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "labels": {format!("node-role.kubernetes.io/{role}"): ""},
            "annotations": {"machineconfiguration.openshift.io/state": state},
        },
        "spec": spec,
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
            "nodeName": node, "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "registry.example/c"}],
        },
    })
}

fn daemon_set() -> Value {
    let labels = json!({"app": "set"});
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"namespace": "team", "name": "set"},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "registry.example/c"}]},
        }},
    })
}

fn objects(began: Timestamp) -> Vec<Value> {
    let cordoned = cordon(began);
    let database = json!({"labels": {"app": "db"}});
    let hanging = |mut metadata: Value| {
        metadata["finalizers"] = json!(["example.com/hangs"]);
        metadata
    };
    vec![
        node(DRAINED, "worker", "Working", &cordoned),
        node("by-hand", "worker", "Done", &cordoned),
        node("control", "master", "Working", &cordoned),
        node(WITNESS, "worker", "Working", &json!({})),
        pod("team", "plain", DRAINED, &json!({})),
        pod("team", "hanging", DRAINED, &hanging(json!({}))),
        pod("team", "guarded", DRAINED, &database),
        pod("team", "guarded-hanging", DRAINED, &hanging(database.clone())),
        pod("ignored-by-pattern", "plain", DRAINED, &json!({})),
        pod("team", "elsewhere", "by-hand", &json!({})),
        pod("team", "on-control", "control", &json!({})),
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"namespace": "team", "name": "db"},
            "spec": {"minAvailable": 2, "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}},
        }),
    ]
}

impl Drains {
    /// Writes the cluster and starts the agent.
    ///
    /// # Errors
    /// If the server refuses something.
    pub async fn start(client: Client, clock: Clock) -> anyhow::Result<Self> {
        let watched = Watched::by_sandbox(&client, &clock);
        let mut cluster = StaticCluster::make(client, clock, watched).await?;
        for name in ["team", "ignored-by-pattern"] {
            cluster.namespace(name).await?;
        }
        for object in objects(cluster.began) {
            cluster.apply_at_last(&object).await?;
        }
        let set = cluster.apply(daemon_set()).await?;
        let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "set", "uid": set.uid()});
        let of_set = json!({"ownerReferences": [owner]});
        cluster
            .apply_at_last(&pod("team", "of-set", DRAINED, &of_set))
            .await?;
        let versions: Api<drydock_api::openshift::ClusterVersion> = Api::all(cluster.client.clone());
        let asked = json!({"spec": {"desiredUpdate": {"version": "4.14.12"}}});
        cluster.merge(&versions, "version", &asked).await?;
        cluster.run(&["4.14.12", "4.14.9"]).await?;
        cluster.update_workers(1).await?;
        cluster.start_agent();
        Ok(Self {
            cluster,
            is_cordoned: false,
        })
    }

    async fn configure(&self, disabled: bool) -> anyhow::Result<()> {
        let yaml = format!(
            "nodeDrain: {{timeOut: 45, expectedNodeDrainTime: 8, ignoredNamespacePatterns: ['^ignored-'], \
             disableDrainStrategies: {disabled}}}"
        );
        self.cluster.configure(&yaml).await
    }

    /// Goes to this many minutes after the drains began, and returns when the agent has looked.
    async fn look(&mut self, minutes: i64) -> anyhow::Result<()> {
        self.is_cordoned = !self.is_cordoned;
        let spec = if self.is_cordoned {
            cordon(self.cluster.began - SignedDuration::from_hours(9))
        } else {
            json!({"unschedulable": null, "taints": null})
        };
        let nodes: Api<Node> = Api::all(self.cluster.client.clone());
        self.cluster
            .merge(&nodes, WITNESS, &json!({"spec": spec}))
            .await?;
        self.cluster.advance_to(minutes).await?;
        let looked = until("the agent looks at the drains", async || {
            Ok(self.cluster.is_drained(WITNESS).await? == self.is_cordoned)
        });
        if let Err(error) = looked.await {
            bail!("at minute {minutes}: {error}: {:#?}", self.cluster.entry().await?);
        }
        Ok(())
    }

    fn is_stuck(&self, node: &str) -> anyhow::Result<bool> {
        let series = format!("upgradeoperator_node_drain_timeout{{node_name=\"{node}\"}} 1");
        Ok(self.cluster.metrics()?.lines().any(|line| line == series))
    }

    /// The pods that are left; `~` marks those that are being deleted, `!` those with finalizers.
    async fn pods(&self) -> anyhow::Result<Vec<String>> {
        let api: Api<Pod> = Api::all(self.cluster.client.clone());
        let mut pods: Vec<String> = Vec::new();
        for pod in api.list(&kube::api::ListParams::default().limit(100)).await? {
            let going = if pod.metadata.deletion_timestamp.is_some() {
                "~"
            } else {
                ""
            };
            let blocked = if pod.finalizers().is_empty() { "" } else { "!" };
            pods.push(format!("{}{going}{blocked}", pod.name_any()));
        }
        pods.sort();
        Ok(pods)
    }

    /// Waits until these pods are left, beside those that are never touched: a pass writes its status before it acts.
    async fn comes_to(&self, expected: &str) -> anyhow::Result<()> {
        let never = ["elsewhere", "of-set", "on-control", "plain"];
        let mut all: Vec<&str> = expected.split_whitespace().chain(never).collect();
        all.sort_unstable();
        let reached = until("the pods are as expected", async || Ok(self.pods().await? == all));
        if let Err(error) = reached.await {
            bail!("{error}: there are {:?}, not {all:?}", self.pods().await?);
        }
        Ok(())
    }

    /// Looks again a minute later, when the pass before is over, and demands that all pods are left.
    async fn has_touched_none(&mut self, minutes: i64, all: &str) -> anyhow::Result<()> {
        self.look(minutes + 1).await?;
        self.comes_to(all).await
    }

    async fn is_notified(&self, event: &str) -> anyhow::Result<bool> {
        let raised = self.cluster.entry().await?.notifications.unwrap_or_default();
        Ok(raised.iter().any(|raised| raised.event == event))
    }

    /// What kube-controller-manager makes of the budget.
    ///
    /// # Errors
    /// If it does not come to see both pods.
    pub async fn budget_is_counted(&self) -> anyhow::Result<()> {
        let api: Api<PodDisruptionBudget> = Api::namespaced(self.cluster.client.clone(), "team");
        until("the budget counts its pods", async || {
            let status = api.get("db").await?.status.unwrap_or_default();
            Ok(status.expected_pods == 2 && status.disruptions_allowed == 0)
        })
        .await
    }

    /// Goes through the drains, from their beginning to their end.
    ///
    /// # Errors
    /// What is not as it should be.
    pub async fn what_goes_when_and_what_never_does(mut self) -> anyhow::Result<()> {
        let all = "plain hanging! guarded guarded-hanging!";
        self.configure(true).await?;
        self.cluster.ask("4.14.12", "stable-4.14").await?;
        // The first look is taken with the first pass.
        self.cluster
            .until_condition("WorkerNodesUpgraded", |_| true)
            .await?;
        self.look(40).await?;
        self.has_touched_none(40, all).await?;
        ensure!(!self.is_stuck(DRAINED)?);
        self.look(49).await.context("with the strategies disabled")?;
        self.has_touched_none(49, all).await?;
        ensure!(self.is_stuck(DRAINED)?, "it is measured only");
        self.configure(false).await?;
        // DELETE: pods without a budget.
        self.look(52).await?;
        self.comes_to("plain~ hanging~! guarded guarded-hanging!").await?;
        ensure!(!self.is_stuck(DRAINED)?, "what applies has not had its time");
        // POD-STUCK-TERMINATING and DEFAULT-FINALIZER: what hangs in its deletion.
        self.look(54).await?;
        self.comes_to("hanging~ guarded guarded-hanging!").await?;
        self.look(56).await?;
        self.comes_to("guarded guarded-hanging!").await?;
        ensure!(!self.is_notified("StateDelayed").await?);
        // PDB-DELETE: the budget's time is over; it is notified.
        self.look(69).await?;
        self.comes_to("guarded~ guarded-hanging~!").await?;
        ensure!(self.is_notified("StateDelayed").await?);
        // PDB-FINALIZER.
        self.look(71).await?;
        self.comes_to("guarded-hanging~").await?;
        self.look(73).await?;
        self.comes_to("").await?;
        self.look(90).await?;
        ensure!(self.is_stuck(DRAINED)?, "all that applies has had its time");
        ensure!(!self.is_stuck("by-hand")? && !self.is_stuck("control")?);
        let nodes: Api<Node> = Api::all(self.cluster.client.clone());
        let free = json!({"spec": {"unschedulable": null, "taints": null}});
        self.cluster.merge(&nodes, DRAINED, &free).await?;
        self.look(92).await?;
        ensure!(!self.is_stuck(DRAINED)?, "it is uncordoned");
        self.comes_to("").await?;
        self.cluster.kill_agent().await;
        Ok(())
    }
}
