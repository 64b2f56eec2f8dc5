//! Nothing outlives its object, nor the upgrade that wanted it.

use std::collections::{BTreeMap, BTreeSet};

use drydock_rollout::{ClusterName, PerKind, PlacementKey, RefusedWrite, Uid, UpgradeKey, WorkKind};
use jiff::{SignedDuration, Timestamp};

use super::{Fleet, KnownCluster};

/// How long a refusal is remembered that nobody has met again.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(10);

impl KnownCluster {
    /// An attempt has come to its end: what could not be created in it says nothing about the next one.
    pub(super) fn forget_refused_starts(&mut self, ended: Timestamp) {
        self.refusals
            .retain(|(_, _, write), refusal| *write != RefusedWrite::Create || refusal.since > ended);
    }

    /// A work is gone: there is nothing left of it to change or to delete.
    pub(super) fn forget_refused_changes(&mut self, gone: WorkKind) {
        self.refusals
            .retain(|(_, kind, write), _| *kind != gone || *write == RefusedWrite::Create);
    }
}

impl Fleet {
    /// Writes about a cluster that is no upgrade's business any more are forgotten, and so is a cluster of which nothing is known.
    pub(super) fn forget_unwanted(&mut self, name: &ClusterName) {
        let Some(known) = self.clusters.get_mut(name) else {
            return;
        };
        if !self
            .upgrades
            .values()
            .any(|followed| followed.is_about(name, Some(known)))
        {
            known.pending = PerKind::default();
            known.gone = BTreeMap::new();
            known.refusals.clear();
            known.forget_pre_check_writes();
            known.lost = None;
            self.refused.remove(name);
        }
        if known.is_blank() {
            self.clusters.remove(name);
        }
    }

    /// Writes that no upgrade wants any more are forgotten, after one has gone.
    pub(super) fn forget_all_unwanted(&mut self) {
        let with_writes = self.clusters.iter().filter(|(_, known)| {
            !known.pending.is_empty()
                || !known.refusals.is_empty()
                || !known.pre_checks.is_empty()
                || known.lost.is_some()
        });
        let names: Vec<ClusterName> = with_writes.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.forget_unwanted(&name);
        }
        let clusters = &self.clusters;
        let is_refused =
            |name: &ClusterName| clusters.get(name).is_some_and(|known| !known.refusals.is_empty());
        self.refused.retain(is_refused);
        self.forget_unnamed_snapshots();
    }

    /// Snapshots of Placements that no upgrade names any more are forgotten.
    pub(super) fn forget_unnamed_snapshots(&mut self) {
        let specs = self
            .upgrades
            .values()
            .filter_map(|followed| followed.digest.spec.as_ref().ok());
        let named: BTreeSet<&PlacementKey> = specs
            .flat_map(|spec| spec.placements.iter().chain(&spec.own_placement))
            .collect();
        self.snapshots.retain(|key, _| named.contains(key));
    }

    /// An upgrade is gone, or was created again: what was refused to the old one says nothing.
    pub(super) fn forget_refusals(&mut self, key: &UpgradeKey) {
        let Some(followed) = self.upgrades.get(key) else {
            return;
        };
        let uid = &followed.digest.upgrade.uid;
        for known in self.clusters.values_mut() {
            known.refusals.retain(|(upgrade, ..), _| upgrade != uid);
        }
    }

    /// Forgets refusals that nobody has met again for a while: the write is not wanted any more.
    pub(super) fn forget_old_refusals(&mut self, now: Timestamp) {
        for name in std::mem::take(&mut self.refused) {
            let Some(known) = self.clusters.get_mut(&name) else {
                continue;
            };
            let before = known.refusals.len();
            known
                .refusals
                .retain(|_, refusal| now.duration_since(refusal.last) < REMEMBERED);
            let left = known.refusals.len();
            if left < before {
                // The upgrade to which it was refused is being looked at, or has a deadline for it.
                let _woken = self.touch(&name);
            }
            if left > 0 {
                self.refused.insert(name);
            }
        }
    }

    /// How many writes are refused to an upgrade, and when the first of them is forgotten.
    pub(super) fn refusals_of(&self, upgrade: &Uid) -> (usize, Option<Timestamp>) {
        let refused = self.refused.iter().filter_map(|name| self.clusters.get(name));
        let own = refused
            .flat_map(|known| known.refusals.values())
            .filter(|refusal| refusal.upgrade == *upgrade);
        let forgotten = own
            .clone()
            .filter_map(|refusal| refusal.last.saturating_add(REMEMBERED).ok());
        (own.count(), forgotten.min())
    }
}
