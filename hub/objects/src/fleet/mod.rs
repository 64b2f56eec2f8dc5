//! All that is seen of a fleet, joined: one row a cluster for each upgrade, kept up to date by what changes.

mod acceptances;
mod calendars;
mod expected;
mod feed;
mod followed;
mod forecast_input;
mod forget;
mod kinds;
mod pending;
mod plan;
mod pre_checks;
mod schedule;
mod sharing;
mod sources;
#[cfg(test)]
mod tests;
mod writes;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;

use drydock_rollout::{
    ClusterFacts, ClusterName, ClusterRow, LiveUpgrades, PerKind, PlacementKey, RecordedEntry, Refusal,
    RefusedWrite, Selected, Selector, Snapshot, Uid, Upgrade, UpgradeKey, Work, WorkKind, Works,
};

use crate::acceptance::AcceptanceDigest;
use crate::placement::{DecisionDigest, PlacementDigest};
use crate::record::RecordDigest;
use calendars::Calendars;
use followed::Followed;
use pending::Pending;
use pre_checks::PreChecksByName;

pub use forecast_input::ForecastOnRecord;
pub use kinds::{FleetKind, KindSelector};
pub use plan::{LookedAt, Planned};
pub use schedule::{ClusterSchedule, StartSpan};
pub use writes::RefusedAction;

/// Which upgrades have to be looked at again after something was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "an upgrade that is not looked at again does not continue"]
pub enum Change {
    /// None.
    #[default]
    Nothing,
    /// These.
    Upgrades(BTreeSet<UpgradeKey>),
    /// All.
    All,
}

/// What is known of one cluster.
#[derive(Clone, Debug, Default)]
struct KnownCluster {
    facts: Option<Arc<ClusterFacts>>,
    agent: bool,
    agent_installed: bool,
    /// Its works, as the watch has brought them.
    works: Works,
    /// The versions of them.
    versions: PerKind<NonZeroU64>,
    /// Writes that have not come back.
    pending: PerKind<Box<Pending>>,
    /// Works that are known to be gone before the watch has said so: what it still brings of them is older than that.
    gone: BTreeMap<WorkKind, Uid>,
    /// What records say of it, by page.
    recorded: Vec<(PageId, Arc<RecordedEntry>)>,
    /// The same, the oldest first.
    entries: Arc<[Arc<RecordedEntry>]>,
    refusals: BTreeMap<(Uid, WorkKind, RefusedWrite), Arc<Refusal>>,
    /// The works by which upgrades ask it.
    pre_checks: PreChecksByName,
    /// A work of an attempt without an end that somebody else has deleted.
    lost: Option<Arc<Work>>,
}

/// The namespace and name of a page.
type PageId = Arc<(String, String)>;

impl KnownCluster {
    /// Whether an upgrade has works or records here.
    fn concerns(&self, name: &ClusterName, upgrade: &Upgrade) -> bool {
        let pending = self
            .pending
            .iter()
            .filter_map(|(_, pending)| pending.work.as_ref());
        let works = self.works.iter().map(|(_, work)| work);
        let mut works = works.chain(pending).chain(&self.lost);
        works.any(|work| upgrade.owns_work(work))
            || self.pre_checks_of(name, &upgrade.key).is_some()
            // It may be anybody's.
            || self.pending.iter().any(|(_, pending)| pending.is_unlisted())
            || self
                .entries
                .iter()
                .any(|recorded| !recorded.page.closed && upgrade.owns(&recorded.page.owner))
    }

    /// Whether a work of this kind is there, or may be.
    fn has(&self, kind: WorkKind) -> bool {
        self.works.get(kind).is_some() || self.pending.get(kind).is_some()
    }

    /// The watch has brought a work in this version.
    fn see_version(&mut self, kind: WorkKind, version: u64) {
        self.versions.remove(kind);
        if let Some(version) = NonZeroU64::new(version) {
            self.versions.insert(kind, version);
        }
    }

    /// The version of a work that the watch has brought; 0 if it has brought none.
    fn version(&self, kind: WorkKind) -> u64 {
        self.versions.get(kind).map_or(0, |version| version.get())
    }

    /// A work is gone that the hub has not deleted: how its attempt ended is to be put on record, unless that is known.
    fn lose(&mut self, kind: WorkKind, work: Arc<Work>) {
        let is_recorded = self
            .entries
            .iter()
            .any(|recorded| work.is_recorded_by(&recorded.entry));
        if kind != WorkKind::Post && work.outcome.is_none() && work.revision.is_some() && !is_recorded {
            self.lost = Some(work);
        }
    }

    /// The write of a work was not made.
    fn undo(&mut self, kind: WorkKind) {
        let Some(pending) = self.pending.remove(kind) else {
            return;
        };
        let seen = self.works.get(kind).map(|work| (&**work, self.version(kind)));
        if let Some(left) = pending.undone(seen) {
            self.pending.insert(kind, Box::new(left));
        }
    }

