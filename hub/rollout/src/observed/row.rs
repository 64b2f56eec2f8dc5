//! One cluster: everything about it that a decision may know.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_names::names::WorkKind;
use jiff::Timestamp;
use semver::Version;

use super::{OtherQuestion, PreCheckWork, PreCheckWrite, RecordedEntry, Uid, Work, Works};
use crate::{ExpectedDuration, Labels, Selector};

/// A taint of a ManagedCluster that keeps it from being selected.
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

/// Products whose clusters have a ClusterVersion that can be upgraded, as OCM's claim names them.
const OPENSHIFT: [&str; 5] = ["OpenShift", "OpenShiftDedicated", "ROSA", "ARO", "ROKS"];

/// A ManagedCluster, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// When it joined: a cluster that leaves and joins again under its name is another.
    pub created: Option<Timestamp>,
    /// Its labels.
    pub labels: Labels,
    /// The hub's admin accepts it.
    pub accepted: bool,
    /// It has joined.
    pub joined: bool,
    /// It is being deleted.
    pub deleting: bool,
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
    /// The product that it claims to be.
    pub product: Option<String>,
}

impl ClusterFacts {
    /// The product, if it is one that cannot be upgraded by its ClusterVersion.
    pub fn other_product(&self) -> Option<&str> {
        self.product
            .as_deref()
            .filter(|product| !OPENSHIFT.contains(product))
    }
}

/// Where a cluster is in the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The first Placement that selects it, and its decision group there.
    pub order: (u32, u32),
    /// The Placements that select it: bit n is that of source n.
    pub sources: u64,
}

/// What a cluster must be to be selected by a Placement, as far as the hub checks it itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The label selectors of the predicates, one of which must hold; without any, every cluster will do.
    pub predicates: Vec<Selector>,
    /// The cluster sets, to one of which it must belong; `None` if that is not checked.
    pub sets: Option<Vec<Selector>>,
}

impl Requirements {
    /// Whether labels satisfy them.
    pub fn match_labels(&self, labels: &Labels) -> bool {
        let any = |selectors: &[Selector]| selectors.iter().any(|selector| selector.matches(labels));
        (self.predicates.is_empty() || any(&self.predicates)) && self.sets.as_deref().is_none_or(any)
    }
}

/// Which write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RefusedWrite {
    /// The creation of a work.
    Create,
    /// A change of a work: its outcome, its enforcement, its labels.
    Change,
    /// The deletion of a work.
    Delete,
}

/// Why a write could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalCause {
    /// The cluster's namespace does not exist, or is being deleted.
    NamespaceMissing,
    /// An object that is not Drydock's has the name.
    NameTaken,
    /// The server cannot do it now: it is overloaded, or something behind it does not answer.
    Unavailable,
    /// The server or a webhook says no.
    Other,
}

/// A write that could not be made. It is remembered until it succeeds or is not wanted any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The upgrade that wanted it.
    pub upgrade: Uid,
    /// Which write.
    pub write: RefusedWrite,
    /// Why not.
    pub cause: RefusalCause,
    /// Why not, in the server's words.
    pub words: Arc<str>,
    /// When it was first tried.
    pub since: Timestamp,
    /// When it was last tried.
    pub last: Timestamp,
    /// When it is tried again.
    pub next: Timestamp,
}

/// One cluster: everything about it that a decision may know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterRow {
    /// Its ManagedCluster.
    pub facts: Option<Arc<ClusterFacts>>,
    /// Where it is in the selection, if it is selected.
    pub selection: Option<Selected>,
    /// Whether Drydock's agent is Available on it.
    pub agent: bool,
    /// Whether it is installed there as an add-on: it answers when it is Available again.
    pub agent_installed: bool,
    /// How long its upgrade takes, if that was asked for (`startOnlyIfItFits`) and is known.
    pub expected: Option<ExpectedDuration>,
    /// Its works, whoever made them.
    pub works: Works,
    /// The work by which this upgrade asks it what would be a problem.
    pub pre_checks: Option<Arc<PreCheckWork>>,
    /// A write of that work that has not come back.
    pub pre_check_write: Option<PreCheckWrite>,
    /// What other upgrades ask its agent, without an answer yet.
    pub other_questions: Vec<OtherQuestion>,
    /// What the records of all upgrades say of it, the oldest first.
    pub entries: Arc<[Arc<RecordedEntry>]>,
    /// Writes of its works that could not be made, those of each upgrade by themselves.
    pub refusals: BTreeMap<(Uid, WorkKind, RefusedWrite), Arc<Refusal>>,
    /// A work of an attempt without an end that somebody else has deleted, until it is on record what became of that attempt.
    pub lost: Option<Arc<Work>>,
    /// Works of which the hub does not know whether they are there, with the moment at which they are to be read by name: a
    /// write that has not come back, or a work that went without having been deleted.
    pub unconfirmed: BTreeMap<WorkKind, Timestamp>,
}

impl ClusterRow {
    /// Whether there is nothing to know about the cluster but its ManagedCluster.
    pub fn is_blank(&self) -> bool {
        self.selection.is_none()
            && self.works.is_empty()
            && self.pre_checks.is_none()
            && self.entries.is_empty()
            && self.refusals.is_empty()
            && self.lost.is_none()
            && self.unconfirmed.is_empty()
    }

    /// Whether there may be a work that holds a slot and is known only from a status.
    pub fn may_hide_work(&self) -> bool {
        let mut kinds = self.unconfirmed.keys();
        kinds.any(|kind| *kind != WorkKind::Post && self.works.get(*kind).is_none())
    }
}
