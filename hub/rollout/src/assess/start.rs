//! Whether a cluster may start, and how.

use std::sync::Arc;

use drydock_names::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::ended::Ended;
use super::progress::{Progress, agent_at_work, is_agent_at_work, is_update_under_way, upgrade_progress};
use super::{Assessment, ClusterView, Ending, IS_FINAL, Start, StartKind, Step, Unrecorded};
use crate::{
    Afterwards, ClusterState, ClusterStatus, Deadline, FailureReason, Reason, Refusal, RefusalCause,
    RefusedWrite, RequestedMethod, Selected, Stage, UpgradeMethod, Work,
};

const WAITS_TO_START: Deadline =
    Deadline::Never("it waits for its turn, or for the user; the reason says for what");

/// How long a refused start counts as begun after it was last tried; after a halt this time begins again.
const KEEPS_TRYING: SignedDuration = SignedDuration::from_mins(3);

impl<'a> ClusterView<'a> {
    /// A cluster that has not started, or starts over: after a retry that was asked for it may do so although a later rollout
    /// has claimed it, and a stage that failed after the platform's is not left out.
    pub(super) fn not_started(&self, retried: Option<&Ended<'_>>) -> Assessment {
        let Some(selected) = self.row.selection else {
            return self.takes_no_part();
        };
        if retried.is_none()
            && let Some(claim) = self.later_claim()
        {
            let mut assessment = self.takes_no_part();
            assessment.left_to = Some(self.named(claim.owner, claim.is_over));
            return assessment;
        }
        let resumes = retried.is_some_and(|ended| {
            let failed = FailureReason::parse(&ended.reason).map(FailureReason::stage);
            ended.is_current
                && failed.is_some_and(|stage| stage > Stage::Platform || self.has_arrived_since(stage))
        });
        if let Some(version) = self.known_version().filter(|_| !resumes && !self.awaits_agent())
            && self.spec().is_some_and(|spec| {
                spec.goal.operators.is_none() && spec.goal.platform_reached(Some(version))
            })
        {
            let reason = Reason::AlreadyAtTarget(format!("already runs {version}").into());
            let status = self.fresh(ClusterState::Complete, reason, IS_FINAL);
            let mut assessment = self.member(status, Step::WAIT);
            assessment.upgraded_at = self.reached_at();
            assessment.unrecorded = Some(Box::new(Unrecorded::AtTarget(version.to_string().into())));
            return assessment;
        }
        if let Some(reason) = self.blocked_by(selected) {
            return self.waits_to_start(reason);
        }
        let platform = self.spec().is_some_and(|spec| spec.goal.target.is_some());
        let (stage, begins) = if resumes && platform {
            (Some(Stage::Platform), StartKind::ByReading)
        } else {
            (self.first_stage(), StartKind::New)
        };
        match stage {
            Some(stage) => self.may_start(selected, stage, begins),
            None => self.waits_to_start(Reason::SpecInvalid),
        }
    }

    /// Whether the platform has come to the target since its stage failed, whoever brought it there: what prepares an update is not done once more
    /// for the operators alone.
    fn has_arrived_since(&self, failed: Stage) -> bool {
        let goal = self.spec().map(|spec| &spec.goal);
        failed == Stage::Platform
            && goal
                .is_some_and(|goal| goal.operators.is_some() && goal.platform_reached(self.known_version()))
    }

    /// Whether an agent is at an upgrade that somebody has asked for, as far as is known: its version comes before its workers. What a work feeds
    /// back while it is deleted is not read; it is gone when its upgrade has ended.
    fn awaits_agent(&self) -> bool {
        let work = self.row.works.get(WorkKind::Cluster);
        work.is_some_and(|work| is_agent_at_work(work) || leaves_agent(work))
    }

    /// A cluster that failed starts over. One on which the platform has come to the target continues from there: started over, it
    /// would need nothing, and the stage that failed would be left out. So does one whose agent is still at the upgrade: it goes on there
    /// whatever is counted here, and its workers follow after the version.
    pub(super) fn retried(&self, ended: &Ended<'a>) -> Assessment {
        if self.row.selection.is_some() && self.is_left_at_gate() {
            return self.taken_back(ended);
        }
        let work = ended
            .work
            .filter(|(kind, work)| *kind == WorkKind::Cluster && !work.deleting);
        let goes_on = ended.is_current
            && work.is_some_and(|(_, work)| is_agent_at_work(work) || self.is_platform_done(work));
        match self.row.selection {
            // Its outcome is taken off the work.
            Some(_) if goes_on && !ended.is_recorded => self.waits_to_start(Reason::AwaitingRecord),
            Some(selected) if goes_on => match self.blocked_by(selected) {
                Some(reason) => self.waits_to_start(reason),
                None => self.may_start(selected, Stage::Platform, StartKind::ByReopening),
            },
            Some(_) => self.not_started(Some(ended)),
            None => self.takes_no_part(),
        }
    }

