//! The tables of pools and of their nodes.

use super::columns::Columns;
use super::escape::line;
use crate::status::{NodeAssessment, NodeCounts, NodePhase, NodeStatus, PoolStatus};

/// How many nodes are shown of a pool; those that need attention are shown in any case.
const SHOWN: usize = 10;

/// The nodes of the control plane.
pub fn of_control_plane(pool: &PoolStatus, all: bool) -> String {
    match pool.nodes.first() {
        None => String::new(),
        Some(first) if !pool.is_behind() => match first.version.as_deref() {
            Some(version) => format!(
                "\nAll control plane nodes successfully updated to {}\n",
                line(version)
            ),
            // Where MachineConfigs cannot be read.
            None => "\nAll control plane nodes successfully updated\n".to_owned(),
        },
        Some(_) => format!("\nControl Plane Nodes\n{}", table(&pool.nodes, all)),
    }
}

/// The nodes of a pool of workers.
pub fn of_workers(pool: &PoolStatus, all: bool) -> String {
    if pool.nodes.is_empty() {
        return String::new();
    }
    format!(
        "\nWorker Pool Nodes: {}\n{}",
        line(&pool.name),
        table(&pool.nodes, all)
    )
}

/// The pools of workers.
pub fn pools(pools: &[PoolStatus]) -> String {
    let mut table = Columns::new(&["WORKER POOL", "ASSESSMENT", "COMPLETION", "STATUS"]);
    for pool in pools {
        let NodeCounts { total, outdated, .. } = pool.counts;
        match pool.completion_percent {
            None => table.push(&[&pool.name, "Empty", ""], &format!("{total} Total")),
            Some(percent) => table.push(
                &[
                    &pool.name,
                    pool.assessment.as_str(),
                    &format!("{percent:.0}% ({}/{total})", total - outdated),
                ],
                &counts(pool.counts),
            ),
        }
    }
    format!("\n{table}")
}

/// How the nodes of a pool are; what is not usual only if there is any, always in this order.
fn counts(counts: NodeCounts) -> String {
    let usual = [
        (counts.available, "Available"),
        (counts.progressing, "Progressing"),
        (counts.draining, "Draining"),
    ];
    let unusual = [(counts.excluded, "Excluded"), (counts.degraded, "Degraded")];
    let unusual = unusual.into_iter().filter(|(number, _)| *number > 0);
    let parts = usual.into_iter().chain(unusual);
    let parts: Vec<_> = parts.map(|(number, what)| format!("{number} {what}")).collect();
    parts.join(", ")
}

fn table(nodes: &[NodeStatus], all: bool) -> String {
    let mut table = Columns::new(&["NAME", "ASSESSMENT", "PHASE", "VERSION", "EST", "MESSAGE"]);
    let mut omitted = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        if !all && index >= SHOWN && !needs_attention(node) {
            omitted.push(node);
            continue;
        }
        let version = node.version.as_deref().unwrap_or("?");
        table.push(
            &[
                &node.name,
                node.assessment.as_str(),
                node.phase.as_str(),
                version,
                &node.estimate.to_string(),
            ],
            &node.message,
        );
    }
    format!("{table}{}", footer(&omitted))
}

fn needs_attention(node: &NodeStatus) -> bool {
    node.is_degraded || (node.is_unavailable && !node.is_updating)
}

fn footer(omitted: &[&NodeStatus]) -> String {
    if omitted.is_empty() {
        return String::new();
    }
    let number = |is: &dyn Fn(&NodeStatus) -> bool| omitted.iter().filter(|node| is(node)).count();
    format!(
        "...\nOmitted additional {} Total, {} Completed, {} Available, {} Progressing, {} Outdated, {} Draining, {} Excluded, and 0 Degraded nodes.\nPass along --details=nodes to see all information.\n",
        omitted.len(),
        number(&|node| node.is_updated),
        number(&|node| !node.is_unavailable),
        number(&|node| node.assessment == NodeAssessment::Progressing),
        number(&|node| !node.is_updated),
        number(&|node| node.phase == NodePhase::Draining),
        number(&|node| node.phase == NodePhase::Paused),
    )
}
