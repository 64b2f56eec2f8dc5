//! From the Placements that an upgrade names to what they have selected.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::ocm::placement::PlacementSpec;
use drydock_rollout::{
    DecisionPage, Decisions, OwnPlacement, PlacementKey, SelectionProblem, SelectionSource, Selector,
    Snapshot, Uid, read_snapshot,
};

use super::Fleet;
use super::followed::{Followed, Sources, no_source};
use crate::placement::{self, PlacementDigest};

impl Fleet {
    /// The Placements of an upgrade, in the order of the spec, the hub's own last.
    pub(super) fn sources(&mut self, followed: &Followed) -> Sources {
        let namespace = &followed.key().namespace;
        let uid = followed.digest.upgrade.uid.as_str();
        let (named, own) = match &followed.digest.spec {
            Ok(spec) => (spec.placements.clone(), spec.own_placement.clone()),
            Err(_) => (Vec::new(), None),
        };
        let is_kept = |digest: &PlacementDigest| digest.kept_for.as_deref() == Some(uid);
        let superseded = self
            .placements
            .iter()
            .filter(|(key, digest)| {
                key.namespace == *namespace && is_kept(digest) && own.as_ref() != Some(*key)
            })
            .map(|(key, _)| key.clone())
            .collect();
        let selector = followed.object.spec.cluster_selector.as_ref();
        let found = own.as_ref().and_then(|own| self.placements.get(own));
        let own_placement = match (found.filter(|found| is_kept(found)), selector) {
            (Some(found), Some(selector)) if placement::asks_for(&found.spec, selector) => {
                OwnPlacement::Current
            }
            (Some(_), _) => OwnPlacement::Stale,
            (None, _) => OwnPlacement::Absent,
        };
        let mut sources = Vec::new();
        for key in named {
            let source = if self.same_namespace_placements && key.namespace != *namespace {
                no_source(&key, SelectionProblem::Forbidden)
            } else {
                self.source(&key, SelectionProblem::NotFound)
            };
            sources.push(source);
        }
        if let Some(key) = &own {
            // The hub's own is about to be made, or to be changed.
            let to_be = self.source_to_be(key, own_placement, selector);
            sources.push(to_be.unwrap_or_else(|| self.source(key, SelectionProblem::Pending)));
        }
        Sources {
            placements: sources,
            own: own_placement,
            superseded,
        }
    }

    fn source(
        &mut self,
        key: &PlacementKey,
        missing: SelectionProblem,
    ) -> (SelectionSource, Option<Arc<Snapshot>>) {
        let Some(found) = self.placements.get(key) else {
            return no_source(key, missing);
        };
        let snapshot = match read_snapshot(&found.status, &self.decision_pages(key, &found.uid)) {
            Decisions::Whole(snapshot) => {
                let snapshot = Arc::new(snapshot);
                let entry = (found.uid.clone(), Arc::clone(&snapshot));
                self.snapshots.insert(key.clone(), entry);
                Some(snapshot)
            }
            // The last one stands until the new one is whole, unless it was another Placement's.
            Decisions::Inconsistent => self
                .snapshots
                .get(key)
                .filter(|(uid, _)| *uid == found.uid)
                .map(|(_, snapshot)| Arc::clone(snapshot)),
        };
        let problem = match (&snapshot, &found.unsatisfied) {
            (Some(snapshot), Some(why)) if snapshot.is_empty() => {
                Some(SelectionProblem::Unsatisfied(why.clone()))
            }
            (Some(_), _) => None,
            (None, Some(why)) => Some(SelectionProblem::Unsatisfied(why.clone())),
            (None, None) => Some(SelectionProblem::Pending),
        };
        let source = SelectionSource {
            placement: key.clone(),
            tolerations: placement::tolerations(&found.spec),
            requirements: placement::requirements(found, |spec| self.set_members(&key.namespace, spec)),
            problem,
        };
        (source, snapshot)
    }

    fn decision_pages(&self, key: &PlacementKey, owner: &Uid) -> BTreeMap<String, DecisionPage> {
        let pages = self.decisions.iter();
        pages
            .filter(|(_, digest)| digest.placement == *key && digest.owner == *owner)
            .map(|(id, digest)| (id.1.clone(), digest.page.clone()))
            .collect()
    }

    /// The members of the sets from which a Placement selects: those that it names, or all, as far as they are bound to its namespace.
    pub(super) fn set_members(&self, namespace: &str, spec: &PlacementSpec) -> Vec<Selector> {
        let bound = self.bindings.iter().filter(|(bound_to, set)| {
            bound_to == namespace && (spec.cluster_sets.is_empty() || spec.cluster_sets.contains(set))
        });
        bound
            .filter_map(|(_, set)| match self.sets.get(set)? {
                Some(members) => Some((**members).clone()),
                // Members that cannot be determined may be any.
                None => Some(Selector::default()),
            })
            .collect()
    }
}
