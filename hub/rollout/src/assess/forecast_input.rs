//! Where a cluster is, for who computes what may come of it: which stages lie ahead of it, and since when it is in the present one.

use drydock_names::names::WorkKind;
use semver::Version;

use super::{Assessment, ClusterView, NextWrite, StartKind, Step, is_agent_at_work};
use crate::startable::StartKey;
use crate::{
    AfterEnd, ClusterProgress, ClusterState, FailureReason, Goal, Position, Reason, RecordedOutcome, Stage,
    StageSet,
};

impl ClusterView<'_> {
    /// The input of the forecast of a cluster that takes part.
    pub(crate) fn forecast_input(&self, assessment: &Assessment) -> Option<ClusterProgress> {
        let status = assessment.status.as_ref()?;
        let facts = self.row.facts.as_deref();
        Some(ClusterProgress {
            name: self.name.clone(),
            canary: status.canary,
            selected: status.selected,
            labels: facts.map(|facts| facts.labels.clone()).unwrap_or_default(),
            from: self.version_before().cloned(),
            timetable: assessment.timetable,
            unhealthy: status.canary && status.selected && !assessment.healthy,
            position: self.position(assessment)?,
            from_start: self.stages_of_start(self.known_version()),
            after: self.after_end(assessment),
        })
    }

    /// Its place among those that wait for their turn. What will wait again has been upgraded by then.
    pub(crate) fn turn(&self, forecast_input: &ClusterProgress) -> StartKey {
        StartKey {
            needs_slot: true,
            is_other: !forecast_input.canary,
            is_repeat: self.is_repeat() || matches!(forecast_input.after, AfterEnd::Repeats { .. }),
            place: self
                .row
                .selection
                .map(|selected| selected.order)
                .unwrap_or_default(),
            name: self.name.clone(),
        }
    }

    /// The version that the cluster ran when its attempt began, or runs now.
    fn version_before(&self) -> Option<&Version> {
        let revision = self.lead().and_then(|(_, work)| work.revision.as_deref());
        revision
            .and_then(|revision| revision.from.as_ref())
            .or_else(|| self.known_version())
    }

    fn position(&self, assessment: &Assessment) -> Option<Position> {
        let status = assessment.status.as_ref()?;
        if status.state.finished() {
            return Some(Position::Ended {
                failed: status.state == ClusterState::Failed,
                started: status.started,
                finished: status.finished,
            });
        }
        if let Step::Start(start) = &assessment.step {
            return Some(self.in_queue(start.kind));
        }
        if status.state == ClusterState::NotStarted {
            return Some(match status.reason {
                // These are over within seconds, or the minutes in which an agent answers; how long a work takes to go depends on its
                // cluster. What an answer keeps from starting is blocked until somebody accepts it.
                Reason::AwaitingRecord | Reason::ConfirmingWork(_) | Reason::AwaitingPreChecks => {
                    self.in_queue(StartKind::New)
                }
                ref reason => Position::Blocked(reason.clone()),
            });
        }
        if status.started.is_none() {
            // A start that was refused is tried again.
            return Some(if status.has_failed() {
                at_end(true, assessment)
            } else {
                self.in_queue(StartKind::New)
            });
        }
        Some(self.in_progress(assessment))
    }

    fn in_queue(&self, kind: StartKind) -> Position {
        let known = self.known_version();
        Position::Waits {
            stages: match kind {
                StartKind::New => self.stages_of_start(known),
                // The platform has come to the target before.
                StartKind::ByReading => self.stages_behind(Stage::Platform, known),
                StartKind::ByReopening => {
                    let stages = self.stages_behind(Stage::Platform, known);
                    let work = self.own(WorkKind::Cluster);
                    if work.is_some_and(is_agent_at_work) {
                        stages.with(Stage::Platform)
                    } else {
                        stages
                    }
                }
            },
            clearing: self.clearing(kind == StartKind::ByReopening),
        }
    }

    /// The stages of a cluster that starts from this version.
    fn stages_of_start(&self, version: Option<&Version>) -> StageSet {
        match self.first_stage_from(version) {
            Some(first) => {
                let stages = self.stages_behind(first, version).with(first);
                let goal = self.spec().map(|spec| &spec.goal);
                goal.map_or(stages, |goal| self.known_to_be_ahead(stages, goal))
            }
            None => StageSet::default(),
        }
    }

    /// The stages behind one, for the goal of the spec.
    fn stages_behind(&self, stage: Stage, version: Option<&Version>) -> StageSet {
        let Some(goal) = self.spec().map(|spec| &*spec.goal) else {
            return StageSet::default();
        };
        self.stages_after(stage, goal, version)
    }

    /// What is in flight keeps its goal. If that is not the one of the spec, the cluster is not done with it.
    fn after_end(&self, assessment: &Assessment) -> AfterEnd {
        let (Some(spec), Some((_, lead))) = (self.spec(), self.lead()) else {
            return AfterEnd::Rests;
        };
        if lead.is_for(&spec.goal) {
            return AfterEnd::Rests;
        }
        let Some(selected) = self.row.selection else {
            return AfterEnd::Leaves;
        };
        let reached = self.goal_of(lead).and_then(|goal| goal.version());
        let version = self.known_version().max(reached);
        if spec.goal.operators.is_none() && spec.goal.platform_reached(version) {
            return AfterEnd::Rests;
        }
        // It is upgraded: then it has joined, and is Available.
        let passes = |reason: &Reason| {
            matches!(
                reason,
                Reason::NotAccepted | Reason::NotJoined | Reason::NotAvailable
            )
        };
        let blocked = self.blocked_by(selected).filter(|reason| !passes(reason));
        match blocked.or_else(|| self.never_fits()) {
            None => AfterEnd::Repeats {
                stages: self.stages_of_start(version),
                // The work with the outcome goes last.
                clearing: if self.has_other_works(assessment) { 2 } else { 1 },
            },
            Some(reason) => AfterEnd::Blocked(reason),
        }
    }

    /// Whether there are, or will be, works beside the one on which the outcome is committed.
    fn has_other_works(&self, assessment: &Assessment) -> bool {
        let ahead = match self.position(assessment) {
            Some(Position::UnderWay { then, .. }) => then,
            Some(Position::Advances { stages, .. }) => stages,
            _ => StageSet::default(),
        };
        let main = self.main().map_or(WorkKind::Cluster, |(kind, _)| kind);
        let works = self.row.works.iter().map(|(kind, _)| kind);
        let mut kinds = works.chain(ahead.iter().map(Stage::kind));
        kinds.any(|kind| kind != main)
    }

    fn in_progress(&self, assessment: &Assessment) -> Position {
        let status = assessment.status.as_ref();
        let started = status.and_then(|status| status.started);
        let upgrading = status.is_some_and(|status| status.initialized);
        let has_failed = status.is_some_and(crate::ClusterStatus::has_failed);
        let Some((kind, lead)) = self.lead() else {
            return at_end(has_failed, assessment);
        };
        let (stage, work) = self.present_stage(kind, lead);
        let goal = self.goal_of(lead);
        let then = goal.map(|goal| self.stages_after(stage, goal, self.known_version()));
        let then = then.unwrap_or_default();
        let next = match &assessment.step {
            Step::Continue(next) => &next[..],
            Step::Start(_) => &[],
        };
        let is_finished = next.iter().any(|next| matches!(next, NextWrite::Finish(..)));
        if is_finished || has_failed {
            return at_end(has_failed, assessment);
        }
        let creates = next.iter().any(|next| matches!(next, NextWrite::Create(_)));
        let is_between = status.is_some_and(
            |status| matches!(status.reason, Reason::WriteRefused { stage: refused, .. } if refused > stage),
        );
        if creates || is_between {
            return Position::Advances {
                stages: then,
                started,
                upgrading,
            };
        }
        Position::UnderWay {
            stage,
            since: work.begun(),
            deadline: self.deadline(stage, work),
            then,
            started,
        }
    }

    fn stages_after(&self, stage: Stage, goal: &Goal, version: Option<&Version>) -> StageSet {
        let after = |stage| self.stage_after_from(stage, goal, version).ok().flatten();
        let stages = std::iter::successors(after(stage), |stage| after(*stage)).collect();
        self.known_to_be_ahead(stages, goal)
    }

    /// The stages without the platform's where the cluster has come to the goal before, by the records: a claim may lag behind, so that it
    /// is read first, which takes no time.
    fn known_to_be_ahead(&self, stages: StageSet, goal: &Goal) -> StageSet {
        if goal.target.is_some() && goal.platform_reached(self.recorded_version().as_ref()) {
            stages.without(Stage::Platform)
        } else {
            stages
        }
    }

    /// The newest version to which the platform has come by the records.
    fn recorded_version(&self) -> Option<Version> {
        let reached = self.row.entries.iter().filter(|recorded| {
            let failed = FailureReason::parse(&recorded.entry.reason).map(FailureReason::stage);
            match recorded.entry.outcome {
                RecordedOutcome::Complete | RecordedOutcome::Drifted => true,
                RecordedOutcome::Failed => failed.is_some_and(|stage| stage > Stage::Platform),
                RecordedOutcome::Abandoned => false,
            }
        });
        reached
            .filter_map(|recorded| recorded.entry.to.parse().ok())
            .max()
    }
}

fn at_end(failed: bool, assessment: &Assessment) -> Position {
    let status = assessment.status.as_ref();
    Position::Ends {
        failed,
        started: status.and_then(|status| status.started),
        upgrading: status.is_some_and(|status| status.initialized),
    }
}
