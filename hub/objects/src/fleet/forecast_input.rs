//! What a forecast of an upgrade needs of the fleet: where its clusters are, and what is on record of past upgrades.

use std::sync::Arc;

use drydock_forecast::{GroupBy, PastUpgrade};
use drydock_rollout::{
    ForecastInput, ForecastUnavailable, OwnPlacement, RecordPage, SelectionProblem, SelectionSource,
    Snapshot, UpgradeKey,
};
use jiff::Timestamp;

use super::Fleet;
use super::followed::no_source;
use crate::placement;

/// This many past upgrades say enough; of more, the newest rollouts count.
const MOST_PAST_UPGRADES: usize = 20_000;

/// What the records of a rollout say of how good its forecast was.
#[derive(Clone, Debug)]
pub enum ForecastOnRecord {
    /// Nothing yet; it belongs on this page, the first one.
    Missing(RecordPage),
    /// It ended by so much later than the median said.
    Said {
        /// In seconds; negative if it ended earlier.
        error_seconds: i64,
    },
}

impl Fleet {
    /// From here on the fleet is that of somebody who plans: where the hub has not made its Placement for a selector yet, the clusters
    /// count that OCM would select.
    pub fn presume_selections(&mut self) {
        self.presumes_selections = true;
    }

    /// What a forecast of an upgrade begins with; `None` if the upgrade is not known.
    pub fn forecast_input(
        &mut self,
        key: &UpgradeKey,
        now: Timestamp,
    ) -> Option<Result<ForecastInput, ForecastUnavailable>> {
        self.bring_all_up_to_date(now);
        Some(self.upgrades.get_mut(key)?.decider.forecast_input(now))
    }

    /// What is on record of past upgrades of all clusters.
    pub fn past_upgrades(&self, group_by: &GroupBy) -> Vec<PastUpgrade> {
        let mut pages: Vec<_> = self.records.values().collect();
        pages.sort_by_key(|digest| std::cmp::Reverse(digest.page.header.rollout_since));
        let entries = pages.iter().flat_map(|digest| digest.entries.iter());
        let past = entries.filter_map(|recorded| {
            let known = self.clusters.get(&recorded.entry.cluster);
            let facts = known.and_then(|known| known.facts.as_deref());
            let group = facts.and_then(|facts| group_by.group(&facts.labels));
            PastUpgrade::of(recorded, group)
        });
        past.take(MOST_PAST_UPGRADES).collect()
    }

    /// What the records of a rollout say of how good its forecast was; nothing if there are none.
    pub fn forecast_on_record(&self, key: &UpgradeKey, since: Timestamp) -> Option<ForecastOnRecord> {
        let upgrade = &self.upgrades.get(key)?.decider.rollout().upgrade;
        let digests = || {
            self.records.iter().filter(|(id, digest)| {
                let header = &digest.page.header;
                id.0 == *upgrade.key.namespace && header.rollout_since == since && upgrade.owns(&header.owner)
            })
        };
        if let Some(error_seconds) = digests().find_map(|(_, digest)| digest.forecast_error) {
            return Some(ForecastOnRecord::Said { error_seconds });
        }
        let first = digests().min_by_key(|(_, digest)| digest.page.number);
        first.map(|(_, digest)| ForecastOnRecord::Missing(digest.page.clone()))
    }

    /// What the hub's own Placement of an upgrade would select: every cluster of the bound sets that matches and has no taint that it
    /// does not tolerate.
    pub(super) fn presumed_source(
        &self,
        own: &drydock_rollout::PlacementKey,
        selector: &drydock_api::mcu::ClusterSelector,
    ) -> (SelectionSource, Option<Arc<Snapshot>>) {
        let wanted = placement::presumed(selector);
        let requirements = placement::requirements(&wanted, |spec| self.set_members(&own.namespace, spec));
        let tolerations = placement::tolerations(&wanted.spec);
        let selected = self.clusters.iter().filter_map(|(name, known)| {
            let facts = known.facts.as_deref()?;
            let is_tolerated = facts.taints.iter().all(|taint| {
                taint.effect == "PreferNoSelect"
                    || tolerations.iter().any(|toleration| toleration.tolerates(taint))
            });
            let is_selected = requirements.match_labels(&facts.labels) && is_tolerated && !facts.deleting;
            is_selected.then(|| (name.clone(), 0))
        });
        let snapshot: Snapshot = selected.collect();
        if snapshot.is_empty() {
            let why = "NoManagedClusterMatched: no cluster of the sets that are bound to the namespace matches the selector";
            return no_source(own, SelectionProblem::Unsatisfied(why.to_owned()));
        }
        let source = SelectionSource {
            placement: own.clone(),
            tolerations,
            requirements,
            problem: None,
        };
        (source, Some(Arc::new(snapshot)))
    }

    /// The source of the hub's own Placement, where it is not what the spec asks for yet.
    pub(super) fn source_to_be(
        &self,
        own: &drydock_rollout::PlacementKey,
        state: OwnPlacement,
        selector: Option<&drydock_api::mcu::ClusterSelector>,
    ) -> Option<(SelectionSource, Option<Arc<Snapshot>>)> {
        match (state, selector) {
            (OwnPlacement::Current, _) => None,
            (OwnPlacement::Absent | OwnPlacement::Stale, Some(selector)) if self.presumes_selections => {
                Some(self.presumed_source(own, selector))
            }
            (OwnPlacement::Absent | OwnPlacement::Stale, _) => {
                Some(no_source(own, SelectionProblem::Pending))
            }
        }
    }
}
