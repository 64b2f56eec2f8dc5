//! What the assessments of all clusters add up to. Each assessment is added when it is made and taken away before it is
//! replaced, so that a decision costs what has changed, not what the fleet is large.

use std::collections::{BTreeMap, BTreeSet};

use drydock_names::ClusterName;
use jiff::Timestamp;

use crate::assess::{Assessment, NextWrite, PreCheckStep, Start, Step, Unrecorded};
use crate::startable::{StartKey, Startable};
use crate::{
    ActionCounts, Afterwards, ClusterState, ClusterStatus, Counts, Reason, Stage, Timetable, Urgency,
};

/// Timestamps with how often each was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimestampCounts(BTreeMap<Timestamp, usize>);

impl TimestampCounts {
    fn change(&mut self, moment: Option<Timestamp>, adds: bool) {
        let Some(moment) = moment else { return };
        let count = self.0.entry(moment).or_default();
        *count = if adds { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.0.remove(&moment);
        }
    }

    pub fn latest(&self) -> Option<Timestamp> {
        self.0.last_key_value().map(|(moment, _)| *moment)
    }
}

/// What the assessments of all clusters add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub all: Counts,
    pub states: BTreeMap<ClusterState, usize>,
    pub canaries: Counts,
    /// Canaries that all others wait for, and those of them that are complete: one that failed and left the selection is none.
    pub awaited_canaries: (usize, usize),
    pub selected: usize,
    pub failed: BTreeSet<ClusterName>,
    /// Failures that spend the budget: of clusters that are no canaries, those included that are about to be committed.
    pub failures: usize,
    /// Canaries that failed and are still canaries of the selection.
    pub failed_canaries: BTreeSet<ClusterName>,
    pub unhealthy_canaries: BTreeSet<ClusterName>,
    /// Those that need nothing, of which no record says yet since when.
    pub unrecorded_canaries: usize,
    pub canaries_finished: TimestampCounts,
    pub canaries_available: TimestampCounts,
    /// When clusters that are no canaries were started for the present goal.
    pub others_started: TimestampCounts,
    /// Clusters in flight whose upgrade has begun.
    pub upgrading: usize,
    /// Clusters in flight that have no work: the first one was refused.
    pub refused_starts: usize,
    /// Clusters that may be in flight by works that only a status mentions.
    pub may_hide_works: usize,
    pub startable: Startable,
    /// Clusters whose upgrade follows on their action, with their timetables: canaries first, then in the order in which they started.
    pub continuing: BTreeMap<(bool, Option<Timestamp>, ClusterName), Timetable>,
    /// Clusters with writes that wait for nobody.
    pub acting: BTreeSet<ClusterName>,
    /// Clusters that are to be asked what would be a problem.
    pub to_ask: BTreeSet<ClusterName>,
    /// Clusters whose works that asked them have served.
    pub asked_and_done: BTreeSet<ClusterName>,
    /// Clusters with findings that nobody has accepted.
    pub with_findings: BTreeSet<ClusterName>,
    /// Clusters with findings whose acceptance counts no more.
    pub blocked_again: BTreeSet<ClusterName>,
    /// Clusters in flight whose agents wait for findings that nobody has accepted.
    pub held_by_agent: BTreeSet<ClusterName>,
    /// Clusters that have been asked, and are waited for.
    pub awaited: BTreeSet<ClusterName>,
    /// Clusters whose answer is required, and that something else keeps from being asked.
    pub unasked: BTreeSet<ClusterName>,
    /// Clusters that have not answered in time, and are waited for.
    pub unanswered: BTreeSet<ClusterName>,
    pub unrecorded: BTreeSet<ClusterName>,
    /// Clusters that need nothing, which is on no page of records yet.
    pub at_target: BTreeSet<ClusterName>,
    /// Complete clusters that needed nothing.
    pub needed_nothing: usize,
    /// Clusters with works of actions that have served.
    pub disposable: BTreeSet<ClusterName>,
    /// Clusters whose attempt has failed before it began, with works that go.
    pub taken_back: BTreeSet<ClusterName>,
    pub attention: BTreeSet<(Urgency, ClusterName)>,
    pub deadlines: BTreeSet<(Timestamp, ClusterName)>,
    pub applied: usize,
    pub channels_pending: usize,
    pub versions: BTreeMap<String, usize>,
    pub drifted: usize,
    pub left_to: BTreeMap<String, usize>,
    pub finished: TimestampCounts,
    /// When the outcomes of clusters were committed, those included that needed nothing.
    pub outcomes: TimestampCounts,
    pub pre_actions: ActionCounts,
    pub post_actions: ActionCounts,
}

fn change(count: &mut usize, applies: bool, adds: bool) {
    if applies && adds {
        *count += 1;
    } else if applies {
        *count = count.saturating_sub(1);
    }
}

