//! Where one cluster is, read from its works, and what follows for it.

use drydock_api::ClusterName;
use drydock_api::mcu::UpgradeVia;
use drydock_api::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::members::{Context, Place};
use crate::upgrade::{Progress, action_progress, upgrade_progress};
use crate::{
    Action, Cluster, ClusterState, ConditionStatus, Deadline, FailureReason, Reason, Record, Revision,
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
    /// The first work.
    pub order: WorkOrder,
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
        cluster: context.observed.clusters.get(name),
        place: context.selected.get(name),
    }
    .member()
}

impl<'a> Survey<'a> {
    fn member(&self) -> Option<Member> {
        let cluster_work = self.own(WorkKind::Cluster);
        let pre = self.own(WorkKind::Pre);
        match (cluster_work, pre) {
            (Some(work), _) => match &work.record {
                Some(record) => self.finished(work, record),
                None => Some(self.upgrading(work)),
            },
            (None, Some(work)) => match &work.record {
                Some(record) => self.finished(work, record),
                None => Some(self.pre_action(work)),
            },
            (None, None) => Some(self.not_started(self.place?)),
        }
    }

    fn own(&self, kind: WorkKind) -> Option<&'a Work> {
        self.works.get(&kind).filter(|work| self.is_own(work))
    }

    fn is_own(&self, work: &Work) -> bool {
        work.owner.uid == self.context.observed.upgrade.uid
    }

    fn standing(&self, state: ClusterState, reason: Reason, deadline: Deadline) -> Standing {
        let own = |kind| self.own(kind);
        let first = own(WorkKind::Pre).or(own(WorkKind::Cluster));
        let revised = own(WorkKind::Cluster).and_then(|work| work.revision.as_ref());
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
            initialized: own(WorkKind::Cluster).is_some(),
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

    /// Whether the work was made for another target than the spec's.
    fn outdated(&self, work: &Work) -> bool {
        match (self.context.spec, &work.revision) {
            (Some(spec), Some(revision)) => spec.target != revision.target,
            _ => false,
        }
    }

    fn is_beyond(&self, work: &Work) -> bool {
        let target = work
            .revision
            .as_ref()
            .and_then(|revision| revision.target.version.as_ref());
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
            Progress::Done => self.next(ClusterState::PreAction, WorkKind::Cluster, work),
        }
    }

    fn upgrading(&self, work: &'a Work) -> Member {
        if let Some(post) = self.own(WorkKind::Post) {
            return self.post_action(work, post);
        }
        let spec_timeout = self.context.spec.map(|spec| spec.strategy.cluster_timeout);
        let deadline = deadline(work, spec_timeout);
        let Some(target) = self.target_of(work) else {
            return self.waits_for_spec(ClusterState::Initialized);
        };
        match upgrade_progress(work, target, deadline, self.context.now) {
            Progress::Going(state, reason) => self.going(state, reason, deadline, Some(work.created)),
            Progress::Failed(reason, message) => self.fails(WorkKind::Cluster, work, reason, message),
            Progress::Done => match self.context.spec {
                None => self.waits_for_spec(ClusterState::PostAction),
                Some(spec) if spec.post_action.is_some() => {
                    self.next(ClusterState::PostAction, WorkKind::Post, work)
                }
                Some(_) => self.completes(work, target),
            },
        }
    }

    fn post_action(&self, work: &'a Work, post: &Work) -> Member {
        let spec_timeout = self
            .context
            .spec
            .and_then(|spec| spec.post_action)
            .map(|action| action.timeout);
        let deadline = deadline(post, spec_timeout);
        match action_progress(post, WorkKind::Post, deadline, self.context.now) {
            Progress::Going(state, reason) => self.going(state, reason, deadline, Some(post.created)),
            Progress::Failed(reason, message) => self.fails(WorkKind::Cluster, work, reason, message),
            Progress::Done => match self.target_of(work) {
                Some(target) => self.completes(work, target),
                None => self.waits_for_spec(ClusterState::PostAction),
            },
        }
    }

    /// What started keeps its target to its end.
    fn target_of(&self, work: &'a Work) -> Option<&'a Target> {
        let revised = work.revision.as_ref().map(|revision| &revision.target);
        revised.or(self.context.spec.map(|spec| &spec.target))
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

    fn completes(&self, work: &Work, target: &Target) -> Member {
        let message = format!("upgraded to {target}");
        self.ends(
            ClusterState::PostAction,
            WorkKind::Cluster,
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
            _ => self.context.spec.map(|spec| spec.strategy.cluster_timeout),
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
        let agent = self.cluster.is_some_and(|cluster| cluster.agent) && spec.target.fits_agent();
        Some(Revision {
            generation: self.context.observed.upgrade.generation,
            rollout_since: self.context.rollout_since,
            target: spec.target.clone(),
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
            && self.at_target(&version)
        {
            let reason = Reason::AlreadyAtTarget(version.to_string());
            return Member {
                standing: self.standing(ClusterState::Complete, reason, IS_FINAL),
                step: Step::GoOn(Vec::new()),
            };
        }
        let waits = |reason| Member {
            standing: self.standing(ClusterState::NotStarted, reason, WAITS_TO_START),
            step: Step::GoOn(Vec::new()),
        };
        if let Some(reason) = self.blocker(place) {
            return waits(reason);
        }
        let Some(order) = self.first_order() else {
            return waits(Reason::SpecInvalid);
        };
        let mut standing = self.standing(ClusterState::NotStarted, Reason::Starting, WAITS_TO_START);
        standing.started = None;
        standing.initialized = false;
        Member {
            standing,
            step: Step::Startable(Box::new(Start {
                clear: self.clear(),
                order,
                again: self.own(WorkKind::Cluster).is_some(),
                place: place.order,
            })),
        }
    }

    fn first_order(&self) -> Option<WorkOrder> {
        let spec = self.context.spec?;
        let (kind, timeout) = match spec.pre_action {
            Some(action) => (WorkKind::Pre, action.timeout),
            None => (WorkKind::Cluster, spec.strategy.cluster_timeout),
        };
        Some(self.order(kind, self.revision(timeout)?))
    }

    /// A cluster beyond the target needs nothing: asking it for an older version would be a roll back.
    fn at_target(&self, version: &Version) -> bool {
        let target = self.context.spec.and_then(|spec| spec.target.version.as_ref());
        target.is_some_and(|target| version >= target)
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
            .is_some_and(|spec| spec.strategy.via == UpgradeVia::Agent);
        if agent_only && !cluster.agent {
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
        match theirs(WorkKind::Cluster) {
            Some(cluster_work) => cluster_work.record.is_some() || cluster_work.deleting,
            None => theirs(WorkKind::Pre).is_none_or(|pre| pre.record.is_some() || pre.deleting),
        }
    }

    fn clear(&self) -> Option<Vec<Action>> {
        if self.works.is_empty() {
            return None;
        }
        let others = || self.works.iter().filter(|(kind, _)| **kind != WorkKind::Cluster);
        let first = others().next().is_some();
        let deletions = self
            .works
            .iter()
            .filter(|(kind, work)| (**kind != WorkKind::Cluster || !first) && !work.deleting)
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
