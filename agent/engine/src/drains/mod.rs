//! NodeKeeper: helps drains that do not end, whatever step the upgrade waits for. The machine-config operator cordons and drains; what blocks it is
//! removed here, each kind of pod after its own time. Nodes that somebody else cordoned are left alone.

mod objects;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use regex::RegexSet;

pub use objects::{Budget, Cordon, ObservedNode, ObservedPod, budget, node, pod};

use crate::configuration::{NodeDrainConfig, regular_expression};
use crate::facts::{Facts, Need, Unread};

/// A node that was cordoned no longer ago than this was cordoned for the drain that is seen for the first time now.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(10);

/// What is done about a pod, by managed-upgrade-operator's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// A pod without a budget is deleted.
    Delete,
    /// A pod without a budget that hangs in its deletion loses its finalizers.
    DefaultFinalizer,
    /// A pod that hangs in its deletion and has no finalizers is deleted without grace.
    PodStuckTerminating,
    /// A pod under a budget is deleted.
    PdbDelete,
    /// A pod under a budget that hangs in its deletion loses its finalizers.
    PdbFinalizer,
}

impl Strategy {
    /// managed-upgrade-operator's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Delete => "DELETE",
            Self::DefaultFinalizer => "DEFAULT-FINALIZER",
            Self::PodStuckTerminating => "POD-STUCK-TERMINATING",
            Self::PdbDelete => "PDB-DELETE",
            Self::PdbFinalizer => "PDB-FINALIZER",
        }
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What is done.
    pub strategy: Strategy,
    /// About which pod.
    pub pod: ObservedPod,
}

/// After how long something is done about a drain.
#[derive(Clone, Debug)]
pub struct DrainTimeouts {
    enabled: bool,
    time_out: SignedDuration,
    budget: SignedDuration,
    expected: SignedDuration,
    ignored: RegexSet,
}

impl DrainTimeouts {
    /// Reads the settings; `budget_minutes` is the UpgradeConfig's `PDBForceDrainTimeout`.
    pub fn new(drain: &NodeDrainConfig, budget_minutes: i32) -> Self {
        let expected = SignedDuration::from_mins(drain.expected_node_drain_time);
        Self {
            enabled: !drain.disable_drain_strategies,
            time_out: SignedDuration::from_mins(drain.time_out),
            budget: SignedDuration::from_mins(i64::from(budget_minutes)) + expected,
            expected,
            // A configuration with a pattern that cannot be read is refused before it is in force.
            ignored: RegexSet::new(
                drain
                    .ignored_namespace_patterns
                    .iter()
                    .map(|pattern| regular_expression(pattern)),
            )
            .unwrap_or_default(),
        }
    }

    /// After how long there may be something to do; before, pods need not be read.
    pub fn shortest(&self) -> SignedDuration {
        self.time_out.min(self.budget)
    }

    fn of(&self, has_budget: bool) -> SignedDuration {
        if has_budget { self.budget } else { self.time_out }
    }
}

/// A node that is being drained, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The node.
    pub node: String,
    /// What the machine-config operator wants of it, which distinguishes one drain from the next.
    pub mark: String,
    /// Since when it is drained.
    pub since: Timestamp,
    /// Whether it does not end, whatever is done.
    pub is_stuck: bool,
}

/// What follows for the drains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrainPlan {
    /// What is done about pods.
    pub actions: Vec<Action>,
    /// The drains that are under way.
    pub drains: Vec<Drain>,
}

/// Decides about the drains of a cluster; `known` are those that were under way before.
///
/// # Errors
/// What must be read first.
pub fn decide(facts: &Facts, known: &[Drain]) -> Result<DrainPlan, Need> {
    let timeouts = timeouts(facts);
    let nodes = match &facts.seen.nodes {
        Err(Unread::NotAsked) => return Err(Need::Nodes),
        // Known drains stay as they are; nothing is done about what cannot be read.
        Err(Unread::Failed(_)) => {
            return Ok(DrainPlan {
                actions: Vec::new(),
                drains: known.to_vec(),
            });
        }
        Ok(nodes) => nodes,
    };
    let mut drains = under_way(nodes, &extra_nodes(facts), known, facts.now);
    let is_long = |drain: &Drain| facts.now.duration_since(drain.since) > timeouts.shortest();
    if !drains.iter().any(is_long) {
        for drain in &mut drains {
            drain.is_stuck = false;
        }
        return Ok(DrainPlan {
            actions: Vec::new(),
            drains,
        });
    }
    if matches!(facts.seen.budgets, Err(Unread::NotAsked)) {
        return Err(Need::Budgets);
    }
    if matches!(facts.seen.pods, Err(Unread::NotAsked)) {
        return Err(Need::Pods);
    }
    Ok(plan_drains(
        drains,
        facts.seen.pods.as_deref().ok(),
        facts.seen.budgets.as_deref().ok(),
        &timeouts,
        facts.now,
    ))
}

/// The names of the nodes whose drains have lasted so long that their pods must be looked at.
pub fn long_drains(facts: &Facts, known: &[Drain]) -> Vec<String> {
    let timeouts = timeouts(facts);
    let Ok(nodes) = &facts.seen.nodes else {
        return Vec::new();
    };
    under_way(nodes, &extra_nodes(facts), known, facts.now)
        .into_iter()
        .filter(|drain| facts.now.duration_since(drain.since) > timeouts.shortest())
        .map(|drain| drain.node)
        .collect()
}

