//! The decision: a function of what is observed and of now.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    super::names,
    filter,
    groups::{self, Group, PAGE_SIZE},
    observed::{CandidateCluster, Observed, Placement},
    score,
};
use kube_sandbox::condition::{Condition, Status};

/// A PlacementDecision that should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedPage {
    /// Its name, numbered across the groups from 1.
    pub name: String,
    /// The index of its group.
    pub group_index: usize,
    /// The name of its group.
    pub group_name: String,
    /// At most 100 clusters, sorted.
    pub clusters: Vec<String>,
}

impl PlannedPage {
    /// Its labels.
    pub fn labels(&self, placement: &str) -> Value {
        json!({
            names::PLACEMENT_LABEL: placement,
            names::DECISION_GROUP_NAME_LABEL: self.group_name,
            names::DECISION_GROUP_INDEX_LABEL: self.group_index.to_string(),
        })
    }

    /// Its `status.decisions`; `reason` is always empty in practice.
    pub fn decisions(&self) -> Value {
        self.clusters
            .iter()
            .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
            .collect()
    }
}

/// What should be written for one Placement, in this order: pages, deletion of the others, status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The pages.
    pub pages: Vec<PlannedPage>,
    /// `status.decisionGroups`.
    pub groups: Value,
    /// `status.numberOfSelectedClusters`.
    pub selected: usize,
    /// `PlacementMisconfigured` and `PlacementSatisfied`, without transition times.
    pub conditions: [Condition; 2],
    /// When to decide again, though nothing else changes: a toleration ends.
    pub wake: Option<Timestamp>,
}

/// A Placement that cannot be scheduled as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulingError {
    plugin: &'static str,
    message: String,
}

impl SchedulingError {
    /// An error of the Placement itself, found by this plugin.
    pub fn misconfigured(plugin: &'static str, message: impl Into<String>) -> Self {
        Self {
            plugin,
            message: message.into(),
        }
    }
}

/// Decides for one Placement.
pub fn schedule(observed: &Observed, placement: &Placement, now: Timestamp) -> Plan {
    let bound: BTreeSet<&str> = observed
        .bindings
        .iter()
        .filter(|(namespace, name)| *namespace == placement.namespace && observed.sets.contains_key(name))
        .map(|(_, name)| name.as_str())
        .collect();
    let eligible: Vec<&str> = bound
        .iter()
        .copied()
        .filter(|set| {
            placement.cluster_sets.is_empty() || placement.cluster_sets.iter().any(|named| named == set)
        })
        .collect();
    let available = available_clusters(observed, &eligible);
    let number_available = available.len();

    let (mut chosen, wake, mut fault) = match choose(observed, placement, available, now) {
        Ok((chosen, wake)) => (chosen, wake, None),
        Err(fault) => (Vec::new(), None, Some(fault)),
    };
    let groups = groups::divide(placement, &chosen).unwrap_or_else(|wrong| {
        fault = Some(wrong);
        Vec::new()
    });
    if groups.is_empty() {
        chosen.clear();
    }
    let wanted = placement.number_of_clusters.filter(|_| fault.is_none());
    let unscheduled = wanted.map_or(0, |wanted| wanted - chosen.len() as i64);
    let satisfied = satisfied(
        placement,
        &bound,
        &eligible,
        number_available,
        chosen.len(),
        unscheduled,
    );
    let (pages, groups) = paginate(&placement.name, &groups);
    Plan {
        pages,
        groups,
        selected: chosen.len(),
        conditions: [misconfigured(fault.as_ref()), satisfied],
        wake,
    }
}

/// The members of the sets that are not being deleted.
fn available_clusters<'a>(observed: &'a Observed, sets: &[&str]) -> Vec<&'a CandidateCluster> {
    let sets: Vec<_> = sets.iter().filter_map(|name| observed.sets.get(*name)).collect();
    observed
        .clusters
        .values()
        .filter(|cluster| !cluster.deleting && sets.iter().any(|set| set.contains(&cluster.labels)))
        .collect()
}