fn change_set<T: Ord>(set: &mut BTreeSet<T>, item: T, applies: bool, adds: bool) {
    if applies && adds {
        set.insert(item);
    } else if applies {
        set.remove(&item);
    }
}

fn change_map<K, Q>(map: &mut BTreeMap<K, usize>, key: &Q, adds: bool)
where
    K: Ord + std::borrow::Borrow<Q>,
    Q: Ord + ToOwned<Owned = K> + ?Sized,
{
    if let Some(count) = map.get_mut(key) {
        change(count, true, adds);
        if *count == 0 {
            map.remove(key);
        }
    } else if adds {
        map.insert(key.to_owned(), 1);
    }
}

impl Totals {
    /// Adds the assessment of a cluster.
    pub fn add(&mut self, name: &ClusterName, assessment: &Assessment) {
        self.apply(name, assessment, true);
    }

    /// Takes the assessment of a cluster away.
    pub fn subtract(&mut self, name: &ClusterName, assessment: &Assessment) {
        self.apply(name, assessment, false);
    }

    fn apply(&mut self, name: &ClusterName, assessment: &Assessment, adds: bool) {
        if let Some(until) = assessment.until {
            change_set(&mut self.deadlines, (until, name.clone()), true, adds);
        }
        let is_at_target = matches!(assessment.unrecorded.as_deref(), Some(Unrecorded::AtTarget(_)));
        change_set(&mut self.at_target, name.clone(), is_at_target, adds);
        change_set(
            &mut self.unrecorded,
            name.clone(),
            assessment.unrecorded.is_some() && !is_at_target,
            adds,
        );
        change(&mut self.may_hide_works, assessment.may_hide_work, adds);
        self.apply_pre_checks(name, assessment, adds);
        change_set(
            &mut self.disposable,
            name.clone(),
            !assessment.disposable.is_empty(),
            adds,
        );
        change_set(&mut self.taken_back, name.clone(), assessment.takes_back, adds);
        if let Some(upgrade) = &assessment.left_to {
            change_map(&mut self.left_to, upgrade, adds);
        }
        match &assessment.step {
            Step::Start(start) => {
                let key = start_key(name, assessment, start);
                self.startable.change(assessment.timetable, key, adds);
            }
            Step::Continue(next) => self.apply_next(name, assessment, next, adds),
        }
        if let Some(status) = &assessment.status {
            self.apply_status(name, assessment, status, adds);
        }
    }

    fn apply_pre_checks(&mut self, name: &ClusterName, assessment: &Assessment, adds: bool) {
        let step = assessment.pre_checks.as_ref();
        let reason = assessment.status.as_ref().map(|status| &status.reason);
        let is_unanswered = matches!(
            reason,
            Some(Reason::PreChecksUnanswered(_) | Reason::PreChecksNotAsked(_))
        );
        for (set, applies) in [
            (
                &mut self.to_ask,
                matches!(step, Some(PreCheckStep::Ask | PreCheckStep::Yield)),
            ),
            (
                &mut self.asked_and_done,
                matches!(step, Some(PreCheckStep::Delete(_))),
            ),
            (&mut self.with_findings, assessment.has_findings),
            (&mut self.blocked_again, assessment.blocks_again),
            (
                &mut self.held_by_agent,
                matches!(reason, Some(Reason::HeldByAgent(_))),
            ),
            (&mut self.awaited, reason == Some(&Reason::AwaitingPreChecks)),
            (&mut self.unasked, assessment.is_unasked),
            (&mut self.unanswered, is_unanswered),
        ] {
            change_set(set, name.clone(), applies, adds);
        }
    }

    fn apply_next(&mut self, name: &ClusterName, assessment: &Assessment, next: &[NextWrite], adds: bool) {
        let status = assessment.status.as_ref();
        let upgrades =
            |next: &NextWrite| matches!(next, NextWrite::Create(Stage::Platform | Stage::Operators));
        let waits = status.filter(|status| status.state == ClusterState::PreAction);
        if let Some(status) = waits.filter(|_| next.iter().any(upgrades)) {
            let key = (!status.canary, status.started, name.clone());
            if adds {
                self.continuing.insert(key, assessment.timetable.once_started());
            } else {
                self.continuing.remove(&key);
            }
        } else {
            change_set(&mut self.acting, name.clone(), !next.is_empty(), adds);
        }
    }

