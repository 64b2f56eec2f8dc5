//! `pause`, `resume` and `retry`: one patch each.

use super::arguments::RetryArguments;
use super::hub::Hub;
use super::{fleet, table};

/// Pauses or resumes an upgrade.
///
/// # Errors
/// If there is no such upgrade, or the hub refuses.
pub async fn set_paused(hub: &Hub, name: &str, paused: bool) -> anyhow::Result<()> {
    let upgrade = hub.upgrade(name).await?;
    let word = if paused { "paused" } else { "resumed" };
    if drydock_edits::set_paused(&hub.client, upgrade, paused).await? {
        table::print(&format!("{name} {word}"))
    } else {
        table::print(&format!("{name} is {word} already"))
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
    let when = drydock_edits::when_it_starts_over(&upgrade);
    let failed = drydock_edits::failed(&clusters);
    drydock_edits::retry(&hub.client, upgrade, &failed, &arguments.clusters, hub.now()).await?;
    if arguments.clusters.is_empty() {
        table::print(&format!(
            "{name}: {} failed clusters start over{when}",
            failed.len()
        ))?;
    }
    for cluster in &arguments.clusters {
        table::print(&format!("{name}: {cluster} starts over{when}"))?;
    }
    Ok(())
}
