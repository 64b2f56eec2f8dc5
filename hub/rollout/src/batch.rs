//! Which clusters start now.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::ClusterName;
use jiff::Timestamp;

use crate::cluster::{Member, Step};
use crate::members::Context;
use crate::window::{Opening, opening};
use crate::{Action, ClusterState, Halt, Reason, Spec};

/// Why nothing new may start, if so; the first of several reasons.
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
    if members.is_empty() {
        return None;
    }
    if let Some(halt) = canaries(spec, members) {
        return Some(halt);
    }
    let is_pending = members
        .values()
        .any(|member| member.standing.state == ClusterState::NotStarted);
    if !is_pending {
        return None;
    }
    failure_budget(context, spec, members)
        .or_else(|| soaking(context, spec, members))
        .or_else(|| match opening(&spec.strategy.windows, context.now) {
            Opening::Always | Opening::OpenUntil(_) => None,
            Opening::ClosedUntil(opens) => Some(Halt::AwaitingStartWindow { opens }),
        })
}

fn canaries(spec: &Spec, members: &BTreeMap<ClusterName, Member>) -> Option<Halt> {
    spec.strategy.canaries.as_ref()?;
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

fn failure_budget(
    context: &Context<'_>,
    spec: &Spec,
    members: &BTreeMap<ClusterName, Member>,
) -> Option<Halt> {
    let budget = spec.strategy.failure_budget(context.selected.len())?;
    let failed = members
        .values()
        .filter(|member| !member.standing.canary && member.standing.has_failed())
        .count();
    (failed >= budget).then_some(Halt::FailureBudgetSpent { failed, budget })
}

/// Complete canaries must stay healthy for a while before any other cluster starts. Once one has started after the last canary was
/// complete, the soak is over; one that was started before a canary joined, or for what an edit has replaced, says nothing about
/// it. The soak counts from the moment that the last canary was complete and Available; a canary that is in trouble holds it.
fn soaking(context: &Context<'_>, spec: &Spec, members: &BTreeMap<ClusterName, Member>) -> Option<Halt> {
    if spec.strategy.soak.is_zero() {
        return None;
    }
    let canaries = || members.iter().filter(|(_, member)| member.standing.canary);
    let all_complete = canaries().all(|(_, member)| member.standing.state == ClusterState::Complete);
    let last = canaries()
        .filter_map(|(_, member)| member.standing.finished)
        .max();
    let is_over = members.iter().any(|(name, member)| {
        let standing = &member.standing;
        !standing.canary && standing.started > last && context.is_for_goal(name, &spec.goal)
    });
    if !all_complete || is_over {
        return None;
    }
    let unhealthy: BTreeSet<ClusterName> = canaries()
        .filter(|(name, _)| !context.is_healthy(name))
        .map(|(name, _)| name.clone())
        .collect();
    if !unhealthy.is_empty() {
        return Some(Halt::CanarySoaking {
            until: None,
            unhealthy,
        });
    }
    // A canary that needed nothing has nothing to show.
    let since = canaries()
        .filter_map(|(name, member)| member.standing.finished.max(context.available_since(name)))
        .max()?;
    let until = since.saturating_add(spec.strategy.soak).ok()?;
    (context.now < until).then_some(Halt::CanarySoaking {
        until: Some(until),
        unhealthy,
    })
}

/// When the halt ends by itself, or a start window closes: time to look again.
pub(crate) fn wake(context: &Context<'_>, halt: Option<&Halt>) -> Option<Timestamp> {
    match halt {
        Some(Halt::CanarySoaking { until, .. }) => *until,
        Some(Halt::AwaitingStartWindow { opens }) => *opens,
        Some(_) => None,
        None => match opening(&context.spec?.strategy.windows, context.now) {
            Opening::OpenUntil(closes) => Some(closes),
            Opening::Always | Opening::ClosedUntil(_) => None,
        },
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
                batch.actions.push(start.first.clone());
                Reason::Starting
            }
        };
        member.standing.reason = reason;
    }
    batch
}

/// Holds clusters whose pre-upgrade action is done where as many are being upgraded as may be in flight: such are more than
/// were started when `maxConcurrency` is lowered, or somebody deletes the work that said that a cluster is done.
pub(crate) fn hold(context: &Context<'_>, members: &mut BTreeMap<ClusterName, Member>) {
    let Some(spec) = context.spec else {
        return;
    };
    let limit = spec.strategy.slots(context.selected.len());
    let is_upgrading = |member: &&Member| member.standing.initialized && member.standing.state.in_flight();
    let mut upgrading = members.values().filter(is_upgrading).count();
    let mut next: Vec<_> = members
        .iter()
        .filter(|(_, member)| goes_on_to_upgrade(member))
        .map(|(name, member)| (!member.standing.canary, member.standing.started, name.clone()))
        .collect();
    next.sort();
    for (.., name) in next {
        if upgrading < limit {
            upgrading += 1;
        } else if let Some(member) = members.get_mut(&name) {
            member.step = Step::GoOn(Vec::new());
            member.standing.reason = Reason::WaitingForSlot {
                in_flight: upgrading,
                limit,
            };
        }
    }
}

fn goes_on_to_upgrade(member: &Member) -> bool {
    let creates = |action: &Action| matches!(action, Action::CreateWork(_));
    member.standing.state == ClusterState::PreAction
        && matches!(&member.step, Step::GoOn(actions) if actions.iter().any(creates))
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
