//! The works that are ordered for a cluster, and what they are for.

use drydock_api::mcu::UpgradeVia;
use drydock_api::names::WorkKind;
use jiff::SignedDuration;

use super::{FOLLOWS_AT_ONCE, Member, Step, Survey};
use crate::{Action, ClusterState, Reason, Revision, Target, Via, Work, WorkOrder};

impl Survey<'_> {
    /// The work that follows on `previous` is created, under the revision of the first.
    pub(super) fn next(&self, state: ClusterState, kind: WorkKind, previous: &Work) -> Member {
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

    pub(super) fn revision(&self, timeout: SignedDuration) -> Option<Revision> {
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

    pub(super) fn order(&self, kind: WorkKind, revision: Revision) -> WorkOrder {
        WorkOrder {
            cluster: self.name.clone(),
            kind,
            revision,
            cluster_id: self.cluster.and_then(|cluster| cluster.cluster_id.clone()),
            canary: self.context.is_canary(self.name),
        }
    }

    pub(super) fn delete(&self, kind: WorkKind, work: &Work) -> Action {
        Action::DeleteWork {
            cluster: self.name.clone(),
            kind,
            uid: work.uid.clone(),
        }
    }
}
