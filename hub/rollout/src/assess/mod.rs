//! Where one cluster is, read from its row, and what follows for it. [`assess`] depends on nothing but the row, what all
//! clusters of the rollout share, and the time; its result holds until one of them changes.

mod ended;
mod entry;
mod forecast_input;
mod orders;
mod ownership;
mod pre_checks;
mod present;
mod progress;
mod stages;
mod start;

use std::sync::Arc;

use drydock_names::ClusterName;
use drydock_names::names::{EndState, WorkKind};
use jiff::Timestamp;
use semver::Version;

use crate::{
    Applied, ClusterRow, ClusterState, ClusterStatus, Deadline, FailureReason, Labels, Reason, RetryToken,
    Rollout, SelectionSource, Spec, Stage, Timetable, Upgrade, Work,
};

pub(crate) use entry::{NewEntry, Unrecorded};
use pre_checks::AcceptedRisks;
pub use pre_checks::ClusterPreChecks;
pub(crate) use pre_checks::PreCheckStep;
pub(crate) use present::Present;
pub(crate) use progress::is_agent_at_work;

/// What the assessments of all clusters of a rollout share.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Context {
    pub upgrade: Upgrade,
    pub spec: Option<Arc<Spec>>,
    pub sources: Vec<SelectionSource>,
    pub accepted: AcceptedRisks,
    /// When this rollout began, if it has. One that has not is later than all that have.
    pub since: Option<Timestamp>,
    /// Since when the status says that no cluster is held by its pre-checks, if it does.
    pub pre_checks_passed_since: Option<Timestamp>,
    /// The fingerprint of the spec's goal.
    pub goal: Option<Arc<str>>,
}

impl Context {
    pub fn of(rollout: &Rollout) -> Self {
        let target = rollout
            .spec
            .as_ref()
            .ok()
            .and_then(|spec| spec.goal.target.as_ref());
        let target = target.map(ToString::to_string);
        Self {
            goal: rollout.spec.as_ref().ok().map(|spec| spec.goal.fingerprint()),
            upgrade: rollout.upgrade.clone(),
            spec: rollout.spec.as_ref().ok().cloned(),
            sources: rollout.selection.sources.clone(),
            accepted: AcceptedRisks::of(&rollout.acceptances, target.as_deref()),
            since: rollout_since(rollout),
            pre_checks_passed_since: rollout.previous.pre_checks_passed_since,
        }
    }
}

/// When the rollout began, if it has: an upgrade that was complete and is then given another goal begins a new one.
pub fn rollout_since(rollout: &Rollout) -> Option<Timestamp> {
    rollout.previous.start_time.filter(|_| !is_over(rollout))
}

/// The upgrade was complete, and its spec has been edited since and names another goal than its records. One that is edited otherwise
/// continues its rollout, for what it has left to later ones it must not claim again.
pub(crate) fn is_over(rollout: &Rollout) -> bool {
    let previous = &rollout.previous;
    let is_edited = previous.observed_generation != Some(rollout.upgrade.generation);
    let goal = rollout.spec.as_ref().ok().map(|spec| spec.goal.fingerprint());
    let mut pages = rollout.pages.iter();
    let continues = pages.any(|page| {
        let header = &page.header;
        Some(header.rollout_since) == previous.start_time
            && goal.as_ref() == Some(&header.goal)
            && rollout.upgrade.owns(&header.owner)
    });
    previous.complete && is_edited && !continues
}

/// With which write a cluster starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartKind {
    /// With its first stage.
    New,
    /// With an upgrade work that reads first: a stage after the platform's had failed, and its works are gone.
    ByReading,
    /// Its upgrade work is taken up again: what failed after the platform was at the target, or while the agent goes on with it, continues
    /// from there.
    ByReopening,
}

/// How a cluster may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    /// Works of earlier upgrades that are deleted first, the one with the outcome last.
    pub deletes: Vec<WorkKind>,
    /// The cluster was upgraded by this object to an earlier target: such go after the rest.
    pub is_repeat: bool,
    /// Its place in the selection.
    pub place: (u32, u32),
    /// An earlier attempt to start it was refused: it has its slot already.
    pub holds_slot: bool,
    /// With which write.
    pub kind: StartKind,
}

/// How a cluster ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    pub outcome: EndState,
    pub reason: &'static str,
    pub message: Arc<str>,
    pub unverified: bool,
}

/// A write about one cluster that waits for no other cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NextWrite {
    /// The work of the stage follows.
    Create(Stage),
    /// The outcome is committed on a work.
    Finish(WorkKind, Ending),
    /// What the work has only read is applied.
    Enforce,
    /// The channel is applied, or, without one, no longer.
    SetChannel(Option<String>),
    Delete(WorkKind),
    Label(WorkKind),
    Confirm(WorkKind),
}

