//! Why the rollout is where it is: the one source of status, Events, metrics, the plugin and the page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_names::{ClusterName, IntOrPercent};
use jiff::Timestamp;

use crate::{ClusterState, Deadline, InvalidSpec, PlacementKey, PreChecksMode, Reason, SelectionProblem};

/// Where one cluster of the rollout is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStatus {
    /// Its state.
    pub state: ClusterState,
    /// Why it is in it.
    pub reason: Reason,
    /// Whether it is a canary.
    pub canary: bool,
    /// Whether a Placement selects it now.
    pub selected: bool,
    /// The version that it shows.
    pub version: Option<String>,
    /// Since when it is in this state, as far as its objects show.
    pub since: Option<Timestamp>,
    /// When its first work was created.
    pub started: Option<Timestamp>,
    /// When it was done.
    pub finished: Option<Timestamp>,
    /// When it leaves the state at the latest.
    pub deadline: Deadline,
    /// Whether an upgrade work was made for it.
    pub initialized: bool,
    /// Whether one of its works is applied.
    pub applied: bool,
    /// What has become of it since its attempt ended, where that is not as it ended.
    pub afterwards: Option<Afterwards>,
}

/// What has become of a cluster since an attempt on it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// The update to this release, which the attempt had requested, still goes on there.
    GoesOn(Arc<str>),
    /// Its agent has not requested the update to this release there.
    NotRequested(Arc<str>),
    /// It failed, and has come to the target since.
    Arrived,
    /// It failed, and another upgrade that began later has it.
    LeftTo {
        /// The other upgrade.
        upgrade: Arc<str>,
        /// It has not ended there.
        is_at_work: bool,
    },
    /// It was complete, and runs another version.
    Drifted {
        /// The other upgrade that has brought it there, if one has.
        by: Option<Arc<str>>,
    },
}

impl ClusterStatus {
    /// Whether it has failed: the failure is committed, or is with this plan.
    pub fn has_failed(&self) -> bool {
        matches!(self.reason, Reason::Failed { .. })
    }

    /// How much it needs attention; not at all if it is done or waits for its turn.
    pub fn urgency(&self) -> Option<Urgency> {
        match self.state {
            ClusterState::Failed => Some(Urgency::Failed),
            ClusterState::NotStarted if self.reason.is_turn() => None,
            ClusterState::NotStarted => Some(Urgency::Blocked),
            ClusterState::Complete => None,
            _ => Some(Urgency::InFlight),
        }
    }
}

/// How much a cluster needs attention, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// It has failed.
    Failed,
    /// It is in flight.
    InFlight,
    /// Something keeps it from starting.
    Blocked,
}

/// Why no further cluster starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The spec cannot be acted on.
    InvalidSpec,
    /// The selection is not known.
    Selection,
    /// The user paused it.
    Paused,
    /// The canary selector matches no selected cluster.
    NoCanaryMatched,
    /// These canaries failed.
    CanaryFailed(BTreeSet<ClusterName>),
    /// The canaries are complete and must stay healthy for a while.
    CanarySoaking {
        /// Until when; not known while one is unhealthy.
        until: Option<Timestamp>,
        /// Unhealthy canaries.
        unhealthy: BTreeSet<ClusterName>,
    },
    /// Too many clusters that are no canaries have failed.
    FailureBudgetSpent {
        /// How many have.
        failed: usize,
        /// What the spec says (`maxFailures`).
        allowed: IntOrPercent,
    },
    /// No start window is open of the clusters of which one starts next.
    AwaitingStartWindow {
        /// When one opens.
        opens: Option<Timestamp>,
    },
    /// The clusters of which one starts next are frozen, or their start windows are closed.
    Frozen {
        /// When the first of them may start, if ever.
        until: Option<Timestamp>,
        /// Why, in the user's words.
        why: Arc<str>,
    },
    /// The calendar of freezes cannot be read: nobody knows whether clusters may start.
    FreezeCalendarUnreadable {
        /// Why not.
        why: Arc<str>,
    },
}