/// Filters, sorts by score and cuts to `numberOfClusters`.
fn choose<'a>(
    observed: &'a Observed,
    placement: &Placement,
    available: Vec<&'a CandidateCluster>,
    now: Timestamp,
) -> Result<(Vec<&'a CandidateCluster>, Option<Timestamp>), SchedulingError> {
    let chosen_before: BTreeSet<&str> = observed
        .pages
        .iter()
        .filter(|((namespace, _), page)| {
            *namespace == placement.namespace && page.placement == placement.name
        })
        .flat_map(|(_, page)| page.clusters.iter().map(String::as_str))
        .collect();
    let matched = filter::by_predicates(placement, available)?;
    let (mut feasible, wake) = filter::by_taints(placement, matched, &chosen_before, now)?;
    score::prioritize(observed, placement, &mut feasible, &chosen_before);
    if let Some(wanted) = placement.number_of_clusters {
        feasible.truncate(usize::try_from(wanted).unwrap_or_default());
    }
    Ok((feasible, wake))
}

fn paginate(placement: &str, groups: &[Group]) -> (Vec<PlannedPage>, Value) {
    let mut pages: Vec<PlannedPage> = Vec::new();
    let mut statuses = Vec::new();
    for (group_index, group) in groups.iter().enumerate() {
        let first = pages.len();
        let mut chunks: Vec<Vec<String>> = group.clusters.chunks(PAGE_SIZE).map(<[String]>::to_vec).collect();
        if chunks.is_empty() {
            chunks.push(Vec::new());
        }
        for clusters in chunks {
            pages.push(PlannedPage {
                name: format!("{placement}-decision-{}", pages.len() + 1),
                group_index,
                group_name: group.name.clone(),
                clusters,
            });
        }
        statuses.push(json!({
            "decisionGroupIndex": group_index,
            "decisionGroupName": group.name,
            "decisions": pages[first..].iter().map(|page| page.name.as_str()).collect::<Vec<_>>(),
            "clusterCount": group.clusters.len(),
        }));
    }
    (pages, Value::Array(statuses))
}

fn misconfigured(fault: Option<&SchedulingError>) -> Condition {
    let (status, reason, message) = match fault {
        Some(fault) => (
            Status::True,
            "Misconfigured",
            format!("{}:{}", fault.plugin, fault.message),
        ),
        None => (
            Status::False,
            "Succeedconfigured",
            "Placement configurations check pass".to_owned(),
        ),
    };
    Condition::new("PlacementMisconfigured", status, reason, message)
}

fn satisfied(
    placement: &Placement,
    bound: &BTreeSet<&str>,
    eligible: &[&str],
    available: usize,
    chosen: usize,
    unscheduled: i64,
) -> Condition {
    let (status, reason, message) = if bound.is_empty() {
        (
            Status::False,
            "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace".to_owned(),
        )
    } else if eligible.is_empty() {
        let named = placement.cluster_sets.join(",");
        (
            Status::False,
            "NoIntersection",
            format!("None of ManagedClusterSets [{named}] is bound to placement namespace"),
        )
    } else if available == 0 {
        let sets = eligible.join(",");
        (
            Status::False,
            "AllManagedClusterSetsEmpty",
            format!("All ManagedClusterSets [{sets}] have no member ManagedCluster"),
        )
    } else if chosen == 0 {
        (
            Status::False,
            "NoManagedClusterMatched",
            "No ManagedCluster matches any of the cluster predicate".to_owned(),
        )
    } else if unscheduled == 0 {
        (
            Status::True,
            "AllDecisionsScheduled",
            "All cluster decisions scheduled".to_owned(),
        )
    } else {
        (
            Status::False,
            "NotAllDecisionsScheduled",
            format!("{unscheduled} cluster decisions unscheduled"),
        )
    };
    Condition::new("PlacementSatisfied", status, reason, message)
}
