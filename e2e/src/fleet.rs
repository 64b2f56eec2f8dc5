//! A small fleet for the suites that run the main job: what it consists of, what is asked of it, and how it ended.

use std::time::Duration;

use anyhow::Context;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::ocm::ManifestWork;
use drydock_sandbox::test_env::{ClusterSettings, TestEnvSettings};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::manifests::in_repository;

/// The name of the upgrade, in namespace `default`.
pub const UPGRADE: &str = "mcu-upgrades";

/// Three clusters: dev1 and dev2 have the agent, dev3 has not.
pub fn three_clusters(seed: u64) -> TestEnvSettings {
    let mut settings = TestEnvSettings::demo(3, seed);
    for cluster in &mut settings.clusters {
        cluster.agent = cluster.name != "dev3";
    }
    settings
}

/// The upgrade of the samples for these clusters: dev1 first, then two at a time.
///
/// # Errors
/// If the sample cannot be read.
pub fn upgrade(clusters: &[ClusterSettings]) -> anyhow::Result<ManagedClustersUpgrade> {
    let path = in_repository("manifests/samples/managedclustersupgrade.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut upgrade: ManagedClustersUpgrade =
        serde_saphyr::from_str(&text).with_context(|| format!("parsing {}", path.display()))?;
    let names = clusters.iter().map(|cluster| cluster.name.clone()).collect();
    let selector = upgrade.spec.cluster_selector.as_mut().and_then(|selector| {
        let expressions = selector.match_expressions.as_mut()?;
        expressions.first_mut()
    });
    selector.context("the sample selects by an expression")?.values = Some(names);
    let strategy = upgrade
        .spec
        .upgrade_strategy
        .as_mut()
        .context("the sample has a strategy")?;
    strategy.max_concurrency = Some(2.into());
    Ok(upgrade)
}

/// Access to the upgrades.
pub fn upgrades(hub: &Client) -> Api<ManagedClustersUpgrade> {
    Api::namespaced(hub.clone(), "default")
}

/// Creates the upgrade.
///
/// # Errors
/// If the server refuses it.
pub async fn start(hub: &Client, upgrade: &ManagedClustersUpgrade) -> anyhow::Result<ManagedClustersUpgrade> {
    upgrades(hub)
        .create(&PostParams::default(), upgrade)
        .await
        .context("creating the upgrade")
}

/// Waits until `done` says so about the upgrade; it is looked at once a virtual half minute.
///
/// # Errors
/// If that takes longer than `limit`, in the time of the test environment; the status is in the error.
pub async fn until(
    hub: &Client,
    what: &str,
    limit: Duration,
    done: impl Fn(&ManagedClustersUpgrade) -> bool,
) -> anyhow::Result<ManagedClustersUpgrade> {
    let deadline = Instant::now() + limit;
    loop {
        let upgrade = upgrades(hub).get(UPGRADE).await.context("reading the upgrade")?;
        if done(&upgrade) {
            return Ok(upgrade);
        }
        if Instant::now() >= deadline {
            let works: Vec<Value> = works(hub).await?.iter().map(|work| json!(work.status)).collect();
            let status = json!({"upgrade": upgrade.status, "works": works});
            anyhow::bail!("{what}: not within {limit:?}; {status:#}");
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
}

/// Whether a condition of the upgrade is True.
pub fn is_true(upgrade: &ManagedClustersUpgrade, type_: &str) -> bool {
    let conditions = upgrade
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == type_ && condition.status == "True")
}

/// The label selector of works of stages: all of ours but those by which clusters are asked before they start.
pub fn of_stages() -> String {
    use drydock_api::names::{KIND_LABEL, PRE_CHECKS_KIND};
    format!("{KIND_LABEL},{KIND_LABEL}!={PRE_CHECKS_KIND}")
}

/// All works of the fleet, as `cluster/name`, sorted.
///
/// # Errors
/// If they cannot be listed.
pub async fn works(hub: &Client) -> anyhow::Result<Vec<ManifestWork>> {
    let api: Api<ManifestWork> = Api::all(hub.clone());
    let parameters = ListParams::default().labels(&of_stages());
    let mut works = api.list(&parameters).await.context("listing the works")?.items;
    works.sort_by_key(|work| (work.namespace(), work.name_any()));
    Ok(works)
}

/// Waits until nothing but the records is left of the works: one a cluster.
///
/// # Errors
/// If that takes longer than `limit`, in the time of the test environment.
pub async fn until_tidy(hub: &Client, clusters: usize, limit: Duration) -> anyhow::Result<()> {
    let deadline = Instant::now() + limit;
    loop {
        let left = works(hub).await?;
        if left.len() == clusters {
            return Ok(());
        }
        if Instant::now() >= deadline {
            anyhow::bail!("{} works are left after {limit:?}: {:#}", left.len(), json!(left));
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
}

/// What is left at the end, without what differs from run to run: the conditions' types, status and reasons, the counts,
/// and each work's kind and end.
///
/// # Errors
/// If it cannot be read.
pub async fn end_state(hub: &Client) -> anyhow::Result<Value> {
    let upgrade = upgrades(hub).get(UPGRADE).await.context("reading the upgrade")?;
    let status = upgrade.status.unwrap_or_default();
    let conditions: Vec<Value> = status
        .conditions
        .iter()
        .flatten()
        .map(|condition| json!([condition.type_, condition.status, condition.reason]))
        .collect();
    let works: Vec<Value> = works(hub)
        .await?
        .iter()
        .map(|work| {
            let label = |name: &str| work.labels().get(name).cloned();
            json!([
                work.namespace(),
                label(drydock_api::names::KIND_LABEL),
                label(drydock_api::names::STATE_LABEL)
            ])
        })
        .collect();
    Ok(json!({"conditions": conditions, "phase": status.phase, "progress": status.progress, "works": works}))
}
