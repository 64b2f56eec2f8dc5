//! `accept`: says, in an UpgradeRiskAcceptance, that findings hold no cluster.

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use drydock_api::mcu::{
    ACCEPTED_RISKS_LIMIT, AcceptedRisk, UpgradeRiskAcceptance, UpgradeRiskAcceptanceSpec,
};
use drydock_api::selector::LabelMatch;
use drydock_objects::parse_spec;
use drydock_rollout::{ClusterName, ClusterPreChecks, FindingLevel};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use sha2::{Digest, Sha256};

use super::arguments::AcceptArguments;
use super::hub::Hub;
use super::{pre_checks, table};
use crate::server::{MANAGER, user};

/// How often a write is tried that somebody else's came before.
const TRIES: usize = 5;

/// Accepts findings for the clusters of an upgrade.
///
/// # Errors
/// If there is no such finding, or the hub refuses.
pub async fn run(hub: &Hub, arguments: &AcceptArguments) -> anyhow::Result<()> {
    if let Some(until) = arguments.until {
        ensure!(until > hub.now(), "--until {until} is over already");
    }
    let upgrade = hub.upgrade(&arguments.upgrade.name).await?;
    let spec = parse_spec(&upgrade).context("the spec of the upgrade is invalid")?;
    let target = spec
        .goal
        .target
        .as_ref()
        .context("the upgrade has no release as its target: nothing is asked")?;
    let target = target.to_string();
    let found = pre_checks::read(hub, &upgrade).await?;
    let who = user(&hub.client).await;
    let risks: Vec<AcceptedRisk> = arguments
        .findings
        .iter()
        .map(|finding| risk(finding, arguments, &found, &who))
        .collect::<anyhow::Result<_>>()?;
    let name = object_name(&arguments.upgrade.name, &target);
    write(hub, &name, &arguments.upgrade.name, &target, &risks).await?;
    for risk in &risks {
        let what = risk
            .finding
            .as_deref()
            .or(risk.uid.as_deref())
            .unwrap_or_default();
        let level = risk.level.as_deref().unwrap_or_default();
        table::print(&format!(
            "{what} accepted up to {level} by {who}, in UpgradeRiskAcceptance {name}"
        ))?;
    }
    Ok(())
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
    arguments: &AcceptArguments,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
    who: &str,
) -> anyhow::Result<AcceptedRisk> {
    let all = found.values().filter_map(|checks| checks.answer.as_ref());
    let mut all = all.flat_map(|answer| answer.findings.iter());
    let named = finding.split_once('/');
    let level = match (arguments.level, named) {
        (Some(level), _) => level.0,
        // What was seen: on the cluster on which it is worst.
        (None, None) => {
            let is_it = |one: &&drydock_rollout::Finding| one.uuid.as_deref() == Some(finding);
            let worst = all.by_ref().filter(is_it).map(|one| one.level).max();
            worst.with_context(|| {
                format!("no cluster reports {finding}: see kubectl drydock pre-checks, or say --level")
            })?
        }
        (None, Some(_)) => FindingLevel::Warning,
    };
    Ok(AcceptedRisk {
        finding: named.is_none().then(|| finding.to_owned()),
        informer: named.map(|(informer, _)| informer.to_owned()),
        uid: named.map(|(_, uid)| uid.to_owned()),
        level: Some(level.as_str().to_owned()),
        clusters: Some(arguments.clusters.iter().map(ToString::to_string).collect())
            .filter(|names: &Vec<String>| !names.is_empty()),
        cluster_selector: (!arguments.labels.is_empty()).then(|| LabelMatch {
            match_labels: Some(arguments.labels.iter().cloned().collect()),
            ..LabelMatch::default()
        }),
        reason: arguments.reason.clone(),
        accepted_by: who.to_owned(),
        until: arguments.until.map(Time),
    })
}

/// Creates the object, or adds to it; again, if somebody else has changed it meanwhile.
async fn write(
    hub: &Hub,
    name: &str,
    upgrade: &str,
    target: &str,
    risks: &[AcceptedRisk],
) -> anyhow::Result<()> {
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(hub.client.clone(), &hub.namespace);
    let parameters = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let writing = || format!("writing the UpgradeRiskAcceptance {}/{name}", hub.namespace);
    for _ in 0..TRIES {
        let known = api.get_opt(name).await.with_context(writing)?;
        let written = match known {
            None => {
                let object = UpgradeRiskAcceptance {
                    metadata: ObjectMeta {
                        name: Some(name.to_owned()),
                        ..ObjectMeta::default()
                    },
                    spec: UpgradeRiskAcceptanceSpec {
                        upgrade: upgrade.to_owned(),
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
            Err(error) => return Err(error).with_context(writing),
        }
    }
    bail!("{}: somebody else changes it all the time", writing())
}

/// Adds risks. One that the same user has accepted before, for the same clusters, is replaced.
fn add(before: &mut Vec<AcceptedRisk>, risks: &[AcceptedRisk]) -> anyhow::Result<()> {
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
    ensure!(
        before.len() <= ACCEPTED_RISKS_LIMIT,
        "an UpgradeRiskAcceptance holds {ACCEPTED_RISKS_LIMIT} risks: remove those that are over, or write another object"
    );
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
