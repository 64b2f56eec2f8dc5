//! Where one cluster is, read from its works, and what follows for it.

mod orders;
mod stages;
mod start;

use drydock_api::ClusterName;
use drydock_api::names::WorkKind;
use semver::Version;

use crate::members::{Context, Place};
use crate::{
    Action, Cluster, ClusterState, ConditionStatus, Deadline, Reason, Record, Standing, Work, WorkFeedback,
    Works,
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

const IS_FINAL: Deadline = Deadline::Never("it is the end");
const FOLLOWS_AT_ONCE: Deadline = Deadline::Never("the next step follows at once");

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
        self.context.spec.is_some_and(|spec| !work.is_for(&spec.goal))
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
}
