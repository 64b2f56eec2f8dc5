//! One simulated cluster with the agent on it, and what a user of that cluster does and sees.

use std::time::Duration;

use anyhow::{Context, bail};
use axum::body::Body;
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::upgradeconfig::{UpgradeCondition, UpgradeConfig, UpgradeHistory, UpgradePhase};
use drydock_sandbox::bed::{Bed, BedSettings, Outside};
use http::Request;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::fleet;
use crate::monitoring::comments_and_states;
use crate::yard::Yard;

/// The cluster's name.
pub const NAME: &str = "dev1";

/// The cluster.
pub struct Spoke {
    /// The bed in which it is.
    pub yard: Yard,
    /// Its user.
    pub client: Client,
}

impl Spoke {
    /// Starts the cluster, with settings that `change` changes, and the agent, to which `extend` adds hosts.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn start(
        change: impl FnOnce(&mut BedSettings),
        extend: impl Fn(Outside) -> Outside,
    ) -> anyhow::Result<Self> {
        let mut settings = fleet::three_clusters(4);
        settings.clusters.truncate(1);
        change(&mut settings);
        let yard = Yard::with_outside(settings, extend).await?;
        let client = yard.user_of(NAME)?;
        Ok(Self { yard, client })
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

    /// Comments and states of the cluster's silences, sorted.
    ///
    /// # Errors
    /// If Alertmanager does not answer.
    pub async fn silences(&self) -> anyhow::Result<Vec<(String, String)>> {
        silences(&self.yard.bed).await
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
        let text = self.yard.metrics(NAME)?;
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let line = lines.find(|line| parts.iter().all(|part| line.contains(part)));
        Ok(line.and_then(|line| line.rsplit(' ').next()?.parse().ok()))
    }
}

/// Comments and states of the silences of the cluster of a bed, sorted.
///
/// # Errors
/// If Alertmanager does not answer.
pub async fn silences(bed: &Bed) -> anyhow::Result<Vec<(String, String)>> {
    let monitoring = bed.monitoring(NAME).context("no monitoring")?;
    let request = Request::get("/api/v2/silences").body(Body::empty())?;
    let answer = monitoring.alertmanager().oneshot(request).await?;
    comments_and_states(&answer.into_body().collect().await?.to_bytes())
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
