//! Prioritizers: Balance and Steady, with the weights that the Placement gives them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    observed::{CandidateCluster, Observed, Placement},
    schedule::SchedulingError,
};
use kube_sandbox::object;

/// The best score that a prioritizer gives.
const MAX_SCORE: i64 = 100;

/// The weights of the prioritizers; a weight of 0 switches one off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Prefer clusters that few other Placements chose.
    pub balance: i64,
    /// Prefer clusters that this Placement chose before.
    pub steady: i64,
    /// What is wrong with the policy.
    pub fault: Option<String>,
}

impl Weights {
    /// Reads `spec.prioritizerPolicy`: Balance and Steady weigh 1 unless the policy says otherwise, and nothing
    /// but what it names counts in mode Exact.
    pub fn parse(policy: &Value) -> Self {
        let exact = policy["mode"] == "Exact";
        let default = i64::from(!exact);
        let mut weights = Self {
            balance: default,
            steady: default,
            fault: None,
        };
        for configuration in object::list(&policy["configurations"]) {
            let weight = configuration["weight"].as_i64().unwrap_or(1);
            let coordinate = &configuration["scoreCoordinate"];
            match (coordinate["type"].as_str(), coordinate["builtIn"].as_str()) {
                (Some("AddOn"), _) if coordinate["addOn"].is_null() && weight != 0 => {
                    weights.fault = Some("addOn should not be empty".to_owned());
                }
                (Some("AddOn"), _) => {}
                (_, Some("Balance")) => weights.balance = weight,
                (_, Some("Steady")) => weights.steady = weight,
                (_, Some("ResourceAllocatableCPU" | "ResourceAllocatableMemory")) => {}
                (_, Some(other)) if weight != 0 => {
                    weights.fault = Some(format!("incorrect builtin prioritizer: {other}"));
                }
                (_, Some(_)) => {}
                (_, None) => weights.fault = Some("scoreCoordinate field is required".to_owned()),
            }
        }
        weights
    }
}

/// Sorts by score, best first, then by name.
pub fn prioritize<'a>(
    observed: &Observed,
    placement: &Placement,
    clusters: &mut [&'a CandidateCluster],
    chosen_before: &BTreeSet<&str>,
) -> Result<(), SchedulingError> {
    let weights = &placement.weights;
    if let Some(fault) = &weights.fault {
        return Err(SchedulingError::misconfigured("", fault.clone()));
    }
    let used = if weights.balance == 0 {
        BTreeMap::new()
    } else {
        decisions_of_others(observed, placement)
    };
    let most = used.values().copied().max().unwrap_or_default();
    let score = |cluster: &'a CandidateCluster| {
        let name = cluster.name.as_str();
        let steady = if chosen_before.contains(name) {
            MAX_SCORE
        } else {
            0
        };
        weights.balance * balance(used.get(name).copied(), most) + weights.steady * steady
    };
    clusters.sort_by_cached_key(|cluster| (std::cmp::Reverse(score(cluster)), cluster.name.clone()));
    Ok(())
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
