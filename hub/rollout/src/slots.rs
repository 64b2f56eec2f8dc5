//! Which clusters start now: from what all assessments add up to, without looking at each cluster.

use drydock_names::ClusterName;
use jiff::Timestamp;

use crate::totals::Totals;
use crate::window::{Opening, opening};
use crate::{Halt, Reason, Rollout, Spec};

/// Why no further cluster starts, if so; the first of several reasons.
pub(crate) fn halt(rollout: &Rollout, totals: &Totals, now: Timestamp) -> Option<Halt> {
    let Ok(spec) = &rollout.spec else {
        return Some(Halt::InvalidSpec);
    };
    if rollout
        .selection
        .sources
        .iter()
        .any(|source| source.problem.is_some())
    {
        return Some(Halt::Selection);
    }
    if spec.paused {
        return Some(Halt::Paused);
    }
    if totals.all.total == 0 {
        return None;
    }
    if let Some(halt) = canaries(spec, totals) {
        return Some(halt);
    }
    if totals.all.pending == 0 && totals.startable.is_empty() {
        return None;
    }
    failure_budget(spec, totals)
        .or_else(|| soaking(spec, totals, now))
        .or_else(|| match opening(&spec.strategy.windows, now) {
            Opening::Always | Opening::OpenUntil(_) => None,
            Opening::ClosedUntil(opens) => Some(Halt::AwaitingStartWindow { opens }),
        })
}

fn canaries(spec: &Spec, totals: &Totals) -> Option<Halt> {
    spec.strategy.canaries.as_ref()?;
    if !totals.failed_canaries.is_empty() {
        return Some(Halt::CanaryFailed(totals.failed_canaries.clone()));
    }
    (totals.awaited_canaries.0 == 0).then_some(Halt::NoCanaryMatched)
}

fn failure_budget(spec: &Spec, totals: &Totals) -> Option<Halt> {
    let allowed = spec.strategy.max_failures?;
    let budget = spec.strategy.failure_budget(totals.selected)?;
    let failed = totals.failures;
    (failed >= budget).then_some(Halt::FailureBudgetSpent { failed, allowed })
}

/// Complete canaries must stay healthy for a while before any other cluster starts. Once one has started after the last canary was
/// complete, the soak is over; one that was started before a canary joined, or for what an edit has replaced, says nothing about
/// it. The soak counts from the moment that the last canary was complete and Available; a canary that is in trouble holds it.
fn soaking(spec: &Spec, totals: &Totals, now: Timestamp) -> Option<Halt> {
    let (awaited, complete) = totals.awaited_canaries;
    if spec.strategy.soak.is_zero() || complete < awaited {
        return None;
    }
    if totals.others_started.latest() > totals.canaries_finished.latest() {
        return None;
    }
    let unhealthy = totals.unhealthy_canaries.clone();
    if !unhealthy.is_empty() {
        return Some(Halt::CanarySoaking {
            until: None,
            unhealthy,
        });
    }
    // A canary that needed nothing has nothing to show.
    let since = totals.canaries_available.latest()?;
    let until = since.saturating_add(spec.strategy.soak).ok()?;
    (now < until).then_some(Halt::CanarySoaking {
        until: Some(until),
        unhealthy,
    })
}

/// When the halt ends by itself, or a start window opens or closes that matters: time to look again.
pub(crate) fn wake(
    rollout: &Rollout,
    totals: &Totals,
    halt: Option<&Halt>,
    now: Timestamp,
) -> Option<Timestamp> {
    let by_halt = match halt {
        Some(Halt::CanarySoaking { until, .. }) => *until,
        Some(Halt::AwaitingStartWindow { opens }) => *opens,
        _ => None,
    };
    let windows = rollout.spec.as_ref().map(|spec| &spec.strategy.windows);
    let matters = halt.is_none() || !totals.continuing.is_empty();
    let by_window = windows
        .ok()
        .filter(|_| matters)
        .and_then(|windows| match opening(windows, now) {
            Opening::OpenUntil(closes) => Some(closes),
            Opening::ClosedUntil(opens) => opens,
            Opening::Always => None,
        });
    by_halt.into_iter().chain(by_window).min()
}

/// The clusters that are let go.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    /// How many may be in flight.
    pub limit: usize,
    /// Clusters that start, in their order.
    pub starts: Vec<ClusterName>,
    /// Clusters whose upgrade follows on their action.
    pub continues: Vec<ClusterName>,
}

/// Fills the free slots, but for clusters that an upgrade starts which comes before this one (`is_taken`).
pub(crate) fn fill_slots(
    rollout: &Rollout,
    totals: &Totals,
    halt: Option<&Halt>,
    now: Timestamp,
    is_taken: &dyn Fn(&ClusterName) -> bool,
) -> Filled {
    let Ok(spec) = &rollout.spec else {
        return Filled::default();
    };
    let limit = spec.strategy.slots(totals.selected);
    let mut filled = Filled {
        limit,
        starts: Vec::new(),
        continues: limit_upgrades(spec, totals, limit, now),
    };
    if halt.is_some() {
        return filled;
    }
    let (awaited, complete) = totals.awaited_canaries;
    // Until it is known which works there are, each that there may be counts.
    let known = limit.saturating_sub(totals.may_hide_works);
    // A start that was refused keeps its slot, unless the limit was lowered meanwhile: it has begun nothing yet.
    let mut kept = known.saturating_sub(totals.all.in_flight - totals.refused_starts);
    let mut free = known.saturating_sub(totals.all.in_flight);
    for key in &totals.startable {
        let slots = if key.needs_slot { &mut free } else { &mut kept };
        if *slots == 0 && key.needs_slot {
            break;
        }
        if *slots == 0 || key.is_other && complete < awaited || is_taken(&key.name) {
            continue;
        }
        *slots -= 1;
        filled.starts.push(key.name.clone());
    }
    filled
}

/// Clusters whose pre-upgrade action is done continue while fewer are being upgraded than may be in flight (there are more where
/// `maxConcurrency` was lowered, or a work went that said that a cluster is done), and while a start window is open.
fn limit_upgrades(spec: &Spec, totals: &Totals, limit: usize, now: Timestamp) -> Vec<ClusterName> {
    if matches!(opening(&spec.strategy.windows, now), Opening::ClosedUntil(_)) {
        return Vec::new();
    }
    let free = limit.saturating_sub(totals.upgrading + totals.may_hide_works);
    let next = totals.continuing.iter().take(free);
    next.map(|(.., name)| name.clone()).collect()
}

/// What a cluster waits for whose action is done and whose upgrade does not follow.
pub(crate) fn held_by(rollout: &Rollout, totals: &Totals, limit: usize, now: Timestamp) -> Reason {
    let windows = rollout.spec.as_ref().map(|spec| &spec.strategy.windows);
    match windows.map(|windows| opening(windows, now)) {
        Ok(Opening::ClosedUntil(opens)) => Reason::WaitingForWindow { opens },
        _ => Reason::WaitingForSlot {
            in_flight: totals.upgrading,
            limit,
        },
    }
}