    /// What an earlier attempt has left is taken back before the next one: it would begin by itself, without a turn.
    fn taken_back(&self, ended: &Ended<'a>) -> Assessment {
        let kind = WorkKind::Cluster;
        if !ended.is_recorded {
            return self.waits_to_start(Reason::AwaitingRecord);
        }
        let refusal = self.refusal(kind, RefusedWrite::Delete);
        if let Some(refusal) = refusal.filter(|_| !self.may_delete(kind)) {
            return self.waits_to_start(Reason::refused(kind, refusal));
        }
        let mut assessment = self.waits_to_start(Reason::ReplacingOldWork);
        assessment.takes_back = true;
        assessment
    }

    /// Whether the agent of an earlier attempt of this upgrade has requested nothing yet: it does as soon as what it waits for has ended.
    pub(super) fn is_left_at_gate(&self) -> bool {
        let is_there = self.own(WorkKind::Cluster).is_some_and(|work| !work.deleting);
        is_there && matches!(self.goes_on(), Some(Afterwards::NotRequested(_)))
    }

    /// Whether an earlier attempt may still begin on a cluster that has not started: what is accepted for the next one would let it.
    pub(super) fn may_begin_by_itself(&self) -> bool {
        self.is_left_at_gate() || self.own(WorkKind::Cluster).is_some_and(leaves_agent)
    }

    /// Whether the platform has come to the target of a work.
    fn is_platform_done(&self, work: &'a Work) -> bool {
        let target = self.goal_of(work).and_then(|goal| goal.target.as_ref());
        target.is_some_and(|target| {
            let progress = upgrade_progress(work, target, Timestamp::MAX, &self.present);
            matches!(progress, Progress::Done | Progress::WasThere)
        })
    }

    fn may_start(&self, selected: Selected, stage: Stage, kind: StartKind) -> Assessment {
        let reopens = kind == StartKind::ByReopening;
        let deletes = match self.room(reopens) {
            Ok(deletes) => deletes,
            Err(reason) => return self.waits_to_start(reason),
        };
        if let Some(unrecorded) = self.orphan(reopens) {
            let mut assessment = self.waits_to_start(Reason::AwaitingRecord);
            assessment.unrecorded = Some(Box::new(unrecorded));
            return assessment;
        }
        let start = Start {
            deletes,
            is_repeat: self.is_repeat(),
            place: selected.order,
            holds_slot: false,
            kind,
        };
        match self.refusal(stage.kind(), RefusedWrite::Create) {
            Some(refusal) if !reopens => self.refused(start, stage, refusal),
            _ => {
                let status = self.fresh(ClusterState::NotStarted, Reason::ReadyToStart, WAITS_TO_START);
                self.member(status, Step::Start(start))
            }
        }
    }

    /// Whether this upgrade has upgraded the cluster before, to whatever target.
    pub(super) fn is_repeat(&self) -> bool {
        self.main().is_some() || self.own_entries().next().is_some()
    }

