//! What is seen, kind by kind: fed by watches, or by lists.

use std::collections::BTreeSet;
use std::sync::Arc;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_rollout::{
    ABANDONED_BEFORE_UPGRADE, ALREADY_AT_TARGET, ClusterFacts, ClusterName, LiveUpgrades, PlacementKey,
    RecordedEntry, Selector, UpgradeKey, Work, WorkFeedback, WorkKind,
};
use jiff::Timestamp;

use super::followed::Followed;
use super::pending::Pending;
use super::sharing::share;
use super::{Change, Fleet, PageId};
use crate::placement::{DecisionDigest, PlacementDigest};
use crate::record::RecordDigest;
use crate::upgrade;

impl Fleet {
    /// A ManagedCluster is so, or is gone.
    pub fn set_cluster(&mut self, name: &ClusterName, facts: Option<Arc<ClusterFacts>>) -> Change {
        let known = self.known(name);
        if known.facts == facts {
            return self.touch_nothing(name);
        }
        known.facts = facts;
        self.cluster_changes = self.cluster_changes.wrapping_add(1);
        self.touch(name)
    }

    /// Drydock's agent is Available on a cluster, or not.
    pub fn set_agent(&mut self, name: &ClusterName, available: bool) -> Change {
        let known = self.known(name);
        if known.agent == available {
            return self.touch_nothing(name);
        }
        known.agent = available;
        self.touch(name)
    }

    /// Drydock's agent is installed on a cluster as an add-on, whether Available or not; or it is not.
    pub fn set_agent_installed(&mut self, name: &ClusterName, installed: bool) -> Change {
        let known = self.known(name);
        if known.agent_installed == installed {
            return self.touch_nothing(name);
        }
        known.agent_installed = installed;
        self.touch(name)
    }

    pub(super) fn touch_nothing(&mut self, name: &ClusterName) -> Change {
        if self.clusters.get(name).is_some_and(|known| known.is_blank()) {
            self.clusters.remove(name);
        }
        Change::Nothing
    }

    /// The watch says that a work is so, in this version.
    pub fn set_work(&mut self, name: &ClusterName, kind: WorkKind, work: Arc<Work>, version: u64) -> Change {
        let neighbor = self.latest_work.clone();
        let known = self.known(name);
        match known.gone.get(&kind) {
            Some(gone) if *gone == work.uid => return self.touch_nothing(name),
            // The watch has come to what followed.
            Some(_) => drop(known.gone.remove(&kind)),
            None => {}
        }
        let before = known.works.get(kind).cloned();
        let pending = known
            .pending
            .get(kind)
            .and_then(|pending| pending.work.as_deref());
        let mut work = still_owned(before.as_deref(), refused_since(before.as_deref(), work));
        for other in [neighbor.as_deref(), pending.or(before.as_deref())]
            .into_iter()
            .flatten()
        {
            share(Arc::make_mut(&mut work), other);
        }
        let confirmed = known
            .pending
            .get(kind)
            .is_some_and(|pending| pending.is_confirmed_by(&work, version));
        known.see_version(kind, version);
        known.works.insert(kind, Arc::clone(&work));
        if confirmed {
            known.pending.remove(kind);
        }
        self.latest_work = Some(Arc::clone(&work));
        if !confirmed && before.as_ref() == Some(&work) {
            return Change::Nothing;
        }
        self.touch(name)
    }

    /// The watch says that a work is gone: by a deletion in this version, or because a list lacks it. One that nobody has deleted
    /// may only have lost its labels.
    pub fn remove_work(
        &mut self,
        name: &ClusterName,
        kind: WorkKind,
        version: Option<u64>,
        now: Timestamp,
    ) -> Change {
        let known = self.known(name);
        known.gone.remove(&kind);
        let Some(before) = known.works.remove(kind) else {
            return self.touch_nothing(name);
        };
        let seen = known.version(kind).max(version.unwrap_or(0));
        known.versions.remove(kind);
        match known.pending.get(kind) {
            Some(pending) if pending.is_confirmed_by_removal(version) => {
                known.pending.remove(kind);
                known.forget_refused_changes(kind);
            }
            Some(_) => {}
            None if before.deleting => {
                known.forget_refused_changes(kind);
                known.lose(kind, before);
            }
            None => {
                known
                    .pending
                    .insert(kind, Box::new(Pending::vanished(before, seen, now)));
            }
        }
        self.touch(name)
    }

