//! `clusters`: all that take part in an upgrade, with where each is.

use comfy_table::Cell;
use drydock_objects::{ClusterDetails, hint};
use drydock_rollout::ClusterState;
use jiff::Timestamp;

use super::arguments::{ClustersArguments, Output};
use super::hub::Hub;
use super::{fleet, table};

/// Lists the clusters of an upgrade.
///
/// # Errors
/// If the hub cannot be read.
pub async fn run(hub: &Hub, arguments: &ClustersArguments) -> anyhow::Result<()> {
    let name = &arguments.upgrade.name;
    let upgrade = hub.upgrade(name).await?;
    let mut found = fleet::clusters(hub, &upgrade).await?;
    if let Some(filter) = arguments.state {
        found.retain(|details| filter.matches(details.state));
    }
    if let Some(text) = table::for_scripts(&found, arguments.output)? {
        table::print(&text)?;
        return Ok(());
    }
    let named = hub.named(&hub.namespace, name);
    table::print(&render(
        &found,
        &named,
        arguments.output == Output::Wide,
        hub.now(),
    ))?;
    Ok(())
}

/// The clusters as a table; failed ones with what to do.
pub fn render(clusters: &[ClusterDetails], upgrade: &str, wide: bool, now: Timestamp) -> String {
    let mut header = vec!["CLUSTER", "CANARY", "STATE", "TOOK", "VERSION", "MESSAGE"];
    if wide {
        header.extend(["STARTED", "ENDED", "REASON"]);
    }
    let mut shown = table::plain(&header);
    for details in clusters {
        let took = details.took(now).map_or_else(|| "-".to_owned(), table::short);
        let mut cells = vec![
            Cell::new(table::printable(&details.name)),
            Cell::new(table::yes(details.canary)),
            table::state(details.state.as_str()),
            Cell::new(took),
            Cell::new(table::printable(details.version.as_deref().unwrap_or("-"))),
            Cell::new(table::printable(&details.message)),
        ];
        if wide {
            cells.extend([
                Cell::new(table::moment(details.started_at)),
                Cell::new(table::moment(details.ended_at)),
                Cell::new(table::printable(&details.reason)),
            ]);
        }
        shown.add_row(cells);
    }
    let failed = clusters
        .iter()
        .filter(|details| details.state == ClusterState::Failed);
    let hints = failed.filter_map(|details| {
        let hint = hint::about(details, upgrade)?;
        Some(format!("\n\n{}: {hint}", table::printable(&details.name)))
    });
    std::iter::once(table::text(&shown)).chain(hints).collect()
}