    /// A cluster whose first work was refused. Without a namespace it takes no slot; else it keeps its slot until the stage's timeout,
    /// and then fails with the server's words.
    fn refused(&self, mut start: Start, stage: Stage, refusal: &Refusal) -> Assessment {
        let words = Arc::clone(&refusal.words);
        let is_due = self.present.has_reached(refusal.next);
        let lapses = refusal
            .last
            .saturating_add(KEEPS_TRYING)
            .unwrap_or(Timestamp::MAX);
        if refusal.cause == RefusalCause::NamespaceMissing || self.present.has_reached(lapses) {
            let reason = match refusal.cause {
                RefusalCause::NamespaceMissing => Reason::NamespaceMissing(words),
                RefusalCause::NameTaken | RefusalCause::Unavailable | RefusalCause::Other => {
                    Reason::WriteRefused { stage, words }
                }
            };
            if is_due {
                let status = self.fresh(ClusterState::NotStarted, reason, WAITS_TO_START);
                return self.member(status, Step::Start(start));
            }
            return self.waits_to_start(reason);
        }
        let timeout = self
            .spec()
            .and_then(|spec| stage.timeout(spec))
            .unwrap_or(SignedDuration::ZERO);
        let deadline = refusal.since.saturating_add(timeout).unwrap_or(Timestamp::MAX);
        let reason = Reason::WriteRefused { stage, words };
        if self.present.has_reached(deadline) {
            let message: Arc<str> = reason.to_string().into();
            let failed = Reason::Failed {
                reason: Some(stage.refused()),
                message: Arc::clone(&message),
            };
            let mut assessment = self.member(self.fresh(stage.state(), failed, IS_FINAL), Step::WAIT);
            assessment.failed_stage = Some(stage);
            assessment.unrecorded = Some(Box::new(Unrecorded::NeverWritten(Ending {
                outcome: EndState::Failed,
                reason: stage.refused().as_str(),
                message,
                unverified: false,
            })));
            return assessment;
        }
        start.holds_slot = true;
        let mut status = self.fresh(stage.state(), reason, Deadline::At(deadline));
        status.since = Some(refusal.since);
        let step = if is_due { Step::Start(start) } else { Step::WAIT };
        self.member(status, step)
    }

    /// What there is of an earlier attempt counts no more.
    fn fresh(&self, state: ClusterState, reason: Reason, deadline: Deadline) -> ClusterStatus {
        let mut status = self.status(state, reason, deadline);
        status.started = None;
        status.initialized = false;
        status.applied = false;
        if state == ClusterState::NotStarted {
            status.since = self.last_end();
            status.afterwards = self.goes_on();
        }
        status
    }

    /// What goes on of an earlier attempt, whether somebody waits for it or not.
    pub(super) fn goes_on(&self) -> Option<Afterwards> {
        let work = self.own(WorkKind::Cluster)?;
        let target = self.goal_of(work)?.target.as_ref()?;
        let release = target.to_string().into();
        if is_update_under_way(work, target) {
            return Some(Afterwards::GoesOn(release));
        }
        let agent = agent_at_work(work)?;
        let may_be_requested = !agent.is_held && agent.cluster.may_be_asked(target);
        Some(if may_be_requested {
            Afterwards::GoesOn(release)
        } else {
            Afterwards::NotRequested(release)
        })
    }

    fn waits_to_start(&self, reason: Reason) -> Assessment {
        let status = self.fresh(ClusterState::NotStarted, reason, WAITS_TO_START);
        self.member(status, Step::WAIT)
    }

    /// The stage with which the cluster starts.
    pub(super) fn first_stage(&self) -> Option<Stage> {
        self.first_stage_from(self.known_version())
    }

    /// The stage with which the cluster starts if it runs this version.
    pub(super) fn first_stage_from(&self, version: Option<&Version>) -> Option<Stage> {
        let spec = self.spec()?;
        let platform_reached = spec.goal.platform_reached(version);
        Some(match (&spec.pre_action, platform_reached) {
            (Some(_), _) => Stage::PreAction,
            (None, true) => Stage::Operators,
            (None, false) => Stage::Platform,
        })
    }

    pub(super) fn blocked_by(&self, selected: Selected) -> Option<Reason> {
        let Some(facts) = self.row.facts.as_deref() else {
            return Some(Reason::ClusterUnknown);
        };
        if let Some(product) = facts.other_product() {
            return Some(Reason::NotOpenShift(product.to_owned()));
        }
        let checks = [
            (facts.deleting, Reason::BeingDeleted),
            (!facts.accepted, Reason::NotAccepted),
            (!facts.joined, Reason::NotJoined),
            (!self.still_matches(selected), Reason::NoLongerMatches),
            (!facts.available, Reason::NotAvailable),
        ];
        if let Some((_, reason)) = checks.into_iter().find(|(blocked, _)| *blocked) {
            return Some(reason);
        }
        let tolerated = |taint| {
            let mut tolerations = self
                .sources(selected)
                .flat_map(|source| source.tolerations.iter());
            tolerations.any(|toleration| toleration.tolerates(taint))
        };
        let mut taints = facts.taints.iter();
        if let Some(taint) = taints.find(|taint| taint.effect != "PreferNoSelect" && !tolerated(taint)) {
            return Some(Reason::Tainted(taint.key.clone()));
        }
        if let Some(owner) = self.other_at_work() {
            return Some(Reason::OwnedByAnotherUpgrade(owner.to_string()));
        }
        let agent_only = self
            .spec()
            .is_some_and(|spec| spec.strategy.method == RequestedMethod::Agent && spec.goal.target.is_some());
        if agent_only && !self.row.agent {
            return Some(Reason::AgentNotAvailable);
        }
        self.never_fits()
    }

