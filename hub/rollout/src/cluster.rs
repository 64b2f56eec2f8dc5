//! Where one cluster is, read from its works, and what follows for it.

use drydock_api::ClusterName;
use drydock_api::mcu::UpgradeVia;
use drydock_api::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::members::{Context, Place};
use crate::upgrade::{Progress, action_progress, upgrade_progress};
use crate::{
    Action, Cluster, ClusterState, ConditionStatus, Deadline, FailureReason, Goal, Reason, Record, Revision,
    Standing, Target, Via, Work, WorkFeedback, WorkOrder, Works,
};

/// A cluster of the rollout.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub standing: Standing,
    pub step: Step,
}

/// What follows for a cluster.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// It may start, if there is a slot.
    Startable(Box<Start>),
    /// These writes go on whatever the other clusters do. Without any, it waits.
    GoOn(Vec<Action>),
}

/// How a cluster starts.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    /// Finished works of an earlier rollout make room first: those still to be deleted. The cluster-upgrade work goes
    /// last, because it is the record that the cluster is not in flight.
    pub clear: Option<Vec<Action>>,
    /// The first write: a work is created, or one that had failed is taken up again.
    pub first: Action,
    /// The cluster was upgraded by this object to an earlier target: such go after the rest.
    pub again: bool,
    /// Its place in the selection.
    pub place: (usize, u32),
}

const WAITS_TO_START: Deadline =
    Deadline::Never("it waits for its turn, or for the user; the reason says for what");
const IS_FINAL: Deadline = Deadline::Never("it is the end");
const FOLLOWS_AT_ONCE: Deadline = Deadline::Never("the next step follows at once");
const WAITS_FOR_SPEC: Deadline =
    Deadline::Never("only the user can correct the spec, and failing the cluster would help nobody");

/// One cluster under survey.
struct Survey<'a> {
    context: &'a Context<'a>,
    name: &'a ClusterName,
    works: &'a Works,
    cluster: Option<&'a Cluster>,
    place: Option<&'a Place<'a>>,
}

/// Reads where a cluster is; nothing if it takes no part.
pub(crate) fn survey(context: &Context<'_>, name: &ClusterName, works: &Works) -> Option<Member> {
    Survey {
        context,
        name,
        works,
        cluster: context.observed.clusters.get(name).map(|cluster| &**cluster),
        place: context.selected.get(name),
    }
    .member()
}

impl<'a> Survey<'a> {
    fn member(&self) -> Option<Member> {
        let pre = self.own(WorkKind::Pre);
        match (self.main(), pre) {
            (Some((kind, work)), _) => match &work.record {
                Some(record) => self.finished(work, record),
                None => Some(self.upgrading(kind, work)),
            },
            (None, Some(work)) => match &work.record {
                Some(record) => self.finished(work, record),
                None => Some(self.pre_action(work)),
            },
            (None, None) => Some(self.not_started(self.place?)),
        }
    }

