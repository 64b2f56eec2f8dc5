//! One upgrade and what it sees of the fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_api::mcu::{ClusterStatusEntry, ManagedClustersUpgrade};
use drydock_rollout::{
    ClusterName, ClusterState, Decider, LiveUpgrades, OwnPlacement, PlacementKey, Reason, RecordPage,
    Refusal, RefusalCause, RefusedWrite, RiskAcceptance, Rollout, Selected, Selection, SelectionProblem,
    SelectionSource, Snapshot, UpgradeKey, WorkKind, bounded,
};
use jiff::Timestamp;
use kube::ResourceExt;

use super::KnownCluster;
use super::expected::Expectations;
use crate::details::refusal_cause;
use crate::upgrade::UpgradeDigest;

/// One upgrade, with the decider that follows its changes.
pub(super) struct Followed {
    /// The object as it was last read or written.
    pub object: Arc<ManagedClustersUpgrade>,
    /// What is read of it.
    pub digest: UpgradeDigest,
    pub decider: Decider,
    /// Where each selected cluster is in the selection.
    pub selected: BTreeMap<ClusterName, Selected>,
    /// Clusters whose changed rows the decider does not have yet.
    pub changed: BTreeSet<ClusterName>,
    /// How long clusters take, where they start only if they fit.
    pub expectations: Expectations,
    /// Something that is about no single cluster has changed.
    pub is_stale: bool,
    /// Why the last page of its records could not be written.
    pub page_refusal: Option<Arc<Refusal>>,
    /// When such a refusal was last reported to users.
    pub page_refusal_reported: Option<Timestamp>,
    /// For what the last write was refused that is about no cluster and no record: the finalizer, or a Placement.
    pub own_refusal: Option<Arc<str>>,
    /// What the status says of refused writes and of clusters in flight was taken over when the upgrade was first seen.
    pub has_read_status: bool,
}

/// The Placements of an upgrade with their decisions.
pub(super) struct Sources {
    pub placements: Vec<(SelectionSource, Option<Arc<Snapshot>>)>,
    pub own: OwnPlacement,
    pub superseded: BTreeSet<PlacementKey>,
}

impl Followed {
    pub fn new(object: Arc<ManagedClustersUpgrade>, digest: UpgradeDigest) -> Self {
        let rollout = Rollout {
            upgrade: digest.upgrade.clone(),
            spec: digest.spec.clone(),
            previous: digest.previous.clone(),
            selection: Selection::default(),
            acceptances: Arc::default(),
            pages: Vec::new(),
            page_refusal: None,
        };
        Self {
            object,
            digest,
            decider: Decider::new(rollout),
            selected: BTreeMap::new(),
            changed: BTreeSet::new(),
            expectations: Expectations::default(),
            is_stale: true,
            page_refusal: None,
            page_refusal_reported: None,
            own_refusal: None,
            has_read_status: false,
        }
    }

    pub fn key(&self) -> &UpgradeKey {
        &self.digest.upgrade.key
    }

    /// Whether the object is newer than another version of it. Another uid is another object.
    pub fn is_newer_than(&self, other: &ManagedClustersUpgrade) -> bool {
        let version = |object: &ManagedClustersUpgrade| object.resource_version()?.parse::<u64>().ok();
        self.object.uid() == other.uid() && version(&self.object) > version(other)
    }

    /// Whether a cluster is any of its business.
    pub fn is_about(&self, name: &ClusterName, known: Option<&KnownCluster>) -> bool {
        let upgrade = &self.decider.rollout().upgrade;
        self.selected.contains_key(name)
            || self.decider.rows().contains_key(name)
            || known.is_some_and(|known| known.concerns(name, upgrade))
    }

    /// Takes over what has changed about the upgrade as a whole; clusters whose place in the selection has changed are marked.
    pub fn take_over(
        &mut self,
        live: &Arc<LiveUpgrades>,
        sources: Sources,
        acceptances: Arc<[RiskAcceptance]>,
        pages: Vec<RecordPage>,
    ) {
        let mut rollout = Rollout {
            upgrade: self.digest.upgrade.clone(),
            spec: self.digest.spec.clone(),
            previous: self.digest.previous.clone(),
            selection: Selection {
                sources: Vec::new(),
                own: sources.own,
                superseded: sources.superseded,
            },
            acceptances,
            pages,
            page_refusal: self.page_refusal.clone(),
        };
        rollout.upgrade.live = Arc::clone(live);
        let terminates = self
            .page_refusal
            .as_ref()
            .is_some_and(|refusal| refusal.cause == RefusalCause::NamespaceMissing);
        rollout.upgrade.namespace_deleting = terminates;
        if rollout.previous.start_time.is_none() && rollout.previous.observed_generation.is_none() {
            rollout.previous.start_time = self.restored_start(&rollout.pages);
        }
        let mut selected: BTreeMap<ClusterName, Selected> = BTreeMap::new();
        for (index, (source, snapshot)) in sources.placements.into_iter().enumerate() {
            let bit = if index < 64 { 1 << index } else { 0 };
            for (name, group) in snapshot.iter().flat_map(|snapshot| snapshot.iter()) {
                selected
                    .entry(name.clone())
                    .or_insert(Selected {
                        order: (index as u32, *group),
                        sources: 0,
                    })
                    .sources |= bit;
            }
            rollout.selection.sources.push(source);
        }
        if selected != self.selected {
            let before = &self.selected;
            let new = selected
                .iter()
                .filter(|(name, place)| before.get(*name) != Some(place));
            let gone = before.keys().filter(|name| !selected.contains_key(*name));
            self.changed
                .extend(new.map(|(name, _)| name.clone()).chain(gone.cloned()));
            self.selected = selected;
        }
        self.decider.set_rollout(rollout);
        self.is_stale = false;
    }

