//! What the clusters of an upgrade have found before they start, grouped over the fleet.

use std::collections::{BTreeMap, BTreeSet};

use drydock_rollout::{ClusterName, ClusterPreChecks, FindingLevel};
use serde::Serialize;

/// A finding, and the clusters that have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetFinding {
    /// How bad it is where it is worst.
    pub level: &'static str,
    /// The headline.
    pub summary: String,
    /// What it means; empty if that is not known.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub impact: String,
    /// What to do about it; empty if that is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Who reports it.
    pub informer: String,
    /// What it is on every cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// How many of its clusters nobody has accepted it for: it would hold them.
    pub holds: usize,
    /// The clusters that have it.
    pub clusters: Vec<String>,
    #[serde(skip)]
    rank: FindingLevel,
}

/// The findings of clusters, each once with the clusters that have it, the worst first. Where clusters say something else of one uuid, that
/// stands apart: nobody speaks for another cluster.
pub fn grouped(found: &BTreeMap<ClusterName, ClusterPreChecks>) -> Vec<FleetFinding> {
    let mut grouped: BTreeMap<(String, String, String), FleetFinding> = BTreeMap::new();
    for (name, checks) in found {
        let mut counted = BTreeSet::new();
        for finding in checks.answer.iter().flat_map(|answer| answer.findings.iter()) {
            let id = finding.uuid.as_deref().unwrap_or(&finding.summary);
            let words = format!("{} {} {}", finding.summary, finding.impact, finding.remedy);
            let key = (finding.informer.to_string(), id.to_owned(), words);
            // Who says a thing twice has it once.
            if !counted.insert(key.clone()) {
                continue;
            }
            let group = grouped.entry(key).or_insert_with(|| FleetFinding {
                level: finding.level.as_str(),
                summary: finding.summary.to_string(),
                impact: finding.impact.to_string(),
                remedy: finding.remedy.to_string(),
                informer: finding.informer.to_string(),
                uuid: finding.uuid.as_deref().map(str::to_owned),
                holds: 0,
                clusters: Vec::new(),
                rank: finding.level,
            });
            if finding.level > group.rank {
                (group.rank, group.level) = (finding.level, finding.level.as_str());
            }
            group.holds += usize::from(!finding.acceptance.is_accepted());
            group.clusters.push(name.to_string());
        }
    }
    let mut findings: Vec<FleetFinding> = grouped.into_values().collect();
    let order = |finding: &FleetFinding| {
        let is_accepted = finding.holds == 0;
        let worst_first = std::cmp::Reverse((finding.rank, finding.holds, finding.clusters.len()));
        (is_accepted, worst_first, finding.summary.clone())
    };
    findings.sort_by_cached_key(order);
    findings
}