impl Halt {
    /// The reasons of new halts: each has its Event.
    pub const ALL: [&str; 8] = [
        "Paused",
        "NoCanaryMatched",
        "CanaryFailed",
        "CanarySoaking",
        "FailureBudgetSpent",
        "AwaitingStartWindow",
        "Frozen",
        "FreezeCalendarUnreadable",
    ];

    /// When a cluster may start at the earliest, where start windows or freezes keep all of them and one ends.
    pub fn opens(&self) -> Option<Timestamp> {
        match self {
            Self::AwaitingStartWindow { opens } => *opens,
            Self::Frozen { until, .. } => *until,
            _ => None,
        }
    }

    /// When it ends at the earliest, where it does so by itself: a window opens, a freeze ends, or the canaries have soaked.
    pub fn ends(&self) -> Option<Timestamp> {
        match self {
            Self::CanarySoaking { until, .. } => *until,
            halt => halt.opens(),
        }
    }

    /// The reason in CamelCase, as the condition InProgress and the metric have it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::InvalidSpec => "InvalidSpec",
            Self::Selection => "NotStarted",
            Self::Paused => "Paused",
            Self::NoCanaryMatched => "NoCanaryMatched",
            Self::CanaryFailed(_) => "CanaryFailed",
            Self::CanarySoaking { .. } => "CanarySoaking",
            Self::FailureBudgetSpent { .. } => "FailureBudgetSpent",
            Self::AwaitingStartWindow { .. } => "AwaitingStartWindow",
            Self::Frozen { .. } => "Frozen",
            Self::FreezeCalendarUnreadable { .. } => "FreezeCalendarUnreadable",
        }
    }
}

/// How many clusters are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub total: usize,
    /// Those for which an upgrade work was made, finished ones included.
    pub initialized: usize,
    /// On their way to the target or beyond it, not finished.
    pub partial: usize,
    /// Done.
    pub complete: usize,
    /// Failed.
    pub failed: usize,
    /// Not started.
    pub pending: usize,
    /// Holding a slot.
    pub in_flight: usize,
}

/// How many clusters an action has reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionCounts {
    /// Clusters on which it was started.
    pub total: usize,
    /// Clusters on which its objects are applied.
    pub applied: usize,
    /// Clusters on which it has succeeded.
    pub available: usize,
    /// Clusters on which it is under way.
    pub progressing: usize,
    /// Clusters on which it has failed.
    pub degraded: usize,
}

/// What keeps an upgrade that is being deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletionReport {
    /// Clusters whose works are not gone yet.
    pub clusters_with_works: BTreeSet<ClusterName>,
    /// A deletion that is refused, if one is: of which cluster's work, and in which words.
    pub refused: Option<(ClusterName, String)>,
    /// Outcomes that are not on a page of records yet.
    pub unrecorded: usize,
}

/// What clusters have answered before they start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreCheckCounts {
    /// What follows from it.
    pub mode: PreChecksMode,
    /// Clusters that have not started, with findings that nobody has accepted.
    pub with_findings: usize,
    /// Those of them with findings whose acceptance counts no more: its time is over, or the finding has become worse.
    pub blocked_again: usize,
    /// The first of these, for a message.
    pub first_blocked_again: String,
    /// Clusters in flight whose agents wait for findings that nobody has accepted.
    pub held_by_agent: usize,
    /// Clusters that are asked, and have time to answer; they do not start before they have.
    pub awaited: usize,
    /// Clusters that something else keeps from being asked, where an answer is required.
    pub unasked: usize,
    /// Clusters that have not answered in time, and do not start before they have.
    pub unanswered: usize,
    /// The first cluster that is held, and why.
    pub first: Option<(ClusterName, Reason)>,
}

/// The most clusters that a report names.
pub const NAMED_CLUSTERS: usize = 100;

