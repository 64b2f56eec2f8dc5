//! Why the rollout, and every cluster of it, is where it is.

use std::collections::BTreeSet;

use drydock_names::ClusterName;
use jiff::Timestamp;

use super::{AssessedFleet, is_all_complete, rollout_begins};
use crate::assess::is_over;
use crate::deletion::first_names;
use crate::slots::{self, Filled};
use crate::{
    ActionCounts, ClusterState, ClusterStatus, Halt, NAMED_CLUSTERS, PreCheckCounts, Reason, Report, Urgency,
};

impl AssessedFleet<'_> {
    pub(super) fn report(&self, filled: &Filled, starting: usize, frozen: bool, now: Timestamp) -> Report {
        let totals = self.totals;
        let spec = self.rollout.spec.as_ref();
        let problem = self.rollout.selection.sources.iter().find_map(|source| {
            let problem = source.problem.clone()?;
            Some((source.placement.clone(), problem))
        });
        let used =
            |counts: ActionCounts, is_used: bool| if is_used { counts } else { ActionCounts::default() };
        let has = |which: fn(&crate::Spec) -> bool| spec.is_ok_and(|spec| which(spec)) || spec.is_err();
        let begins =
            starting > 0 || (is_over(self.rollout) && !is_all_complete(totals)) || self.begins_with_records();
        Report {
            selected: totals.selected,
            selection_problem: problem,
            invalid: spec.err().cloned(),
            starting,
            limit: filled.limit,
            target: spec.map(|spec| spec.goal.to_string()).unwrap_or_default(),
            counts: totals.all,
            states: totals.states.clone(),
            canaries: totals.canaries,
            pre_checks: PreCheckCounts {
                mode: spec.map(|spec| spec.pre_checks.mode).unwrap_or_default(),
                with_findings: totals.with_findings.len(),
                blocked_again: totals.blocked_again.len(),
                first_blocked_again: first_names(&totals.blocked_again),
                held_by_agent: totals.held_by_agent.len(),
                awaited: totals.awaited.len(),
                unasked: totals.unasked.len(),
                unanswered: totals.unanswered.len(),
                first: self.first_held(),
            },
            awaits_canaries: totals.awaited_canaries.1 < totals.awaited_canaries.0,
            awaits_questions: self.awaits_questions(),
            pre_actions: used(totals.pre_actions, has(|spec| spec.pre_action.is_some())),
            post_actions: used(totals.post_actions, has(|spec| spec.post_action.is_some())),
            applied: totals.applied,
            channels_pending: totals.channels_pending,
            versions: totals.versions.clone(),
            drifted: totals.drifted,
            needed_nothing: totals.needed_nothing,
            awaits_records: self.at_target().map_or(0, BTreeSet::len),
            left_to: totals.left_to.clone(),
            unnamed: totals.attention.len().saturating_sub(NAMED_CLUSTERS),
            failed: self.failed(),
            rollout_since: self
                .context
                .since
                .or(begins.then(|| rollout_begins(now)))
                .or(self.rollout.previous.start_time),
            last_finished: totals.finished.latest(),
            last_outcome: totals.outcomes.latest(),
            startable: totals.startable.len(),
            only_if_they_fit: spec.is_ok_and(|spec| spec.strategy.start_only_if_it_fits),
            frozen,
            records_refused: self
                .rollout
                .page_refusal
                .as_ref()
                .map(|refusal| refusal.words.to_string()),
            ..Report::default()
        }
    }

    fn status(&self, name: &ClusterName) -> Option<&ClusterStatus> {
        self.assessments.get(name)?.status.as_ref()
    }

    fn failed(&self) -> Vec<(ClusterName, Reason)> {
        let first = self.totals.failed.iter().take(5);
        first
            .filter_map(|name| Some((name.clone(), self.status(name)?.reason.clone())))
            .collect()
    }

    /// The first cluster that its pre-checks hold, and why.
    fn first_held(&self) -> Option<(ClusterName, Reason)> {
        let totals = self.totals;
        // That somebody had accepted is news.
        let held = totals.blocked_again.iter().chain(&totals.with_findings);
        let held = held.chain(&totals.held_by_agent).chain(&totals.unanswered);
        let mut held = held.filter_map(|name| Some((name.clone(), self.status(name)?.reason.clone())));
        held.find(|(_, reason)| {
            matches!(
                reason,
                Reason::RisksNotAccepted { .. }
                    | Reason::HeldByAgent(_)
                    | Reason::PreChecksUnanswered(_)
                    | Reason::PreChecksNotAsked(_)
            )
        })
    }

    pub(super) fn attention(
        &self,
        report: &Report,
        filled: &Filled,
        now: Timestamp,
    ) -> Vec<(ClusterName, ClusterStatus)> {
        let urgent = self.totals.attention.iter().take(NAMED_CLUSTERS);
        urgent
            .filter_map(|(_, name)| Some((name.clone(), self.resolved(name, report, filled, now)?)))
            .collect()
    }

    /// The status of a cluster with what it waits for because of the others.
    pub fn resolved(
        &self,
        name: &ClusterName,
        report: &Report,
        filled: &Filled,
        now: Timestamp,
    ) -> Option<ClusterStatus> {
        let mut status = self.status(name)?.clone();
        let key = (!status.canary, status.started, name.clone());
        if status.reason == Reason::ReadyToStart {
            status.reason = self.waiting_reason(name, status.canary, report, now);
        } else if let Some(timetable) = self.totals.continuing.get(&key)
            && !filled.continues.contains(name)
        {
            status.reason = slots::held_by(self.rollout, self.totals, *timetable, filled.limit, now);
        }
        if status.state == ClusterState::NotStarted {
            let incomplete_since = self.rollout.previous.incomplete_since.or(report.rollout_since);
            status.since = status.since.max(incomplete_since);
        }
        Some(status)
    }

    /// What a cluster waits for that is ready to start.
    fn waiting_reason(&self, name: &ClusterName, canary: bool, report: &Report, now: Timestamp) -> Reason {
        let timetable = self.assessments.get(name).map(|assessment| assessment.timetable);
        let closed = timetable.and_then(|timetable| slots::closed(self.rollout, timetable, now));
        let is_by_time = matches!(
            report.halt,
            None | Some(
                Halt::AwaitingStartWindow { .. }
                    | Halt::Frozen { .. }
                    | Halt::FreezeCalendarUnreadable { .. }
            )
        );
        match closed.filter(|_| is_by_time) {
            Some(closed) => closed,
            None => report.waiting_reason(canary),
        }
    }

    pub(super) fn first_wait(&self, report: &Report, now: Timestamp) -> Option<(ClusterName, Reason)> {
        let kept = || {
            let blocked = self
                .totals
                .attention
                .range((Urgency::Blocked, ClusterName::default())..);
            blocked.map(|(_, name)| name)
        };
        let is_canary = |name: &&ClusterName| self.status(name).is_some_and(|status| status.canary);
        // The others wait for the canaries. Of a large fleet many may be kept: they are looked through only then.
        let canary = report.awaits_canaries.then(|| kept().find(is_canary)).flatten();
        if let Some(name) = canary.or_else(|| kept().next()) {
            return Some((name.clone(), self.status(name)?.reason.clone()));
        }
        let mut waiting = self.totals.startable.with(|_| true);
        let Some(waiting) = waiting.find(|key| key.needs_slot) else {
            let name = self.totals.awaited.first()?;
            return Some((name.clone(), self.status(name)?.reason.clone()));
        };
        let reason = self.waiting_reason(&waiting.name, !waiting.is_other, report, now);
        Some((waiting.name.clone(), reason))
    }
}
