//! What the clusters of an upgrade have found before they start, grouped over the fleet.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::mcu::reason;
use drydock_rollout::{ClusterName, ClusterPreChecks, ClusterState, FindingAcceptance, FindingLevel};
use serde::Serialize;

use crate::ClusterDetails;

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
    /// What it is to its informer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// How many of its clusters it would hold: nobody has accepted it for them.
    pub holds: usize,
    /// On how many nobody has accepted it, those included that it holds no more, as they have begun.
    pub unaccepted: usize,
    /// On how many that it holds somebody has accepted it, and their agents have not been asked since.
    #[serde(skip_serializing_if = "is_zero")]
    pub unconfirmed: usize,
    /// The clusters that have it.
    pub clusters: Vec<String>,
    #[serde(skip)]
    rank: FindingLevel,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Whether what a cluster answers may hold it: it has not started, it waits for that once more ahead of the target, or its agent does.
pub fn may_be_held(cluster: &ClusterDetails) -> bool {
    let waits_once_more = [
        reason::AWAITING_PRE_CHECKS,
        reason::PRE_CHECKS_UNANSWERED,
        reason::RISKS_NOT_ACCEPTED,
    ];
    match cluster.state {
        ClusterState::NotStarted => true,
        ClusterState::Initialized => waits_once_more.contains(&cluster.reason.as_ref()),
        _ => is_held_by_agent(cluster),
    }
}

/// Whether a cluster has been started, and its agent waits for findings that nobody has accepted (`checkUpdatePlan`).
pub fn is_held_by_agent(cluster: &ClusterDetails) -> bool {
    cluster.state == ClusterState::PartialUpgrade && cluster.reason == reason::RISKS_NOT_ACCEPTED
}

/// The findings of clusters, each once with the clusters that have it, the worst first. It holds those of them that may be held, and are not
/// kept from being asked by something else. Where clusters
/// say something else of one uuid, that stands apart: nobody speaks for another cluster.
pub fn grouped(
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
    may_be_held: impl Fn(&ClusterName) -> bool,
) -> Vec<FleetFinding> {
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
                uid: finding.uid.as_deref().map(str::to_owned),
                holds: 0,
                unaccepted: 0,
                unconfirmed: 0,
                clusters: Vec::new(),
                rank: finding.level,
            });
            if finding.level > group.rank {
                (group.rank, group.level) = (finding.level, finding.level.as_str());
            }
            let is_open = !finding.acceptance.is_accepted();
            let holds = is_open && !checks.is_unasked && may_be_held(name);
            group.unaccepted += usize::from(is_open);
            let is_unconfirmed = holds && finding.acceptance == FindingAcceptance::Unconfirmed;
            group.holds += usize::from(holds);
            group.unconfirmed += usize::from(is_unconfirmed);
            group.clusters.push(name.to_string());
        }
    }
    let mut findings: Vec<FleetFinding> = grouped.into_values().collect();
    let order = |finding: &FleetFinding| {
        let (holds_nobody, is_accepted) = (finding.holds == 0, finding.unaccepted == 0);
        let worst_first = std::cmp::Reverse((finding.rank, finding.holds, finding.clusters.len()));
        (holds_nobody, is_accepted, worst_first, finding.summary.clone())
    };
    findings.sort_by_cached_key(order);
    findings
}
