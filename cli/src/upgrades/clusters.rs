//! `clusters` and `history`: from the works, so that nothing is left out.

use comfy_table::Cell;
use jiff::Timestamp;

use super::arguments::{ClustersArguments, HistoryArguments, Output};
use super::fleet::{Row, rows};
use super::hub::Hub;
use super::{hint, table};

/// Lists the clusters that have started.
///
/// # Errors
/// If the hub cannot be read.
pub async fn list(hub: &Hub, arguments: &ClustersArguments) -> anyhow::Result<()> {
    let name = &arguments.upgrade.name;
    let upgrade = hub.upgrade(name).await?;
    let mut found = rows(&hub.works(&upgrade).await?);
    if let Some(state) = arguments.state {
        found.retain(|row| row.is(state));
    }
    if let Some(text) = table::for_scripts(&found, arguments.output)? {
        table::print(&text);
        return Ok(());
    }
    table::print(&render(&found, name, arguments.output == Output::Wide, now()));
    let pending = upgrade
        .status
        .and_then(|status| status.clusters_summery)
        .map_or(0, |summary| summary.pending);
    if pending > 0 && arguments.state.is_none() {
        table::print(&format!("\n{pending} selected clusters have not started"));
    }
    Ok(())
}

/// Lists the clusters that have ended, in the order of their ends.
///
/// # Errors
/// If the hub cannot be read.
pub async fn history(hub: &Hub, arguments: &HistoryArguments) -> anyhow::Result<()> {
    let upgrade = hub.upgrade(&arguments.upgrade.name).await?;
    let mut found = rows(&hub.works(&upgrade).await?);
    found.retain(Row::has_ended);
    found.sort_by_key(|row| row.ended_at);
    if let Some(text) = table::for_scripts(&found, arguments.output)? {
        table::print(&text);
        return Ok(());
    }
    let mut shown = table::plain(&["ENDED", "CLUSTER", "CANARY", "OUTCOME", "TOOK", "MESSAGE"]);
    for row in &found {
        shown.add_row([
            row.ended_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
            table::printable(&row.name),
            yes(row.canary),
            row.state.to_owned(),
            took(row, now()),
            table::printable(&row.message),
        ]);
    }
    table::print(&table::text(&shown));
    Ok(())
}

fn now() -> Timestamp {
    drydock_runtime::Clock::system().now()
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "" }.to_owned()
}

fn took(row: &Row, now: Timestamp) -> String {
    row.took(now).map_or_else(|| "-".to_owned(), table::short)
}

/// The clusters as a table; failed ones with what to do.
pub fn render(rows: &[Row], upgrade: &str, wide: bool, now: Timestamp) -> String {
    let mut header = vec!["CLUSTER", "CANARY", "STATE", "FOR", "MESSAGE"];
    if wide {
        header.extend(["STARTED", "ENDED", "REASON"]);
    }
    let mut shown = table::plain(&header);
    for row in rows {
        let moment = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let mut cells = vec![
            Cell::new(table::printable(&row.name)),
            Cell::new(yes(row.canary)),
            table::state(row.state),
            Cell::new(took(row, now)),
            Cell::new(table::printable(&row.message)),
        ];
        if wide {
            cells.extend([
                Cell::new(moment(row.started_at)),
                Cell::new(moment(row.ended_at)),
                Cell::new(table::printable(row.reason.as_deref().unwrap_or_default())),
            ]);
        }
        shown.add_row(cells);
    }
    let hints = rows.iter().filter(|row| row.state == "Failed").map(|row| {
        let reason = row.reason.as_deref().unwrap_or_default();
        let hint = hint::for_reason(reason, upgrade, &row.name);
        format!("\n\n{}: {hint}", table::printable(&row.name))
    });
    std::iter::once(table::text(&shown)).chain(hints).collect()
}
