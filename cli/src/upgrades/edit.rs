//! `pause`, `resume` and `retry`: one patch each.

use anyhow::{Context, bail};
use drydock_api::ClusterName;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION};
use drydock_objects::upgrade::parse_retry_clusters;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::arguments::RetryArguments;
use super::hub::Hub;
use super::{fleet, table};
use crate::server::MANAGER;

/// Pauses or resumes an upgrade.
///
/// # Errors
/// If there is no such upgrade, or the hub refuses.
pub async fn set_paused(hub: &Hub, name: &str, paused: bool) -> anyhow::Result<()> {
    let upgrade = hub.upgrade(name).await?;
    let word = if paused { "paused" } else { "resumed" };
    if upgrade.spec.paused.unwrap_or(false) == paused {
        table::print(&format!("{name} is {word} already"))?;
        return Ok(());
    }
    patch(hub, name, json!({"spec": {"paused": paused}})).await?;
    table::print(&format!("{name} {word}"))?;
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

/// Lets failed clusters start over, all of them or some: by an annotation of the upgrade, whose value only has to be a new one.
///
/// # Errors
/// If nothing has failed, a named cluster has not, or the hub refuses.
pub async fn retry(hub: &Hub, arguments: &RetryArguments) -> anyhow::Result<()> {
    let name = &arguments.upgrade.name;
    let upgrade = hub.upgrade(name).await?;
    let clusters = fleet::clusters(hub, &upgrade).await?;
    let failed = fleet::failed(&clusters);
    if failed.is_empty() {
        bail!("no cluster of {name} has failed: there is nothing to retry");
    }
    let value = hub.now().to_string();
    if arguments.clusters.is_empty() {
        patch(
            hub,
            name,
            json!({"metadata": {"annotations": {RETRY_ANNOTATION: value}}}),
        )
        .await?;
        table::print(&format!("{name}: {} failed clusters start over", failed.len()))?;
        return Ok(());
    }
    for cluster in &arguments.clusters {
        if !failed.contains(&cluster.as_str()) {
            bail!(
                "cluster {cluster} has not failed; these have: {}",
                failed.join(", ")
            );
        }
    }
    ask_for_some(hub, upgrade, &arguments.clusters, &value).await?;
    for cluster in &arguments.clusters {
        table::print(&format!("{name}: {cluster} starts over"))?;
    }
    Ok(())
}

/// Adds the clusters to those for which a retry is asked; again, if somebody else has changed the upgrade meanwhile.
async fn ask_for_some(
    hub: &Hub,
    mut upgrade: ManagedClustersUpgrade,
    clusters: &[ClusterName],
    value: &str,
) -> anyhow::Result<()> {
    let name = upgrade.name_any();
    loop {
        let asked = upgrade.annotations().get(RETRY_CLUSTERS_ANNOTATION);
        let mut asked = parse_retry_clusters(asked.map(String::as_str).unwrap_or_default());
        asked.extend(clusters.iter().map(|cluster| (cluster.clone(), value.into())));
        let pairs: Vec<String> = asked
            .iter()
            .map(|(cluster, value)| format!("{cluster}={value}"))
            .collect();
        let patch = Patch::Merge(json!({"metadata": {
            "resourceVersion": upgrade.resource_version(),
            "annotations": {RETRY_CLUSTERS_ANNOTATION: pairs.join(",")},
        }}));
        match hub.upgrades().patch(&name, &parameters(), &patch).await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.is_conflict() => upgrade = hub.upgrade(&name).await?,
            Err(error) => {
                let changing = format!("changing the ManagedClustersUpgrade {}/{name}", hub.namespace);
                return Err(error).context(changing);
            }
        }
    }
}