    /// A work is gone; the watch may bring it once more, as it was before.
    fn is_gone(&mut self, kind: WorkKind, uid: Option<Uid>) {
        let seen = self.works.get(kind);
        // That of a work whose creation was not answered is not known.
        let uid = uid.filter(|uid| *uid != Uid::default());
        if let Some(uid) = uid.filter(|uid| seen.is_none_or(|seen| seen.uid == *uid)) {
            self.gone.insert(kind, uid);
        }
    }

    fn is_blank(&self) -> bool {
        self.facts.is_none()
            && !self.agent
            && !self.agent_installed
            && self.works.is_empty()
            && self.pending.is_empty()
            && self.recorded.is_empty()
            && self.pre_checks.is_empty()
            && self.lost.is_none()
    }

    /// The cluster as an upgrade sees it.
    fn row(&self, name: &ClusterName, upgrade: &UpgradeKey, selection: Option<Selected>) -> ClusterRow {
        let pre_checks = self.pre_checks_of(name, upgrade);
        let mut works = self.works.clone();
        let mut unconfirmed = BTreeMap::new();
        for (kind, pending) in self.pending.iter() {
            match &pending.work {
                Some(work) => works.insert(kind, Arc::clone(work)),
                None => works.remove(kind),
            };
            if let Some(due) = pending.doubted_at() {
                unconfirmed.insert(kind, due);
            }
        }
        ClusterRow {
            facts: self.facts.clone(),
            selection,
            agent: self.agent,
            agent_installed: self.agent_installed,
            expected: None,
            pre_checks: pre_checks.and_then(|known| known.work.clone()),
            pre_check_write: pre_checks.and_then(|known| known.write().cloned()),
            other_questions: self.other_questions(name, upgrade),
            works,
            entries: Arc::clone(&self.entries),
            refusals: self.refusals.clone(),
            lost: self.lost.clone(),
            unconfirmed,
        }
    }
}

/// All that is seen of a fleet, and what each upgrade makes of it.
#[derive(Default)]
pub struct Fleet {
    clusters: BTreeMap<ClusterName, Box<KnownCluster>>,
    placements: BTreeMap<PlacementKey, PlacementDigest>,
    decisions: BTreeMap<PageId, DecisionDigest>,
    /// The newest whole snapshot of each Placement, with the uid of the Placement.
    snapshots: BTreeMap<PlacementKey, (Uid, Arc<Snapshot>)>,
    /// The members of each cluster set, if they can be determined.
    sets: BTreeMap<String, Option<Arc<Selector>>>,
    /// The cluster sets that are bound to each namespace.
    bindings: BTreeSet<(String, String)>,
    records: BTreeMap<PageId, RecordDigest>,
    upgrades: BTreeMap<UpgradeKey, Followed>,
    calendars: Calendars,
    /// What objects accept, by namespace and name.
    acceptances: BTreeMap<PageId, AcceptanceDigest>,
    /// Clusters with refused writes; some may have none any more.
    refused: BTreeSet<ClusterName>,
    live: Arc<LiveUpgrades>,
    /// Upgrade works that no list has brought were looked for, once.
    has_looked_for_leads: bool,
    /// Placements of other namespaces than the upgrade's own are refused.
    same_namespace_placements: bool,
    /// Where the hub has not made its Placement for a selector yet, the clusters count that OCM would select.
    presumes_selections: bool,
    /// How often a ManagedCluster has changed.
    cluster_changes: u64,
    /// The work that a watch has brought last: the next one has much in common with it.
    latest_work: Option<Arc<Work>>,
}

impl Fleet {
    /// A fleet of which nothing has been seen.
    pub fn new(same_namespace_placements: bool) -> Self {
        Self {
            same_namespace_placements,
            ..Self::default()
        }
    }

    fn known(&mut self, name: &ClusterName) -> &mut KnownCluster {
        self.clusters.entry(name.clone()).or_default()
    }

    /// Marks a cluster for the upgrades that it concerns.
    fn touch(&mut self, name: &ClusterName) -> Change {
        let known = self.clusters.get(name).map(|known| &**known);
        let mut woken = BTreeSet::new();
        for (key, followed) in &mut self.upgrades {
            if followed.is_about(name, known) {
                followed.changed.insert(name.clone());
                woken.insert(key.clone());
            } else {
                // It has no row of the cluster either.
                followed.changed.remove(name);
            }
        }
        self.forget_unwanted(name);
        if woken.is_empty() {
            Change::Nothing
        } else {
            Change::Upgrades(woken)
        }
    }

    /// Something about the selection of clusters has changed, or about which upgrades exist.
    fn touch_all(&mut self) -> Change {
        for followed in self.upgrades.values_mut() {
            followed.is_stale = true;
        }
        Change::All
    }
}

impl Change {
    /// Both changes together.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Nothing, other) | (other, Self::Nothing) => other,
            (Self::Upgrades(mut one), Self::Upgrades(other)) => {
                one.extend(other);
                Self::Upgrades(one)
            }
        }
    }
}
