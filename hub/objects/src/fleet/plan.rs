//! From what is seen to what is to be done about one upgrade, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_rollout::{
    ClusterFacts, ClusterName, ClusterPreChecks, ClusterRow, Plan, RecordPage, Report, Rollout, Transition,
    UpgradeKey, Violation, WorkKind, check, expired_pages, rollout_since, transition,
};
use jiff::{SignedDuration, Timestamp};

use super::followed::Followed;
use super::pending::Pending;
use super::{Change, Fleet};
use crate::details::ClusterDetails;

/// What is to be done about an upgrade.
#[derive(Debug)]
pub struct Planned {
    /// The object as it was read.
    pub object: Arc<ManagedClustersUpgrade>,
    /// What is observed of it beside its clusters.
    pub rollout: Rollout,
    /// What is to be done.
    pub plan: Plan,
    /// What is reported to users about each action after it was carried out, in the order of the actions.
    pub transitions: Vec<Vec<Transition>>,
    /// Rules that the plan would break: then nothing must be done.
    pub violations: Vec<Violation>,
    /// Writes that could not be made, and are wanted still.
    pub refusals: usize,
}

/// An upgrade as it is seen at a moment.
pub struct LookedAt<'a> {
    /// Why the rollout is where it is.
    pub report: Report,
    followed: &'a Followed,
    now: Timestamp,
}

impl LookedAt<'_> {
    /// Every cluster that takes part, with where it is.
    pub fn clusters(&self) -> impl Iterator<Item = (&ClusterName, ClusterDetails)> {
        let status = self.followed.object.status.as_ref();
        let named: BTreeMap<&str, _> = status
            .into_iter()
            .flat_map(|status| status.clusters.iter().flatten())
            .map(|entry| (entry.name.as_str(), entry))
            .collect();
        let clusters = self.followed.decider.clusters(&self.report, self.now);
        clusters.map(move |(name, status)| {
            let mut details = ClusterDetails::of(name, &status);
            if let Some(entry) = named.get(name.as_str()) {
                details.take_what_only_the_hub_knows(entry);
            }
            (name, details)
        })
    }

    /// What the hub knows of a cluster that takes part.
    pub fn facts(&self, name: &ClusterName) -> Option<&ClusterFacts> {
        self.followed.decider.rows().get(name)?.facts.as_deref()
    }

    /// What a cluster has answered before it starts.
    pub fn pre_checks(&self, name: &ClusterName) -> Option<ClusterPreChecks> {
        self.followed.decider.pre_checks_of(name, self.now)
    }
}

impl Fleet {
    /// What is to be done about an upgrade; `None` if it is not known. Of two upgrades that could start a cluster now, the one starts
    /// it whose rollout began first. What the plan writes counts as written from now on, until its outcome is reported by
    /// [`Fleet::written`], [`Fleet::refused`], [`Fleet::unknown`] or [`Fleet::abandoned`].
    pub fn plan(&mut self, key: &UpgradeKey, now: Timestamp) -> Option<Planned> {
        self.forget_old_refusals(now);
        // This brings them all up to date.
        let taken = self.taken_before(key, now);
        let followed = self.upgrades.get_mut(key)?;
        let mut plan = followed.decider.plan(now, &|name| taken.contains(name));
        let rollout = followed.decider.rollout().clone();
        let rows = followed.decider.rows();
        let violations = check(&rollout, rows, &plan);
        let transitions = plan
            .actions
            .iter()
            .map(|action| {
                let row = action.cluster().and_then(|name| rows.get(name)).map(|row| &**row);
                transition::of_action(row, &rollout, action)
            })
            .collect();
        let object = Arc::clone(&followed.object);
        let (refusals, forgotten) = self.refusals_of(&rollout.upgrade.uid);
        plan.wake = plan.wake.into_iter().chain(forgotten).min();
        if violations.is_empty() {
            self.begin(&rollout, &plan.actions, now);
        }
        Some(Planned {
            object,
            rollout,
            plan,
            transitions,
            violations,
            refusals,
        })
    }

    /// Whether an upgrade is still what a plan was made for: somebody may have paused, edited or deleted it since.
    pub fn is_current(&self, planned: &Planned) -> bool {
        let made_for = &planned.rollout.upgrade;
        self.upgrades.get(&made_for.key).is_some_and(|followed| {
            let now = &followed.digest.upgrade;
            (&now.uid, now.generation, now.deleting)
                == (&made_for.uid, made_for.generation, made_for.deleting)
        })
    }

