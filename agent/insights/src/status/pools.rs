//! The pools of nodes of an update.

use drydock_api::insights::{ImpactType, Level};
use std::collections::BTreeMap;

use drydock_api::openshift::MachineConfigPool;
use drydock_api::openshift::cluster_version::ClusterVersionStatus;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use serde::Serialize;

use super::history::is_multi_arch_migration;
use super::node_state::NodePhase;
use super::nodes::{self, NodeStatus, Target};
use super::operators::{self, MACHINE_CONFIG};
use super::{MASTER, WORKER};
use crate::estimate::{PoolEstimate, max_unavailable, remaining_of_pool};
use crate::facts::ClusterFacts;
use crate::insight::{Insight, Resource, Scope};
use crate::times;

/// Where to read what to do.
const PAUSED_REFERENCE: &str = "https://docs.openshift.com/container-platform/latest/support/troubleshooting/troubleshooting-operator-issues.html#troubleshooting-disabling-autoreboot-mco_troubleshooting-operator-issues";

/// How a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum PoolAssessment {
    /// All nodes are updated.
    Completed,
    /// No node's turn has come.
    Pending,
    /// A node's daemon has failed.
    Degraded,
    /// It is paused.
    Excluded,
    /// Nodes are being updated.
    Progressing,
}

impl PoolAssessment {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::Pending => "Pending",
            Self::Degraded => "Degraded",
            Self::Excluded => "Excluded",
            Self::Progressing => "Progressing",
        }
    }
}

/// How many nodes there are, and how they are. The counts are not exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// All.
    pub total: usize,
    /// Those that are available.
    pub available: usize,
    /// Those that are being updated and have not failed.
    pub progressing: usize,
    /// Those that are not updated.
    pub outdated: usize,
    /// Those that are drained.
    pub draining: usize,
    /// Those of a paused pool.
    pub excluded: usize,
    /// Those whose daemon has failed.
    pub degraded: usize,
}

/// How a pool proceeds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    /// Its name.
    pub name: String,
    /// How it is.
    pub assessment: PoolAssessment,
    /// The part of its nodes that is updated, from 0 to 100; nothing if it has none.
    pub completion_percent: Option<f64>,
    /// How many nodes may be unavailable at a time.
    pub max_unavailable: usize,
    /// Whether it is paused.
    pub is_paused: bool,
    /// How many nodes there are.
    pub counts: NodeCounts,
    /// Its nodes, those that need attention first.
    pub nodes: Vec<NodeStatus>,
}

impl PoolStatus {
    /// Whether it has nodes that are not updated.
    pub fn is_behind(&self) -> bool {
        self.updated() != self.nodes.len()
    }

    fn updated(&self) -> usize {
        let updated = self.nodes.iter().filter(|node| !node.phase.is_outdated());
        updated.count()
    }

    /// How long it takes. Nodes that are unavailable for other reasons take places of those that may be.
    pub fn estimate(&self) -> PoolEstimate {
        let stuck = self
            .nodes
            .iter()
            .filter(|node| node.is_unavailable && !node.is_updating)
            .count();
        let at_a_time = self.max_unavailable.saturating_sub(stuck).max(1);
        let is_held = self.is_paused && self.is_behind();
        PoolEstimate {
            pool: self.name.clone(),
            remaining: (!is_held)
                .then(|| remaining_of_pool(self.counts.outdated, at_a_time, self.counts.draining)),
        }
    }
}

/// Looks at all pools, in the order in which they were read. Without their nodes, nothing is said of
/// them.
pub fn assess(
    facts: &ClusterFacts,
    status: &ClusterVersionStatus,
    is_progressing: bool,
    now: Timestamp,
) -> (Vec<PoolStatus>, Vec<Insight>) {
    let (Ok(pools), Ok(nodes)) = (&facts.pools, &facts.nodes) else {
        return (Vec::new(), Vec::new());
    };
    let target = Target {
        version: status
            .history
            .first()
            .map(|present| present.version.as_deref().unwrap_or_default()),
        configs: facts.configs.as_ref().ok(),
        has_pools_operator: has_pools_operator(facts, status),
        started: status
            .history
            .first()
            .and_then(|present| times::moment(present.started_time.as_deref())),
        is_multi_arch_migration: is_multi_arch_migration(&status.history) && is_progressing,
        now,
    };
    let by_pool = sort_into_pools(pools, nodes);
    let mut found = Vec::with_capacity(pools.len());
    let mut insights = Vec::new();
    for pool in pools {
        let nodes = by_pool
            .get(pool.name_any().as_str())
            .map_or(&[][..], Vec::as_slice);
        let (status, of_pool) = assess_pool(pool, nodes, target);
        found.push(status);
        insights.extend(of_pool);
    }
    (found, insights)
}

