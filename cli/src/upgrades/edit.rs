//! `pause`, `resume` and `retry`: one patch each.

use anyhow::{Context, bail};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{RETRY_ANNOTATION, WorkKind};
use drydock_api::ocm::ManifestWork;
use drydock_runtime::Clock;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::arguments::RetryArguments;
use super::fleet::{Row, rows};
use super::hub::{Hub, MANAGER};
use super::table;

/// Pauses an upgrade, or lets it go on.
///
/// # Errors
/// If there is no such upgrade, or the hub refuses.
pub async fn set_paused(hub: &Hub, name: &str, paused: bool) -> anyhow::Result<()> {
    let upgrade = hub.upgrade(name).await?;
    let word = if paused { "paused" } else { "resumed" };
    if upgrade.spec.paused.unwrap_or(false) == paused {
        table::print(&format!("{name} is {word} already"));
        return Ok(());
    }
    patch(hub, name, json!({"spec": {"paused": paused}})).await?;
    table::print(&format!("{name} {word}"));
    Ok(())
}

async fn patch(hub: &Hub, name: &str, patch: Value) -> anyhow::Result<ManagedClustersUpgrade> {
    hub.upgrades()
        .patch(name, &parameters(), &Patch::Merge(patch))
        .await
        .with_context(|| format!("changing the ManagedClustersUpgrade {}/{name}", hub.namespace))
}

fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// Lets failed clusters start over: all of them by an annotation of the upgrade, some by one of their works.
///
/// # Errors
/// If nothing has failed, a named cluster has not, or the hub refuses.
pub async fn retry(hub: &Hub, arguments: &RetryArguments) -> anyhow::Result<()> {
    let name = &arguments.upgrade.name;
    let upgrade = hub.upgrade(name).await?;
    let works = hub.works(&upgrade).await?;
    let failed: Vec<Row> = rows(&works)
        .into_iter()
        .filter(|row| row.state == "Failed")
        .collect();
    if failed.is_empty() {
        bail!("no cluster of {name} has failed: there is nothing to retry");
    }
    let asked = json!({"metadata": {"annotations": {RETRY_ANNOTATION: Clock::system().now().to_string()}}});
    if arguments.clusters.is_empty() {
        patch(hub, name, asked).await?;
        table::print(&format!("{name}: {} failed clusters start over", failed.len()));
        return Ok(());
    }
    for cluster in &arguments.clusters {
        if !failed.iter().any(|row| row.name == cluster.as_str()) {
            let names: Vec<&str> = failed.iter().map(|row| row.name.as_str()).collect();
            bail!(
                "cluster {cluster} has not failed; these have: {}",
                names.join(", ")
            );
        }
    }
    for cluster in &arguments.clusters {
        let record = works.iter().find(|work| {
            work.metadata.namespace.as_deref() == Some(cluster.as_str())
                && work
                    .metadata
                    .labels
                    .as_ref()
                    .is_some_and(|labels| labels.contains_key(drydock_api::names::STATE_LABEL))
        });
        let work = record
            .and_then(|work| work.metadata.name.clone())
            .unwrap_or_else(|| WorkKind::Cluster.work_name(cluster));
        Api::<ManifestWork>::namespaced(hub.client.clone(), cluster.as_str())
            .patch(&work, &parameters(), &Patch::Merge(&asked))
            .await
            .with_context(|| format!("asking for a retry on ManifestWork {cluster}/{work}"))?;
        table::print(&format!("{name}: {cluster} starts over"));
    }
    Ok(())
}
