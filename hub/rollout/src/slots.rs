//! Which clusters start now: from what all assessments add up to, without looking at each cluster.
//!
//! [`HaltKind`], [`FreeSlots`] and [`next_moment`] are the rules themselves, functions of a few numbers ([`SlotInputs`]). A decision takes
//! these numbers from its totals; a forecast counts them up itself, and follows the same rules.

use std::collections::BTreeSet;

use drydock_names::{ClusterName, IntOrPercent};
use jiff::Timestamp;

use crate::totals::Totals;
use crate::{FreezeIndex, Halt, Opening, Reason, Rollout, Spec, StartTimes, Timetable};

/// What the rules of a rollout as a whole depend on, beside its spec and the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotInputs {
    /// Clusters of the rollout.
    pub total: usize,
    /// Those that are selected.
    pub selected: usize,
    /// Those that have not started.
    pub pending: usize,
    /// Those that may start when it is their turn.
    pub startable: usize,
    /// Those that hold a slot.
    pub in_flight: usize,
    /// Those in flight whose upgrade has begun.
    pub upgrading: usize,
    /// Those in flight that have no work: the first one was refused.
    pub refused_starts: usize,
    /// Those that may be in flight by works of which only a status says something.
    pub may_hide_works: usize,
    /// Those whose upgrade follows on their action.
    pub continuing: usize,
    /// Those of them whose start times are closed: they hold no slot, as they may wait for days. How many are upgraded at a time is counted
    /// on its own ([`upgrades_allowed`]).
    pub closed: usize,
    /// Failures that spend the budget.
    pub failures: usize,
    /// Canaries that all others wait for.
    pub awaited_canaries: usize,
    /// Those of them that are complete.
    pub complete_canaries: usize,
    /// Canaries that failed.
    pub failed_canaries: usize,
    /// Canaries in trouble.
    pub unhealthy_canaries: usize,
    /// Canaries that need nothing, of which no record says yet since when.
    pub unrecorded_canaries: usize,
    /// When a cluster that is no canary last started for the present goal.
    pub others_started: Option<Timestamp>,
    /// When a canary was last complete.
    pub canaries_finished: Option<Timestamp>,
    /// When a canary was last complete and Available.
    pub canaries_available: Option<Timestamp>,
}

impl SlotInputs {
    pub(crate) fn of(totals: &Totals) -> Self {
        Self {
            total: totals.all.total,
            selected: totals.selected,
            pending: totals.all.pending,
            startable: totals.startable.len(),
            in_flight: totals.all.in_flight,
            upgrading: totals.upgrading,
            refused_starts: totals.refused_starts,
            may_hide_works: totals.may_hide_works,
            continuing: totals.continuing.len(),
            closed: 0,
            failures: totals.failures,
            awaited_canaries: totals.awaited_canaries.0,
            complete_canaries: totals.awaited_canaries.1,
            failed_canaries: totals.failed_canaries.len(),
            unhealthy_canaries: totals.unhealthy_canaries.len(),
            unrecorded_canaries: totals.unrecorded_canaries,
            others_started: totals.others_started.latest(),
            canaries_finished: totals.canaries_finished.latest(),
            canaries_available: totals.canaries_available.latest(),
        }
    }
}

/// Why no further cluster starts, where the selection is known and the spec valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaltKind {
    /// The user paused it.
    Paused,
    /// A canary failed.
    CanaryFailed,
    /// The canary selector matches no selected cluster.
    NoCanaryMatched,
    /// Too many clusters that are no canaries have failed.
    FailureBudgetSpent {
        /// What the spec says (`maxFailures`).
        allowed: IntOrPercent,
    },
    /// The canaries must stay healthy for a while.
    CanarySoaking {
        /// Until when; not known while one is in trouble.
        until: Option<Timestamp>,
    },
    /// No start window is open of the clusters of which one starts next.
    AwaitingStartWindow {
        /// When one opens.
        opens: Option<Timestamp>,
    },
    /// The clusters of which one starts next are frozen, or their start windows are closed.
    Frozen {
        /// When the first of them may start, if ever.
        until: Option<Timestamp>,
        /// By which freeze.
        freeze: FreezeIndex,
    },
}