    /// A work was read by name, and is so; the watch may not see it.
    pub fn confirm_work(&mut self, name: &ClusterName, kind: WorkKind, work: Option<Arc<Work>>) -> Change {
        let known = self.known(name);
        let seen = known.version(kind);
        let before = known.works.get(kind).cloned();
        let before = before.or_else(|| known.pending.get(kind)?.work.clone());
        let work = work.map(|work| still_owned(before.as_deref(), work));
        match work {
            None => {
                let pending = known.pending.remove(kind);
                let seen = known.works.remove(kind);
                let asked = pending.as_ref().and_then(|pending| pending.work.as_ref());
                let last = asked.or(seen.as_ref()).map(|work| work.uid.clone());
                known.is_gone(kind, last);
                let vanished = pending.and_then(|pending| pending.into_vanished());
                known.versions.remove(kind);
                known.forget_refused_changes(kind);
                if let Some(work) = vanished {
                    known.lose(kind, work);
                }
            }
            Some(work) if work.labelled && known.works.get(kind).is_some_and(|seen| seen.uid == work.uid) => {
                known.pending.remove(kind);
                known.works.insert(kind, work);
            }
            Some(work) => {
                known.pending.insert(kind, Box::new(Pending::read(work, seen)));
            }
        }
        self.touch(name)
    }

    /// A Placement is so, or is gone.
    pub fn set_placement(&mut self, key: &PlacementKey, digest: Option<PlacementDigest>) -> Change {
        if digest.is_some() && self.placements.get(key) == digest.as_ref() {
            return Change::Nothing;
        }
        // What an earlier one of the same name had selected is not this one's.
        let uid = digest.as_ref().map(|digest| &digest.uid);
        if self.snapshots.get(key).map(|(of, _)| of) != uid {
            self.snapshots.remove(key);
        }
        match digest {
            Some(digest) => self.placements.insert(key.clone(), digest),
            None => self.placements.remove(key),
        };
        self.touch_all()
    }

    /// A page of a Placement's decisions is so, or is gone.
    pub fn set_decision(&mut self, namespace: &str, name: &str, digest: Option<DecisionDigest>) -> Change {
        let id = page_id(namespace, name);
        match digest {
            Some(digest) if self.decisions.get(&id) == Some(&digest) => return Change::Nothing,
            Some(digest) => {
                self.decisions.insert(id, digest);
            }
            None => {
                self.decisions.remove(&id);
            }
        }
        self.touch_all()
    }

    /// A cluster set has these members, or is gone. A set whose members cannot be determined is `Some(None)`.
    pub fn set_cluster_set(&mut self, name: &str, members: Option<Option<Arc<Selector>>>) -> Change {
        match members {
            Some(members) => {
                if self.sets.get(name) == Some(&members) {
                    return Change::Nothing;
                }
                self.sets.insert(name.to_owned(), members);
            }
            None => {
                self.sets.remove(name);
            }
        }
        self.touch_all()
    }

    /// A cluster set is bound to a namespace, or not any more.
    pub fn set_binding(&mut self, namespace: &str, set: &str, bound: bool) -> Change {
        let binding = (namespace.to_owned(), set.to_owned());
        let changed = if bound {
            self.bindings.insert(binding)
        } else {
            self.bindings.remove(&binding)
        };
        if changed {
            self.touch_all()
        } else {
            Change::Nothing
        }
    }

