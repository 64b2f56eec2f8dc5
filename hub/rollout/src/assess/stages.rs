//! The stages of a cluster that has started, one after the other, each to its end.

use std::sync::Arc;

use drydock_names::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::entry::has_asked;
use super::pre_checks::{PreCheckStep, Standing};
use super::progress::{Progress, action_progress, upgrade_progress};
use super::{Assessment, ClusterView, Ending, FOLLOWS_AT_ONCE, NextWrite, Step, Unrecorded};
use crate::{
    ALREADY_AT_TARGET, ClusterState, Deadline, FailureReason, Goal, Reason, RefusedWrite, Revision, Stage,
    UPDATED_OTHERWISE, Work, WorkFeedback, slots,
};

/// For how long a start stands while the cluster is read: seconds, where nobody has its lock.
const START_STANDS: SignedDuration = SignedDuration::from_mins(10);

const WAITS_FOR_SPEC: Deadline =
    Deadline::Never("only the user can correct the spec, and failing the cluster would help nobody");

impl<'a> ClusterView<'a> {
    pub(super) fn in_flight(&self, kind: WorkKind, lead: &'a Work) -> Assessment {
        if let Some(later) = self.overtaken_by(lead) {
            return self.abandoned(later.to_string(), lead);
        }
        if kind == WorkKind::Cluster && !has_asked(kind, lead) && self.is_recorded(lead) {
            return self.lets_go(lead);
        }
        let Some(goal) = self.goal_of(lead) else {
            return self.waits_for_spec(Stage::of(kind).state());
        };
        let (stage, work) = self.present_stage(kind, lead);
        let deadline = self.deadline(stage, work);
        let progress = match (stage, &goal.target) {
            (Stage::Platform, Some(target)) => upgrade_progress(work, target, deadline, &self.present),
            (Stage::Platform, None) => return self.waits_for_spec(ClusterState::Initialized),
            _ => action_progress(stage, work, deadline, &self.present),
        };
        match progress.clone() {
            Progress::Going(state, reason) => {
                let reason = self.as_last_said(self.with_own_target(goal, reason));
                let by_agent = match &work.feedback {
                    WorkFeedback::Agent(feedback) => feedback.fails_at,
                    _ => None,
                };
                let first = by_agent.map_or(deadline, |fails| fails.min(deadline));
                self.going(state, reason, first, work.begun())
            }
            Progress::Enforce => self.enforces(deadline, work),
            Progress::Failed(reason, message) => {
                let away = self.away().filter(|_| reason == stage.timed_out());
                let message = away.map_or_else(|| message.clone(), |away| format!("{message}; {away}"));
                self.fails(kind, reason, &message)
            }
            Progress::Done | Progress::WasThere => match self.stage_after(stage, goal) {
                Err(()) => self.waits_for_spec(stage.state()),
                Ok(Some(next)) => self.continues(stage, next, lead, deadline),
                Ok(None) => self.completes(stage, kind, goal, progress == Progress::WasThere),
            },
        }
    }

    /// What is known of a cluster that nobody reaches is what it said before.
    fn as_last_said(&self, reason: Reason) -> Reason {
        let Some(away) = self.away() else { return reason };
        let with = |said: Option<Arc<str>>| match said {
            Some(said) => format!("{away}; before that: {said}").into(),
            None => Arc::from(away),
        };
        match reason {
            Reason::Progressing(said) => Reason::Blocked(with(said)),
            Reason::Blocked(said) => Reason::Blocked(with(Some(said))),
            Reason::HeldByAgent(said) => Reason::HeldByAgent(with(Some(said))),
            Reason::WaitingForTarget(said) => Reason::WaitingForTarget(Some(with(said))),
            reason => reason,
        }
    }

    /// What started keeps its target to its end: that is said where the upgrade has another one since.
    fn with_own_target(&self, goal: &Goal, reason: Reason) -> Reason {
        let present = self.spec().and_then(|spec| spec.goal.target.as_ref());
        let Some(own) = goal.target.as_ref().filter(|own| present != Some(*own)) else {
            return reason;
        };
        let with = |said: Option<Arc<str>>, advice: &str| -> Arc<str> {
            let said = said.map(|said| format!("; {said}")).unwrap_or_default();
            format!("its own target is {own}, with which it started{advice}{said}").into()
        };
        // What is accepted on the hub is accepted for the target that the upgrade has now.
        let accept = ": accept on the cluster what it waits for, or retry it after its timeout";
        match reason {
            Reason::Progressing(said) => Reason::Progressing(Some(with(said, ""))),
            Reason::Blocked(said) => Reason::Blocked(with(Some(said), "")),
            Reason::HeldByAgent(said) => Reason::HeldByAgent(with(Some(said), accept)),
            Reason::WaitingForTarget(said) => Reason::WaitingForTarget(Some(with(said, ""))),
            reason => reason,
        }
    }

