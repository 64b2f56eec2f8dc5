//! One simulated cluster with the agent on it, and what a user of that cluster does and sees.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, bail};
use drydock_agent::ScheduleSettings;
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::{UpgradeCondition, UpgradeConfig, UpgradeHistory, UpgradePhase};
use drydock_sandbox::test_env::{Outside, TestEnv, TestEnvSettings};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::ClusterResourceScope;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::fleet;
use crate::local_fleet;
use crate::local_fleet::LocalFleet;
use crate::monitoring::{comments_and_states, listed_by_sandbox};

/// The cluster's name.
pub const NAME: &str = "dev1";

/// The cluster.
pub struct Spoke {
    /// The test environment in which it is.
    pub fleet: LocalFleet,
    /// Its user.
    pub client: Client,
}

impl Spoke {
    /// Starts the cluster, with settings that `change` changes, and the agent, to which `extend` adds hosts.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn start(
        change: impl FnOnce(&mut TestEnvSettings),
        extend: impl Fn(Outside) -> Outside + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        Self::scheduled(change, extend, ScheduleSettings::default()).await
    }

    /// The same, with an agent that acts on maintenance schedules like this.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn scheduled(
        change: impl FnOnce(&mut TestEnvSettings),
        extend: impl Fn(Outside) -> Outside + Send + Sync + 'static,
        schedule: ScheduleSettings,
    ) -> anyhow::Result<Self> {
        let mut settings = fleet::three_clusters(4);
        settings.clusters.truncate(1);
        change(&mut settings);
        let fleet = local_fleet::with_schedule(settings, extend, schedule).await?;
        let client = fleet.user_of(NAME)?;
        Ok(Self { fleet, client })
    }

    /// Writes the agent's configuration.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn configure(&self, yaml: &str) -> anyhow::Result<()> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let name = "managed-upgrade-operator-config";
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"config.yaml": yaml},
        });
        maps.patch(name, &PatchParams::apply("user"), &Patch::Apply(map))
            .await?;
        Ok(())
    }

    /// Writes the cluster's pull secret.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn give_pull_secret(&self, auths: &Value) -> anyhow::Result<()> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let as_user = PatchParams::apply("user");
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-config"}});
        namespaces
            .patch("openshift-config", &as_user, &Patch::Apply(namespace))
            .await?;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), "openshift-config");
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret"},
            "data": {".dockerconfigjson": ByteString(auths.to_string().into_bytes())},
        });
        secrets
            .patch("pull-secret", &as_user, &Patch::Apply(secret))
            .await?;
        Ok(())
    }

    /// The UpgradeConfigs.
    pub fn upgrades(&self) -> Api<UpgradeConfig> {
        Api::namespaced(self.client.clone(), AGENT_NAMESPACE)
    }

    /// Asks for the upgrade to 4.14.12 at once, with these further fields of the spec.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn ask(&self, fields: Value) -> anyhow::Result<()> {
        let mut spec = json!({
            "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 60,
            "desired": {"version": "4.14.12", "channel": "stable-4.14"},
        });
        json_merge(&mut spec, fields);
        let object = json!({
            "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
            "metadata": {"name": UPGRADE_CONFIG}, "spec": spec,
        });
        let object: UpgradeConfig = serde_json::from_value(object)?;
        self.upgrades().create(&PostParams::default(), &object).await?;
        Ok(())
    }

    /// Deletes the UpgradeConfig.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn withdraw(&self) -> anyhow::Result<()> {
        self.upgrades()
            .delete(UPGRADE_CONFIG, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// The newest entry of the history.
    ///
    /// # Errors
    /// If there is none.
    pub async fn entry(&self) -> anyhow::Result<UpgradeHistory> {
        let upgrade = self.upgrades().get(UPGRADE_CONFIG).await?;
        let history = upgrade.status.unwrap_or_default().history.unwrap_or_default();
        history
            .into_iter()
            .next()
            .context("the UpgradeConfig has no history yet")
    }

    /// A condition of the newest entry.
    ///
    /// # Errors
    /// If there is none.
    pub async fn condition(&self, type_: &str) -> anyhow::Result<UpgradeCondition> {
        let conditions = self.entry().await?.conditions.unwrap_or_default();
        let mut conditions = conditions.into_iter();
        let found = conditions.find(|condition| condition.type_ == type_);
        found.with_context(|| format!("there is no condition {type_}"))
    }

    /// Waits, up to two days, until the upgrade is in this phase.
    ///
    /// # Errors
    /// If it does not come to it.
    pub async fn until(&self, phase: UpgradePhase) -> anyhow::Result<UpgradeHistory> {
        for _ in 0..2 * 24 * 60 {
            if let Ok(entry) = self.entry().await
                && entry.phase == phase
            {
                return Ok(entry);
            }
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        bail!("the upgrade is never {phase}: {:#?}", self.entry().await)
    }

    /// Waits, up to a day, until the step of this condition is done.
    ///
    /// # Errors
    /// If it does not come to it.
    pub async fn until_done(&self, type_: &str) -> anyhow::Result<UpgradeCondition> {
        for _ in 0..24 * 60 {
            if let Ok(condition) = self.condition(type_).await
                && condition.status == "True"
            {
                return Ok(condition);
            }
            tokio::time::sleep(Duration::from_mins(1)).await;
        }
        bail!("{type_} is never done: {:#?}", self.entry().await)
    }

    /// What a condition of the newest entry says.
    ///
    /// # Errors
    /// If there is no such condition.
    pub async fn message(&self, type_: &str) -> anyhow::Result<String> {
        Ok(self.condition(type_).await?.message.unwrap_or_default())
    }

    /// The states that were notified, in their order, each with its description.
    ///
    /// # Errors
    /// If the UpgradeConfig has no history yet.
    pub async fn notifications(&self) -> anyhow::Result<Vec<(String, String)>> {
        let raised = self.entry().await?.notifications.unwrap_or_default();
        Ok(raised
            .into_iter()
            .map(|raised| (raised.event, raised.description.unwrap_or_default()))
            .collect())
    }

    /// ClusterVersion.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn version(&self) -> anyhow::Result<ClusterVersion> {
        Ok(Api::all(self.client.clone()).get("version").await?)
    }

    /// Merges into an object of the whole cluster, as its user.
    ///
    /// # Errors
    /// If the server refuses.
    pub async fn change<K>(&self, name: &str, patch: &Value) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// Comments and states of the cluster's silences, sorted.
    ///
    /// # Errors
    /// If Alertmanager does not answer.
    pub async fn silences(&self) -> anyhow::Result<Vec<(String, String)>> {
        silences(&self.fleet.env).await
    }

    /// The reasons of the Events, the oldest first.
    ///
    /// # Errors
    /// If they cannot be read.
    pub async fn events(&self) -> anyhow::Result<Vec<String>> {
        let api: Api<Event> = Api::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let mut events = api.list(&ListParams::default()).await?.items;
        events.sort_by_key(|event| event.event_time.clone());
        Ok(events.into_iter().filter_map(|event| event.reason).collect())
    }

    /// The value of the first series of the agent's metrics whose line contains all of `parts`.
    ///
    /// # Errors
    /// If the metrics cannot be read.
    pub fn metric(&self, parts: &[&str]) -> anyhow::Result<Option<f64>> {
        let text = self.fleet.metrics(NAME)?;
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let line = lines.find(|line| parts.iter().all(|part| line.contains(part)));
        Ok(line.and_then(|line| line.rsplit(' ').next()?.parse().ok()))
    }
}

/// Comments and states of the silences of the cluster of a test environment, sorted.
///
/// # Errors
/// If Alertmanager does not answer.
pub async fn silences(env: &TestEnv) -> anyhow::Result<Vec<(String, String)>> {
    let monitoring = env.monitoring(NAME).context("no monitoring")?;
    comments_and_states(&listed_by_sandbox(monitoring).await?)
}

fn json_merge(into: &mut Value, from: Value) {
    match from {
        Value::Object(fields) if into.is_object() => {
            for (key, value) in fields {
                json_merge(&mut into[&key], value);
            }
        }
        value => *into = value,
    }
}