    /// The Placements that select the cluster.
    fn sources(&self, selected: Selected) -> impl Iterator<Item = &'a crate::SelectionSource> {
        let sources = self.context.sources.iter().enumerate();
        sources
            .filter(move |(index, _)| *index < 64 && selected.sources & (1 << index) != 0)
            .map(|(_, source)| source)
    }

    /// Whether the cluster still is what one of its Placements requires: an edit by the user a moment ago is respected although
    /// OCM has not decided again yet.
    fn still_matches(&self, selected: Selected) -> bool {
        let Some(facts) = self.row.facts.as_deref() else {
            return false;
        };
        self.sources(selected)
            .any(|source| source.requirements.match_labels(&facts.labels))
    }

    /// The works of earlier attempts that are in the way of the first work.
    fn in_the_way(&self, reopens: bool) -> impl Iterator<Item = (WorkKind, &'a Work)> {
        let works = self.row.works.iter();
        works
            .filter(move |(kind, _)| !(reopens && matches!(kind, WorkKind::Cluster | WorkKind::Pre)))
            .map(|(kind, work)| (kind, &**work))
    }

    /// How many decisions it takes to make room for the first work: what carries no outcome goes first, then the rest.
    pub(super) fn clearing(&self, reopens: bool) -> u8 {
        let any = |carries| {
            self.in_the_way(reopens)
                .any(|(kind, work)| carries_outcome(kind, work) == carries)
        };
        u8::from(any(false)) + u8::from(any(true))
    }

    /// The works of earlier attempts that must go before the cluster starts, or what they wait for. None with an outcome goes before
    /// that is on a page of records, and the one with the outcome goes last.
    fn room(&self, reopens: bool) -> Result<Vec<WorkKind>, Reason> {
        let in_the_way = || self.in_the_way(reopens);
        let mut refused = in_the_way().filter(|(kind, _)| !self.may_delete(*kind));
        if let Some((kind, refusal)) =
            refused.find_map(|(kind, _)| Some((kind, self.refusal(kind, RefusedWrite::Delete)?)))
        {
            return Err(Reason::refused(kind, refusal));
        }
        let is_unrecorded = |work: &Work| {
            let has_ended = work.outcome.is_some();
            has_ended && !self.is_own_recorded(work) && self.context.upgrade.live.has(&work.owner)
        };
        if in_the_way().any(|(_, work)| is_unrecorded(work)) {
            return Err(Reason::AwaitingRecord);
        }
        let others_first = in_the_way().any(|(kind, work)| !carries_outcome(kind, work));
        let deletes: Vec<WorkKind> = in_the_way()
            .filter(|(kind, work)| !work.deleting && (!others_first || !carries_outcome(*kind, work)))
            .map(|(kind, _)| kind)
            .collect();
        if deletes.is_empty() && in_the_way().next().is_some() {
            return Err(Reason::ReplacingOldWork);
        }
        Ok(deletes)
    }

    /// Whether the end of a work's attempt is on a page of the upgrade that made it, whatever its uid was then.
    fn is_own_recorded(&self, work: &Work) -> bool {
        if !self.is_own(work) {
            return self.is_recorded(work);
        }
        self.own_entries()
            .any(|recorded| work.is_recorded_by(&recorded.entry))
    }

    /// The end of an attempt of an upgrade that does not exist any more, which nobody else records.
    fn orphan(&self, reopens: bool) -> Option<Unrecorded> {
        if reopens {
            return None;
        }
        let live = &self.context.upgrade.live;
        let mut orphans = self.others_works().filter(|(kind, work)| {
            *kind != WorkKind::Post && !live.has(&work.owner) && !live.has_no_place_for(&work.owner)
        });
        orphans
            .find(|(_, work)| work.revision.is_some() && !self.is_recorded(work))
            .map(|(kind, _)| Unrecorded::Orphan(kind))
    }
}

/// Whether the outcome of an attempt stands on a work, or would.
fn carries_outcome(kind: WorkKind, work: &Work) -> bool {
    work.outcome.is_some() || kind == WorkKind::Cluster
}

/// Whether a work is being deleted by which an agent was asked, which may be at it still.
fn leaves_agent(work: &Work) -> bool {
    let revision = work.revision.as_ref();
    work.deleting && revision.is_some_and(|revision| revision.method == UpgradeMethod::Agent)
}
