//! What is observed: plain values, parsed once at the edge.

mod apply;
mod feedback;
mod name;
mod pre_checks;
mod record;
mod row;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_names::ClusterName;
use jiff::Timestamp;

use crate::{InvalidSpec, Spec};

pub use apply::WorkAfter;
pub use feedback::{
    ActionJob, ActionJobState, AgentFeedback, AgentPhase, RejectedTarget, UpdateState, VersionFeedback,
    WorkFeedback,
};
pub use name::{Owner, PlacementKey, Uid, UpgradeKey};
pub(crate) use pre_checks::digest_of_accepted;
pub use pre_checks::{
    AcceptedBy, AcceptedFinding, AnswerSource, EndedOn, Finding, FindingAcceptance, FindingLevel,
    KnownAnswer, OtherQuestion, PreCheckAnswer, PreCheckQuestion, PreCheckWork, PreCheckWrite,
    RiskAcceptance, pre_checks_work_name,
};
pub use record::{
    ABANDONED_BEFORE_UPGRADE, ALREADY_AT_TARGET, ENTRY_MESSAGE, Entry, EntryPlace, RecordPage,
    RecordPageHeader, RecordedEntry, RecordedOutcome, StageSeconds, UPDATED_OTHERWISE,
};
pub use row::{
    ClusterFacts, ClusterRow, Refusal, RefusalCause, RefusedWrite, Requirements, Selected, Taint, Toleration,
};
pub use work::{
    Applied, AttemptOutcome, Enforcement, PerKind, RetryToken, Revision, UpgradeMethod, Work, Works,
};

/// Why a Placement gives no clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SelectionProblem {
    /// There is no such Placement.
    NotFound,
    /// It may not be read from the upgrade's namespace.
    Forbidden,
    /// OCM cannot satisfy it: its reason and its words.
    Unsatisfied(String),
    /// It has not been decided, or its pages are being written and no earlier snapshot is known.
    Pending,
}

impl SelectionProblem {
    /// What it means for this Placement, in a sentence.
    pub fn about(&self, placement: &PlacementKey) -> String {
        match self {
            Self::NotFound => {
                format!("there is no Placement {placement}: create it or correct spec.placement")
            }
            Self::Forbidden => {
                format!(
                    "Placement {placement} is in another namespace than the upgrade: this hub runs with --same-namespace-placements, which forbids it"
                )
            }
            Self::Unsatisfied(why) => format!("Placement {placement} finds no clusters: {why}"),
            Self::Pending => format!("waiting until Placement {placement} is decided"),
        }
    }
}

/// One Placement that selects clusters. Which ones it selects stands in their rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionSource {
    /// Which one.
    pub placement: PlacementKey,
    /// The taints that it tolerates.
    pub tolerations: Vec<Toleration>,
    /// What it requires of clusters.
    pub requirements: Requirements,
    /// Why it gives no clusters, if it gives none.
    pub problem: Option<SelectionProblem>,
}

/// Whether the Placement that the hub keeps for the selector is as it should be.
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

/// The Placements of an upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// In the order of the spec, the hub's own last.
    pub sources: Vec<SelectionSource>,
    /// The Placement that the hub keeps for the selector.
    pub own: OwnPlacement,
    /// Placements that the hub kept for earlier selectors.
    pub superseded: BTreeSet<PlacementKey>,
}

/// The upgrades that exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveUpgrades {
    /// Their uids.
    pub uids: BTreeSet<Uid>,
    /// Their namespaces and names.
    pub keys: BTreeSet<UpgradeKey>,
    /// Namespaces that are gone with their upgrades: what these have left can be put on no record.
    pub gone_namespaces: BTreeSet<Arc<str>>,
}

impl LiveUpgrades {
    /// Whether the upgrade that made something exists, by its uid or, after it was restored from a backup, by its name.
    pub fn has(&self, owner: &Owner) -> bool {
        self.uids.contains(&owner.uid) || owner.upgrade.as_ref().is_some_and(|key| self.keys.contains(key))
    }

    /// Whether there is no place any more for the records of an upgrade.
    pub fn has_no_place_for(&self, owner: &Owner) -> bool {
        let namespace = owner.upgrade.as_ref().map(|key| &*key.namespace);
        !self.has(owner) && namespace.is_some_and(|namespace| self.gone_namespaces.contains(namespace))
    }
}

/// The retries that the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    /// For all clusters that have failed.
    pub all: Option<Arc<str>>,
    /// For single clusters.
    pub clusters: BTreeMap<ClusterName, Arc<str>>,
}

impl Retries {
    /// What is asked for this cluster.
    pub fn of(&self, cluster: &ClusterName) -> RetryToken {
        RetryToken {
            all: self.all.clone(),
            cluster: self.clusters.get(cluster).cloned(),
        }
    }
}

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
    /// Whether its namespace is being deleted: nothing new can be written there.
    pub namespace_deleting: bool,
    /// Whether our finalizer is on it.
    pub finalizer: bool,
    /// The retries that the user asks for.
    pub retries: Retries,
    /// Who last wrote its spec.
    pub started_by: Arc<str>,
    /// All upgrades that exist, this one included.
    pub live: Arc<LiveUpgrades>,
}

impl Upgrade {
    /// Whether this upgrade made something: by its uid, or, where no upgrade has that uid any more, by its name (a restore
    /// from a backup gives a new uid).
    pub fn owns(&self, owner: &Owner) -> bool {
        owner.uid == self.uid
            || (owner.upgrade.as_ref() == Some(&self.key) && !self.live.uids.contains(&owner.uid))
    }

    /// Whether a work is this upgrade's. One that goes, of an upgrade that is gone, is no part of this one, though it has its
    /// name: that was deleted and created again, not restored.
    pub fn owns_work(&self, work: &Work) -> bool {
        self.owns(&work.owner) && (work.owner.uid == self.uid || !work.deleting)
    }

    /// How it is named as the maker of something.
    pub fn as_owner(&self) -> Owner {
        Owner {
            uid: self.uid.clone(),
            upgrade: Some(self.key.clone()),
        }
    }
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
    /// Since when that condition is False; `None` if it is not.
    pub incomplete_since: Option<Timestamp>,
    /// Since when its condition PreChecksPassed is True; `None` if it is not.
    pub pre_checks_passed_since: Option<Timestamp>,
}

/// What is observed of an upgrade beside its clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// The object.
    pub upgrade: Upgrade,
    /// What the user asked for, or what is wrong with it.
    pub spec: Result<Arc<Spec>, InvalidSpec>,
    /// What the status says already.
    pub previous: Previous,
    /// The Placements that select clusters.
    pub selection: Selection,
    /// The risks that are accepted for its clusters.
    pub acceptances: Arc<[RiskAcceptance]>,
    /// The pages of its records, in the order of their numbers.
    pub pages: Vec<RecordPage>,
    /// Why its last page could not be written, and since when, if so.
    pub page_refusal: Option<Arc<Refusal>>,
}

/// Everything that a decision may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The upgrade.
    pub rollout: Rollout,
    /// Its clusters: at least the selected ones, and those with works or records of this upgrade.
    pub rows: BTreeMap<ClusterName, Box<ClusterRow>>,
}