/// The known drain that has lasted longest, if that is longer than pods may take.
pub fn longest(facts: &Facts) -> Option<&Drain> {
    let shortest = timeouts(facts).shortest();
    let oldest = facts.drains.iter().min_by_key(|drain| drain.since)?;
    (facts.now.duration_since(oldest.since) > shortest).then_some(oldest)
}

fn timeouts(facts: &Facts) -> DrainTimeouts {
    DrainTimeouts::new(
        &facts.configuration.node_drain,
        facts.spec.pdb_force_drain_timeout,
    )
}

/// The nodes of our extra machines.
fn extra_nodes(facts: &Facts) -> BTreeSet<String> {
    let capacity = facts.seen.capacity.iter();
    let machines = capacity.flat_map(|capacity| &capacity.machines);
    machines.filter_map(|machine| machine.node.clone()).collect()
}

/// The drains that are ours to help, each with its beginning.
pub fn under_way(
    nodes: &[ObservedNode],
    extra: &BTreeSet<String>,
    known: &[Drain],
    now: Timestamp,
) -> Vec<Drain> {
    let drain = |node: &ObservedNode| {
        let cordon = node.cordon?;
        let is_ours = !node.is_master && !node.is_deleting && (node.mco_works || extra.contains(&node.name));
        if !is_ours {
            return None;
        }
        let before = known
            .iter()
            .find(|drain| drain.node == node.name && drain.mark == node.drain_mark);
        Some(Drain {
            node: node.name.clone(),
            mark: node.drain_mark.clone(),
            since: before.map_or_else(|| began(cordon, now), |before| before.since),
            is_stuck: before.is_some_and(|before| before.is_stuck),
        })
    };
    nodes.iter().filter_map(drain).collect()
}

/// When a drain began that is seen for the first time. The machine-config operator cordons a node when it begins; a node that
/// was cordoned long before was so by somebody else, and its drain begins now.
fn began(cordon: Cordon, now: Timestamp) -> Timestamp {
    let recent = cordon
        .since
        .filter(|since| now.duration_since(*since) < JUST_NOW && *since <= now);
    recent.unwrap_or(now)
}

/// Decides what is done about the pods of nodes that are drained. Without budgets every pod counts as guarded by one; without
/// pods nothing can be done.
pub fn plan_drains(
    drains: Vec<Drain>,
    pods: Option<&[ObservedPod]>,
    budgets: Option<&[Budget]>,
    timeouts: &DrainTimeouts,
    now: Timestamp,
) -> DrainPlan {
    let mut plan = DrainPlan {
        actions: Vec::new(),
        drains,
    };
    let is_guarded = |pod: &ObservedPod| match budgets {
        Some(budgets) => budgets.iter().any(|budget| budget.covers(pod)),
        None => true,
    };
    for drain in &mut plan.drains {
        let age = now.duration_since(drain.since);
        let pods: Vec<(&ObservedPod, bool)> = pods
            .into_iter()
            .flatten()
            .filter(|pod| pod.node == drain.node && may_go(pod, timeouts))
            .map(|pod| (pod, is_guarded(pod)))
            .collect();
        if timeouts.enabled {
            let due = pods
                .iter()
                .filter(|(_, has_budget)| age > timeouts.of(*has_budget));
            let actions = due.filter_map(|(pod, has_budget)| act(pod, *has_budget, now));
            plan.actions.extend(actions);
        }
        drain.is_stuck = is_stuck(&pods, age, timeouts);
    }
    plan
}

/// Pods of DaemonSets and mirrors of static pods come back at once, and do not block a drain.
fn may_go(pod: &ObservedPod, timeouts: &DrainTimeouts) -> bool {
    !pod.is_bound_to_node && !timeouts.ignored.is_match(&pod.namespace)
}

fn act(pod: &ObservedPod, has_budget: bool, now: Timestamp) -> Option<Action> {
    let strategy = match pod.deletes_by {
        None if has_budget => Strategy::PdbDelete,
        None => Strategy::Delete,
        // Its containers have time until then.
        Some(by) if by > now => return None,
        Some(_) if !pod.has_finalizers => Strategy::PodStuckTerminating,
        Some(_) if has_budget => Strategy::PdbFinalizer,
        Some(_) => Strategy::DefaultFinalizer,
    };
    Some(Action {
        strategy,
        pod: pod.clone(),
    })
}

/// Whether a drain continues although everything that applies has been done, and had its time.
fn is_stuck(pods: &[(&ObservedPod, bool)], age: SignedDuration, timeouts: &DrainTimeouts) -> bool {
    if !timeouts.enabled {
        return age > timeouts.time_out;
    }
    let is_pending = pods.iter().any(|(_, has_budget)| age <= timeouts.of(*has_budget));
    let applied = [timeouts.time_out, timeouts.budget];
    let last = applied.into_iter().filter(|wait| age > *wait).max();
    let limit = last.map_or(timeouts.time_out, |wait| {
        timeouts.time_out.max(wait + timeouts.expected)
    });
    !is_pending && age > limit
}