/// Which nodes are in which pool: the one of the control plane comes first, then those of their own, then the one of all others.
pub fn sort_into_pools<'a>(
    pools: &[MachineConfigPool],
    nodes: &'a [Node],
) -> BTreeMap<String, Vec<&'a Node>> {
    let mut selectors: Vec<_> = pools
        .iter()
        .filter_map(|pool| {
            let selector = Selector::try_from(pool.spec.node_selector()?).ok()?;
            let name = pool.name_any();
            let rank = match name.as_str() {
                MASTER => 0,
                WORKER => 2,
                _ => 1,
            };
            Some((rank, name, selector))
        })
        .collect();
    selectors.sort_by(|(rank, name, _), (other_rank, other, _)| (rank, name).cmp(&(other_rank, other)));
    let mut by_pool = BTreeMap::<String, Vec<&Node>>::new();
    for node in nodes {
        let mut of_node = selectors.iter();
        if let Some((_, name, _)) = of_node.find(|(_, _, selector)| selector.matches(node.labels())) {
            by_pool.entry(name.clone()).or_default().push(node);
        }
    }
    by_pool
}

/// Whether the machine config operator runs the release of the present update, if it is known.
fn has_pools_operator(facts: &ClusterFacts, status: &ClusterVersionStatus) -> bool {
    let operators = facts.operators.iter().flatten();
    let mut pools = operators.filter(|operator| operator.name_any() == MACHINE_CONFIG);
    let present = status
        .history
        .first()
        .and_then(|present| present.version.as_deref());
    pools.all(|operator| {
        operators::is_updated(
            operator,
            MACHINE_CONFIG,
            present.unwrap_or_default(),
            &facts.operator_image,
        )
    })
}

fn assess_pool(pool: &MachineConfigPool, nodes: &[&Node], target: Target<'_>) -> (PoolStatus, Vec<Insight>) {
    let (mut nodes, insights): (Vec<_>, Vec<_>) =
        nodes.iter().map(|node| nodes::assess(node, pool, target)).unzip();
    let mut insights = insights.concat();
    nodes.sort_by(|one, other| {
        (one.assessment, one.phase, &one.name).cmp(&(other.assessment, other.phase, &other.name))
    });
    let counts = count(&nodes);
    let name = pool.name_any();
    if counts.excluded > 0 {
        insights.push(paused(&name));
    }
    let updated = nodes.iter().filter(|node| !node.phase.is_outdated()).count();
    let status = PoolStatus {
        assessment: assessment(&nodes, counts, updated),
        completion_percent: (!nodes.is_empty()).then(|| updated as f64 / nodes.len() as f64 * 100.0),
        max_unavailable: max_unavailable(pool.spec.max_unavailable().as_ref(), nodes.len()),
        is_paused: pool.spec.paused == Some(true),
        counts,
        nodes,
        name,
    };
    (status, insights)
}

fn count(nodes: &[NodeStatus]) -> NodeCounts {
    let number = |is: &dyn Fn(&NodeStatus) -> bool| nodes.iter().filter(|node| is(node)).count();
    let is_moving = |phase| {
        matches!(
            phase,
            NodePhase::Draining | NodePhase::Updating | NodePhase::Rebooting
        )
    };
    NodeCounts {
        total: nodes.len(),
        available: number(&|node| !node.is_unavailable),
        progressing: number(&|node| is_moving(node.phase) && !node.is_degraded),
        outdated: number(&|node| node.phase.is_outdated()),
        draining: number(&|node| node.phase == NodePhase::Draining),
        excluded: number(&|node| node.phase == NodePhase::Paused),
        degraded: number(&|node| node.is_degraded),
    }
}

fn assessment(nodes: &[NodeStatus], counts: NodeCounts, updated: usize) -> PoolAssessment {
    if updated == nodes.len() {
        PoolAssessment::Completed
    } else if nodes.iter().all(|node| node.phase == NodePhase::Pending) {
        PoolAssessment::Pending
    } else if counts.degraded > 0 {
        PoolAssessment::Degraded
    } else if counts.excluded > 0 {
        PoolAssessment::Excluded
    } else {
        PoolAssessment::Progressing
    }
}

fn paused(pool: &str) -> Insight {
    Insight {
        started_at: None,
        scope: Scope::WorkerPool,
        resources: vec![Resource::pool(pool)],
        level: Level::Warning,
        impact: ImpactType::UpdateStalled,
        summary: format!("Outdated nodes in a paused pool '{pool}' will not be updated"),
        description: "Pool is paused, which stops all changes to the nodes in the pool, including updates. The nodes will not be updated until the pool is unpaused by the administrator.".to_owned(),
        reference: PAUSED_REFERENCE.to_owned(),
    }
}