    /// A page of records is so, or is gone.
    pub fn set_record(&mut self, namespace: &str, name: &str, digest: Option<RecordDigest>) -> Change {
        let id = page_id(namespace, name);
        let version = |digest: &RecordDigest| digest.page.resource_version.parse::<u64>().ok();
        let known = self.records.get(&id);
        if let (Some(known), Some(new)) = (known, &digest)
            && version(known) >= version(new)
        {
            return Change::Nothing;
        }
        let before = self.records.remove(&id);
        let entries = |digest: &Option<RecordDigest>| -> Vec<Arc<RecordedEntry>> {
            digest
                .as_ref()
                .map(|digest| digest.entries.clone())
                .unwrap_or_default()
        };
        let (old, new) = (entries(&before), entries(&digest));
        let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let is_appended = same == old.len();
        let mut clusters: BTreeSet<ClusterName> = BTreeSet::new();
        let kept = if is_appended { same } else { 0 };
        for recorded in old.iter().skip(kept) {
            let name = &recorded.entry.cluster;
            clusters.insert(name.clone());
            self.known(name).recorded.retain(|(page, _)| *page != id);
        }
        for recorded in new.iter().skip(kept) {
            let name = &recorded.entry.cluster;
            clusters.insert(name.clone());
            let known = self.known(name);
            known.recorded.push((Arc::clone(&id), Arc::clone(recorded)));
            known.forget_refused_starts(recorded.entry.completed);
        }
        let owner = digest
            .as_ref()
            .or(before.as_ref())
            .map(|digest| digest.page.header.owner.clone());
        if let Some(digest) = digest {
            self.records.insert(id, digest);
        }
        let mut change = Change::Nothing;
        for name in clusters {
            let known = self.known(&name);
            let mut entries: Vec<_> = known
                .recorded
                .iter()
                .map(|(_, recorded)| Arc::clone(recorded))
                .collect();
            // What was only seen at the moment in which an attempt ended was seen after it.
            entries.sort_by_key(|recorded| {
                let entry = &recorded.entry;
                (entry.completed, entry.started.is_none(), entry.started)
            });
            let is_recorded = |lost: &Work| entries.iter().any(|one| lost.is_recorded_by(&one.entry));
            if known.lost.as_deref().is_some_and(is_recorded) {
                known.lost = None;
            }
            known.entries = entries.into();
            change = change.and(self.touch(&name));
        }
        // Pages of upgrades that do not exist any more are written by any that needs to.
        let is_anybodys = owner.as_ref().is_some_and(|owner| !self.live.has(owner));
        for (key, followed) in &mut self.upgrades {
            let owns = |owner| followed.decider.rollout().upgrade.owns(owner);
            if is_anybodys || owner.as_ref().is_some_and(owns) {
                followed.is_stale = true;
                change = change.and(Change::Upgrades([key.clone()].into()));
            }
        }
        change
    }

    /// An upgrade is so. What the watch brings that is older than what was written is passed over.
    pub fn set_upgrade(&mut self, object: &Arc<ManagedClustersUpgrade>) -> Change {
        let key = upgrade::key(object);
        let mut digest = upgrade::digest(object);
        self.read_calendar(&key.namespace, &mut digest);
        match self.upgrades.get_mut(&key) {
            Some(followed) if followed.is_newer_than(object) => return Change::Nothing,
            Some(followed) if followed.digest.upgrade.uid == digest.upgrade.uid => {
                // Who wrote the spec stands in what the answer to a write of ours may lack.
                let started_by = Arc::clone(&followed.digest.upgrade.started_by);
                let is_same_spec = followed.digest.upgrade.generation == digest.upgrade.generation;
                followed.object = Arc::clone(object);
                followed.digest = digest;
                if is_same_spec && !started_by.is_empty() {
                    followed.digest.upgrade.started_by = started_by;
                }
                followed.is_stale = true;
                if !is_same_spec {
                    self.forget_calendars();
                    self.forget_unnamed_snapshots();
                }
                return Change::Upgrades([key].into());
            }
            _ => {}
        }
        self.forget_refusals(&key);
        self.upgrades
            .insert(key, Followed::new(Arc::clone(object), digest));
        self.upgrades_changed()
    }

    /// An upgrade is gone.
    pub fn remove_upgrade(&mut self, key: &UpgradeKey) -> Change {
        self.forget_refusals(key);
        if self.upgrades.remove(key).is_none() {
            return Change::Nothing;
        }
        self.forget_calendars();
        self.upgrades_changed()
    }

    /// The clusters of the hub, those included that no upgrade concerns, in the order of their names.
    pub fn clusters(&self) -> impl Iterator<Item = (&ClusterName, &Arc<ClusterFacts>)> {
        let known = self.clusters.iter();
        known.filter_map(|(name, known)| Some((name, known.facts.as_ref()?)))
    }

