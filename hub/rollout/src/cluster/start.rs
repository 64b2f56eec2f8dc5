//! Whether a cluster may start, and how.

use drydock_api::mcu::UpgradeVia;
use drydock_api::names::WorkKind;
use jiff::Timestamp;

use super::{IS_FINAL, Member, Start, Step, Survey};
use crate::members::Place;
use crate::upgrade::{Progress, upgrade_progress};
use crate::{Action, ClusterState, Deadline, Reason, Standing, Work, WorkOrder};

const WAITS_TO_START: Deadline =
    Deadline::Never("it waits for its turn, or for the user; the reason says for what");

impl<'a> Survey<'a> {
    pub(super) fn not_started(&self, place: &Place<'_>) -> Member {
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
    pub(super) fn retried(&self, place: &Place<'_>, work: &'a Work) -> Member {
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
    pub(super) fn foreign_finished(&self, work: &Work) -> bool {
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
