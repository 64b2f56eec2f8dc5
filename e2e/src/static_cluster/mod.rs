//! A cluster that is only its objects: what a program of a cluster would say is written by a scenario, and its time is what
//! the scenario says it is. The agent on it is real, and so may be its API server, its Prometheus and its Alertmanager.

pub mod drains;
pub mod force_drain;
pub mod silences;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use drydock_agent::{EndpointConfig, Network};
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::upgradeconfig::{UpgradeCondition, UpgradeConfig, UpgradeHistory};
use drydock_runtime::Clock;
use drydock_sandbox::test_env::{ApiEndpoint, Outside};
use jiff::{SignedDuration, Timestamp};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client, Resource};
use openshift_sandbox::monitoring::Monitoring;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::manifests;
use crate::monitoring::{RealMonitoring, comments_and_states, last_end, listed_by_sandbox};

const MONITORING: &str = "monitoring.example";

/// What watches the cluster.
pub enum Watched {
    /// The sandbox's stand-ins.
    BySandbox(Monitoring),
    /// The real programs.
    ByReal(Box<RealMonitoring>),
}

impl Watched {
    /// By the sandbox's stand-ins, in virtual time.
    pub fn by_sandbox(client: &Client, clock: &Clock) -> Self {
        let access = ApiEndpoint::Remote(client.clone()).access("prometheus");
        Self::BySandbox(Monitoring::new("still", access, clock.clone()))
    }

    fn network(&self) -> Network {
        match self {
            Self::BySandbox(monitoring) => {
                Network::in_process(Outside::default().with(MONITORING, monitoring.router()))
            }
            Self::ByReal(_) => Network::default(),
        }
    }

    fn places(&self) -> EndpointConfig {
        match self {
            Self::BySandbox(_) => EndpointConfig::At {
                prometheus: format!("https://{MONITORING}/prometheus"),
                alertmanager: format!("https://{MONITORING}/alertmanager"),
                authority: None,
                token: None,
            },
            Self::ByReal(monitoring) => monitoring.places.clone(),
        }
    }

    /// What Alertmanager lists.
    async fn listed(&self) -> anyhow::Result<bytes::Bytes> {
        match self {
            Self::BySandbox(monitoring) => listed_by_sandbox(monitoring).await,
            Self::ByReal(monitoring) => monitoring.listed().await,
        }
    }
}

/// The cluster, and the agent on it once that is started.
pub struct StaticCluster {
    client: Client,
    clock: Clock,
    ahead: Arc<AtomicI64>,
    began: Timestamp,
    watched: Watched,
    registry: prometheus::Registry,
    agent: JoinSet<Result<(), drydock_agent::Error>>,
}

