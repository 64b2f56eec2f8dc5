//! Accepted findings: an UpgradeRiskAcceptance, which says that they hold no cluster.

mod object;

use std::collections::BTreeMap;

use drydock_api::mcu::{AcceptedRisk, ManagedClustersUpgrade};
use drydock_api::selector::LabelMatch;
use drydock_objects::{hint, parse_spec};
use drydock_rollout::{ClusterName, ClusterPreChecks, Finding, FindingLevel};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Client, ResourceExt};
use sha2::{Digest, Sha256};

use crate::{EditError, hex};
pub use object::Before;

/// How many clusters one entry names.
const MOST_CLUSTERS: usize = 512;
/// What somebody accepts.
#[derive(Clone, Debug)]
pub struct Accepting<'a> {
    /// Findings, each by its uuid or as `INFORMER/UID`.
    pub findings: &'a [String],
    /// Up to which level. If none is given, a uuid is accepted on the clusters that have reported it, each up to its own level, and what is
    /// named otherwise up to Warning.
    pub level: Option<FindingLevel>,
    /// On these clusters alone.
    pub clusters: &'a [ClusterName],
    /// On clusters with these labels.
    pub labels: &'a [(String, String)],
    /// Why.
    pub reason: &'a str,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Who accepts.
    pub who: &'a str,
    /// When.
    pub at: Timestamp,
}

/// What the clusters are asked about: the release that an upgrade leads to.
///
/// # Errors
/// If the spec is invalid, or names no release.
pub fn target(upgrade: &ManagedClustersUpgrade) -> Result<String, EditError> {
    let spec = parse_spec(upgrade)?;
    let target = spec.goal.target.as_ref().ok_or(EditError::NoTarget)?;
    Ok(target.to_string())
}

/// What an upgrade leads to, in the words in which reports say it.
///
/// # Errors
/// If the spec is invalid.
pub fn goal(upgrade: &ManagedClustersUpgrade) -> Result<String, EditError> {
    Ok(parse_spec(upgrade)?.goal.to_string())
}

/// What was accepted.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Each risk as it was written.
    pub risks: Vec<AcceptedRisk>,
    /// The name of the object in which they stand.
    pub name: String,
    /// What the same user had accepted before.
    pub before: Before,
}

/// Accepts findings for the clusters of an upgrade, which have `found` them.
///
/// # Errors
/// If there is no such finding, or the API server refuses.
pub async fn accept(
    client: &Client,
    upgrade: &ManagedClustersUpgrade,
    accepting: &Accepting<'_>,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> Result<Accepted, EditError> {
    let target = target(upgrade)?;
    let named = hint::named(&upgrade.namespace().unwrap_or_default(), &upgrade.name_any(), "");
    let mut risks = Vec::new();
    for finding in accepting.findings {
        risks.extend(of_finding(finding, accepting, found, &named)?);
    }
    let name = object::name(&upgrade.name_any(), &target);
    let before = object::write(client, &name, upgrade, &target, &risks).await?;
    Ok(Accepted { risks, name, before })
}

/// A finding as it was named: a uuid, or `INFORMER/UID`. Without a level only clusters that have reported it are named, each up to its own
/// level: what one of them says is about no other, nor about one that finds something later.
fn of_finding(
    finding: &str,
    accepting: &Accepting<'_>,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
    named: &str,
) -> Result<Vec<AcceptedRisk>, EditError> {
    let all = || on_clusters(accepting.clusters);
    match (accepting.level, finding.contains('/')) {
        (Some(level), _) => return Ok(vec![risk(finding, accepting, level, all())]),
        (None, true) => return Ok(vec![risk(finding, accepting, FindingLevel::Warning, all())]),
        (None, false) => {}
    }
    let mut by_level: BTreeMap<FindingLevel, Vec<ClusterName>> = BTreeMap::new();
    for (name, checks) in found {
        let findings = checks.answer.iter().flat_map(|answer| answer.findings.iter());
        let is_it = |one: &&Finding| one.uuid.as_deref() == Some(finding);
        let is_meant = accepting.clusters.is_empty() || accepting.clusters.contains(name);
        let level = findings.filter(is_it).map(|one| one.level).max();
        if let Some(level) = level.filter(|_| is_meant) {
            by_level.entry(level).or_default().push(name.clone());
        }
    }
    if by_level.is_empty() {
        let finding = finding.to_owned();
        let of_which = match (accepting.clusters, accepting.labels) {
            ([], []) => "",
            ([], _) => "with these labels ",
            _ => "that is named ",
        };
        return Err(EditError::UnknownFinding {
            finding,
            upgrade: named.to_owned(),
            of_which,
        });
    }
    let risks = by_level.iter().flat_map(|(level, names)| {
        let parts = names.chunks(MOST_CLUSTERS);
        parts.map(|names| risk(finding, accepting, *level, on_clusters(names)))
    });
    Ok(risks.collect())
}