    /// When the rollout began, of an upgrade that was restored without its status.
    fn restored_start(&self, pages: &[RecordPage]) -> Option<Timestamp> {
        let upgrade = &self.decider.rollout().upgrade;
        let by_pages = pages
            .iter()
            .filter(|page| !page.header.closed && upgrade.owns(&page.header.owner))
            .map(|page| page.header.rollout_since);
        let rows = self.decider.rows().values();
        let by_works = rows.flat_map(|row| row.works.iter()).filter_map(|(_, work)| {
            let revision = work.revision.as_ref()?;
            upgrade.owns_work(work).then_some(revision.rollout_since)
        });
        by_pages.chain(by_works).max()
    }

    fn clusters_in_status(&self) -> &[ClusterStatusEntry] {
        let status = self.object.status.as_ref();
        status
            .and_then(|status| status.clusters.as_deref())
            .unwrap_or_default()
    }

    /// The works that the status says are at work on clusters. One that no list brings may have lost the label by which it is listed.
    pub fn in_flight_in_status(&self) -> Vec<(ClusterName, &'static [WorkKind])> {
        let in_flight = self.clusters_in_status().iter().filter_map(|entry| {
            let kinds: &[WorkKind] = match ClusterState::parse(&entry.state)? {
                ClusterState::NotStarted | ClusterState::Complete | ClusterState::Failed => return None,
                ClusterState::PreAction => &[WorkKind::Pre],
                ClusterState::Initialized
                | ClusterState::PartialUpgrade
                | ClusterState::Operators
                | ClusterState::PostAction => &[WorkKind::Cluster, WorkKind::Operators],
            };
            Some((ClusterName::from(entry.name.as_str()), kinds))
        });
        in_flight.collect()
    }

    /// The writes that the status says are refused: who wrote it may have been another process. They are tried again at once.
    pub fn refusals_in_status(&self, now: Timestamp) -> Vec<(ClusterName, WorkKind, Refusal)> {
        let refused = self.clusters_in_status().iter().filter_map(|entry| {
            let cause = refusal_cause(entry.reason.as_deref()?)?;
            let message = entry.message.as_deref().unwrap_or_default();
            // The state does not say it where the work of the next stage is refused.
            let kind = match (Reason::refused_stage(message), ClusterState::parse(&entry.state)?) {
                (Some(stage), _) => stage.kind(),
                (None, ClusterState::PreAction) => WorkKind::Pre,
                (None, ClusterState::Operators) => WorkKind::Operators,
                (None, ClusterState::PostAction) => WorkKind::Post,
                (None, _) => WorkKind::Cluster,
            };
            let refusal = Refusal {
                upgrade: self.digest.upgrade.uid.clone(),
                write: RefusedWrite::Create,
                cause,
                words: message
                    .split_once(": ")
                    .map_or(message, |(_, words)| words)
                    .into(),
                since: entry.since.as_ref().map_or(now, |since| since.0),
                last: now,
                next: now,
            };
            Some((ClusterName::from(entry.name.as_str()), kind, refusal))
        });
        refused.collect()
    }
}

/// A Placement that gives nothing, and why.
pub(super) fn no_source(
    key: &PlacementKey,
    problem: SelectionProblem,
) -> (SelectionSource, Option<Arc<Snapshot>>) {
    let source = SelectionSource {
        placement: key.clone(),
        tolerations: Vec::new(),
        requirements: drydock_rollout::Requirements::default(),
        problem: Some(problem),
    };
    (source, None)
}

/// As much of the server's words as is kept of a refusal, in bytes.
const WORDS: usize = 512;

/// A refusal after one more attempt. Attempts come half as often as the last, up to one a minute.
pub(super) fn next_refusal(before: Option<&Refusal>, mut refusal: Refusal, now: Timestamp) -> Refusal {
    use jiff::SignedDuration;
    let continues = before.filter(|before| before.upgrade == refusal.upgrade);
    refusal.since = continues.map_or(now, |before| before.since);
    refusal.last = now;
    let waited = continues.map_or(SignedDuration::ZERO, |before| now.duration_since(before.since));
    let wait = waited.clamp(SignedDuration::from_secs(1), SignedDuration::from_mins(1));
    refusal.next = now.saturating_add(wait).unwrap_or(Timestamp::MAX);
    refusal.words = bounded(&refusal.words, WORDS).into();
    refusal
}
