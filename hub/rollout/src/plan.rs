//! What is to be done: complete, idempotent writes.

use std::sync::Arc;

use drydock_names::ClusterName;
use drydock_names::names::{EndState, WorkKind};
use jiff::Timestamp;
use serde_json::Value;

use crate::spec::AgentOptions;
use crate::{
    Entry, Operators, PlacementKey, PreCheckQuestion, RecordPageHeader, Report, RetryToken, Revision,
    RiskAcceptance, Target, Uid, UpgradeMethod,
};

/// What a work is to contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkContent {
    /// The user's action: the spec of the ManifestWork as JSON.
    Action(Arc<Value>),
    /// An upgrade through ClusterVersion.
    ClusterVersion {
        /// To what.
        target: Target,
        /// The cluster's OpenShift id, if known.
        cluster_id: Option<String>,
        /// Whether its ClusterVersion has the field `desiredUpdate.architecture`.
        has_architecture: bool,
    },
    /// An upgrade through the agent.
    UpgradeConfig {
        /// To what.
        target: Target,
        /// What the agent is given beside it.
        settings: AgentOptions,
    },
    /// The Job that approves the operators' upgrades.
    Operators(Operators),
}

/// A work to be created, finished: nothing else is needed to write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWork {
    /// For which cluster.
    pub cluster: ClusterName,
    /// Which of its works.
    pub kind: WorkKind,
    /// What it is for; written on the work.
    pub revision: Revision,
    /// What it contains.
    pub content: WorkContent,
    /// Whether the cluster is a canary.
    pub canary: bool,
}

/// How a cluster has ended, to be committed on its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// Which cluster.
    pub cluster: ClusterName,
    /// Which of its works.
    pub kind: WorkKind,
    /// The work as observed.
    pub uid: Uid,
    /// How the cluster is upgraded, if the work says.
    pub method: Option<UpgradeMethod>,
    /// The outcome.
    pub outcome: EndState,
    /// Why, in CamelCase.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: Arc<str>,
    /// When the cluster's first work was made.
    pub started_at: Timestamp,
    /// When it ended.
    pub at: Timestamp,
    /// The retry that was asked for.
    pub retry: RetryToken,
    /// The cluster says that the signature of its release was not verified.
    pub unverified: bool,
}

/// Entries to be written on one page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPageWrite {
    /// The page.
    pub name: Arc<str>,
    /// Its number.
    pub number: u32,
    /// What it says of all its entries.
    pub header: Arc<RecordPageHeader>,
    /// The goal in words.
    pub target: Arc<str>,
    /// Who started the rollout.
    pub started_by: Arc<str>,
    /// The version of the page to which the entries are appended; a new page without.
    pub append_to: Option<Arc<str>>,
    /// The new entries.
    pub entries: Vec<Entry>,
    /// Entries that take the place of others, by index.
    pub replaced: Vec<(usize, Entry)>,
}

/// A question to a cluster, to be written as a work: complete, and the same when it is written again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreCheckAsk {
    /// Which cluster.
    pub cluster: ClusterName,
    /// What it is asked; written on the work.
    pub question: PreCheckQuestion,
    /// The release.
    pub target: Target,
    /// The risks that are accepted there.
    pub accepted: Vec<RiskAcceptance>,
}