/// What follows for a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It may start, if the rollout lets it.
    Start(Start),
    /// These writes follow, whatever the other clusters do. Without any, it waits.
    Continue(Vec<NextWrite>),
}

impl Step {
    pub const WAIT: Self = Self::Continue(Vec::new());
}

/// Where a cluster is and what follows for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assessment {
    /// Where it is; `None` if it takes no part in the rollout.
    pub status: Option<ClusterStatus>,
    pub step: Step,
    /// When the time alone changes this.
    pub until: Option<Timestamp>,
    /// What became of it and stands on no page of records yet.
    pub unrecorded: Option<Box<Unrecorded>>,
    /// The later upgrade that has claimed it.
    pub left_to: Option<String>,
    /// Available, and its work reports no problem.
    pub healthy: bool,
    /// Since when it is Available, as its condition says.
    pub available_since: Option<Timestamp>,
    /// When this upgrade last completed an attempt here, whatever its goal was then; absent unless the cluster is complete.
    pub upgraded_at: Option<Timestamp>,
    /// It was started for the present goal.
    pub for_goal: bool,
    /// The stage in which it failed.
    pub failed_stage: Option<Stage>,
    /// The work of its post-upgrade action is applied.
    pub post_applied: bool,
    /// The channel is still to be set on it.
    pub channel_pending: bool,
    /// Works of its actions that have served.
    pub disposable: Vec<WorkKind>,
    /// Its attempt has failed before it began, and its work goes, so that it does not begin.
    pub takes_back: bool,
    /// It may be in flight by a work that only a status mentions.
    pub may_hide_work: bool,
    /// When it may be started.
    pub timetable: Timetable,
    /// What is written about the work by which it is asked what would be a problem.
    pub pre_checks: Option<PreCheckStep>,
    /// It has answered with findings that nobody has accepted.
    pub has_findings: bool,
    /// Whether its answer is required, and something else keeps it from being asked.
    pub is_unasked: bool,
    /// For one of them somebody had accepted: it is over, or the finding has become worse.
    pub blocks_again: bool,
}

pub(crate) const IS_FINAL: Deadline = Deadline::Never("it is the end");
pub(crate) const FOLLOWS_AT_ONCE: Deadline = Deadline::Never("the next step follows at once");

/// One cluster that is being assessed.
pub(crate) struct ClusterView<'a> {
    pub context: &'a Context,
    pub name: &'a ClusterName,
    pub row: &'a ClusterRow,
    pub present: Present,
}

impl<'a> ClusterView<'a> {
    pub fn new(context: &'a Context, name: &'a ClusterName, row: &'a ClusterRow, now: Timestamp) -> Self {
        Self {
            context,
            name,
            row,
            present: Present::new(now),
        }
    }
}

/// Says where a cluster is and what follows for it.
pub(crate) fn assess(context: &Context, name: &ClusterName, row: &ClusterRow, now: Timestamp) -> Assessment {
    let cluster = ClusterView::new(context, name, row, now);
    let mut assessment = cluster.assess();
    cluster.keep_works_known(&mut assessment);
    cluster.check_before_start(&mut assessment);
    let has_begun = |status: &ClusterStatus| status.state.in_flight() && status.started.is_some();
    assessment.may_hide_work = row.may_hide_work() && !assessment.status.as_ref().is_some_and(has_begun);
    assessment.until = cluster.present.until();
    assessment.timetable = cluster.timetable();
    assessment
}

impl<'a> ClusterView<'a> {
    /// When the cluster may be started, by its labels and by how long it takes.
    pub fn timetable(&self) -> Timetable {
        let none = Labels::default();
        let labels = self.row.facts.as_ref().map_or(&none, |facts| &facts.labels);
        let Some(spec) = self.spec() else {
            return Timetable::default();
        };
        let times = &spec.strategy.start_times;
        let timetable = times.timetable(labels);
        if spec.strategy.start_only_if_it_fits && !times.is_always() {
            timetable.fitting(spec.expected(self.row.expected))
        } else {
            timetable
        }
    }

    /// Why the cluster never starts, if each of its windows is shorter than its upgrade.
    pub fn never_fits(&self) -> Option<Reason> {
        let strategy = &self.spec()?.strategy;
        if !strategy.start_only_if_it_fits {
            return None;
        }
        let timetable = self.timetable();
        let longest = strategy.start_times.never_fits(timetable)?;
        let expected = timetable.expected()?;
        Some(Reason::NeverFits { expected, longest })
    }