    fn apply_status(
        &mut self,
        name: &ClusterName,
        assessment: &Assessment,
        status: &ClusterStatus,
        adds: bool,
    ) {
        let state = status.state;
        count(&mut self.all, status, adds);
        change_map(&mut self.states, &state, adds);
        change(&mut self.selected, status.selected, adds);
        change_set(
            &mut self.failed,
            name.clone(),
            state == ClusterState::Failed,
            adds,
        );
        if let Some(urgency) = status.urgency() {
            change_set(&mut self.attention, (urgency, name.clone()), true, adds);
        }
        change(&mut self.upgrading, status.initialized && state.in_flight(), adds);
        let has_begun = status.started.is_some();
        change(&mut self.refused_starts, state.in_flight() && !has_begun, adds);
        change(&mut self.applied, status.applied || status.initialized, adds);
        change(&mut self.channels_pending, assessment.channel_pending, adds);
        let is_drifted = matches!(status.afterwards, Some(Afterwards::Drifted { .. }));
        change(&mut self.drifted, is_drifted, adds);
        let needed_nothing =
            state == ClusterState::Complete && matches!(status.reason, Reason::AlreadyAtTarget(_));
        change(&mut self.needed_nothing, needed_nothing, adds);
        change_map(
            &mut self.versions,
            status.version.as_deref().unwrap_or("unknown"),
            adds,
        );
        self.finished.change(status.finished, adds);
        self.outcomes
            .change(status.since.filter(|_| state.finished()), adds);
        if status.canary {
            self.apply_canary(name, assessment, status, adds);
        } else {
            change(&mut self.failures, status.has_failed(), adds);
            if assessment.for_goal {
                self.others_started.change(status.started, adds);
            }
        }
        self.apply_actions(assessment, status, adds);
    }

    fn apply_canary(
        &mut self,
        name: &ClusterName,
        assessment: &Assessment,
        status: &ClusterStatus,
        adds: bool,
    ) {
        count(&mut self.canaries, status, adds);
        let is_awaited = status.selected || status.state != ClusterState::Failed;
        change(&mut self.awaited_canaries.0, is_awaited, adds);
        let is_complete = status.state == ClusterState::Complete;
        change(&mut self.awaited_canaries.1, is_complete, adds);
        let failed = status.state == ClusterState::Failed && status.selected;
        change_set(&mut self.failed_canaries, name.clone(), failed, adds);
        // One that has left the fleet after it was complete has passed.
        let is_there = status.selected;
        change_set(
            &mut self.unhealthy_canaries,
            name.clone(),
            is_there && !assessment.healthy,
            adds,
        );
        let upgraded_at = assessment.upgraded_at;
        let is_unrecorded = matches!(assessment.unrecorded.as_deref(), Some(Unrecorded::AtTarget(_)));
        change(
            &mut self.unrecorded_canaries,
            is_there && is_unrecorded && upgraded_at.is_none(),
            adds,
        );
        self.canaries_finished.change(upgraded_at, adds);
        let available = assessment.available_since.filter(|_| is_there);
        self.canaries_available.change(upgraded_at.max(available), adds);
    }

    /// Works of actions go when the upgrade is done, the counts stay: a cluster that has an upgrade work has passed its pre-upgrade
    /// action.
    fn apply_actions(&mut self, assessment: &Assessment, status: &ClusterStatus, adds: bool) {
        let failed_in = |stage| assessment.failed_stage == Some(stage);
        if status.started.is_some() {
            let acting = status.state == ClusterState::PreAction;
            let failed = failed_in(Stage::PreAction);
            let pre = &mut self.pre_actions;
            change(&mut pre.total, true, adds);
            change(&mut pre.applied, status.initialized || status.applied, adds);
            change(&mut pre.available, status.initialized, adds);
            change(&mut pre.degraded, failed, adds);
            change(
                &mut pre.progressing,
                acting && !status.initialized && !failed,
                adds,
            );
        }
        let acting = status.state == ClusterState::PostAction;
        let complete = status.state == ClusterState::Complete && status.initialized;
        let failed = failed_in(Stage::PostAction);
        if acting || complete || failed {
            let post = &mut self.post_actions;
            change(&mut post.total, true, adds);
            change(
                &mut post.applied,
                complete || failed || assessment.post_applied,
                adds,
            );
            change(&mut post.available, complete, adds);
            change(&mut post.degraded, failed, adds);
            change(&mut post.progressing, acting && !failed, adds);
        }
    }
}

fn start_key(name: &ClusterName, assessment: &Assessment, start: &Start) -> StartKey {
    StartKey {
        needs_slot: !start.holds_slot,
        is_other: !assessment.status.as_ref().is_some_and(|status| status.canary),
        is_repeat: start.is_repeat,
        place: start.place,
        name: name.clone(),
    }
}

fn count(counts: &mut Counts, status: &ClusterStatus, adds: bool) {
    change(&mut counts.total, true, adds);
    change(&mut counts.initialized, status.initialized, adds);
    change(&mut counts.in_flight, status.state.in_flight(), adds);
    let of_state = match status.state {
        ClusterState::NotStarted => &mut counts.pending,
        ClusterState::PreAction | ClusterState::Initialized => return,
        ClusterState::PartialUpgrade | ClusterState::Operators | ClusterState::PostAction => {
            &mut counts.partial
        }
        ClusterState::Complete => &mut counts.complete,
        ClusterState::Failed => &mut counts.failed,
    };
    change(of_state, true, adds);
}
