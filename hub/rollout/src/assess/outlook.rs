//! Where a cluster is, for who computes what may come of it: which stages lie ahead of it, and since when it is in the present one.

use super::{Assessment, Begins, ClusterRow, Next, Step};
use crate::totals::StartKey;
use crate::{ClusterOutlook, ClusterState, Position, Reason, Stage, StageSet, Work};

impl ClusterRow<'_> {
    /// The outlook of a cluster that takes part.
    pub(crate) fn outlook(&self, assessment: &Assessment) -> Option<ClusterOutlook> {
        let status = assessment.status.as_ref()?;
        let facts = self.row.facts.as_deref();
        Some(ClusterOutlook {
            name: self.name.clone(),
            canary: status.canary,
            selected: status.selected,
            labels: facts.map(|facts| facts.labels.clone()).unwrap_or_default(),
            from: self.version_before().cloned(),
            unhealthy: status.canary && status.selected && !assessment.healthy,
            position: self.position(assessment)?,
        })
    }

    /// Its place among those that wait for their turn.
    pub(crate) fn turn(&self, canary: bool) -> StartKey {
        StartKey {
            needs_slot: true,
            is_other: !canary,
            is_repeat: self.is_repeat(),
            place: self
                .row
                .selection
                .map(|selected| selected.order)
                .unwrap_or_default(),
            name: self.name.clone(),
        }
    }

    /// The version that the cluster ran when its attempt began, or runs now.
    fn version_before(&self) -> Option<&semver::Version> {
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
            return Some(self.in_queue(start.begins));
        }
        if status.state == ClusterState::NotStarted {
            return Some(match status.reason {
                // These are over within seconds.
                Reason::AwaitingRecord | Reason::ReplacingOldWork | Reason::ConfirmingWork(_) => {
                    self.in_queue(Begins::Anew)
                }
                ref reason => Position::Blocked(reason.clone()),
            });
        }
        if status.started.is_none() {
            // A start that was refused is tried again.
            return Some(if status.has_failed() {
                at_end(true, assessment)
            } else {
                self.in_queue(Begins::Anew)
            });
        }
        Some(self.in_progress(assessment))
    }

    fn in_queue(&self, begins: Begins) -> Position {
        let first = match begins {
            Begins::Anew => self.first_stage(),
            // The platform has come to the target before.
            Begins::ByReading | Begins::ByReopening => None,
        };
        let goal = self.spec().map(|spec| &spec.goal);
        let after = |stage| goal.and_then(|goal| self.stage_after(stage, goal).ok().flatten());
        let begin = first.or_else(|| after(Stage::Platform));
        let stages = std::iter::successors(begin, |stage| after(*stage)).collect();
        Position::Waits(stages)
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
        let then = self.stages_after(stage, lead);
        let next = match &assessment.step {
            Step::Continue(next) => &next[..],
            Step::Start(_) => &[],
        };
        let is_finished = next.iter().any(|next| matches!(next, Next::Finish(..)));
        if is_finished || has_failed {
            return at_end(has_failed, assessment);
        }
        let creates = next.iter().any(|next| matches!(next, Next::Create(_)));
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
            since: work.created,
            deadline: self.deadline(stage, work),
            then,
            started,
        }
    }

    fn stages_after(&self, stage: Stage, lead: &Work) -> StageSet {
        let revised = lead.revision.as_ref().map(|revision| &*revision.goal);
        let Some(goal) = revised.or(self.spec().map(|spec| &*spec.goal)) else {
            return StageSet::default();
        };
        let after = |stage| self.stage_after(stage, goal).ok().flatten();
        std::iter::successors(after(stage), |stage| after(*stage)).collect()
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
