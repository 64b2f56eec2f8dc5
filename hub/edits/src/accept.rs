//! Accepted findings: an UpgradeRiskAcceptance, which says that they hold no cluster.

use std::collections::BTreeMap;

use drydock_api::mcu::{
    ACCEPTED_RISKS_LIMIT, AcceptedRisk, ManagedClustersUpgrade, UpgradeRiskAcceptance,
    UpgradeRiskAcceptanceSpec,
};
use drydock_api::selector::LabelMatch;
use drydock_objects::{hint, parse_spec};
use drydock_rollout::{ClusterName, ClusterPreChecks, Finding, FindingLevel};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt};
use sha2::{Digest, Sha256};

use crate::{EditError, MANAGER, hex};

/// How many clusters one entry names.
const MOST_CLUSTERS: usize = 512;
/// How often a write is tried that somebody else's came before.
const TRIES: usize = 5;

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
    /// The same user has accepted one of them before on all clusters, and now on some: that counts still.
    pub is_wider: bool,
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
    let name = object_name(&upgrade.name_any(), &target);
    let is_wider = write(client, &name, upgrade, &target, &risks).await?;
    Ok(Accepted {
        risks,
        name,
        is_wider,
    })
}

/// One object for each upgrade and target, of a name that fits whatever these are, and that no two of them have.
fn object_name(upgrade: &str, target: &str) -> String {
    let hash = hex(&Sha256::digest(format!("{upgrade} {target}")), 5);
    let begin: String = upgrade.chars().take(200).collect();
    format!("{}-{hash}", begin.trim_end_matches(['.', '-']))
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

/// Creates the object, or adds to it; again, if somebody else has changed it meanwhile. Gives back whether it holds wider ones of the user.
async fn write(
    client: &Client,
    name: &str,
    upgrade: &ManagedClustersUpgrade,
    target: &str,
    risks: &[AcceptedRisk],
) -> Result<bool, EditError> {
    let namespace = upgrade.namespace().unwrap_or_default();
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(client.clone(), &namespace);
    let parameters = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let doing = format!("writing the UpgradeRiskAcceptance {namespace}/{name}");
    let refused = |source| EditError::Server {
        doing: doing.clone(),
        source,
    };
    for _ in 0..TRIES {
        let known = api.get_opt(name).await.map_err(refused)?;
        let mut is_wider = false;
        let written = match known {
            None => {
                let object = UpgradeRiskAcceptance {
                    metadata: ObjectMeta {
                        name: Some(name.to_owned()),
                        ..ObjectMeta::default()
                    },
                    status: None,
                    spec: UpgradeRiskAcceptanceSpec {
                        upgrade: upgrade.name_any(),
                        target: target.to_owned(),
                        accepted_risks: risks.to_vec(),
                    },
                };
                api.create(&parameters, &object).await
            }
            Some(object) if object.spec.upgrade != upgrade.name_any() || object.spec.target != target => {
                return Err(EditError::OfAnotherUpgrade {
                    name: format!("{namespace}/{name}"),
                    upgrade: object.spec.upgrade,
                    target: object.spec.target,
                });
            }
            Some(mut object) => {
                is_wider = add(&mut object.spec.accepted_risks, risks)?;
                api.replace(name, &parameters, &object).await
            }
        };
        match written {
            Ok(_) => return Ok(is_wider),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Err(EditError::Contended(doing))
}

/// Adds risks. What the same user has accepted before is replaced: on the same clusters, or on those of them that are named now. Gives back
/// whether what was accepted on all clusters stays beside what is accepted on some.
fn add(before: &mut Vec<AcceptedRisk>, risks: &[AcceptedRisk]) -> Result<bool, EditError> {
    let mut is_wider = false;
    let is_same = |one: &AcceptedRisk, other: &AcceptedRisk| {
        let id = |risk: &AcceptedRisk| {
            let what = (risk.finding.clone(), risk.informer.clone(), risk.uid.clone());
            (what, risk.cluster_selector.clone(), risk.accepted_by.clone())
        };
        id(one) == id(other)
    };
    before.retain_mut(|one| {
        let anew: Vec<&AcceptedRisk> = risks.iter().filter(|risk| is_same(one, risk)).collect();
        for risk in anew {
            match (&mut one.clusters, &risk.clusters) {
                (None, None) => return false,
                (Some(names), Some(anew)) => names.retain(|name| !anew.contains(name)),
                (None, Some(_)) => is_wider = true,
                (Some(_), None) => {}
            }
        }
        one.clusters.as_ref().is_none_or(|names| !names.is_empty())
    });
    before.extend(risks.iter().cloned());
    if before.len() > ACCEPTED_RISKS_LIMIT {
        return Err(EditError::TooManyRisks);
    }
    Ok(is_wider)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drydock_rollout::FindingAcceptance;

    #[test]
    fn what_the_same_user_has_accepted_for_the_same_clusters_is_replaced() {
        let risk = |finding: &str, who: &str, cluster: Option<&str>, reason: &str| AcceptedRisk {
            finding: Some(finding.to_owned()),
            accepted_by: who.to_owned(),
            clusters: cluster.map(|cluster| vec![cluster.to_owned()]),
            reason: reason.to_owned(),
            ..AcceptedRisk::default()
        };
        let mut all = vec![risk("a", "ann", None, "old"), risk("a", "bob", None, "his")];
        add(
            &mut all,
            &[risk("a", "ann", None, "new"), risk("a", "ann", Some("c1"), "one")],
        )
        .unwrap();
        let reasons: Vec<&str> = all.iter().map(|risk| risk.reason.as_str()).collect();
        assert_eq!(reasons, ["his", "new", "one"]);
        assert!(add(&mut all, &[risk("a", "ann", Some("c1"), "narrower")]).unwrap());
        assert!(!add(&mut all, &[risk("b", "ann", Some("c1"), "other")]).unwrap());
        let many: Vec<_> = (0..62)
            .map(|number| risk(&number.to_string(), "ann", None, "x"))
            .collect();
        assert!(add(&mut all, &many).is_err());
    }

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

    #[test]
    fn the_name_fits_any_target() {
        let image = "quay.io/openshift/release@sha256:0123";
        for (upgrade, target) in [
            ("spring", "4.14.12+b"),
            ("spring", image),
            (&*"a.".repeat(126), "4.14.12"),
        ] {
            let name = object_name(upgrade, target);
            assert!(name.len() <= 253 && !name.contains(['@', '/', '+']), "{name}");
        }
        assert_ne!(object_name("a", "4.14.12"), object_name("a", "4.14.13"));
        let long = |end: &str| object_name(&format!("{}{end}", "x".repeat(200)), "4.14.12");
        assert_ne!(long("-prod"), long("-test"));
    }
}
