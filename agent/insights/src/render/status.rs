//! How an update proceeds, as a text.

use super::escape::line;
use super::{Details, control_plane, health, nodes};
use crate::estimate::PoolEstimate;
use crate::status::{StatusReport, UpdateStatus};
use crate::times;

/// The text, as `oc adm upgrade status` prints it. What could not be read is not in it.
pub fn status(report: &StatusReport, details: Details) -> String {
    match &report.update {
        None => "The cluster is not updating.\n".to_owned(),
        Some(update) => of_update(update, details),
    }
}

fn of_update(update: &UpdateStatus, details: Details) -> String {
    let all_nodes = details.include(Details::Nodes);
    let mut text = control_plane::section(&update.control_plane, details, update.evaluated_at);
    if let Some(pool) = &update.control_plane_nodes {
        text.push_str(&nodes::of_control_plane(pool, all_nodes));
    }
    if update.worker_pools.iter().any(|pool| !pool.nodes.is_empty()) {
        text.push_str("\n= Worker Upgrade =\n");
        text.push_str(&estimates(&update.worker_estimates));
        text.push_str(&nodes::pools(&update.worker_pools));
        for pool in &update.worker_pools {
            text.push_str(&nodes::of_workers(pool, all_nodes));
        }
    }
    text.push('\n');
    text.push_str(&health::section(update, details));
    text
}

/// How long pools of workers take: they are updated at the same time, so the longest decides. `oc` has no such line.
fn estimates(pools: &[PoolEstimate]) -> String {
    let behind: Vec<_> = pools
        .iter()
        .filter(|pool| pool.remaining.is_none_or(|remaining| !remaining.is_zero()))
        .collect();
    if behind.is_empty() {
        return String::new();
    }
    let each: Vec<_> = behind
        .iter()
        .map(|pool| {
            let remaining = pool.remaining.map_or_else(|| "paused".to_owned(), times::short);
            format!("{} {remaining}", line(&pool.pool))
        })
        .collect();
    let longest = behind.iter().filter_map(|pool| pool.remaining).max();
    let longest = longest.map_or_else(|| "N/A".to_owned(), times::short);
    format!("Est. Time Remaining: {longest} ({})\n", each.join(", "))
}