/// Why the rollout is where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many clusters are selected.
    pub selected: usize,
    /// The first Placement that gives no clusters, and why.
    pub selection_problem: Option<(PlacementKey, SelectionProblem)>,
    /// What is wrong with the spec.
    pub invalid: Option<InvalidSpec>,
    /// Why no further cluster starts.
    pub halt: Option<Halt>,
    /// How many clusters start with this plan: announced in the status before their works are created.
    pub starting: usize,
    /// How many may be in flight.
    pub limit: usize,
    /// The goal in words.
    pub target: String,
    /// All clusters of the rollout.
    pub counts: Counts,
    /// How many of them are in each state; states without any are left out.
    pub states: BTreeMap<ClusterState, usize>,
    /// The canaries among them.
    pub canaries: Counts,
    /// What clusters have answered before they start.
    pub pre_checks: PreCheckCounts,
    /// Not all canaries are complete that the others wait for.
    pub awaits_canaries: bool,
    /// Answers are required, and not every cluster has been asked once.
    pub awaits_questions: bool,
    /// The pre-upgrade actions.
    pub pre_actions: ActionCounts,
    /// The post-upgrade actions.
    pub post_actions: ActionCounts,
    /// Clusters on which a work is applied.
    pub applied: usize,
    /// Completed clusters on which the channel is still to be set.
    pub channels_pending: usize,
    /// Clusters by the version that they show.
    pub versions: BTreeMap<String, usize>,
    /// Complete clusters that run another version than they were left at.
    pub drifted: usize,
    /// Complete clusters that needed nothing, because they ran the target before.
    pub needed_nothing: usize,
    /// How many of them are still to be put on record.
    pub awaits_records: usize,
    /// Clusters that later upgrades have claimed, by upgrade.
    pub left_to: BTreeMap<String, usize>,
    /// Clusters that move or need attention, the most urgent first; at most [`NAMED_CLUSTERS`].
    pub attention: Vec<(ClusterName, ClusterStatus)>,
    /// How many more need attention.
    pub unnamed: usize,
    /// The first clusters that failed.
    pub failed: Vec<(ClusterName, Reason)>,
    /// The first cluster that something keeps from starting.
    pub first_wait: Option<(ClusterName, Reason)>,
    /// When the rollout of this spec began.
    pub rollout_since: Option<Timestamp>,
    /// When the last cluster was done that is, of those that needed something.
    pub last_finished: Option<Timestamp>,
    /// When the last outcome of a cluster was committed.
    pub last_outcome: Option<Timestamp>,
    /// How many clusters may start when it is their turn.
    pub startable: usize,
    /// Clusters start only if they end before their windows close.
    pub only_if_they_fit: bool,
    /// The upgrade is complete and its status frozen.
    pub frozen: bool,
    /// Why the records cannot be written, if so.
    pub records_refused: Option<String>,
    /// The upgrade is being deleted.
    pub deletion: Option<DeletionReport>,
}

impl Report {
    /// Whether every cluster of the rollout is done, which is committed, and there is one.
    pub fn complete(&self) -> bool {
        self.invalid.is_none()
            && self.selection_problem.is_none()
            && self.counts.total > 0
            && self.counts.complete == self.counts.total
            && self.channels_pending == 0
            && self.awaits_records == 0
    }

    /// What a cluster waits for that is ready to start.
    pub fn waiting_reason(&self, canary: bool) -> Reason {
        match &self.halt {
            Some(halt) => Reason::Halted {
                reason: halt.as_str(),
                until: halt.ends(),
            },
            None if self.awaits_questions => Reason::WaitingForQuestions,
            None if !canary && self.awaits_canaries => Reason::WaitingForCanaries,
            None => Reason::WaitingForSlot {
                in_flight: self.counts.in_flight + self.starting,
                limit: self.limit,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_halt_that_ends_by_itself_says_when() {
        let at = Timestamp::from_second(1_770_000_000).ok();
        let soaking = |until| Halt::CanarySoaking {
            until,
            unhealthy: BTreeSet::new(),
        };
        for (halt, expected) in [
            (soaking(at), at),
            (soaking(None), None),
            (Halt::AwaitingStartWindow { opens: at }, at),
            (Halt::Paused, None),
        ] {
            assert_eq!(halt.ends(), expected, "{halt:?}");
        }
    }
}