    fn own(&self, kind: WorkKind) -> Option<&'a Work> {
        let work = self.works.get(&kind)?;
        self.is_own(work).then_some(&**work)
    }

    /// The work on which the outcome is recorded: the one of the platform, or the operators' where the platform is left as
    /// it is.
    fn main(&self) -> Option<(WorkKind, &'a Work)> {
        [WorkKind::Cluster, WorkKind::Operators]
            .into_iter()
            .find_map(|kind| Some((kind, self.own(kind)?)))
    }

    fn is_own(&self, work: &Work) -> bool {
        work.owner.uid == self.context.observed.upgrade.uid
    }

    fn standing(&self, state: ClusterState, reason: Reason, deadline: Deadline) -> Standing {
        let own = |kind| self.own(kind);
        let main = self.main().map(|(_, work)| work);
        let first = own(WorkKind::Pre).or(main);
        let revised = main.and_then(|work| work.revision.as_ref());
        Standing {
            state,
            reason,
            canary: self.context.is_canary(self.name),
            selected: self.place.is_some(),
            version: self.known_version().map(|version| version.to_string()),
            since: None,
            started: revised
                .map(|revision| revision.started_at)
                .or(first.map(|work| work.created)),
            finished: None,
            deadline,
            initialized: main.is_some(),
            applied: WorkKind::ALL
                .into_iter()
                .filter_map(own)
                .any(|work| work.applied == ConditionStatus::True),
            drifted: false,
        }
    }

    fn finished(&self, work: &Work, record: &Record) -> Option<Member> {
        let outdated = self.outdated(work);
        match self.place {
            None if outdated => return None,
            Some(place) if outdated && record.state == ClusterState::Complete => {
                return Some(self.not_started(place));
            }
            Some(place) if record.state == ClusterState::Failed && self.is_retried(record) => {
                return Some(self.retried(place, work));
            }
            _ => {}
        }
        let reason = if record.state == ClusterState::Complete {
            Reason::Upgraded(record.message.clone())
        } else {
            Reason::Failed(record.message.clone())
        };
        let mut standing = self.standing(record.state, reason, IS_FINAL);
        standing.finished = record.at;
        standing.since = record.at;
        standing.drifted = record.state == ClusterState::Complete && self.is_beyond(work);
        Some(Member {
            standing,
            step: Step::GoOn(Vec::new()),
        })
    }

    /// Whether the user has asked for a retry since the cluster failed.
    fn is_retried(&self, record: &Record) -> bool {
        let asked = self
            .context
            .retry
            .max(record.retry.filter(|asked| *asked <= self.context.now));
        matches!((asked, record.at), (Some(asked), Some(failed)) if failed < asked)
    }

    /// Whether the work was made for another goal than the spec's.
    fn outdated(&self, work: &Work) -> bool {
        match (self.context.spec, &work.revision) {
            (Some(spec), Some(revision)) => spec.goal != revision.goal,
            _ => false,
        }
    }

    fn is_beyond(&self, work: &Work) -> bool {
        let target = work
            .revision
            .as_ref()
            .and_then(|revision| revision.goal.target.as_ref()?.version.as_ref());
        match (target, self.known_version()) {
            (Some(target), Some(version)) => version > *target,
            _ => false,
        }
    }

    fn pre_action(&self, work: &'a Work) -> Member {
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
        let goal = pre.revision.as_ref().map(|revision| &revision.goal);
        match goal.or(self.context.spec.map(|spec| &spec.goal)) {
            Some(goal)
                if goal.operators.is_some() && goal.platform_reached(self.known_version().as_ref()) =>
            {
                WorkKind::Operators
            }
            _ => WorkKind::Cluster,
        }
    }

    fn upgrading(&self, kind: WorkKind, work: &'a Work) -> Member {
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
    fn goal_of(&self, work: &'a Work) -> Option<&'a Goal> {
        let revised = work.revision.as_ref().map(|revision| &revision.goal);
        revised.or(self.context.spec.map(|spec| &spec.goal))
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

    fn waits_for_spec(&self, state: ClusterState) -> Member {
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

    /// The work that follows on `previous` is created, under the revision of the first.
    fn next(&self, state: ClusterState, kind: WorkKind, previous: &Work) -> Member {
        let Some(revision) = self.revision_after(previous, kind) else {
            return self.waits_for_spec(state);
        };
        let (reason, actions) = match self.works.get(&kind) {
            None => (
                Reason::ActionDone,
                vec![Action::CreateWork(self.order(kind, revision))],
            ),
            Some(taken) if taken.deleting => (Reason::ReplacingOldWork, Vec::new()),
            Some(taken) if taken.record.is_some() || self.is_own(taken) || self.foreign_finished(taken) => {
                (Reason::ReplacingOldWork, vec![self.delete(kind, taken)])
            }
            Some(taken) => (
                Reason::OwnedByAnotherUpgrade(taken.owner.upgrade.clone()),
                Vec::new(),
            ),
        };
        Member {
            standing: self.standing(state, reason, FOLLOWS_AT_ONCE),
            step: Step::GoOn(actions),
        }
    }

    fn revision_after(&self, previous: &Work, kind: WorkKind) -> Option<Revision> {
        let timeout = match kind {
            WorkKind::Post => self.context.spec?.post_action.map(|action| action.timeout),
            WorkKind::Operators => self.context.spec.map(|spec| spec.strategy.operators_timeout),
            WorkKind::Pre | WorkKind::Cluster => self.context.spec.map(|spec| spec.strategy.cluster_timeout),
        };
        let mut revision = match &previous.revision {
            Some(revision) => revision.clone(),
            None => self.revision(timeout?)?,
        };
        revision.timeout_seconds = timeout.map_or(revision.timeout_seconds, |timeout| timeout.as_secs());
        Some(revision)
    }

    fn revision(&self, timeout: SignedDuration) -> Option<Revision> {
        let spec = self.context.spec?;
        let fits = spec.goal.target.as_ref().is_some_and(Target::fits_agent);
        let agent = self.context.observed.agents.contains(self.name) && fits;
        Some(Revision {
            generation: self.context.observed.upgrade.generation,
            rollout_since: self.context.rollout_since,
            goal: spec.goal.clone(),
            via: match spec.strategy.via {
                UpgradeVia::Auto if agent => Via::Agent,
                UpgradeVia::Auto | UpgradeVia::ClusterVersion => Via::ClusterVersion,
                UpgradeVia::Agent => Via::Agent,
            },
            timeout_seconds: timeout.as_secs(),
            started_at: self.context.now,
        })
    }

    fn order(&self, kind: WorkKind, revision: Revision) -> WorkOrder {
        WorkOrder {
            cluster: self.name.clone(),
            kind,
            revision,
            cluster_id: self.cluster.and_then(|cluster| cluster.cluster_id.clone()),
            canary: self.context.is_canary(self.name),
        }
    }

    fn delete(&self, kind: WorkKind, work: &Work) -> Action {
        Action::DeleteWork {
            cluster: self.name.clone(),
            kind,
            uid: work.uid.clone(),
        }
    }

    fn not_started(&self, place: &Place<'_>) -> Member {
        if let Some(version) = self.known_version()
            && self.context.spec.is_some_and(|spec| {
                spec.goal.operators.is_none() && spec.goal.platform_reached(Some(&version))
            })
        {
            let reason = Reason::AlreadyAtTarget(version.to_string());
            return Member {
                standing: self.standing(ClusterState::Complete, reason, IS_FINAL),
                step: Step::GoOn(Vec::new()),
            };
        }
        if let Some(reason) = self.blocker(place) {
            return self.waits_to_start(reason);
        }
        let Some(order) = self.first_order() else {
            return self.waits_to_start(Reason::SpecInvalid);
        };
        Member {
            standing: self.startable(),
            step: Step::Startable(Box::new(Start {
                clear: self.clear(),
                first: Action::CreateWork(order),
                again: self.main().is_some(),
                place: place.order,
            })),
        }
    }

    /// A cluster that failed starts over. One on which the platform has come to the target goes on from there: started
    /// over, it would need nothing, and the stage that failed would be left out.
    fn retried(&self, place: &Place<'_>, work: &'a Work) -> Member {
        let goal = self.goal_of(work).and_then(|goal| goal.target.as_ref());
        let is_platform_done = !self.outdated(work)
            && self.own(WorkKind::Cluster) == Some(work)
            && goal.is_some_and(|target| {
                upgrade_progress(work, target, Timestamp::MAX, self.context.now) == Progress::Done
            });
        if !is_platform_done {
            return self.not_started(place);
        }
        if let Some(reason) = self.blocker(place) {
            return self.waits_to_start(reason);
        }
        let stale: Vec<Action> = [WorkKind::Operators, WorkKind::Post]
            .into_iter()
            .filter_map(|kind| Some((kind, self.works.get(&kind)?)))
            .filter(|(_, work)| !work.deleting)
            .map(|(kind, work)| self.delete(kind, work))
            .collect();
        let is_clear = [WorkKind::Operators, WorkKind::Post]
            .iter()
            .all(|kind| !self.works.contains_key(kind));
        Member {
            standing: self.startable(),
            step: Step::Startable(Box::new(Start {
                clear: (!is_clear).then_some(stale),
                first: Action::ReopenWork {
                    cluster: self.name.clone(),
                    uid: work.uid.clone(),
                },
                again: true,
                place: place.order,
            })),
        }
    }

    /// What there is of an earlier start counts no more.
    fn startable(&self) -> Standing {
        let mut standing = self.standing(ClusterState::NotStarted, Reason::Starting, WAITS_TO_START);
        standing.started = None;
        standing.initialized = false;
        standing
    }

    fn waits_to_start(&self, reason: Reason) -> Member {
        Member {
            standing: self.standing(ClusterState::NotStarted, reason, WAITS_TO_START),
            step: Step::GoOn(Vec::new()),
        }
    }

    fn first_order(&self) -> Option<WorkOrder> {
        let spec = self.context.spec?;
        let platform_reached = spec.goal.platform_reached(self.known_version().as_ref());
        let (kind, timeout) = match spec.pre_action {
            Some(action) => (WorkKind::Pre, action.timeout),
            None if platform_reached => (WorkKind::Operators, spec.strategy.operators_timeout),
            None => (WorkKind::Cluster, spec.strategy.cluster_timeout),
        };
        Some(self.order(kind, self.revision(timeout)?))
    }

    /// The newest version that the cluster is known to have reached, by its claim or by a finished work's feedback.
    fn known_version(&self) -> Option<Version> {
        let claimed = self.cluster.and_then(|cluster| cluster.version.clone());
        let fed_back = self
            .works
            .get(&WorkKind::Cluster)
            .and_then(|work| match &work.feedback {
                WorkFeedback::ClusterVersion(feedback) if feedback.state.as_deref() == Some("Completed") => {
                    feedback.version.clone()
                }
                WorkFeedback::Agent(feedback) if feedback.state.as_deref() == Some("Upgraded") => {
                    feedback.version.clone()
                }
                _ => None,
            });
        claimed.max(fed_back)
    }

    fn blocker(&self, place: &Place<'_>) -> Option<Reason> {
        let Some(cluster) = self.cluster else {
            return Some(Reason::ClusterUnknown);
        };
        if !cluster.accepted {
            return Some(Reason::NotAccepted);
        }
        if !cluster.joined {
            return Some(Reason::NotJoined);
        }
        if !cluster.available {
            return Some(Reason::NotAvailable);
        }
        let tolerated = |taint| {
            place
                .tolerations
                .iter()
                .any(|tolerations| tolerations.iter().any(|toleration| toleration.tolerates(taint)))
        };
        let taint = cluster
            .taints
            .iter()
            .find(|taint| taint.effect != "PreferNoSelect" && !tolerated(taint));
        if let Some(taint) = taint {
            return Some(Reason::Tainted(taint.key.clone()));
        }
        if let Some(owner) = self.other_owner() {
            return Some(Reason::OwnedByAnotherUpgrade(owner));
        }
        let agent_only = self
            .context
            .spec
            .is_some_and(|spec| spec.strategy.via == UpgradeVia::Agent && spec.goal.target.is_some());
        if agent_only && !self.context.observed.agents.contains(self.name) {
            return Some(Reason::AgentNotAvailable);
        }
        WorkKind::ALL
            .into_iter()
            .find(|kind| {
                self.context
                    .observed
                    .obstructed
                    .contains(&(self.name.clone(), *kind))
            })
            .map(|kind| Reason::NameTaken(kind.work_name(self.name)))
    }

    /// Another upgrade that is at work here, or whose rollout began after ours and has finished here.
    fn other_owner(&self) -> Option<String> {
        let ours = (self.context.rollout_since, &self.context.observed.upgrade.uid);
        self.works
            .values()
            .filter(|work| !self.is_own(work) && !work.deleting)
            .find(|work| {
                let newer = work
                    .revision
                    .as_ref()
                    .is_some_and(|revision| (revision.rollout_since, &work.owner.uid) > ours);
                newer || !self.foreign_finished(work)
            })
            .map(|work| work.owner.upgrade.clone())
    }

    /// Whether the upgrade that made this work is done with the cluster.
    fn foreign_finished(&self, work: &Work) -> bool {
        let theirs = |kind| {
            self.works
                .get(&kind)
                .filter(|other| other.owner.uid == work.owner.uid)
        };
        match theirs(WorkKind::Cluster).or(theirs(WorkKind::Operators)) {
            Some(main) => main.record.is_some() || main.deleting,
            None => theirs(WorkKind::Pre).is_none_or(|pre| pre.record.is_some() || pre.deleting),
        }
    }

    /// Works of an earlier rollout that have to go; the one with the record last.
    fn clear(&self) -> Option<Vec<Action>> {
        if self.works.is_empty() {
            return None;
        }
        let is_record = |kind: WorkKind| {
            kind == WorkKind::Cluster
                || (kind == WorkKind::Operators && !self.works.contains_key(&WorkKind::Cluster))
        };
        let first = self.works.keys().any(|kind| !is_record(*kind));
        let deletions = self
            .works
            .iter()
            .filter(|(kind, work)| (!is_record(**kind) || !first) && !work.deleting)
            .map(|(kind, work)| self.delete(*kind, work))
            .collect();
        Some(deletions)
    }
}

/// Timeouts count from the work's creation. The spec's word counts while it is valid, so that a user can prolong it.
fn deadline(work: &Work, spec_timeout: Option<SignedDuration>) -> Timestamp {
    let timeout = spec_timeout
        .or(work.revision.as_ref().map(Revision::timeout))
        .unwrap_or(drydock_api::mcu::DEFAULT_CLUSTER_UPGRADE_TIMEOUT.signed());
    work.created.saturating_add(timeout).unwrap_or(Timestamp::MAX)
}
