//! The stages of a cluster that has started, one after the other, each to its end.

use drydock_api::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};

use super::{FOLLOWS_AT_ONCE, Member, Step, Survey};
use crate::upgrade::{Progress, action_progress, upgrade_progress};
use crate::{Action, ClusterState, Deadline, FailureReason, Goal, Reason, Revision, Work};

const WAITS_FOR_SPEC: Deadline =
    Deadline::Never("only the user can correct the spec, and failing the cluster would help nobody");

impl<'a> Survey<'a> {
    pub(super) fn pre_action(&self, work: &'a Work) -> Member {
        let spec_timeout = self
            .context
            .spec
            .and_then(|spec| spec.pre_action)
            .map(|action| action.timeout);
        let deadline = deadline(work, spec_timeout);
        let progress = action_progress(work, WorkKind::Pre, deadline, self.context.now);
        match progress {
            Progress::Going(state, reason) => self.going(state, reason, deadline, Some(work.created)),
            Progress::Failed(reason, message) => self.fails(WorkKind::Pre, work, reason, message),
            Progress::Done => self.next(ClusterState::PreAction, self.main_kind(work), work),
        }
    }

    /// The kind of work that follows the pre-upgrade action `pre`: a platform that is there already is left alone where
    /// operators are to be upgraded.
    fn main_kind(&self, pre: &Work) -> WorkKind {
        let goal = pre.revision.as_ref().map(|revision| &*revision.goal);
        match goal.or(self.context.spec.map(|spec| &*spec.goal)) {
            Some(goal)
                if goal.operators.is_some() && goal.platform_reached(self.known_version().as_ref()) =>
            {
                WorkKind::Operators
            }
            _ => WorkKind::Cluster,
        }
    }

    pub(super) fn upgrading(&self, kind: WorkKind, work: &'a Work) -> Member {
        if let Some(post) = self.own(WorkKind::Post) {
            return self.post_action(kind, work, post);
        }
        if let Some(operators) = self.own(WorkKind::Operators) {
            return self.operators(kind, work, operators);
        }
        let spec_timeout = self.context.spec.map(|spec| spec.strategy.cluster_timeout);
        let deadline = deadline(work, spec_timeout);
        let Some(goal) = self.goal_of(work) else {
            return self.waits_for_spec(ClusterState::Initialized);
        };
        let Some(target) = &goal.target else {
            return self.waits_for_spec(ClusterState::Initialized);
        };
        match upgrade_progress(work, target, deadline, self.context.now) {
            Progress::Going(state, reason) => self.going(state, reason, deadline, Some(work.created)),
            Progress::Failed(reason, message) => self.fails(kind, work, reason, message),
            Progress::Done if goal.operators.is_some() => {
                self.next(ClusterState::Operators, WorkKind::Operators, work)
            }
            Progress::Done => self.upgraded(kind, work, goal),
        }
    }

    /// The operators follow when the platform is at the target.
    fn operators(&self, kind: WorkKind, work: &'a Work, operators: &Work) -> Member {
        let spec_timeout = self.context.spec.map(|spec| spec.strategy.operators_timeout);
        let deadline = deadline(operators, spec_timeout);
        match action_progress(operators, WorkKind::Operators, deadline, self.context.now) {
            Progress::Going(state, reason) => self.going(state, reason, deadline, Some(operators.created)),
            Progress::Failed(reason, message) => self.fails(kind, work, reason, message),
            Progress::Done => match self.goal_of(work) {
                Some(goal) => self.upgraded(kind, work, goal),
                None => self.waits_for_spec(ClusterState::Operators),
            },
        }
    }

    /// All that was asked of the cluster is there: what follows is the post-upgrade action.
    fn upgraded(&self, kind: WorkKind, work: &Work, goal: &Goal) -> Member {
        match self.context.spec {
            None => self.waits_for_spec(ClusterState::PostAction),
            Some(spec) if spec.post_action.is_some() => {
                self.next(ClusterState::PostAction, WorkKind::Post, work)
            }
            Some(_) => self.completes(kind, work, goal),
        }
    }