impl PreCheckAsk {
    /// The most risks that are accepted on one cluster: as many as an UpdatePlan holds.
    pub const MOST_ACCEPTED: usize = 64;
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put our finalizer on the upgrade; nothing else happens before.
    AddFinalizer,
    /// Take our finalizer off: the upgrade may go.
    RemoveFinalizer,
    /// Make the Placement that the hub keeps say what the spec says.
    ApplyPlacement(PlacementKey),
    /// Delete a Placement that the hub kept.
    DeletePlacement(PlacementKey),
    /// Create a work. One that exists and is ours is a success.
    CreateWork(Box<NewWork>),
    /// Apply what the work has only read so far: the cluster is below the target.
    EnforceWork {
        /// Of which cluster.
        cluster: ClusterName,
        /// The work as observed.
        uid: Uid,
        /// What it is for from now on.
        revision: Box<Revision>,
    },
    /// Apply another channel, and nothing else, on a cluster that is complete; or, without a channel, stop applying it.
    SetChannel {
        /// Of which cluster.
        cluster: ClusterName,
        /// The work as observed.
        uid: Uid,
        /// What it is for from now on.
        revision: Box<Revision>,
        /// The channel, while it is to be applied.
        channel: Option<String>,
    },
    /// Commit the outcome on a work; on a cluster-upgrade work also stop enforcing.
    FinishWork(Box<Finish>),
    /// Take the outcome off a cluster-upgrade work: what failed after the platform was there continues.
    ReopenWork {
        /// Of which cluster.
        cluster: ClusterName,
        /// The work as observed.
        uid: Uid,
        /// What it is for from now on: a new attempt begins.
        revision: Box<Revision>,
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
    /// Put the labels on a work again by which the hub finds it.
    LabelWork {
        /// Of which cluster.
        cluster: ClusterName,
        /// Which work.
        kind: WorkKind,
        /// The work as observed.
        uid: Uid,
        /// The hub has committed its outcome: the state on it stays. Any other is somebody else's, and is taken off.
        has_ended: bool,
    },
    /// Read a work by name: whether it is there is not known.
    ConfirmWork {
        /// Of which cluster.
        cluster: ClusterName,
        /// Which work.
        kind: WorkKind,
    },
    /// Ask a cluster what would be a problem with its upgrade, or ask it again.
    AskPreChecks(Box<PreCheckAsk>),
    /// Delete the work by which a cluster was asked.
    DeletePreChecks {
        /// Which cluster.
        cluster: ClusterName,
        /// The work as observed.
        uid: Uid,
    },
    /// Write entries on a page of records.
    WritePage(Box<RecordPageWrite>),
    /// Mark a page as history (the upgrade is being deleted), or as this upgrade's (it was restored under another uid).
    MarkPage {
        /// The page.
        name: Arc<str>,
        /// Whether its upgrade is deleted.
        closed: bool,
    },
}

impl Action {
    /// The cluster that starts with this action, or continues, if one does.
    pub fn starts(&self) -> Option<&ClusterName> {
        match self {
            Self::CreateWork(work) => Some(&work.cluster),
            Self::ReopenWork { cluster, .. } => Some(cluster),
            _ => None,
        }
    }

    /// Whether something begins on a cluster with this action: it starts, also by the deletion of what was there before, continues, or is asked
    /// for the target. That must not be done before a status says so.
    pub fn begins(&self) -> bool {
        let is_asked = matches!(self, Self::EnforceWork { .. } | Self::SetChannel { .. });
        is_asked || matches!(self, Self::DeleteWork { .. }) || self.starts().is_some()
    }

    /// The work that is changed or deleted, as it was observed.
    pub fn work_uid(&self) -> Option<&Uid> {
        match self {
            Self::FinishWork(finish) => Some(&finish.uid),
            Self::EnforceWork { uid, .. }
            | Self::SetChannel { uid, .. }
            | Self::ReopenWork { uid, .. }
            | Self::DeleteWork { uid, .. }
            | Self::LabelWork { uid, .. } => Some(uid),
            Self::CreateWork(_)
            | Self::ConfirmWork { .. }
            | Self::AskPreChecks(_)
            | Self::DeletePreChecks { .. }
            | Self::AddFinalizer
            | Self::RemoveFinalizer
            | Self::ApplyPlacement(_)
            | Self::DeletePlacement(_)
            | Self::WritePage(_)
            | Self::MarkPage { .. } => None,
        }
    }

    /// The cluster whose works this is about, if it is about one.
    pub fn cluster(&self) -> Option<&ClusterName> {
        match self {
            Self::CreateWork(work) => Some(&work.cluster),
            Self::FinishWork(finish) => Some(&finish.cluster),
            Self::AskPreChecks(ask) => Some(&ask.cluster),
            Self::DeletePreChecks { cluster, .. }
            | Self::EnforceWork { cluster, .. }
            | Self::SetChannel { cluster, .. }
            | Self::ReopenWork { cluster, .. }
            | Self::DeleteWork { cluster, .. }
            | Self::LabelWork { cluster, .. }
            | Self::ConfirmWork { cluster, .. } => Some(cluster),
            Self::AddFinalizer
            | Self::RemoveFinalizer
            | Self::ApplyPlacement(_)
            | Self::DeletePlacement(_)
            | Self::WritePage(_)
            | Self::MarkPage { .. } => None,
        }
    }
}

/// What is to be done now, why, and when to look again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Writes, in their order.
    pub actions: Vec<Action>,
    /// Why the rollout is where it is.
    pub report: Report,
    /// The earliest moment at which something follows from the time alone.
    pub wake: Option<Timestamp>,
}