    /// What the hub knows of a cluster.
    pub fn cluster(&self, name: &ClusterName) -> Option<&Arc<ClusterFacts>> {
        self.clusters.get(name)?.facts.as_ref()
    }

    /// What the records say last of a cluster that was asked for something, whichever upgrade it was: what asked it for nothing changes nothing
    /// of what an earlier one has left.
    pub fn last_attempt(&self, name: &ClusterName) -> Option<&RecordedEntry> {
        const ASKED_FOR_NOTHING: [&str; 2] = [ABANDONED_BEFORE_UPGRADE, ALREADY_AT_TARGET];
        let newest = self.clusters.get(name)?.entries.iter().rev();
        let mut newest = newest.map(|recorded| &**recorded);
        newest.find(|recorded| !ASKED_FOR_NOTHING.contains(&&*recorded.entry.reason))
    }

    /// Whether an upgrade has a cluster: selects it, or is not done with it.
    pub fn has(&self, upgrade: &UpgradeKey, cluster: &ClusterName) -> bool {
        let followed = self.upgrades.get(upgrade);
        followed.is_some_and(|followed| followed.decider.rows().contains_key(cluster))
    }

    /// Another number after each change of a ManagedCluster, also of one that no upgrade concerns.
    pub fn cluster_changes(&self) -> u64 {
        self.cluster_changes
    }

    /// The upgrades that are known.
    pub fn upgrades(&self) -> Vec<UpgradeKey> {
        self.upgrades.keys().cloned().collect()
    }

    /// Which upgrades exist has changed: whose works and records are whose may have, too.
    pub(super) fn upgrades_changed(&mut self) -> Change {
        let uids = self
            .upgrades
            .values()
            .map(|followed| followed.digest.upgrade.uid.clone());
        // One with an upgrade is there again.
        let is_gone = |namespace: &&Arc<str>| self.upgrades.keys().all(|key| key.namespace != **namespace);
        let gone = self.live.gone_namespaces.iter().filter(is_gone).cloned();
        self.live = Arc::new(LiveUpgrades {
            gone_namespaces: gone.collect(),
            uids: uids.collect(),
            keys: self.upgrades.keys().cloned().collect(),
        });
        let with_works: Vec<ClusterName> = self
            .clusters
            .iter()
            .filter(|(_, known)| {
                !known.works.is_empty()
                    || !known.entries.is_empty()
                    || !known.pending.is_empty()
                    || !known.pre_checks.is_empty()
            })
            .map(|(name, _)| name.clone())
            .collect();
        for followed in self.upgrades.values_mut() {
            followed.changed.extend(with_works.iter().cloned());
        }
        self.forget_all_unwanted();
        self.touch_all()
    }
}

pub(super) fn page_id(namespace: &str, name: &str) -> PageId {
    Arc::new((namespace.to_owned(), name.to_owned()))
}

/// A work stays with the upgrade that has made it: what an edit of its label and its annotation says is not believed, and is put back.
fn still_owned(before: Option<&Work>, mut work: Arc<Work>) -> Arc<Work> {
    if let Some(before) = before
        && before.uid == work.uid
        && !before.owner.is_same(&work.owner)
    {
        let given_away = Arc::make_mut(&mut work);
        given_away.owner = before.owner.clone();
        given_away.labelled = false;
    }
    work
}

/// The work, refusing its target since when it was first seen to do so.
fn refused_since(before: Option<&Work>, work: Arc<Work>) -> Arc<Work> {
    let invalid = |work: &Work| {
        let feedback = work.feedback.cluster_version()?;
        feedback.invalid.clone()
    };
    let (Some(old), Some(new)) = (before.and_then(invalid), invalid(&work)) else {
        return work;
    };
    if old.message != new.message || before.is_some_and(|before| before.uid != work.uid) {
        return work;
    }
    let mut work = work;
    match &mut Arc::make_mut(&mut work).feedback {
        WorkFeedback::ClusterVersion(feedback) => feedback.invalid = Some(old),
        WorkFeedback::Agent(feedback) => feedback.cluster.invalid = Some(old),
        WorkFeedback::ActionJobs(_) | WorkFeedback::Unreadable(_) => {}
    }
    work
}