impl StaticCluster {
    /// Writes a cluster on 4.14.9 that is offered 4.14.12, with three workers.
    ///
    /// # Errors
    /// If the server refuses something.
    pub async fn make(client: Client, clock: Clock, watched: Watched) -> anyhow::Result<Self> {
        let ahead = Arc::new(AtomicI64::new(0));
        let clock = clock.skewed(Arc::clone(&ahead));
        let cluster = Self {
            began: clock.now(),
            client,
            clock,
            ahead,
            watched,
            registry: prometheus::Registry::new(),
            agent: JoinSet::new(),
        };
        cluster.namespace(AGENT_NAMESPACE).await?;
        let version = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
            "spec": {"clusterID": "11111111-2222-3333-4444-555555555555", "channel": "stable-4.14"},
        });
        let pool = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "worker"}, "spec": {},
        });
        cluster.apply(version).await?;
        cluster.apply(pool).await?;
        cluster.run(&["4.14.9"]).await?;
        cluster.update_workers(3).await?;
        Ok(cluster)
    }

    async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        self.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
            .await?;
        Ok(())
    }

    async fn apply(&self, object: Value) -> anyhow::Result<DynamicObject> {
        manifests::apply(&self.client, &serde_json::from_value(object)?).await
    }

    /// Applies an object for as long as the server refuses it: pods need the account of their namespace, which a
    /// controller makes, and that may take minutes to begin on a busy machine.
    async fn apply_at_last(&self, object: &Value) -> anyhow::Result<()> {
        for _ in 0..3_000 {
            match self.apply(object.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) => tracing::debug!(%error, "refused"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        self.apply(object.clone()).await.map(|_| ())
    }

    async fn merge<K>(&self, api: &Api<K>, name: &str, patch: &Value) -> anyhow::Result<()>
    where
        K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// The cluster runs the first of these versions, and has run the others.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn run(&self, versions: &[&str]) -> anyhow::Result<()> {
        let release = |version: &str| json!({"version": version, "image": format!("quay.io/x/y:{version}")});
        let history: Vec<Value> = versions
            .iter()
            .map(|version| {
                json!({
                    "version": version, "image": format!("quay.io/x/y:{version}"), "state": "Completed",
                    "verified": true, "startedTime": self.began.to_string(),
                    "completionTime": self.began.to_string(),
                })
            })
            .collect();
        let status = Patch::Merge(json!({"status": {
            "desired": release(versions[0]), "history": history, "observedGeneration": 1, "versionHash": "x",
            "availableUpdates": [release("4.14.12")],
        }}));
        let api: Api<ClusterVersion> = Api::all(self.client.clone());
        api.patch_status("version", &PatchParams::default(), &status)
            .await?;
        Ok(())
    }

    /// This many of the three workers are updated.
    async fn update_workers(&self, updated: i64) -> anyhow::Result<()> {
        let status = Patch::Merge(json!({"status": {
            "machineCount": 3, "updatedMachineCount": updated, "readyMachineCount": updated,
            "unavailableMachineCount": i64::from(updated < 3), "degradedMachineCount": 0, "observedGeneration": 1,
            "configuration": {},
        }}));
        let api: Api<MachineConfigPool> = Api::all(self.client.clone());
        api.patch_status("worker", &PatchParams::default(), &status)
            .await?;
        Ok(())
    }

    /// Starts an agent, which knows nothing of another before it.
    pub fn start_agent(&mut self) {
        self.registry = prometheus::Registry::new();
        let settings = drydock_agent::Settings {
            network: self.watched.network(),
            monitoring: self.watched.places(),
            registry: self.registry.clone(),
            ..drydock_agent::Settings::default()
        };
        let (client, clock) = (self.client.clone(), self.clock.clone());
        self.agent.spawn(drydock_agent::run(
            settings,
            client,
            clock,
            CancellationToken::new(),
        ));
    }

    /// Ends the agent in the middle of whatever it is doing.
    pub async fn kill_agent(&mut self) {
        self.agent.shutdown().await;
    }

    /// Writes the agent's configuration.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn configure(&self, yaml: &str) -> anyhow::Result<()> {
        let name = "managed-upgrade-operator-config";
        self.apply(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": AGENT_NAMESPACE, "name": name},
            "data": {"config.yaml": yaml},
        }))
        .await?;
        Ok(())
    }

    /// Asks for an upgrade, or for another.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn ask(&self, version: &str, channel: &str) -> anyhow::Result<()> {
        self.apply(json!({
            "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
            "metadata": {"namespace": AGENT_NAMESPACE, "name": UPGRADE_CONFIG},
            "spec": {
                "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 60,
                "desired": {"version": version, "channel": channel},
            },
        }))
        .await?;
        Ok(())
    }

    /// Goes to this many minutes after the beginning, and lets the agent look.
    async fn advance_to(&self, minutes: i64) -> anyhow::Result<()> {
        let to = self.began + SignedDuration::from_mins(minutes);
        let more = to.duration_since(self.clock.now()).as_millis();
        self.ahead.fetch_add(i64::try_from(more)?, Ordering::Relaxed);
        let pools: Api<MachineConfigPool> = Api::all(self.client.clone());
        let touched = json!({"metadata": {"annotations": {"looked-at-minute": minutes.to_string()}}});
        self.merge(&pools, "worker", &touched).await
    }

    async fn entry(&self) -> anyhow::Result<UpgradeHistory> {
        let api: Api<UpgradeConfig> = Api::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let status = api.get(UPGRADE_CONFIG).await?.status.unwrap_or_default();
        let newest = status.history.unwrap_or_default().into_iter().next();
        Ok(newest.unwrap_or_default())
    }

    /// Whether the agent takes a node for one that is being drained.
    pub(crate) async fn is_drained(&self, node: &str) -> anyhow::Result<bool> {
        let api: Api<UpgradeConfig> = Api::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let status = api.get(UPGRADE_CONFIG).await?.status.unwrap_or_default();
        Ok(status.drains.iter().flatten().any(|drain| drain.node == node))
    }

    /// Waits until a condition is as `is_so` says.
    ///
    /// # Errors
    /// If it does not come to it within a minute.
    pub async fn until_condition(
        &self,
        type_: &str,
        is_so: impl Fn(&UpgradeCondition) -> bool,
    ) -> anyhow::Result<()> {
        let waited = until(type_, async || {
            let conditions = self.entry().await?.conditions.unwrap_or_default();
            let mut conditions = conditions.iter();
            Ok(conditions.any(|condition| condition.type_ == type_ && is_so(condition)))
        });
        if let Err(error) = waited.await {
            bail!("{error}: {:#?}", self.entry().await?);
        }
        Ok(())
    }

    /// Comments of the silences, each with whether it is over.
    async fn silences(&self) -> anyhow::Result<Vec<(String, bool)>> {
        let silences = comments_and_states(&self.watched.listed().await?)?;
        let over = |(comment, state): (String, String)| (comment, state == "expired");
        Ok(silences.into_iter().map(over).collect())
    }

    async fn last_end(&self) -> anyhow::Result<Timestamp> {
        last_end(&self.watched.listed().await?)
    }

    /// The agent's metrics, as they are scraped.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn metrics(&self) -> anyhow::Result<String> {
        let text = prometheus::TextEncoder::new().encode_to_string(&self.registry.gather());
        text.context("writing metrics")
    }
}

/// Waits until something is so, for a minute.
///
/// # Errors
/// If it does not come to it, or cannot be found out.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    for _ in 0..600 {
        if is_so().await? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("it does not come to this: {what}")
}
