//! What is to be done: complete, idempotent writes.

use drydock_api::ClusterName;
use drydock_api::names::{EndState, WorkKind};
use jiff::Timestamp;

use crate::{Report, Revision, Uid};

/// A work to be created. Together with the spec's templates it says all that the work contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkOrder {
    /// For which cluster.
    pub cluster: ClusterName,
    /// Which of its works.
    pub kind: WorkKind,
    /// What it is for; written on the work.
    pub revision: Revision,
    /// The OpenShift cluster id, if known.
    pub cluster_id: Option<String>,
    /// Whether the cluster is a canary.
    pub canary: bool,
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put our finalizer on the upgrade; nothing else happens before.
    AddFinalizer,
    /// Take our finalizer off: the upgrade may go.
    RemoveFinalizer,
    /// Make the hub's own Placement say what the spec says.
    ApplyPlacement,
    /// Delete the hub's own Placement: the spec has no selector any more.
    DeletePlacement,
    /// Create a work. One that exists and is ours is a success.
    CreateWork(WorkOrder),
    /// Record the outcome on a work; on a cluster-upgrade work also stop enforcing.
    FinishWork {
        /// Of which cluster.
        cluster: ClusterName,
        /// Which work.
        kind: WorkKind,
        /// The work as observed.
        uid: Uid,
        /// The outcome.
        outcome: EndState,
        /// Why, in CamelCase.
        reason: String,
        /// Why, in a sentence.
        message: String,
        /// When the cluster's first work was made.
        started_at: Timestamp,
        /// When.
        at: Timestamp,
    },
    /// Take the outcome off a cluster-upgrade work: what failed after the platform was there goes on.
    ReopenWork {
        /// Of which cluster.
        cluster: ClusterName,
        /// The work as observed.
        uid: Uid,
    },
    /// Delete a work, if it still is the observed one.
    DeleteWork {
        /// Of which cluster.
        cluster: ClusterName,
        /// Which work.
        kind: WorkKind,
        /// The work as observed.
        uid: Uid,
    },
}

impl Action {
    /// The cluster that starts with this action, or goes on, if one does.
    pub fn starts(&self) -> Option<&ClusterName> {
        match self {
            Self::CreateWork(order) => Some(&order.cluster),
            Self::ReopenWork { cluster, .. } => Some(cluster),
            Self::AddFinalizer
            | Self::RemoveFinalizer
            | Self::ApplyPlacement
            | Self::DeletePlacement
            | Self::FinishWork { .. }
            | Self::DeleteWork { .. } => None,
        }
    }
}

/// What is to be done now, why, and when to look again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Writes, in their order.
    pub actions: Vec<Action>,
    /// Why each cluster is where it is.
    pub report: Report,
    /// The earliest moment at which a deadline passes.
    pub wake: Option<Timestamp>,
}
