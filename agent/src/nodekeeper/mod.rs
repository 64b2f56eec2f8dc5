//! NodeKeeper (agent 7): helps drains that do not end. The machine-config operator cordons and drains; what holds it up is
//! taken away here, each kind of pod after its own time. Nodes that somebody else cordoned are left alone.

mod objects;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use regex::RegexSet;

#[cfg(test)]
pub(crate) use objects::Cordon;
pub(crate) use objects::{Budget, NodeSeen, PodSeen, budget, node, pod};

use crate::configuration::NodeDrain;
use crate::facts::Facts;
use crate::steps::Need;

/// What is done about a pod, by the original's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strategy {
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
    /// The original's name.
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
pub(crate) struct Action {
    pub strategy: Strategy,
    pub pod: PodSeen,
}

/// How long drains are left alone.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    enabled: bool,
    time_out: SignedDuration,
    budget: SignedDuration,
    expected: SignedDuration,
    ignored: RegexSet,
}

impl Patience {
    /// Reads the settings; `budget_minutes` is the UpgradeConfig's `PDBForceDrainTimeout`.
    pub fn new(drain: &NodeDrain, budget_minutes: i32) -> Self {
        let expected = SignedDuration::from_mins(drain.expected_node_drain_time);
        Self {
            enabled: !drain.disable_drain_strategies,
            time_out: SignedDuration::from_mins(drain.time_out),
            budget: SignedDuration::from_mins(i64::from(budget_minutes)) + expected,
            expected,
            // A configuration with a pattern that cannot be read is refused before it is in force.
            ignored: RegexSet::new(&drain.ignored_namespace_patterns).unwrap_or_default(),
        }
    }

    /// After so long there may be something to do; before, pods need not be read.
    pub fn shortest(&self) -> SignedDuration {
        self.time_out.min(self.budget)
    }

    fn of(&self, has_budget: bool) -> SignedDuration {
        if has_budget { self.budget } else { self.time_out }
    }
}

/// What a look at the drains came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keeping {
    pub actions: Vec<Action>,
    /// Nodes that will not drain.
    pub stuck: BTreeSet<String>,
}

/// Looks after the drains of a cluster.
///
/// # Errors
/// What must be read first.
pub(crate) fn look(facts: &Facts) -> Result<Keeping, Need> {
    let patience = Patience::new(
        &facts.configuration.node_drain,
        facts.spec.pdb_force_drain_timeout,
    );
    let nodes = drained(facts, &patience).ok_or(Need::Nodes)?;
    if nodes.is_empty() {
        return Ok(Keeping::default());
    }
    let budgets = facts.seen.budgets.as_ref().ok_or(Need::Budgets)?;
    let pods = facts.seen.pods.as_ref().ok_or(Need::Pods)?;
    Ok(keep(&nodes, pods, budgets, &patience, facts.now))
}

/// The names of the nodes whose drains last for so long that their pods must be looked at.
pub(crate) fn long_drains(facts: &Facts) -> Vec<String> {
    let patience = Patience::new(
        &facts.configuration.node_drain,
        facts.spec.pdb_force_drain_timeout,
    );
    let nodes = drained(facts, &patience).unwrap_or_default();
    nodes.into_iter().map(|node| node.name).collect()
}

/// The nodes whose drains are not left alone any more; none if nodes were not read.
fn drained(facts: &Facts, patience: &Patience) -> Option<Vec<NodeSeen>> {
    let extra = facts.seen.capacity.iter().flat_map(|capacity| &capacity.machines);
    let extra: BTreeSet<&str> = extra.filter_map(|machine| machine.node.as_deref()).collect();
    let mut nodes = facts.seen.nodes.clone()?;
    for node in &mut nodes {
        node.is_extra = extra.contains(node.name.as_str());
    }
    nodes.retain(|node| {
        drain_of(node).is_some_and(|since| facts.now.duration_since(since) > patience.shortest())
    });
    Some(nodes)
}

/// Whether somebody's drain of this node is ours to help, and since when it lasts.
pub(crate) fn drain_of(node: &NodeSeen) -> Option<Timestamp> {
    let ours = !node.is_master && (node.mco_works || node.is_extra);
    let cordon = node.cordon.as_ref()?;
    (ours && !node.is_going).then_some(cordon.since?)
}

/// Decides what is done about the pods of nodes that are drained.
pub(crate) fn keep(
    nodes: &[NodeSeen],
    pods: &[PodSeen],
    budgets: &[Budget],
    patience: &Patience,
    now: Timestamp,
) -> Keeping {
    let mut keeping = Keeping::default();
    for node in nodes {
        let Some(since) = drain_of(node) else {
            continue;
        };
        let age = now.duration_since(since);
        let pods: Vec<(&PodSeen, bool)> = pods
            .iter()
            .filter(|pod| pod.node == node.name && may_go(pod, patience))
            .map(|pod| (pod, budgets.iter().any(|budget| budget.covers(pod))))
            .collect();
        if patience.enabled {
            let actions = pods
                .iter()
                .filter(|(_, has_budget)| age > patience.of(*has_budget));
            keeping
                .actions
                .extend(actions.filter_map(|(pod, has_budget)| act(pod, *has_budget, now)));
        }
        if is_stuck(&pods, age, patience) {
            keeping.stuck.insert(node.name.clone());
        }
    }
    keeping
}

/// Pods of DaemonSets and mirrors of static pods come back at once, and do not hold a drain up.
fn may_go(pod: &PodSeen, patience: &Patience) -> bool {
    !pod.is_bound_to_node && !patience.ignored.is_match(&pod.namespace)
}

fn act(pod: &PodSeen, has_budget: bool, now: Timestamp) -> Option<Action> {
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

/// Whether a drain goes on although everything that applies has been done, and had its time.
fn is_stuck(pods: &[(&PodSeen, bool)], age: SignedDuration, patience: &Patience) -> bool {
    if !patience.enabled {
        return age > patience.time_out;
    }
    let is_pending = pods.iter().any(|(_, has_budget)| age <= patience.of(*has_budget));
    let applied = [patience.time_out, patience.budget];
    let last = applied.into_iter().filter(|wait| age > *wait).max();
    let limit = last.map_or(patience.time_out, |wait| {
        patience.time_out.max(wait + patience.expected)
    });
    !is_pending && age > limit
}
