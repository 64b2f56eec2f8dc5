//! Accepted findings: an UpgradeRiskAcceptance, which says that they hold no cluster.

use std::collections::BTreeMap;

use drydock_api::mcu::{
    ACCEPTED_RISKS_LIMIT, AcceptedRisk, ManagedClustersUpgrade, UpgradeRiskAcceptance,
    UpgradeRiskAcceptanceSpec,
};
use drydock_api::selector::LabelMatch;
use drydock_objects::parse_spec;
use drydock_rollout::{ClusterName, ClusterPreChecks, Finding, FindingLevel};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt};
use sha2::{Digest, Sha256};

use crate::{EditError, MANAGER};

/// How often a write is tried that somebody else's came before.
const TRIES: usize = 5;

/// What somebody accepts.
#[derive(Clone, Debug)]
pub struct Accepting<'a> {
    /// Findings, each by its uuid or as `INFORMER/UID`.
    pub findings: &'a [String],
    /// Up to which level; else that of the cluster on which a finding is worst, and Warning of what is named otherwise.
    pub level: Option<FindingLevel>,
    /// On these clusters; on all, if none is named.
    pub clusters: &'a [ClusterName],
    /// On clusters with these labels.
    pub labels: &'a [(String, String)],
    /// Why.
    pub reason: &'a str,
    /// Until when.
    pub until: Option<Timestamp>,
    /// Who accepts.
    pub who: &'a str,
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

/// Accepts findings for the clusters of an upgrade, which have `found` them. Gives back what was accepted, and the name of the object in
/// which it stands.
///
/// # Errors
/// If there is no such finding, or the API server refuses.
pub async fn accept(
    client: &Client,
    upgrade: &ManagedClustersUpgrade,
    accepting: &Accepting<'_>,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> Result<(Vec<AcceptedRisk>, String), EditError> {
    let target = target(upgrade)?;
    let risks: Vec<AcceptedRisk> = accepting
        .findings
        .iter()
        .map(|finding| risk(finding, accepting, found))
        .collect::<Result<_, _>>()?;
    let name = object_name(&upgrade.name_any(), &target);
    write(client, &name, upgrade, &target, &risks).await?;
    Ok((risks, name))
}

/// One object for each upgrade and target, of a name that fits whatever these are.
fn object_name(upgrade: &str, target: &str) -> String {
    let digest = Sha256::digest(target.as_bytes());
    let hash: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let begin: String = upgrade.chars().take(200).collect();
    format!("{}-{hash}", begin.trim_end_matches(['.', '-']))
}

/// A finding as it was named: a uuid, or `INFORMER/UID`.
fn risk(
    finding: &str,
    accepting: &Accepting<'_>,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> Result<AcceptedRisk, EditError> {
    let all = found.values().filter_map(|checks| checks.answer.as_ref());
    let mut all = all.flat_map(|answer| answer.findings.iter());
    let named = finding.split_once('/');
    let level = match (accepting.level, named) {
        (Some(level), _) => level,
        // What was seen: on the cluster on which it is worst.
        (None, None) => {
            let is_it = |one: &&Finding| one.uuid.as_deref() == Some(finding);
            let worst = all.by_ref().filter(is_it).map(|one| one.level).max();
            worst.ok_or_else(|| EditError::UnknownFinding(finding.to_owned()))?
        }
        (None, Some(_)) => FindingLevel::Warning,
    };
    let labels = accepting.labels;
    Ok(AcceptedRisk {
        finding: named.is_none().then(|| finding.to_owned()),
        informer: named.map(|(informer, _)| informer.to_owned()),
        uid: named.map(|(_, uid)| uid.to_owned()),
        level: Some(level.as_str().to_owned()),
        clusters: Some(accepting.clusters.iter().map(ToString::to_string).collect())
            .filter(|names: &Vec<String>| !names.is_empty()),
        cluster_selector: (!labels.is_empty()).then(|| LabelMatch {
            match_labels: Some(labels.iter().cloned().collect()),
            ..LabelMatch::default()
        }),
        reason: accepting.reason.to_owned(),
        accepted_by: accepting.who.to_owned(),
        until: accepting.until.map(Time),
    })
}

/// Creates the object, or adds to it; again, if somebody else has changed it meanwhile.
async fn write(
    client: &Client,
    name: &str,
    upgrade: &ManagedClustersUpgrade,
    target: &str,
    risks: &[AcceptedRisk],
) -> Result<(), EditError> {
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
        let written = match known {
            None => {
                let object = UpgradeRiskAcceptance {
                    metadata: ObjectMeta {
                        name: Some(name.to_owned()),
                        ..ObjectMeta::default()
                    },
                    spec: UpgradeRiskAcceptanceSpec {
                        upgrade: upgrade.name_any(),
                        target: target.to_owned(),
                        accepted_risks: risks.to_vec(),
                    },
                };
                api.create(&parameters, &object).await
            }
            Some(mut object) => {
                add(&mut object.spec.accepted_risks, risks)?;
                api.replace(name, &parameters, &object).await
            }
        };
        match written {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Err(EditError::Contended(doing))
}

/// Adds risks. One that the same user has accepted before, for the same clusters, is replaced.
fn add(before: &mut Vec<AcceptedRisk>, risks: &[AcceptedRisk]) -> Result<(), EditError> {
    let is_same = |one: &AcceptedRisk, other: &AcceptedRisk| {
        let id = |risk: &AcceptedRisk| {
            let what = (risk.finding.clone(), risk.informer.clone(), risk.uid.clone());
            (
                what,
                risk.clusters.clone(),
                risk.cluster_selector.clone(),
                risk.accepted_by.clone(),
            )
        };
        id(one) == id(other)
    };
    before.retain(|one| !risks.iter().any(|risk| is_same(one, risk)));
    before.extend(risks.iter().cloned());
    if before.len() > ACCEPTED_RISKS_LIMIT {
        return Err(EditError::TooManyRisks);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let many: Vec<_> = (0..62)
            .map(|number| risk(&number.to_string(), "ann", None, "x"))
            .collect();
        assert!(add(&mut all, &many).is_err());
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
    }
}
