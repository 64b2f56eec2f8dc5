//! Why the rollout is where it is: the one source of status, Events, metrics and logs.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::ClusterName;
use drydock_api::mcu::{ActionSummary, reason};
use jiff::Timestamp;

use crate::{ClusterState, Deadline, InvalidRetry, InvalidSpec, PlacementKey, Reason, SelectionProblem};

/// One cluster of the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where it is.
    pub state: ClusterState,
    /// Why.
    pub reason: Reason,
    /// Whether it is a canary.
    pub canary: bool,
    /// Whether a Placement selects it now.
    pub selected: bool,
    /// The version that it shows.
    pub version: Option<String>,
    /// Since when it is in this state, as far as its objects tell.
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
    /// It runs a newer version than the target.
    pub drifted: bool,
}

impl Standing {
    /// Whether it has failed: the failure is recorded, or is with this plan.
    pub fn has_failed(&self) -> bool {
        matches!(self.reason, Reason::Failed(_))
    }
}

/// Why nothing new starts.
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
        /// Until when; not known while one is in trouble.
        until: Option<Timestamp>,
        /// Canaries in trouble.
        unhealthy: BTreeSet<ClusterName>,
    },
    /// Too many clusters that are no canaries have failed.
    FailureBudgetSpent {
        /// How many have.
        failed: usize,
        /// How many stop the rollout.
        budget: usize,
    },
    /// No start window is open.
    AwaitingStartWindow {
        /// When one opens.
        opens: Option<Timestamp>,
    },
}

impl Halt {
    /// The reason in CamelCase, as the condition InProgress and the metric have it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::InvalidSpec => reason::INVALID_SPEC,
            Self::Selection => reason::NOT_STARTED,
            Self::Paused => reason::PAUSED,
            Self::NoCanaryMatched => reason::NO_CANARY_MATCHED,
            Self::CanaryFailed(_) => reason::CANARY_FAILED,
            Self::CanarySoaking { .. } => reason::CANARY_SOAKING,
            Self::FailureBudgetSpent { .. } => reason::FAILURE_BUDGET_SPENT,
            Self::AwaitingStartWindow { .. } => reason::AWAITING_START_WINDOW,
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

/// What the selection came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectionReport {
    /// How many clusters are selected.
    pub selected: usize,
    /// The first Placement that gives none, and why.
    pub problem: Option<(PlacementKey, SelectionProblem)>,
}

/// Why the rollout is where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Each cluster of the rollout.
    pub clusters: BTreeMap<ClusterName, Standing>,
    /// The selection.
    pub selection: SelectionReport,
    /// What is wrong with the spec.
    pub invalid: Option<InvalidSpec>,
    /// Why nothing new starts.
    pub halt: Option<Halt>,
    /// How many clusters start with this plan: announced in the status before their works are created.
    pub starting: usize,
    /// How many may be in flight.
    pub limit: usize,
    /// The target, as text.
    pub target: String,
    /// The pre-upgrade actions.
    pub pre_actions: ActionSummary,
    /// The post-upgrade actions.
    pub post_actions: ActionSummary,
    /// When the rollout of this spec began.
    pub rollout_since: Option<Timestamp>,
    /// When the last cluster will be done, by the pace so far.
    pub estimated_completion: Option<Timestamp>,
    /// The upgrade is complete and its status frozen.
    pub frozen: bool,
    /// The upgrade is being deleted: clusters whose works are not gone yet.
    pub owing: Option<BTreeSet<ClusterName>>,
    /// When a retry was asked for, or why that cannot be read.
    pub retry: Option<Result<Timestamp, InvalidRetry>>,
}

impl Report {
    /// Counts the clusters for which `which` holds.
    pub fn count(&self, which: impl Fn(&Standing) -> bool) -> Counts {
        let mut counts = Counts::default();
        for standing in self.clusters.values().filter(|standing| which(standing)) {
            counts.total += 1;
            counts.initialized += usize::from(standing.initialized);
            counts.in_flight += usize::from(standing.state.in_flight());
            match standing.state {
                ClusterState::NotStarted => counts.pending += 1,
                ClusterState::PreAction | ClusterState::Initialized => {}
                ClusterState::PartialUpgrade | ClusterState::Operators | ClusterState::PostAction => {
                    counts.partial += 1;
                }
                ClusterState::Complete => counts.complete += 1,
                ClusterState::Failed => counts.failed += 1,
            }
        }
        counts
    }

    /// All clusters.
    pub fn counts(&self) -> Counts {
        self.count(|_| true)
    }

    /// Whether every cluster of the rollout is done, and there is one.
    pub fn complete(&self) -> bool {
        let counts = self.counts();
        self.invalid.is_none()
            && self.selection.problem.is_none()
            && counts.total > 0
            && counts.complete == counts.total
    }
}