    /// Where every cluster of an upgrade is, with the report: for who looks at a fleet without acting on it.
    pub fn look(&mut self, key: &UpgradeKey, now: Timestamp) -> Option<(Report, Vec<ClusterDetails>)> {
        let looked = self.looked_at(key, now)?;
        let clusters = looked.clusters().map(|(_, details)| details).collect();
        Some((looked.report, clusters))
    }

    /// The same, cluster by cluster: all at once they are megabytes.
    pub fn looked_at(&mut self, key: &UpgradeKey, now: Timestamp) -> Option<LookedAt<'_>> {
        self.forget_old_refusals(now);
        self.bring_all_up_to_date(now);
        let followed = self.upgrades.get_mut(key)?;
        let report = followed.decider.plan(now, &|_| false).report;
        Some(LookedAt {
            report,
            followed,
            now,
        })
    }

    /// The clusters that upgrades start now which come before this one.
    fn taken_before(&mut self, key: &UpgradeKey, now: Timestamp) -> BTreeSet<ClusterName> {
        self.bring_all_up_to_date(now);
        let mut order: Vec<_> = self
            .upgrades
            .values()
            .map(|followed| (began(followed), followed.digest.created, followed.key().clone()))
            .collect();
        order.sort();
        let before: Vec<UpgradeKey> = order
            .into_iter()
            .map(|(.., other)| other)
            .take_while(|other| other != key)
            .collect();
        let mut taken = BTreeSet::new();
        for other in before {
            if let Some(followed) = self.upgrades.get_mut(&other) {
                let starts = followed.decider.starts(now, &|name| taken.contains(name));
                taken.extend(starts);
            }
        }
        taken
    }

    /// Tells the deciders of all upgrades what has changed.
    pub(super) fn bring_all_up_to_date(&mut self, now: Timestamp) {
        for key in self.upgrades() {
            self.bring_up_to_date(&key);
        }
        // To which upgrades a cluster belongs is known from here on.
        let changed = self.read_statuses(now);
        for key in changed {
            self.bring_up_to_date(&key);
        }
        self.expect_durations(now);
    }

    /// Takes over what the statuses of upgrades that were not looked at yet say of clusters: another process may have written them.
    fn read_statuses(&mut self, now: Timestamp) -> BTreeSet<UpgradeKey> {
        let mut refused = Vec::new();
        let mut in_flight = Vec::new();
        for followed in self.upgrades.values_mut() {
            if !std::mem::replace(&mut followed.has_read_status, true) {
                refused.extend(followed.refusals_in_status(now));
                in_flight.extend(followed.in_flight_in_status());
            }
        }
        let mut changed = Change::Nothing;
        for (name, kind, refusal) in refused {
            let refusals = &mut self.known(&name).refusals;
            refusals
                .entry((refusal.upgrade.clone(), kind, refusal.write))
                .or_insert_with(|| Arc::new(refusal));
            self.refused.insert(name.clone());
            changed = changed.and(self.touch(&name));
        }
        for (name, kinds) in in_flight.into_iter().chain(self.works_without_lead()) {
            let known = self.known(&name);
            if !kinds.iter().any(|kind| known.has(*kind)) {
                for kind in kinds {
                    known.pending.insert(*kind, Box::new(Pending::unlisted(now)));
                }
                changed = changed.and(self.touch(&name));
            }
        }
        match changed {
            Change::Nothing => BTreeSet::new(),
            Change::Upgrades(upgrades) => upgrades,
            Change::All => self.upgrades.keys().cloned().collect(),
        }
    }

    /// Works of a post-upgrade action without the upgrade work that they follow on, at the first look: it may have lost the label by which
    /// it is listed, and carries the outcome.
    fn works_without_lead(&mut self) -> Vec<(ClusterName, &'static [WorkKind])> {
        const LEADS: &[WorkKind] = &[WorkKind::Cluster, WorkKind::Operators];
        if std::mem::replace(&mut self.has_looked_for_leads, true) {
            return Vec::new();
        }
        let without_lead = self.clusters.iter().filter(|(_, known)| {
            known.works.get(WorkKind::Post).is_some() && !LEADS.iter().any(|kind| known.has(*kind))
        });
        without_lead.map(|(name, _)| (name.clone(), LEADS)).collect()
    }

    /// Tells the decider of an upgrade what has changed.
    fn bring_up_to_date(&mut self, key: &UpgradeKey) {
        let Some(mut followed) = self.upgrades.remove(key) else {
            return;
        };
        if followed.is_stale {
            let sources = self.sources(&followed);
            let pages = self.pages(&followed);
            let before = followed.decider.rollout().upgrade.live != self.live;
            let acceptances = self.acceptances_of(key);
            followed.take_over(&self.live, sources, acceptances, pages);
            if before {
                let names = self
                    .clusters
                    .iter()
                    .filter(|(name, known)| known.concerns(name, &followed.decider.rollout().upgrade));
                followed.changed.extend(names.map(|(name, _)| name.clone()));
            }
        }
        let mut left = Vec::new();
        for name in std::mem::take(&mut followed.changed) {
            let selection = followed.selected.get(&name).copied();
            let known = self.clusters.get(&name);
            let concerns =
                known.is_some_and(|known| known.concerns(&name, &followed.decider.rollout().upgrade));
            let expected = followed.expectations.of(&name);
            let row = match known {
                Some(known) if selection.is_some() || concerns => Some(ClusterRow {
                    expected,
                    ..known.row(&name, key, selection)
                }),
                None if selection.is_some() => Some(ClusterRow {
                    selection,
                    ..ClusterRow::default()
                }),
                _ => None,
            };
            if row.is_none() {
                left.push(name.clone());
            }
            let is_selected = |row: &ClusterRow| row.selection.is_some();
            let before = followed.decider.rows().get(&name).map(|row| &**row);
            if row.as_ref().is_some_and(is_selected) && !before.is_some_and(is_selected) {
                followed.expectations.is_incomplete = true;
            }
            followed.decider.set_row(name, row);
        }
        self.upgrades.insert(key.clone(), followed);
        for name in left {
            self.forget_unwanted(&name);
        }
    }

    /// The pages of an upgrade's records, in the order of their numbers; and those of upgrades that do not exist any more, which stand
    /// in their own namespaces if these are known: whoever makes room for its cluster puts their outcomes there.
    fn pages(&self, followed: &Followed) -> Vec<RecordPage> {
        let upgrade = drydock_rollout::Upgrade {
            live: Arc::clone(&self.live),
            ..followed.digest.upgrade.clone()
        };
        let namespace = &followed.key().namespace;
        let own = self.records.iter().filter(|(id, digest)| {
            let owner = &digest.page.header.owner;
            let is_here = id.0 == **namespace;
            is_here && upgrade.owns(owner) || !self.live.has(owner) && (is_here || owner.upgrade.is_some())
        });
        let mut pages: Vec<RecordPage> = own.map(|(_, digest)| digest.page.clone()).collect();
        pages.sort_by_key(|page| (page.number, page.name.clone()));
        pages
    }

    /// The namespaces that have records, also of upgrades that are deleted.
    pub fn record_namespaces(&self) -> impl Iterator<Item = &str> {
        self.records.keys().map(|id| id.0.as_str())
    }

    /// Pages of records that are old enough to go, as namespace and name.
    pub fn expired_records(
        &self,
        keep_rollouts: usize,
        keep_for: SignedDuration,
        now: Timestamp,
    ) -> Vec<(String, String)> {
        let all: Vec<_> = self.records.iter().collect();
        let expired = expired_pages(
            all.iter().map(|(_, digest)| (&digest.page, digest.newest())),
            keep_rollouts,
            keep_for,
            now,
        );
        let expired: BTreeSet<*const RecordPage> = expired.into_iter().map(std::ptr::from_ref).collect();
        all.into_iter()
            .filter(|(_, digest)| expired.contains(&std::ptr::from_ref(&digest.page)))
            .map(|(id, _)| (**id).clone())
            .collect()
    }

    /// The object of an upgrade as it was last read or written.
    pub fn object(&self, key: &UpgradeKey) -> Option<Arc<ManagedClustersUpgrade>> {
        self.upgrades
            .get(key)
            .map(|followed| Arc::clone(&followed.object))
    }
}

/// When the rollout of an upgrade began; one that has not is later than all that have.
fn began(followed: &Followed) -> Timestamp {
    rollout_since(followed.decider.rollout()).unwrap_or(Timestamp::MAX)
}