    fn post_action(&self, kind: WorkKind, work: &'a Work, post: &Work) -> Member {
        let spec_timeout = self
            .context
            .spec
            .and_then(|spec| spec.post_action)
            .map(|action| action.timeout);
        let deadline = deadline(post, spec_timeout);
        match action_progress(post, WorkKind::Post, deadline, self.context.now) {
            Progress::Going(state, reason) => self.going(state, reason, deadline, Some(post.created)),
            Progress::Failed(reason, message) => self.fails(kind, work, reason, message),
            Progress::Done => match self.goal_of(work) {
                Some(goal) => self.completes(kind, work, goal),
                None => self.waits_for_spec(ClusterState::PostAction),
            },
        }
    }

    /// What started keeps its goal to its end.
    pub(super) fn goal_of(&self, work: &'a Work) -> Option<&'a Goal> {
        let revised = work.revision.as_ref().map(|revision| &*revision.goal);
        revised.or(self.context.spec.map(|spec| &*spec.goal))
    }

    fn going(
        &self,
        state: ClusterState,
        reason: Reason,
        deadline: Timestamp,
        since: Option<Timestamp>,
    ) -> Member {
        let mut standing = self.standing(state, reason, Deadline::At(deadline));
        standing.since = since;
        Member {
            standing,
            step: Step::GoOn(Vec::new()),
        }
    }

    pub(super) fn waits_for_spec(&self, state: ClusterState) -> Member {
        Member {
            standing: self.standing(state, Reason::SpecInvalid, WAITS_FOR_SPEC),
            step: Step::GoOn(Vec::new()),
        }
    }

    fn completes(&self, kind: WorkKind, work: &Work, goal: &Goal) -> Member {
        let message = format!("upgraded to {goal}");
        self.ends(
            ClusterState::PostAction,
            kind,
            work,
            EndState::Complete,
            "Upgraded",
            message,
        )
    }

    fn fails(&self, kind: WorkKind, work: &Work, reason: FailureReason, message: String) -> Member {
        let state = match reason {
            FailureReason::PreActionFailed | FailureReason::PreActionTimedOut => ClusterState::PreAction,
            FailureReason::PostActionFailed | FailureReason::PostActionTimedOut => ClusterState::PostAction,
            FailureReason::OperatorsFailed | FailureReason::OperatorsTimedOut => ClusterState::Operators,
            FailureReason::InvalidTarget | FailureReason::AgentFailed | FailureReason::UpgradeTimedOut => {
                ClusterState::Initialized
            }
        };
        self.ends(state, kind, work, EndState::Failed, reason.as_str(), message)
    }

    /// The outcome is recorded; the cluster holds its slot until the record is seen.
    fn ends(
        &self,
        state: ClusterState,
        kind: WorkKind,
        work: &Work,
        outcome: EndState,
        reason: &str,
        message: String,
    ) -> Member {
        let seen = match outcome {
            EndState::Complete => Reason::Upgraded(message.clone()),
            EndState::Failed => Reason::Failed(message.clone()),
        };
        let standing = self.standing(state, seen, FOLLOWS_AT_ONCE);
        let action = Action::FinishWork {
            cluster: self.name.clone(),
            kind,
            uid: work.uid.clone(),
            outcome,
            reason: reason.to_owned(),
            message,
            started_at: standing.started.unwrap_or(work.created),
            at: self.context.now,
        };
        Member {
            standing,
            step: Step::GoOn(vec![action]),
        }
    }
}

/// Timeouts count from the work's creation. The spec's word counts while it is valid, so that a user can prolong it.
fn deadline(work: &Work, spec_timeout: Option<SignedDuration>) -> Timestamp {
    let timeout = spec_timeout
        .or(work.revision.as_ref().map(Revision::timeout))
        .unwrap_or(drydock_api::mcu::DEFAULT_CLUSTER_UPGRADE_TIMEOUT.signed());
    work.created.saturating_add(timeout).unwrap_or(Timestamp::MAX)
}
