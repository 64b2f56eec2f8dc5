//! Which clusters start now.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::ClusterName;

use crate::cluster::{Member, Step};
use crate::members::Context;
use crate::{Action, ClusterState, Halt, Reason};

/// Why nothing new may start, if so. Soak time, failure budget and start windows are further reasons to come here.
pub(crate) fn halt(context: &Context<'_>, members: &BTreeMap<ClusterName, Member>) -> Option<Halt> {
    let Some(spec) = context.spec else {
        return Some(Halt::InvalidSpec);
    };
    if context.selection_report().problem.is_some() {
        return Some(Halt::Selection);
    }
    if spec.paused {
        return Some(Halt::Paused);
    }
    if spec.strategy.canaries.is_none() || members.is_empty() {
        return None;
    }
    let canaries = || members.iter().filter(|(_, member)| member.standing.canary);
    let failed: BTreeSet<ClusterName> = canaries()
        .filter(|(_, member)| member.standing.state == ClusterState::Failed)
        .map(|(name, _)| name.clone())
        .collect();
    match (failed.is_empty(), canaries().next()) {
        (false, _) => Some(Halt::CanaryFailed(failed)),
        (true, None) => Some(Halt::NoCanaryMatched),
        (true, Some(_)) => None,
    }
}

/// The outcome of choosing.
pub(crate) struct Batch {
    /// Writes that start clusters, or make room for them.
    pub actions: Vec<Action>,
    /// How many clusters start with these writes.
    pub starting: usize,
    /// How many may be in flight.
    pub limit: usize,
}

/// Fills the free slots: canaries first, then by placement and decision group, then by name; clusters that go again to a
/// new target after the rest. Says for those that must wait what they wait for.
pub(crate) fn choose(
    context: &Context<'_>,
    members: &mut BTreeMap<ClusterName, Member>,
    halt: Option<&Halt>,
) -> Batch {
    let limit = context
        .spec
        .map_or(0, |spec| spec.strategy.slots(context.selected.len()));
    let in_flight = members
        .values()
        .filter(|member| member.standing.state.in_flight())
        .count();
    let canaries_done = members
        .values()
        .filter(|member| member.standing.canary)
        .all(|member| member.standing.state == ClusterState::Complete);
    let mut batch = Batch {
        actions: Vec::new(),
        starting: 0,
        limit,
    };
    let mut free = limit.saturating_sub(in_flight);
    for name in in_order(members) {
        let Some(member) = members.get_mut(&name) else {
            continue;
        };
        let Step::Startable(start) = &member.step else {
            continue;
        };
        let reason = if halt.is_some() {
            Reason::Halted
        } else if !(member.standing.canary || canaries_done) {
            Reason::WaitingForCanaries
        } else if free == 0 {
            Reason::WaitingForSlot { in_flight, limit }
        } else {
            free -= 1;
            if let Some(deletions) = &start.clear {
                batch.actions.extend(deletions.iter().cloned());
                Reason::ReplacingOldWork
            } else {
                batch.starting += 1;
                batch.actions.push(Action::CreateWork(start.order.clone()));
                Reason::Starting
            }
        };
        member.standing.reason = reason;
    }
    batch
}

fn in_order(members: &BTreeMap<ClusterName, Member>) -> Vec<ClusterName> {
    let mut keys: Vec<_> = members
        .iter()
        .filter_map(|(name, member)| match &member.step {
            Step::Startable(start) => Some((!member.standing.canary, start.again, start.place, name)),
            Step::GoOn(_) => None,
        })
        .collect();
    keys.sort();
    keys.into_iter().map(|(.., name)| name.clone()).collect()
}