impl HaltKind {
    /// The first of the reasons for which no further cluster starts; none if they may. `opening` says when those may of
    /// which one starts next.
    pub fn of(
        spec: &Spec,
        inputs: &SlotInputs,
        now: Timestamp,
        opening: impl FnOnce() -> Opening,
    ) -> Option<Self> {
        if spec.paused {
            return Some(Self::Paused);
        }
        if inputs.total == 0 {
            return None;
        }
        if spec.strategy.canaries.is_some() {
            if inputs.failed_canaries > 0 {
                return Some(Self::CanaryFailed);
            }
            if inputs.awaited_canaries == 0 {
                return Some(Self::NoCanaryMatched);
            }
        }
        if inputs.pending == 0 && inputs.startable == 0 {
            return None;
        }
        failure_budget(spec, inputs)
            .or_else(|| unreadable_calendar(spec))
            .or_else(|| soaking(spec, inputs, now))
            .or_else(|| match opening() {
                Opening::Always | Opening::OpenUntil(_) => None,
                Opening::ClosedUntil(opens) => Some(Self::AwaitingStartWindow { opens }),
                Opening::FrozenUntil(until, freeze) => Some(Self::Frozen { until, freeze }),
            })
    }
}

fn failure_budget(spec: &Spec, inputs: &SlotInputs) -> Option<HaltKind> {
    let allowed = spec.strategy.max_failures?;
    let budget = spec.strategy.failure_budget(inputs.selected)?;
    (inputs.failures >= budget).then_some(HaltKind::FailureBudgetSpent { allowed })
}

/// It has to be corrected, which takes somebody: that is said before what passes by itself.
fn unreadable_calendar(spec: &Spec) -> Option<HaltKind> {
    let freeze = spec.strategy.start_times.unreadable_calendar()?;
    Some(HaltKind::Frozen { until: None, freeze })
}

/// Complete canaries must stay healthy for a while before any other cluster starts. Once one has started after the last canary was
/// complete, the soak is over; one that was started before a canary joined, or for what an edit has replaced, says nothing about
/// it. The soak counts from the moment that the last canary was complete and Available; an unhealthy canary stops it.
fn soaking(spec: &Spec, inputs: &SlotInputs, now: Timestamp) -> Option<HaltKind> {
    if spec.strategy.soak.is_zero() || inputs.complete_canaries < inputs.awaited_canaries {
        return None;
    }
    let begins = inputs.unrecorded_canaries > 0;
    if inputs.others_started > inputs.canaries_finished && !begins {
        return None;
    }
    if inputs.unhealthy_canaries > 0 {
        return Some(HaltKind::CanarySoaking { until: None });
    }
    // One that needed nothing soaks from when this was recorded: what it has shown before is not known.
    let since = if begins { now } else { inputs.canaries_available? };
    let until = since.saturating_add(spec.strategy.soak).ok()?;
    (now < until).then_some(HaltKind::CanarySoaking { until: Some(until) })
}

/// When the halt ends by itself, or the start times of clusters change that wait for nothing else: time to look again.
pub fn next_moment(
    halt: Option<&HaltKind>,
    of_waiting: impl FnOnce() -> Option<Timestamp>,
    of_continuing: impl FnOnce() -> Option<Timestamp>,
) -> Option<Timestamp> {
    let by_halt = match halt {
        Some(HaltKind::CanarySoaking { until }) => *until,
        Some(HaltKind::AwaitingStartWindow { opens }) => *opens,
        Some(HaltKind::Frozen { until, .. }) => *until,
        Some(_) => None,
        None => of_waiting(),
    };
    by_halt.into_iter().chain(of_continuing()).min()
}

/// Whether it is a cluster's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotDecision {
    /// It may start.
    Starts,
    /// It waits; another one behind it may start.
    Waits,
    /// It waits, and so do all behind it.
    NoSlotLeft,
}

/// The free slots of one moment. Clusters are offered in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeSlots {
    free: usize,
    kept: usize,
    is_canaries_turn: bool,
}

