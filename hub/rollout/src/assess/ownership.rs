//! Whose a cluster is: one upgrade's, from its first work to its recorded end. A later rollout that has claimed it keeps it.

use drydock_names::names::WorkKind;
use jiff::Timestamp;

use super::ClusterView;
use crate::{Owner, RecordedOutcome, Work};

/// Another upgrade that has had the cluster.
pub(super) struct Claim<'a> {
    pub owner: &'a Owner,
    pub since: Timestamp,
    /// It was deleted, by its records, whether there is another one of its name or not.
    pub is_over: bool,
}

impl<'a> ClusterView<'a> {
    /// The works of other upgrades.
    pub(super) fn others_works(&self) -> impl Iterator<Item = (WorkKind, &'a Work)> {
        let works = self.row.works.iter();
        works
            .filter(|(_, work)| !self.is_own(work))
            .map(|(kind, work)| (kind, &**work))
    }

    /// Another upgrade that is at work here: it has begun, and its end is not recorded. One that does not exist any more is not
    /// at work.
    pub(super) fn other_at_work(&self) -> Option<&'a Owner> {
        let mut owners = self.others_works().filter(|(_, work)| !work.deleting);
        owners
            .find(|(_, work)| !self.is_done_with(&work.owner))
            .map(|(_, work)| &work.owner)
    }

    /// Whether the upgrade that made works here has ended here, or does not exist any more.
    fn is_done_with(&self, owner: &Owner) -> bool {
        let theirs = |kind: WorkKind| {
            let work = self.row.works.get(kind)?;
            // Where somebody deletes one of them, the upgrade continues with those that are left.
            (work.owner.is_same(owner) && !work.deleting).then_some(work)
        };
        if !self.context.upgrade.live.has(owner) {
            return true;
        }
        let lead = [WorkKind::Cluster, WorkKind::Operators, WorkKind::Pre]
            .into_iter()
            .find_map(theirs);
        lead.is_none_or(|lead| lead.outcome.is_some() || self.is_recorded(lead))
    }

    /// Whether the end of the attempt that a work is part of stands on a page of records.
    pub(super) fn is_recorded(&self, work: &Work) -> bool {
        self.row
            .entries
            .iter()
            .any(|recorded| recorded.page.owner.is_same(&work.owner) && work.is_recorded_by(&recorded.entry))
    }

    /// The latest rollout of another upgrade that has claimed the cluster, if it began after this one.
    pub(super) fn later_claim(&self) -> Option<Claim<'a>> {
        let since = self.context.since?;
        // A start that may yet be refused claims nothing: nobody passes over a canary for it.
        let written = self.others_works().filter(|(_, work)| work.is_known_to_exist());
        let by_works = written.filter_map(|(_, work)| {
            Some(Claim {
                owner: &work.owner,
                since: work.revision.as_ref()?.rollout_since,
                is_over: false,
            })
        });
        let by_records = self.row.entries.iter().filter_map(|recorded| {
            let page = &recorded.page;
            // Where it had nothing to do, it did not have the cluster.
            let entry = &recorded.entry;
            let is_claim = entry.outcome != RecordedOutcome::Drifted && !entry.is_without_work();
            let is_other = page.closed || !self.context.upgrade.owns(&page.owner);
            // What a page says of a moment that has not come is not so: it was written by hand, or by a clock that was ahead.
            let has_begun = self.present.has_reached(page.rollout_since);
            (is_claim && is_other && has_begun).then_some(Claim {
                owner: &page.owner,
                since: page.rollout_since,
                is_over: page.closed,
            })
        });
        let latest = by_works.chain(by_records).max_by_key(|claim| claim.since)?;
        let ours = (since, &self.context.upgrade.uid);
        ((latest.since, &latest.owner.uid) > ours).then_some(latest)
    }

    /// An upgrade in a message: one that is gone gives nothing back, and is said to be.
    pub(super) fn named(&self, owner: &Owner, is_over: bool) -> String {
        let live = &self.context.upgrade.live;
        // After a restore from a backup it has another uid; what was deleted before is another upgrade of its name.
        let is_live = if is_over {
            live.uids.contains(&owner.uid)
        } else {
            live.has(owner)
        };
        if is_live {
            owner.to_string()
        } else {
            format!("{owner}, which is deleted")
        }
    }

    /// A later rollout that is in flight here beside this one: this one abandons the cluster.
    pub(super) fn overtaken_by(&self, work: &Work) -> Option<&'a Owner> {
        let revision = work.revision.as_ref()?;
        let ours = (revision.rollout_since, &self.context.upgrade.uid);
        self.others_works()
            .filter(|(_, other)| !other.deleting && !self.is_done_with(&other.owner))
            .find(|(_, other)| {
                let theirs = other.revision.as_ref();
                theirs.is_some_and(|theirs| (theirs.rollout_since, &other.owner.uid) > ours)
            })
            .map(|(_, other)| &other.owner)
    }
}
