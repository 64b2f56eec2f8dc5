//! What is observed: plain values, parsed once at the edge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::names::{RETRY_ANNOTATION, WorkKind};
use jiff::{SignedDuration, Timestamp};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::{ClusterState, Goal, InvalidSpec, Snapshot, Spec};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The name as given.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The text of it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// The uid of an object.
    Uid
);

macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            /// Its namespace.
            pub namespace: String,
            /// Its name.
            pub name: String,
        }

        impl $name {
            /// A key of its two parts.
            pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
                Self { namespace: namespace.into(), name: name.into() }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}/{}", self.namespace, self.name)
            }
        }
    };
}

key!(
    /// Which ManagedClustersUpgrade.
    UpgradeKey
);
key!(
    /// Which Placement.
    PlacementKey
);

/// How an upgrade reaches one cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Via {
    /// An UpgradeConfig for the agent.
    Agent,
    /// The ClusterVersion itself.
    ClusterVersion,
}

/// What a work was made for. It is written on the work, so that what has started keeps its target through edits of the
/// spec and restarts of the hub.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The upgrade's generation.
    pub generation: i64,
    /// When this rollout began: of two upgrades, the one whose rollout began later supersedes the other's finished works.
    pub rollout_since: Timestamp,
    /// What the cluster shall come to.
    #[serde(flatten)]
    pub goal: Arc<Goal>,
    /// How it is reached.
    pub via: Via,
    /// Seconds that this stage may take.
    pub timeout_seconds: i64,
    /// When this cluster's first work was made.
    pub started_at: Timestamp,
}

impl Revision {
    /// How long this stage may take.
    pub fn timeout(&self) -> SignedDuration {
        SignedDuration::from_secs(self.timeout_seconds)
    }
}

/// The outcome of a cluster, as recorded on a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// `Complete` or `Failed`.
    pub state: ClusterState,
    /// Why, in CamelCase.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// When.
    pub at: Option<Timestamp>,
    /// When a retry of this cluster alone was asked for, on the work.
    pub retry: Option<Timestamp>,
}

/// Who made a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The upgrade's uid.
    pub uid: Uid,
    /// Which upgrade, as its annotation says.
    pub upgrade: String,
}

/// A condition, read only when its observedGeneration is the object's generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConditionStatus {
    /// Not there, or about an older generation.
    #[default]
    Absent,
    /// True.
    True,
    /// False or Unknown, with the message.
    NotTrue(String),
}

/// Where one Job or Pod of an action is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunState {
    /// No feedback yet, or not at an end.
    Running,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
}

/// What a cluster's upgrade work feeds back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFeedback {
    /// The version of the newest history entry.
    pub version: Option<Version>,
    /// Its state (`Partial`, `Completed`), or the agent's phase.
    pub state: Option<String>,
    /// Its image.
    pub image: Option<String>,
    /// What the cluster says about its progress, made coarse: the share that is done.
    pub progress: Option<String>,
    /// Why the cluster refuses the request, if it does.
    pub invalid: Option<String>,
    /// Why the cluster waits, if it says so: Failing or ReleaseAccepted=False, or the agent's newest condition.
    pub hindrance: Option<String>,
}

/// What a work feeds back, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkFeedback {
    /// An action: each Job or Pod that must come to an end, by `Kind namespace/name`.
    Action(BTreeMap<String, RunState>),
    /// An upgrade through ClusterVersion.
    ClusterVersion(ClusterFeedback),
    /// An upgrade through the agent.
    Agent(ClusterFeedback),
    /// The work cannot be read; it waits until its timeout.
    Unreadable(String),
}

/// One of our works, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Its uid.
    pub uid: Uid,
    /// Who made it.
    pub owner: Owner,
    /// When it was created: timeouts count from here.
    pub created: Timestamp,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What it was made for; `None` if that cannot be read.
    pub revision: Option<Revision>,
    /// The outcome, if recorded.
    pub record: Option<Record>,
    /// Whether the work agent has applied it.
    pub applied: ConditionStatus,
    /// Whether its objects exist on the cluster.
    pub available: ConditionStatus,
    /// Whether one of the user's own rules says that it is degraded: the message.
    pub degraded: Option<String>,
    /// What it feeds back.
    pub feedback: WorkFeedback,
}

impl Work {
    /// Whether it was made for this goal. A work whose goal cannot be read counts.
    pub fn is_for(&self, goal: &Goal) -> bool {
        self.revision
            .as_ref()
            .is_none_or(|revision| *revision.goal == *goal)
    }
}