impl FreeSlots {
    /// The slots that are free when `limit` clusters may be in flight.
    pub fn new(limit: usize, inputs: &SlotInputs) -> Self {
        // Until it is known which works there are, each that there may be counts.
        let known = limit.saturating_sub(inputs.may_hide_works);
        let taken = inputs.in_flight.saturating_sub(inputs.closed);
        Self {
            free: known.saturating_sub(taken),
            // A start that was refused keeps its slot, unless the limit was lowered meanwhile: it has begun nothing yet.
            kept: known.saturating_sub(taken.saturating_sub(inputs.refused_starts)),
            is_canaries_turn: inputs.complete_canaries < inputs.awaited_canaries,
        }
    }

    /// Whether a cluster may start: one that needs a slot or has one, and is a canary or one of the others.
    pub fn of(&self, needs_slot: bool, is_other: bool) -> SlotDecision {
        let slots = if needs_slot { self.free } else { self.kept };
        match slots {
            0 if needs_slot => SlotDecision::NoSlotLeft,
            0 => SlotDecision::Waits,
            _ if is_other && self.is_canaries_turn => SlotDecision::Waits,
            _ => SlotDecision::Starts,
        }
    }

    /// The cluster has started.
    pub fn take(&mut self, needs_slot: bool) {
        let slots = if needs_slot {
            &mut self.free
        } else {
            &mut self.kept
        };
        *slots = slots.saturating_sub(1);
    }
}

/// How many clusters whose pre-upgrade action is done may continue, of those whose start times are open: while fewer are being upgraded
/// than may be in flight (there are more where `maxConcurrency` was lowered, or a work went that said that a cluster is done).
pub fn upgrades_allowed(limit: usize, inputs: &SlotInputs) -> usize {
    limit.saturating_sub(inputs.upgrading + inputs.may_hide_works)
}

/// What the start times say of the timetables that clusters have.
fn openings(
    spec: &Spec,
    timetables: impl Iterator<Item = Timetable>,
    now: Timestamp,
) -> impl Iterator<Item = Opening> {
    timetables.map(move |timetable| spec.strategy.start_times.opening(timetable, now))
}

/// The timetables of clusters of which one starts next.
fn waiting(totals: &Totals) -> impl Iterator<Item = Timetable> {
    let (awaited, complete) = totals.awaited_canaries;
    totals.startable.timetables(complete < awaited)
}

/// The timetables of clusters whose upgrade follows on their action.
fn continuing(totals: &Totals) -> impl Iterator<Item = Timetable> {
    let timetables: BTreeSet<Timetable> = totals.continuing.values().copied().collect();
    timetables.into_iter()
}

/// Why no further cluster starts, if so; the first of several reasons.
pub(crate) fn halt(rollout: &Rollout, totals: &Totals, now: Timestamp) -> Option<Halt> {
    let Ok(spec) = &rollout.spec else {
        return Some(Halt::InvalidSpec);
    };
    let mut sources = rollout.selection.sources.iter();
    if sources.any(|source| source.problem.is_some()) {
        return Some(Halt::Selection);
    }
    Some(match halt_kind(spec, totals, now)? {
        HaltKind::Paused => Halt::Paused,
        HaltKind::CanaryFailed => Halt::CanaryFailed(totals.failed_canaries.clone()),
        HaltKind::NoCanaryMatched => Halt::NoCanaryMatched,
        HaltKind::FailureBudgetSpent { allowed } => Halt::FailureBudgetSpent {
            failed: totals.failures,
            allowed,
        },
        HaltKind::CanarySoaking { until } => Halt::CanarySoaking {
            until,
            unhealthy: totals.unhealthy_canaries.clone(),
        },
        HaltKind::AwaitingStartWindow { opens } => Halt::AwaitingStartWindow { opens },
        HaltKind::Frozen { freeze, .. } if freeze.is_unreadable() => Halt::FreezeCalendarUnreadable {
            why: spec.strategy.start_times.freeze_reason(freeze),
        },
        HaltKind::Frozen { until, freeze } => Halt::Frozen {
            until,
            why: spec.strategy.start_times.freeze_reason(freeze),
        },
    })
}

