//! Prioritizers: Balance (few other Placements chose the cluster) and Steady (this one chose it before), which weigh the same.

use std::collections::{BTreeMap, BTreeSet};

use super::observed::{CandidateCluster, Observed, Placement};

/// The best score that a prioritizer gives.
const MAX_SCORE: i64 = 100;

/// Sorts by score, best first, then by name.
pub fn prioritize<'a>(
    observed: &Observed,
    placement: &Placement,
    clusters: &mut [&'a CandidateCluster],
    chosen_before: &BTreeSet<&str>,
) {
    let used = decisions_of_others(observed, placement);
    let most = used.values().copied().max().unwrap_or_default();
    let score = |cluster: &'a CandidateCluster| {
        let name = cluster.name.as_str();
        let steady = if chosen_before.contains(name) {
            MAX_SCORE
        } else {
            0
        };
        balance(used.get(name).copied(), most) + steady
    };
    clusters.sort_by_cached_key(|cluster| (std::cmp::Reverse(score(cluster)), cluster.name.clone()));
}

/// From 100 for a cluster that nobody chose to -100 for the one chosen most often.
fn balance(count: Option<u32>, most: u32) -> i64 {
    count.map_or(MAX_SCORE, |count| {
        let usage = f64::from(count) / f64::from(most);
        2 * (MAX_SCORE as f64 * (0.5 - usage)) as i64
    })
}

/// How often each cluster was chosen by other Placements, in every namespace.
fn decisions_of_others<'a>(observed: &'a Observed, placement: &Placement) -> BTreeMap<&'a str, u32> {
    let mut counts = BTreeMap::new();
    for ((namespace, _), page) in &observed.pages {
        if page.placement == placement.name && *namespace == placement.namespace {
            continue;
        }
        for cluster in &page.clusters {
            *counts.entry(cluster.as_str()).or_insert(0) += 1;
        }
    }
    counts
}
