//! Records: how clusters have ended, on pages that outlive the works (ManagedClustersUpgradeRecord).

use std::sync::Arc;

use drydock_names::ClusterName;
use jiff::Timestamp;

use super::{Owner, RetryToken};

/// How a cluster has ended, as a record says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordedOutcome {
    /// It was upgraded, or needed nothing.
    Complete,
    /// It failed.
    Failed,
    /// Something changed its version that was not this upgrade.
    Drifted,
    /// The upgrade abandoned it while it was in flight: it was deleted, or a later one took over.
    Abandoned,
}

impl RecordedOutcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Complete, Self::Failed, Self::Drifted, Self::Abandoned];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Failed => "Failed",
            Self::Drifted => "Drifted",
            Self::Abandoned => "Abandoned",
        }
    }

    /// The outcome that a word on the wire names.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// How long each stage of a cluster took, in seconds. A stage that did not run has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageSeconds {
    /// The pre-upgrade action.
    pub pre_action: Option<i64>,
    /// The platform.
    pub upgrade: Option<i64>,
    /// The operators.
    pub operators: Option<i64>,
    /// The post-upgrade action.
    pub post_action: Option<i64>,
}

/// What became of one cluster in one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The cluster.
    pub cluster: ClusterName,
    /// Whether it was a canary.
    pub canary: bool,
    /// How it ended.
    pub outcome: RecordedOutcome,
    /// Why, in CamelCase.
    pub reason: Arc<str>,
    /// Why, in a sentence of at most 256 bytes.
    pub message: Arc<str>,
    /// The version that it ran before, if that was known.
    pub from: Option<Arc<str>>,
    /// The version or image that it was to come to; for a drift, or a cluster that needed nothing, the version that was seen.
    pub to: Arc<str>,
    /// When the attempt began; for a drift, or a cluster that needed nothing, `None`.
    pub started: Option<Timestamp>,
    /// How long its stages took.
    pub stages: StageSeconds,
    /// When it ended, or the drift was seen.
    pub completed: Timestamp,
    /// The retry that was asked for when it ended.
    pub retry: RetryToken,
}

/// The reason of a cluster that ran the target before anything was asked of it.
pub const ALREADY_AT_TARGET: &str = "AlreadyAtTarget";

/// The reason of a cluster that an update has brought to the target, or beyond it, while the attempt only read its version: somebody else's, or one
/// that an earlier attempt had asked for.
pub const UPDATED_OTHERWISE: &str = "UpdatedOtherwise";

/// The reason of a cluster that an upgrade abandoned before it had asked it for its target.
pub const ABANDONED_BEFORE_UPGRADE: &str = "AbandonedBeforeUpgrade";

impl Entry {
    /// Whether the cluster needed nothing: no work was made for it.
    pub fn is_without_work(&self) -> bool {
        self.outcome == RecordedOutcome::Complete && self.started.is_none()
    }
}

/// The longest message of an entry, in bytes.
pub const ENTRY_MESSAGE: usize = 256;

/// What all entries of a page have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPageHeader {
    /// Whose page it is.
    pub owner: Owner,
    /// When the rollout began.
    pub rollout_since: Timestamp,
    /// What the goal was, as [`crate::Goal::fingerprint`] says it.
    pub goal: Arc<str>,
    /// The upgrade was deleted: the page is history, and belongs to no upgrade that gets its name.
    pub closed: bool,
}

/// Where an entry stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryPlace {
    /// The name of the page.
    pub page: Arc<str>,
    /// Which of its entries, from 0.
    pub index: usize,
}

/// An entry and the page that it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEntry {
    /// What the page says of all its entries.
    pub page: Arc<RecordPageHeader>,
    /// Where on which page.
    pub place: EntryPlace,
    /// The entry.
    pub entry: Entry,
}

/// A page, as far as decisions need it beside its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPage {
    /// Its name.
    pub name: Arc<str>,
    /// What it says of all its entries.
    pub header: Arc<RecordPageHeader>,
    /// The number in its name: pages of an upgrade are numbered from 1.
    pub number: u32,
    /// How many entries it has.
    pub entries: usize,
    /// The version that was read; a write presumes it.
    pub resource_version: Arc<str>,
}