fn halt_kind(spec: &Spec, totals: &Totals, now: Timestamp) -> Option<HaltKind> {
    HaltKind::of(spec, &SlotInputs::of(totals), now, || {
        Opening::combined(openings(spec, waiting(totals), now))
    })
}

/// When the halt ends by itself, or start times change that matter: time to look again.
pub(crate) fn wake(
    rollout: &Rollout,
    totals: &Totals,
    halt: Option<&Halt>,
    now: Timestamp,
) -> Option<Timestamp> {
    let Ok(spec) = &rollout.spec else {
        return None;
    };
    let kind = match halt {
        Some(Halt::InvalidSpec | Halt::Selection) => Some(HaltKind::Paused),
        _ => halt_kind(spec, totals, now),
    };
    next_moment(
        kind.as_ref(),
        || {
            openings(spec, waiting(totals), now)
                .filter_map(Opening::changes)
                .min()
        },
        || {
            openings(spec, continuing(totals), now)
                .filter_map(Opening::changes)
                .min()
        },
    )
}

/// The clusters that start or continue.
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
    let timetables: BTreeSet<Timetable> = totals
        .startable
        .timetables(false)
        .chain(continuing(totals))
        .collect();
    let is_open = |timetable: &Timetable| spec.strategy.start_times.opening(*timetable, now).is_open();
    let open: BTreeSet<Timetable> = timetables.into_iter().filter(is_open).collect();
    let limit = spec.strategy.slots(totals.selected);
    let is_continuing = |timetable: &Timetable| open.contains(timetable);
    let inputs = SlotInputs {
        closed: totals
            .continuing
            .values()
            .filter(|timetable| !is_continuing(timetable))
            .count(),
        ..SlotInputs::of(totals)
    };
    let continuing = totals
        .continuing
        .iter()
        .filter(|(_, timetable)| is_continuing(timetable));
    let continuing = continuing.take(upgrades_allowed(limit, &inputs));
    let mut filled = Filled {
        limit,
        starts: Vec::new(),
        continues: continuing.map(|((.., name), _)| name.clone()).collect(),
    };
    if halt.is_some() {
        return filled;
    }
    let mut free_slots = FreeSlots::new(limit, &inputs);
    for key in totals.startable.with(|timetable| open.contains(&timetable)) {
        match free_slots.of(key.needs_slot, key.is_other) {
            SlotDecision::NoSlotLeft => break,
            SlotDecision::Starts if !is_taken(&key.name) => {
                free_slots.take(key.needs_slot);
                filled.starts.push(key.name.clone());
            }
            SlotDecision::Starts | SlotDecision::Waits => {}
        }
    }
    filled
}

/// Why a cluster with this timetable does not start, if it is because of its start times.
pub(crate) fn closed(rollout: &Rollout, timetable: Timetable, now: Timestamp) -> Option<Reason> {
    closed_by(&rollout.spec.as_ref().ok()?.strategy.start_times, timetable, now)
}

/// The same by these start times.
pub(crate) fn closed_by(times: &StartTimes, timetable: Timetable, now: Timestamp) -> Option<Reason> {
    match times.opening(timetable, now) {
        Opening::Always | Opening::OpenUntil(_) => None,
        Opening::ClosedUntil(until) => Some(match timetable.expected() {
            Some(expected) if times.opening(timetable.once_started(), now).is_open() => {
                Reason::DoesNotFit { expected, until }
            }
            _ => Reason::WaitingForWindow { opens: until },
        }),
        Opening::FrozenUntil(_, freeze) if freeze.is_unreadable() => {
            Some(Reason::FreezeCalendarUnreadable(times.freeze_reason(freeze)))
        }
        Opening::FrozenUntil(until, freeze) => Some(Reason::Frozen {
            until,
            why: times.freeze_reason(freeze),
        }),
    }
}

/// What a cluster waits for whose action is done and whose upgrade does not follow.
pub(crate) fn held_by(
    rollout: &Rollout,
    totals: &Totals,
    timetable: Timetable,
    limit: usize,
    now: Timestamp,
) -> Reason {
    closed(rollout, timetable, now).unwrap_or(Reason::WaitingForSlot {
        in_flight: totals.upgrading,
        limit,
    })
}