/// By the uuid of each finding: which clusters report it, and at which level each does, in short. Who has been asked about these accepts it for
/// no other.
pub fn reporters(found: &BTreeMap<ClusterName, ClusterPreChecks>) -> BTreeMap<&str, String> {
    let mut digests: BTreeMap<&str, Sha256> = BTreeMap::new();
    for (name, checks) in found {
        let mut levels: BTreeMap<&str, FindingLevel> = BTreeMap::new();
        for finding in checks.answer.iter().flat_map(|answer| answer.findings.iter()) {
            if let Some(uuid) = finding.uuid.as_deref() {
                let level = levels.entry(uuid).or_insert(finding.level);
                *level = finding.level.max(*level);
            }
        }
        for (uuid, level) in levels {
            digests
                .entry(uuid)
                .or_default()
                .update(format!("{name} {}\n", level.as_str()));
        }
    }
    let digests = digests.into_iter();
    digests
        .map(|(uuid, digest)| (uuid, hex(&digest.finalize(), 8)))
        .collect()
}

/// The names of clusters, if there are any.
fn on_clusters(names: &[ClusterName]) -> Option<Vec<String>> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    Some(names).filter(|names| !names.is_empty())
}

fn risk(
    finding: &str,
    accepting: &Accepting<'_>,
    level: FindingLevel,
    clusters: Option<Vec<String>>,
) -> AcceptedRisk {
    let named = finding.split_once('/');
    let labels = accepting.labels;
    AcceptedRisk {
        finding: named.is_none().then(|| finding.to_owned()),
        informer: named.map(|(informer, _)| informer.to_owned()),
        uid: named.map(|(_, uid)| uid.to_owned()),
        level: Some(level.as_str().to_owned()),
        clusters,
        cluster_selector: (!labels.is_empty()).then(|| LabelMatch {
            match_labels: Some(labels.iter().cloned().collect()),
            ..LabelMatch::default()
        }),
        reason: accepting.reason.to_owned(),
        accepted_by: accepting.who.to_owned(),
        accepted_at: Some(Time(accepting.at)),
        until: accepting.until.map(Time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drydock_rollout::FindingAcceptance;

    /// A cluster that says that a finding is critical on it raises no level of the others.
    #[test]
    fn each_cluster_is_accepted_up_to_its_own_level() {
        let finding = |level| Finding {
            uuid: Some("u".into()),
            informer: "mco".into(),
            uid: None,
            level,
            summary: "s".into(),
            impact: "".into(),
            remedy: "".into(),
            acceptance: FindingAcceptance::None,
            accepted_by: None,
        };
        let found = [
            ("c1", FindingLevel::Critical),
            ("c2", FindingLevel::Warning),
            ("c3", FindingLevel::Warning),
        ];
        let found = found.map(|(name, level)| {
            let checks = ClusterPreChecks {
                answer: Some(drydock_rollout::PreCheckAnswer {
                    source: drydock_rollout::AnswerSource::ClusterVersion,
                    findings: [finding(level)].into(),
                }),
                ..ClusterPreChecks::default()
            };
            (ClusterName::from(name), checks)
        });
        let found = BTreeMap::from(found);
        let accepted = |clusters: &[ClusterName], level| {
            let accepting = Accepting {
                findings: &[],
                level,
                clusters,
                labels: &[],
                reason: "known",
                until: None,
                who: "ann",
                at: Timestamp::UNIX_EPOCH,
            };
            let risks = of_finding("u", &accepting, &found, "spring").unwrap();
            let said = risks.into_iter().map(|risk| (risk.level.unwrap(), risk.clusters));
            said.collect::<Vec<_>>()
        };
        let named = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        assert_eq!(
            accepted(&[], None),
            [
                ("Warning".to_owned(), named(&["c2", "c3"])),
                ("Critical".to_owned(), named(&["c1"]))
            ],
            "a cluster that has not reported it is not among them"
        );
        assert_eq!(
            accepted(&["c1".into()], None),
            [("Critical".to_owned(), named(&["c1"]))]
        );
        assert_eq!(
            accepted(&[], Some(FindingLevel::Error)),
            [("Error".to_owned(), None)]
        );
    }
}