    fn assess(&self) -> Assessment {
        let mut assessment = match self.ended() {
            Some(ended) => self.finished(&ended),
            None => match self.lead() {
                Some((kind, work)) => self.in_flight(kind, work),
                None => self.not_started(None),
            },
        };
        if self.lost().is_some() {
            assessment.unrecorded = Some(Box::new(Unrecorded::Lost));
            if let Step::Start(_) = assessment.step {
                assessment.step = Step::WAIT;
                if let Some(status) = &mut assessment.status {
                    status.reason = Reason::AwaitingRecord;
                }
            }
        }
        assessment
    }

    /// A work of this upgrade that somebody else has deleted, if nothing is left of its attempt and nothing says how that ended.
    pub fn lost(&self) -> Option<&'a Work> {
        let lost = self.row.lost.as_deref().filter(|lost| self.is_own(lost))?;
        let is_left = self
            .own_works()
            .any(|(kind, work)| kind != WorkKind::Post && work.attempt_since() == lost.attempt_since());
        let is_recorded = self
            .own_entries()
            .any(|recorded| lost.is_recorded_by(&recorded.entry));
        (!is_left && !is_recorded).then_some(lost)
    }

    /// Nothing else is written about a cluster while it is not known which works it has; labels that were taken off are put
    /// back.
    fn keep_works_known(&self, assessment: &mut Assessment) {
        if let Some((kind, due)) = self.row.unconfirmed.iter().min_by_key(|(_, due)| **due) {
            assessment.unrecorded = None;
            assessment.step = Step::WAIT;
            if self.present.has_reached(*due) {
                assessment.step = Step::Continue(vec![NextWrite::Confirm(*kind)]);
                let ended = |status: &ClusterStatus| status.state.finished() || status.has_failed();
                if let Some(status) = assessment.status.as_mut().filter(|status| !ended(status)) {
                    status.reason = Reason::ConfirmingWork(*kind);
                }
            }
            return;
        }
        let is_known = |work: &Work| work.labelled && work.owner.uid == self.context.upgrade.uid;
        let unlabelled = self
            .own_works()
            .filter(|(kind, work)| !work.deleting && !is_known(work) && self.may_change(*kind));
        if let Step::Continue(next) = &mut assessment.step {
            // An outcome that is written now stays.
            let is_finished = |kind| {
                next.iter()
                    .any(|next| matches!(next, NextWrite::Finish(of, _) if *of == kind))
            };
            let labels: Vec<NextWrite> = unlabelled
                .filter(|(kind, _)| !is_finished(*kind))
                .map(|(kind, _)| NextWrite::Label(kind))
                .collect();
            next.extend(labels);
        }
    }

    /// This upgrade's work of a kind.
    pub fn own(&self, kind: WorkKind) -> Option<&'a Work> {
        let work = self.row.works.get(kind)?;
        self.is_own(work).then_some(&**work)
    }

    pub fn own_works(&self) -> impl Iterator<Item = (WorkKind, &'a Work)> {
        let works = self.row.works.iter();
        works
            .filter(|(_, work)| self.is_own(work))
            .map(|(kind, work)| (kind, &**work))
    }

    pub fn is_own(&self, work: &Work) -> bool {
        self.context.upgrade.owns_work(work)
    }

    /// The work of the upgrade itself: the platform's, or the operators' where the platform is left as it is.
    pub fn main(&self) -> Option<(WorkKind, &'a Work)> {
        [WorkKind::Cluster, WorkKind::Operators]
            .into_iter()
            .find_map(|kind| Some((kind, self.of_newest_attempt(kind)?)))
    }

    /// The work on which the outcome is committed.
    pub fn lead(&self) -> Option<(WorkKind, &'a Work)> {
        self.main()
            .or_else(|| Some((WorkKind::Pre, self.own(WorkKind::Pre)?)))
    }

    /// This upgrade's work of a kind, unless it was left by an earlier attempt: it was not seen when the newest one began, for its
    /// labels had been taken off.
    pub fn of_newest_attempt(&self, kind: WorkKind) -> Option<&'a Work> {
        let begun = |work: &Work| work.revision.as_ref().map(|revision| revision.started_at);
        let newest = self.own_works().filter_map(|(_, work)| begun(work)).max();
        self.own(kind)
            .filter(|work| begun(work).is_none_or(|begun| Some(begun) == newest))
    }

    pub fn spec(&self) -> Option<&'a Spec> {
        self.context.spec.as_deref()
    }

    pub fn retry(&self) -> RetryToken {
        self.context.upgrade.retries.of(self.name)
    }

    pub fn is_canary(&self) -> bool {
        let selector = self.spec().and_then(|spec| spec.strategy.canaries.as_ref());
        let facts = self.row.facts.as_deref();
        match (selector, facts) {
            (Some(selector), Some(facts)) => selector.matches(&facts.labels),
            // A canary that has left the fleet was one.
            (Some(_), None) => self
                .own_entries()
                .next_back()
                .is_some_and(|recorded| recorded.entry.canary),
            (None, _) => false,
        }
    }

    /// The newest version that the cluster is known to run, by its claim or by what its work feeds back.
    pub fn known_version(&self) -> Option<&'a Version> {
        let claimed = self.row.facts.as_ref().and_then(|facts| facts.version.as_ref());
        claimed.max(self.fed_back_version())
    }

    /// The version that a work of the cluster feeds back as completed.
    pub fn fed_back_version(&self) -> Option<&'a Version> {
        let work = self.row.works.get(WorkKind::Cluster)?;
        work.feedback.cluster_version()?.completed()
    }

    fn status(&self, state: ClusterState, reason: Reason, deadline: Deadline) -> ClusterStatus {
        let main = self.main().map(|(_, work)| work);
        let lead = self.lead().map(|(_, work)| work);
        ClusterStatus {
            state,
            reason,
            canary: self.is_canary(),
            selected: self.row.selection.is_some(),
            version: self.known_version().map(ToString::to_string),
            since: None,
            started: lead.map(Work::attempt_since),
            finished: None,
            deadline,
            initialized: main.is_some(),
            applied: self.own_works().any(|(_, work)| work.applied == Applied::Yes),
            afterwards: None,
        }
    }

    /// An assessment of a cluster that takes part.
    fn member(&self, status: ClusterStatus, step: Step) -> Assessment {
        let facts = self.row.facts.as_deref();
        let goal = self.spec().map(|spec| &spec.goal);
        let troubled = self.row.works.get(WorkKind::Cluster).is_some_and(|work| {
            let feedback = work.feedback.cluster_version();
            feedback.is_some_and(|feedback| feedback.blocked_by.is_some())
        });
        Assessment {
            until: None,
            status: Some(status),
            step,
            unrecorded: None,
            left_to: None,
            healthy: facts.is_some_and(|facts| facts.available) && !troubled,
            available_since: facts.and_then(|facts| facts.available_since),
            upgraded_at: None,
            for_goal: goal.is_some_and(|goal| self.own_works().any(|(_, work)| work.is_for(goal))),
            failed_stage: None,
            post_applied: self
                .own(WorkKind::Post)
                .is_some_and(|work| work.applied == Applied::Yes),
            channel_pending: false,
            disposable: Vec::new(),
            takes_back: false,
            may_hide_work: false,
            timetable: Timetable::default(),
            pre_checks: None,
            has_findings: false,
            is_unasked: false,
            blocks_again: false,
        }
    }

    /// An assessment of a cluster that takes no part.
    fn takes_no_part(&self) -> Assessment {
        let status = self.status(ClusterState::NotStarted, Reason::ReadyToStart, IS_FINAL);
        let mut assessment = self.member(status, Step::WAIT);
        assessment.status = None;
        assessment
    }

    fn ends(&self, state: ClusterState, kind: WorkKind, ending: Ending) -> Assessment {
        let failed = FailureReason::parse(ending.reason);
        let message = Arc::clone(&ending.message);
        let reason = match ending.outcome {
            EndState::Complete => Reason::Upgraded(message),
            EndState::Failed => Reason::Failed {
                reason: failed,
                message,
            },
        };
        let status = self.status(state, reason, FOLLOWS_AT_ONCE);
        let next = self
            .may_change(kind)
            .then(|| NextWrite::Finish(kind, ending.clone()));
        let mut assessment = self.member(status, Step::Continue(next.into_iter().collect()));
        // Where the outcome cannot be committed on the work, it is committed on a page of records alone.
        if self.refusal(kind, crate::RefusedWrite::Change).is_some() {
            assessment.unrecorded = Some(Box::new(Unrecorded::Ending(ending)));
        }
        assessment.failed_stage = failed.map(FailureReason::stage);
        assessment
    }

    /// Whether a work may be changed now: not while a change of it that was refused waits to be tried again.
    pub fn may_change(&self, kind: WorkKind) -> bool {
        self.may(kind, crate::RefusedWrite::Change)
    }

    /// Whether a work may be deleted now: not while a refused deletion of it waits to be tried again.
    pub fn may_delete(&self, kind: WorkKind) -> bool {
        self.may(kind, crate::RefusedWrite::Delete)
    }

    fn may(&self, kind: WorkKind, write: crate::RefusedWrite) -> bool {
        self.refusal(kind, write)
            .is_none_or(|refusal| self.present.has_reached(refusal.next))
    }

    /// A refused write of this upgrade.
    pub fn refusal(&self, kind: WorkKind, write: crate::RefusedWrite) -> Option<&'a crate::Refusal> {
        if self.row.refusals.is_empty() {
            return None;
        }
        let own = (self.context.upgrade.uid.clone(), kind, write);
        self.row.refusals.get(&own).map(|refusal| &**refusal)
    }
}