/// The works of one cluster, ours and other upgrades', by kind: their names are the same. Shared with who sees them: a fleet
/// is looked at every second.
pub type Works = BTreeMap<WorkKind, Arc<Work>>;

/// A taint of a ManagedCluster that keeps clusters from being selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
    /// Its effect: `NoSelect`, `NoSelectIfNew` or `PreferNoSelect`.
    pub effect: String,
}

/// A toleration of a Placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    /// The taint's key; empty means all.
    pub key: String,
    /// The taint's value, unless any will do.
    pub value: Option<String>,
    /// The taint's effect; empty means all.
    pub effect: String,
}

impl Toleration {
    /// Whether this taint is tolerated.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        (self.key.is_empty() || self.key == taint.key)
            && self.value.as_ref().is_none_or(|value| *value == taint.value)
            && (self.effect.is_empty() || self.effect == taint.effect)
    }
}

/// A ManagedCluster, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The hub admin accepted it.
    pub accepted: bool,
    /// It joined.
    pub joined: bool,
    /// `ManagedClusterConditionAvailable` is True.
    pub available: bool,
    /// Since when that condition says what it says.
    pub available_since: Option<Timestamp>,
    /// Its taints.
    pub taints: Vec<Taint>,
    /// The OpenShift version that it claims to run.
    pub version: Option<Version>,
    /// Its OpenShift cluster id.
    pub cluster_id: Option<String>,
}

/// Why a Placement gives no clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionProblem {
    /// There is no such Placement.
    NotFound,
    /// It may not be read from the upgrade's namespace.
    Forbidden,
    /// OCM cannot satisfy it; its words.
    Unsatisfied(String),
    /// It has not been decided, or its pages are being written and no earlier snapshot is known.
    Pending,
}

/// One Placement that selects clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which one.
    pub placement: PlacementKey,
    /// The taints that it tolerates.
    pub tolerations: Vec<Toleration>,
    /// Its decisions: the newest whole snapshot, shared with who keeps it.
    pub outcome: Result<Arc<Snapshot>, SelectionProblem>,
}

/// The Placements of an upgrade, in the order of the spec, the hub's own last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Each with its outcome.
    pub sources: Vec<Source>,
}

/// A retry was asked for in words that cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the annotation {RETRY_ANNOTATION} is {0:?}: write a moment such as 2026-11-20T14:00:00Z")]
pub struct InvalidRetry(pub String);

/// The object itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// Which one.
    pub key: UpgradeKey,
    /// Its uid.
    pub uid: Uid,
    /// Its generation.
    pub generation: i64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether our finalizer is on it.
    pub finalizer: bool,
    /// Clusters that failed before this moment start over, if the user asks for a retry; or what cannot be read.
    pub retry: Result<Option<Timestamp>, InvalidRetry>,
}

/// What the object's status says already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Previous {
    /// The generation that the status is about.
    pub observed_generation: Option<i64>,
    /// When the rollout began.
    pub start_time: Option<Timestamp>,
    /// When it was complete.
    pub completion_time: Option<Timestamp>,
    /// Whether its condition Complete is True.
    pub complete: bool,
}

/// Whether the hub's own Placement is as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnPlacement {
    /// There is none.
    #[default]
    Absent,
    /// It exists and says what the spec says.
    Current,
    /// It exists and says something else.
    Stale,
}

/// Everything that a decision may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The object.
    pub upgrade: Upgrade,
    /// What the user asked for, or what is wrong with it.
    pub spec: Result<Spec, InvalidSpec>,
    /// What the status says already.
    pub previous: Previous,
    /// Which clusters are selected.
    pub selection: Selection,
    /// The hub's own Placement.
    pub own_placement: OwnPlacement,
    /// ManagedClusters, at least the selected ones and those with works.
    pub clusters: BTreeMap<ClusterName, Arc<Cluster>>,
    /// Clusters on which our agent is Available.
    pub agents: BTreeSet<ClusterName>,
    /// Our works and those of other upgrades on the same clusters.
    pub works: BTreeMap<ClusterName, Works>,
    /// Works whose names are taken by objects that are not ours.
    pub obstructed: BTreeSet<(ClusterName, WorkKind)>,
    /// Whether the view contains all that we have written ourselves: nothing is done on an older one.
    pub caught_up: bool,
}
