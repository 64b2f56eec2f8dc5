//! From what the hub sees to what a decision is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use drydock_api::ClusterName;
use drydock_api::conditions;
use drydock_api::mcu::{ManagedClustersUpgrade, condition};
use drydock_api::names::{RETRY_ANNOTATION, UPGRADE_FINALIZER, WorkKind};
use drydock_rollout::{
    Cluster, Decisions, InvalidRetry, Observed, OwnPlacement, Page, PlacementKey, Previous, Selection,
    SelectionProblem, Snapshot, Source, Uid, Upgrade, UpgradeKey, Works, parse_spec, read_snapshot,
};
use drydock_runtime::digest_index::ObjectKey;
use jiff::Timestamp;
use kube::ResourceExt;

use super::View;
use super::placement::{asks_for, own_key, tolerations};

/// Settings and facts that are in no object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Circumstances {
    /// Whether Placements of other namespaces are refused.
    pub same_namespace_placements: bool,
    /// Works whose names are taken by objects that are not ours.
    pub obstructed: BTreeSet<(ClusterName, WorkKind)>,
}

/// Everything that a decision about this upgrade may know.
pub(crate) fn observe(
    view: &View,
    upgrade: &ManagedClustersUpgrade,
    circumstances: &Circumstances,
) -> Observed {
    let uid = Uid::new(upgrade.uid().unwrap_or_default());
    let selection = selection(view, upgrade, circumstances);
    let works = works(view, &uid, &selection);
    Observed {
        spec: parse_spec(&upgrade.spec),
        previous: previous(upgrade),
        own_placement: own(view, upgrade),
        clusters: clusters(view, &selection, &works),
        agents: agents(view),
        obstructed: circumstances.obstructed.clone(),
        caught_up: view.works.caught_up(),
        selection,
        works,
        upgrade: Upgrade {
            key: UpgradeKey::new(upgrade.namespace().unwrap_or_default(), upgrade.name_any()),
            uid,
            generation: upgrade.metadata.generation.unwrap_or_default(),
            deleting: upgrade.metadata.deletion_timestamp.is_some(),
            finalizer: upgrade.finalizers().iter().any(|name| name == UPGRADE_FINALIZER),
            retry: retry(upgrade),
        },
    }
}

/// The moment of the retry that the user asks for.
fn retry(upgrade: &ManagedClustersUpgrade) -> Result<Option<Timestamp>, InvalidRetry> {
    let asked = upgrade.annotations().get(RETRY_ANNOTATION);
    asked
        .map(|text| text.parse().map_err(|_| InvalidRetry(bounded(text))))
        .transpose()
}

/// As much of a user's text as a message repeats.
fn bounded(text: &str) -> String {
    text.chars().take(64).collect()
}

fn previous(upgrade: &ManagedClustersUpgrade) -> Previous {
    let Some(status) = &upgrade.status else {
        return Previous::default();
    };
    let conditions = status.conditions.as_deref().unwrap_or_default();
    Previous {
        observed_generation: status.observed_generation,
        start_time: status.start_time.as_ref().map(|time| time.0),
        completion_time: status.completion_time.as_ref().map(|time| time.0),
        complete: conditions::is_true(conditions, condition::COMPLETE),
    }
}

fn own(view: &View, upgrade: &ManagedClustersUpgrade) -> OwnPlacement {
    let key = own_key(upgrade);
    let found = view.placements.get(&ObjectKey::new(key.namespace, key.name));
    let found = found.filter(|found| found.kept_for == upgrade.uid());
    match (found, &upgrade.spec.cluster_selector) {
        (None, _) => OwnPlacement::Absent,
        (Some(found), Some(selector)) if asks_for(&found.spec, selector) => OwnPlacement::Current,
        (Some(_), _) => OwnPlacement::Stale,
    }
}

/// The Placements of the spec, then the hub's own.
fn selection(view: &View, upgrade: &ManagedClustersUpgrade, circumstances: &Circumstances) -> Selection {
    let namespace = upgrade.namespace().unwrap_or_default();
    let named = upgrade.spec.placement.iter().flatten();
    let mut keys: Vec<PlacementKey> = named
        .map(|reference| PlacementKey::new(&reference.namespace, &reference.name))
        .collect();
    let own = upgrade.spec.cluster_selector.as_ref().map(|_| own_key(upgrade));
    keys.extend(own.clone());
    let pages = pages(view, &keys);
    let sources = keys
        .into_iter()
        .map(|key| {
            let refused = circumstances.same_namespace_placements && key.namespace != namespace;
            let is_own = own.as_ref() == Some(&key);
            source(view, key, &pages, refused, is_own)
        })
        .collect();
    Selection { sources }
}

