//! `pause`, `resume` and `retry`: one patch each.

use drydock_rollout::ClusterName;

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
    let when = |one: Option<&ClusterName>| drydock_edits::when_it_starts_over(&upgrade, &clusters, one);
    let failed = drydock_edits::failed(&clusters);
    let said: Vec<String> = if arguments.clusters.is_empty() {
        vec![format!(
            "{name}: {} failed clusters start over{}",
            failed.len(),
            when(None)
        )]
    } else {
        let each = arguments.clusters.iter();
        each.map(|cluster| format!("{name}: {cluster} starts over{}", when(Some(cluster))))
            .collect()
    };
    drydock_edits::retry(&hub.client, upgrade, &failed, &arguments.clusters, hub.now()).await?;
    said.iter().try_for_each(|line| table::print(line))?;
    Ok(())
}
