//! What the agent does about drains that do not end (agent 7), on a cluster that is only its objects: nodes, pods and budgets
//! are what is written here, no program of a cluster runs, and its time is what this scenario says it is. The same on the
//! sandbox and on a real API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use drydock_agent::{Network, Places};
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::openshift::MachineConfigPool;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeHistory};
use drydock_runtime::Clock;
use drydock_sandbox::bed::{Outside, Place};
use drydock_sandbox::monitoring::Monitoring;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::manifests;

const MONITORING: &str = "monitoring.example";
/// The node whose cordon comes and goes to show that the agent has looked.
const WITNESS: &str = "witness";
const DRAINED: &str = "drained";

/// The cluster and the agent on it.
pub struct StillCluster {
    client: Client,
    ahead: Arc<AtomicI64>,
    clock: Clock,
    began: Timestamp,
    registry: prometheus::Registry,
    agent: JoinHandle<Result<(), drydock_agent::Error>>,
    stop: CancellationToken,
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
        json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {
                "clusterID": "11111111-2222-3333-4444-555555555555", "channel": "stable-4.14",
                "desiredUpdate": {"version": "4.14.12"},
            },
        }),
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "worker"}, "spec": {},
        }),
    ]
}

/// The control plane is done, and of three workers one.
fn statuses() -> [(&'static str, Value); 2] {
    let past = |version: &str| {
        json!({
            "version": version, "image": format!("quay.io/x/y:{version}"), "state": "Completed", "verified": true,
            "startedTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T01:00:00Z",
        })
    };
    let desired = json!({"version": "4.14.12", "image": "quay.io/x/y:4.14.12"});
    let version = json!({"status": {
        "desired": desired, "history": [past("4.14.12"), past("4.14.9")], "observedGeneration": 1,
        "versionHash": "x", "availableUpdates": [],
    }});
    let pool = json!({"status": {
        "machineCount": 3, "updatedMachineCount": 1, "readyMachineCount": 1, "unavailableMachineCount": 1,
        "degradedMachineCount": 0, "observedGeneration": 1, "configuration": {},
    }});
    [("ClusterVersion", version), ("MachineConfigPool", pool)]
}

impl StillCluster {
    /// Writes the cluster's objects and starts the agent.
    ///
    /// # Errors
    /// If the server refuses something.
    pub async fn start(client: Client, clock: Clock) -> anyhow::Result<Self> {
        let ahead = Arc::new(AtomicI64::new(0));
        let clock = clock.skewed(Arc::clone(&ahead));
        let began = clock.now();
        for name in [AGENT_NAMESPACE, "team", "ignored-by-pattern"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            apply(&client, namespace).await?;
        }
        for object in objects(began) {
            // Pods need the account of their namespace, which a controller makes.
            until("the objects can be made", async || {
                let applied = apply(&client, object.clone()).await;
                Ok(applied.is_ok())
            })
            .await?;
        }
        let set = apply(&client, daemon_set()).await?;
        let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "set", "uid": set.uid()});
        let of_set = json!({"ownerReferences": [owner]});
        apply(&client, pod("team", "of-set", DRAINED, &of_set)).await?;
        let as_user = PatchParams::default();
        for (kind, status) in statuses() {
            let status = Patch::Merge(status);
            if kind == "ClusterVersion" {
                let api: Api<drydock_api::openshift::ClusterVersion> = Api::all(client.clone());
                api.patch_status("version", &as_user, &status).await?;
            } else {
                let api: Api<MachineConfigPool> = Api::all(client.clone());
                api.patch_status("worker", &as_user, &status).await?;
            }
        }
        let monitoring = Monitoring::new(
            "still",
            Place::Remote(client.clone()).access("prometheus"),
            clock.clone(),
        );
        let registry = prometheus::Registry::new();
        let settings = drydock_agent::Settings {
            network: Network::in_process(Outside::default().with(MONITORING, monitoring.router())),
            monitoring: Places::At {
                prometheus: format!("https://{MONITORING}/prometheus"),
                alertmanager: format!("https://{MONITORING}/alertmanager"),
                authority: None,
                token: None,
            },
            registry: registry.clone(),
            ..drydock_agent::Settings::default()
        };
        let stop = CancellationToken::new();
        let agent = drydock_agent::run(settings, client.clone(), clock.clone(), stop.clone());
        Ok(Self {
            client,
            ahead,
            began,
            clock,
            registry,
            agent: tokio::spawn(agent),
            stop,
            is_cordoned: false,
        })
    }

    async fn configure(&self, disabled: bool) -> anyhow::Result<()> {
        let text = format!(
            "nodeDrain: {{timeOut: 45, expectedNodeDrainTime: 8, ignoredNamespacePatterns: ['^ignored-'], \
             disableDrainStrategies: {disabled}}}"
        );
        let name = "managed-upgrade-operator-config";
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": AGENT_NAMESPACE, "name": name},
            "data": {"config.yaml": text},
        });
        apply(&self.client, map).await?;
        Ok(())
    }

    async fn ask(&self) -> anyhow::Result<()> {
        let upgrade = json!({
            "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
            "metadata": {"namespace": AGENT_NAMESPACE, "name": UPGRADE_CONFIG},
            "spec": {
                "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 60,
                "desired": {"version": "4.14.12", "channel": "stable-4.14"},
            },
        });
        apply(&self.client, upgrade).await?;
        until("the agent waits for the workers", async || {
            let conditions = self.entry().await?.conditions.unwrap_or_default();
            Ok(conditions
                .iter()
                .any(|condition| condition.type_ == "WorkerNodesUpgraded"))
        })
        .await
    }

    /// Goes to so many minutes after the drains began, and returns when the agent has looked.
    async fn look(&mut self, minutes: i64) -> anyhow::Result<()> {
        self.is_cordoned = !self.is_cordoned;
        let spec = if self.is_cordoned {
            cordon(self.began - SignedDuration::from_hours(9))
        } else {
            json!({"unschedulable": null, "taints": null})
        };
        let nodes: Api<Node> = Api::all(self.client.clone());
        self.merge(&nodes, WITNESS, &json!({"spec": spec})).await?;
        let to = self.began + SignedDuration::from_mins(minutes);
        let more = to.duration_since(self.clock.now()).as_millis();
        self.ahead.fetch_add(i64::try_from(more)?, Ordering::Relaxed);
        let pools: Api<MachineConfigPool> = Api::all(self.client.clone());
        let touched = json!({"metadata": {"annotations": {"looked-at-minute": minutes.to_string()}}});
        self.merge(&pools, "worker", &touched).await?;
        let looked = until("the agent looks at the drains", async || {
            Ok(self.is_stuck(WITNESS)? == self.is_cordoned)
        });
        if let Err(error) = looked.await {
            bail!("at minute {minutes}: {error}: {:#?}", self.entry().await?);
        }
        Ok(())
    }

    async fn merge<K>(&self, api: &Api<K>, name: &str, patch: &Value) -> anyhow::Result<()>
    where
        K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    fn is_stuck(&self, node: &str) -> anyhow::Result<bool> {
        let text = prometheus::TextEncoder::new().encode_to_string(&self.registry.gather())?;
        let series = format!("upgradeoperator_node_drain_timeout{{node_name=\"{node}\"}} 1");
        Ok(text.lines().any(|line| line == series))
    }

    /// The pods that are left; `~` marks those that are being deleted, `!` those with finalizers.
    async fn pods(&self) -> anyhow::Result<Vec<String>> {
        let api: Api<Pod> = Api::all(self.client.clone());
        let mut pods: Vec<String> = Vec::new();
        for pod in api.list(&kube::api::ListParams::default().limit(100)).await? {
            let going = if pod.metadata.deletion_timestamp.is_some() {
                "~"
            } else {
                ""
            };
            let held = if pod.finalizers().is_empty() { "" } else { "!" };
            pods.push(format!("{}{going}{held}", pod.name_any()));
        }
        pods.sort();
        Ok(pods)
    }

    async fn shows(&self, expected: &str) -> anyhow::Result<()> {
        let pods = self.pods().await?;
        // What is never touched, whatever the time.
        let never = ["elsewhere", "of-set", "on-control", "plain"];
        let mut all: Vec<&str> = expected.split_whitespace().chain(never).collect();
        all.sort_unstable();
        ensure!(pods == all, "there are {pods:?}, not {all:?}");
        Ok(())
    }

    async fn entry(&self) -> anyhow::Result<UpgradeHistory> {
        let api: Api<UpgradeConfig> = Api::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let status = api.get(UPGRADE_CONFIG).await?.status.unwrap_or_default();
        let newest = status.history.unwrap_or_default().into_iter().next();
        Ok(newest.unwrap_or_default())
    }

    async fn is_told(&self, event: &str) -> anyhow::Result<bool> {
        let told = self.entry().await?.notifications.unwrap_or_default();
        Ok(told.iter().any(|told| told.event == event))
    }

    /// What kube-controller-manager makes of the budget.
    ///
    /// # Errors
    /// If it does not come to see both pods.
    pub async fn budget_is_counted(&self) -> anyhow::Result<()> {
        let api: Api<PodDisruptionBudget> = Api::namespaced(self.client.clone(), "team");
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
        self.ask().await?;
        self.look(40).await?;
        self.shows(all).await?;
        ensure!(!self.is_stuck(DRAINED)?);
        self.look(50).await.context("with the strategies disabled")?;
        self.shows(all).await?;
        ensure!(self.is_stuck(DRAINED)?, "it is measured only");
        self.configure(false).await?;
        // DELETE: pods without a budget.
        self.look(52).await?;
        self.shows("plain~ hanging~! guarded guarded-hanging!").await?;
        ensure!(!self.is_stuck(DRAINED)?, "what applies has not had its time");
        // POD-STUCK-TERMINATING and DEFAULT-FINALIZER: what hangs in its deletion.
        self.look(54).await?;
        self.shows("hanging~ guarded guarded-hanging!").await?;
        self.look(56).await?;
        self.shows("guarded guarded-hanging!").await?;
        ensure!(!self.is_told("StateDelayed").await?);
        // PDB-DELETE: the budget's time is over; it is told.
        self.look(69).await?;
        self.shows("guarded~ guarded-hanging~!").await?;
        ensure!(self.is_told("StateDelayed").await?);
        // PDB-FINALIZER.
        self.look(71).await?;
        self.shows("guarded-hanging~").await?;
        self.look(73).await?;
        self.shows("").await?;
        self.look(90).await?;
        ensure!(self.is_stuck(DRAINED)?, "all that applies has had its time");
        ensure!(!self.is_stuck("by-hand")? && !self.is_stuck("control")?);
        let nodes: Api<Node> = Api::all(self.client.clone());
        let free = json!({"spec": {"unschedulable": null, "taints": null}});
        self.merge(&nodes, DRAINED, &free).await?;
        self.look(92).await?;
        ensure!(!self.is_stuck(DRAINED)?, "it is uncordoned");
        self.shows("").await?;
        self.stop.cancel();
        Ok(self.agent.await??)
    }
}

async fn apply(client: &Client, object: Value) -> anyhow::Result<DynamicObject> {
    manifests::apply(client, &serde_json::from_value(object)?).await
}

/// Waits until something is so, for a minute.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    for _ in 0..600 {
        if is_so().await? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("it does not come to this: {what}")
}