    /// Why nothing is heard of a cluster, if so.
    fn away(&self) -> Option<&'static str> {
        match self.row.facts.as_deref() {
            None => Some("its ManagedCluster is gone"),
            Some(facts) if facts.deleting => Some("its ManagedCluster is being deleted"),
            Some(facts) => (!facts.available).then_some("the cluster is not Available"),
        }
    }

    /// The newest stage that has a work of this upgrade, with the work.
    pub(super) fn present_stage(&self, kind: WorkKind, lead: &'a Work) -> (Stage, &'a Work) {
        if kind == WorkKind::Pre {
            return (Stage::PreAction, lead);
        }
        [WorkKind::Post, WorkKind::Operators]
            .into_iter()
            .find_map(|later| Some((Stage::of(later), self.of_newest_attempt(later)?)))
            .unwrap_or((Stage::of(kind), lead))
    }

    /// What follows on a stage for this goal; nothing after the last. An invalid spec does not say.
    fn stage_after(&self, stage: Stage, goal: &Goal) -> Result<Option<Stage>, ()> {
        self.stage_after_from(stage, goal, self.known_version())
    }

    /// The same on a cluster that runs this version.
    pub(super) fn stage_after_from(
        &self,
        stage: Stage,
        goal: &Goal,
        version: Option<&Version>,
    ) -> Result<Option<Stage>, ()> {
        let post_action = || match self.spec() {
            None => Err(()),
            Some(spec) => Ok(spec.post_action.as_ref().map(|_| Stage::PostAction)),
        };
        match stage {
            // A platform that is there already is left alone where operators are to be upgraded.
            Stage::PreAction if goal.operators.is_some() && goal.platform_reached(version) => {
                Ok(Some(Stage::Operators))
            }
            Stage::PreAction => Ok(Some(Stage::Platform)),
            Stage::Platform if goal.operators.is_some() => Ok(Some(Stage::Operators)),
            Stage::Platform | Stage::Operators => post_action(),
            Stage::PostAction => Ok(None),
        }
    }

    /// The work of the next stage is created, under the revision of the first.
    fn continues(&self, stage: Stage, next: Stage, lead: &Work, deadline: Timestamp) -> Assessment {
        let state = match stage {
            Stage::PreAction => ClusterState::PreAction,
            _ => next.state(),
        };
        let kind = next.kind();
        let timeout = self.timeout(next, lead);
        // What is in the way of the next work must go within its time, and that of the stage before.
        let waits = deadline.saturating_add(timeout).unwrap_or(Timestamp::MAX);
        let (reason, step) = match self.row.works.get(kind) {
            None => return self.creates(state, next, timeout, lead),
            Some(taken) if taken.deleting => (Reason::ReplacingOldWork, Step::WAIT),
            Some(taken) if self.is_own(taken) || self.is_recorded(taken) => self.replaces(kind),
            Some(taken) => (Reason::OwnedByAnotherUpgrade(taken.owner.to_string()), Step::WAIT),
        };
        if self.present.has_reached(waits) {
            return self.fails(self.lead_kind(), next.timed_out(), &reason.to_string());
        }
        let status = self.status(state, reason, Deadline::At(waits));
        self.member(status, step)
    }

    /// An old work that is in the way of the next one is deleted.
    fn replaces(&self, kind: WorkKind) -> (Reason, Step) {
        let next = self.may_delete(kind).then_some(NextWrite::Delete(kind));
        let step = Step::Continue(next.into_iter().collect());
        match self.refusal(kind, RefusedWrite::Delete) {
            Some(refusal) => (Reason::refused(kind, refusal), step),
            None => (Reason::ReplacingOldWork, step),
        }
    }

    fn lead_kind(&self) -> WorkKind {
        self.lead().map_or(WorkKind::Cluster, |(kind, _)| kind)
    }

    fn creates(&self, state: ClusterState, next: Stage, timeout: SignedDuration, lead: &Work) -> Assessment {
        if self.revision_after(lead, next).is_none() {
            return self.waits_for_spec(state);
        }
        let Some(refusal) = self.refusal(next.kind(), RefusedWrite::Create) else {
            let status = self.status(state, Reason::ActionDone, FOLLOWS_AT_ONCE);
            return self.member(status, Step::Continue(vec![NextWrite::Create(next)]));
        };
        let reason = Reason::WriteRefused {
            stage: next,
            words: Arc::clone(&refusal.words),
        };
        let deadline = refusal.since.saturating_add(timeout).unwrap_or(Timestamp::MAX);
        if self.present.has_reached(deadline) {
            return self.fails(self.lead_kind(), next.refused(), &reason.to_string());
        }
        let is_due = self.present.has_reached(refusal.next);
        let next = is_due.then_some(NextWrite::Create(next));
        let mut status = self.status(state, reason, Deadline::At(deadline));
        // From the status, a hub that starts again knows when the first attempt was.
        status.since = Some(refusal.since);
        self.member(status, Step::Continue(next.into_iter().collect()))
    }

    /// A later rollout works on the cluster beside this one: this one records that it abandons the cluster, and deletes its works.
    fn abandoned(&self, later: String, lead: &Work) -> Assessment {
        let mut assessment = self.takes_no_part();
        if self.is_recorded(lead) {
            let works = self.own_works().filter(|(_, work)| !work.deleting);
            let kinds = works.map(|(kind, _)| kind).filter(|kind| self.may_delete(*kind));
            assessment.step = Step::Continue(kinds.map(NextWrite::Delete).collect());
        } else {
            assessment.unrecorded = Some(Box::new(Unrecorded::Abandoned(
                format!("{later} has taken over").into(),
            )));
        }
        assessment.left_to = Some(later);
        assessment
    }

    /// What started keeps its goal to its end.
    pub(super) fn goal_of(&self, work: &'a Work) -> Option<&'a Goal> {
        let revised = work.revision.as_ref().map(|revision| &*revision.goal);
        revised.or(self.spec().map(|spec| &*spec.goal))
    }

    /// Timeouts count from the work's creation, or from when it was taken up again. The spec's word counts while it is valid, so that a user
    /// can prolong it.
    pub(super) fn deadline(&self, stage: Stage, work: &Work) -> Timestamp {
        work.begun()
            .saturating_add(self.timeout(stage, work))
            .unwrap_or(Timestamp::MAX)
    }

    /// The longest time that a stage may take.
    fn timeout(&self, stage: Stage, work: &Work) -> SignedDuration {
        self.spec()
            .and_then(|spec| stage.timeout(spec))
            .or(work.revision.as_ref().map(|revision| Revision::timeout(revision)))
            .unwrap_or(SignedDuration::from_hours(3))
    }

    fn going(
        &self,
        state: ClusterState,
        reason: Reason,
        deadline: Timestamp,
        since: Timestamp,
    ) -> Assessment {
        let mut status = self.status(state, reason, Deadline::At(deadline));
        status.since = Some(since);
        self.member(status, Step::WAIT)
    }

    /// The cluster has been read, and is asked for the target, unless it has waited for so long that its start times are closed again, or
    /// its answer is awaited.
    fn enforces(&self, deadline: Timestamp, work: &Work) -> Assessment {
        let refused = self.refusal(WorkKind::Cluster, RefusedWrite::Change);
        let (standing, question) = self.held_before_target();
        let held = match standing {
            Standing::Held { reason, .. } => return self.gives_slot_back(reason, question, deadline, work),
            Standing::Awaited(reason) => Some(reason),
            Standing::Clear => None,
        };
        let closed = self.closed_since_start(work).or(held);
        let closed = closed.filter(|_| refused.is_none());
        let is_closed = closed.is_some();
        let (reason, failure) = match refused {
            Some(refusal) => (
                Reason::refused(WorkKind::Cluster, refusal),
                FailureReason::UpgradeRefused,
            ),
            None => (
                closed.unwrap_or(Reason::WaitingForTarget(None)),
                FailureReason::UpgradeTimedOut,
            ),
        };
        if self.present.has_reached(deadline) {
            return self.fails(WorkKind::Cluster, failure, &reason.to_string());
        }
        let mut assessment = self.going(ClusterState::Initialized, reason, deadline, work.begun());
        assessment.pre_checks = question;
        if self.may_change(WorkKind::Cluster) && !is_closed {
            assessment.step = Step::Continue(vec![NextWrite::Enforce]);
        }
        assessment
    }

    /// What came up after the work was created holds the cluster, which was asked for nothing: its attempt is put on record, and then its work
    /// goes.
    fn gives_slot_back(
        &self,
        held: Reason,
        question: Option<PreCheckStep>,
        deadline: Timestamp,
        work: &Work,
    ) -> Assessment {
        let abandoned = Unrecorded::Abandoned(held.to_string().into());
        let mut assessment = self.going(ClusterState::Initialized, held, deadline, work.begun());
        (assessment.has_findings, assessment.pre_checks) = (true, question);
        assessment.unrecorded = Some(Box::new(abandoned));
        assessment
    }

    /// The attempt is on record, and has asked for nothing: without its work the cluster has not started, and takes no slot.
    fn lets_go(&self, lead: &Work) -> Assessment {
        let (reason, step) = self.replaces(WorkKind::Cluster);
        let deadline = self.deadline(Stage::Platform, lead);
        let mut assessment = self.going(ClusterState::Initialized, reason, deadline, lead.begun());
        if !lead.deleting {
            assessment.step = step;
        }
        assessment
    }

    /// Why the cluster may not be asked for anything any more, since its work was created.
    fn closed_since_start(&self, work: &Work) -> Option<Reason> {
        let stands_until = work
            .begun()
            .saturating_add(START_STANDS)
            .unwrap_or(Timestamp::MAX);
        if !self.present.has_reached(stands_until) {
            return None;
        }
        let times = &self.spec()?.strategy.start_times;
        let timetable = self.timetable().once_started();
        if let Some(changes) = times.opening(timetable, self.present.now()).changes() {
            self.present.has_reached(changes);
        }
        slots::closed_by(times, timetable, self.present.now())
    }

    pub(super) fn waits_for_spec(&self, state: ClusterState) -> Assessment {
        let status = self.status(state, Reason::SpecInvalid, WAITS_FOR_SPEC);
        self.member(status, Step::WAIT)
    }

    /// The outcome is committed; the cluster holds its slot until it is seen.
    fn completes(&self, stage: Stage, kind: WorkKind, goal: &Goal, was_there: bool) -> Assessment {
        let work = self.own(WorkKind::Cluster);
        // It ran an older version when the attempt began, which has asked for nothing.
        let before = work.and_then(|work| work.revision.as_ref()?.from.as_ref());
        let is_older = |before: &Version| goal.version().is_some_and(|to| before.cmp_precedence(to).is_lt());
        let reason = match before.is_some_and(is_older) {
            _ if !was_there => "Upgraded",
            true => UPDATED_OTHERWISE,
            false => ALREADY_AT_TARGET,
        };
        let unverified = work
            .and_then(|work| work.feedback.cluster_version())
            .is_some_and(|feedback| feedback.verified == Some(false));
        let message = match (self.known_version(), goal.version()) {
            (Some(shown), Some(target)) if shown.cmp_precedence(target).is_gt() => {
                format!("runs {shown}, which is newer than {goal}")
            }
            (Some(shown), _) if reason == ALREADY_AT_TARGET => format!("already runs {shown}"),
            (Some(shown), _) if reason == UPDATED_OTHERWISE => {
                format!("came to {shown} by an update that this attempt had not asked for")
            }
            _ if unverified => format!("upgraded to {goal}; the signature of the release was not verified"),
            _ => format!("upgraded to {goal}"),
        };
        let state = match stage {
            Stage::Platform => ClusterState::PartialUpgrade,
            other => other.state(),
        };
        let ending = Ending {
            outcome: EndState::Complete,
            reason,
            message: message.into(),
            unverified,
        };
        self.ends(state, kind, ending)
    }

    pub(super) fn fails(&self, kind: WorkKind, reason: FailureReason, message: &str) -> Assessment {
        self.ends(
            reason.stage().state(),
            kind,
            Ending {
                outcome: EndState::Failed,
                reason: reason.as_str(),
                message: message.into(),
                unverified: false,
            },
        )
    }
}