type Pages = BTreeMap<PlacementKey, BTreeMap<String, Page>>;

fn pages(view: &View, keys: &[PlacementKey]) -> Pages {
    let mut pages = Pages::new();
    view.pages.for_each(|object, digest| {
        if keys.contains(&digest.placement) {
            let of_placement = pages.entry(digest.placement.clone()).or_default();
            of_placement.insert(object.name.clone(), digest.page.clone());
        }
    });
    pages
}

fn source(view: &View, key: PlacementKey, pages: &Pages, refused: bool, is_own: bool) -> Source {
    let problem = |problem| Source {
        placement: key.clone(),
        tolerations: Vec::new(),
        outcome: Err(problem),
    };
    if refused {
        return problem(SelectionProblem::Forbidden);
    }
    let Some(found) = view.placements.get(&ObjectKey::new(&key.namespace, &key.name)) else {
        // The hub's own is about to be made.
        return problem(if is_own {
            SelectionProblem::Pending
        } else {
            SelectionProblem::NotFound
        });
    };
    let none = BTreeMap::new();
    let read = read_snapshot(&found.status, pages.get(&key).unwrap_or(&none));
    let outcome = match (standing(view, &key, read), found.unsatisfied) {
        (Some(snapshot), Some(why)) if snapshot.is_empty() => Err(SelectionProblem::Unsatisfied(why)),
        (Some(snapshot), _) => Ok(snapshot),
        (None, Some(why)) => Err(SelectionProblem::Unsatisfied(why)),
        (None, None) => Err(SelectionProblem::Pending),
    };
    Source {
        placement: key,
        tolerations: tolerations(&found.spec),
        outcome,
    }
}

/// A new snapshot counts when it is whole; until then the last one stands.
fn standing(view: &View, key: &PlacementKey, read: Decisions) -> Option<Arc<Snapshot>> {
    let mut snapshots = view.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
    match read {
        Decisions::Whole(snapshot) => {
            let snapshot = Arc::new(snapshot);
            snapshots.insert(key.clone(), snapshot.clone());
            Some(snapshot)
        }
        Decisions::Torn => snapshots.get(key).cloned(),
    }
}

/// Our works, and all works on selected clusters.
fn works(view: &View, uid: &Uid, selection: &Selection) -> BTreeMap<ClusterName, Works> {
    let selected: BTreeSet<&ClusterName> = selection
        .sources
        .iter()
        .flat_map(|source| source.outcome.iter().flat_map(|snapshot| snapshot.keys()))
        .collect();
    let mut works: BTreeMap<ClusterName, Works> = BTreeMap::new();
    view.works.for_each(|_, digest| {
        if let Some(digest) = digest
            && (digest.work.owner.uid == *uid || selected.contains(&digest.cluster))
        {
            let of_cluster = works.entry(digest.cluster.clone()).or_default();
            of_cluster.insert(digest.kind, digest.work.clone());
        }
    });
    works
}

fn clusters(
    view: &View,
    selection: &Selection,
    works: &BTreeMap<ClusterName, Works>,
) -> BTreeMap<ClusterName, Arc<Cluster>> {
    let selected = selection
        .sources
        .iter()
        .flat_map(|source| source.outcome.iter().flat_map(|snapshot| snapshot.keys()));
    let names: BTreeSet<&ClusterName> = selected.chain(works.keys()).collect();
    names
        .into_iter()
        .filter_map(|name| {
            let cluster = view.clusters.get(&ObjectKey::new("", name.as_str()))?;
            Some((name.clone(), cluster))
        })
        .collect()
}

/// Where our agent is Available.
fn agents(view: &View) -> BTreeSet<ClusterName> {
    let mut agents = BTreeSet::new();
    view.addons.for_each(|addon, is_available| {
        if *is_available {
            agents.insert(ClusterName::from(addon.namespace.as_str()));
        }
    });
    agents
}
