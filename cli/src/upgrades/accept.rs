//! `accept`: says, in an UpgradeRiskAcceptance, that findings hold no cluster.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use drydock_api::mcu::AcceptedRisk;
use drydock_api::ocm::ManagedCluster;
use drydock_edits::{Accepted, Accepting};
use drydock_rollout::{AnswerSource, ClusterName, ClusterPreChecks, Finding, FindingLevel, PreCheckAsk};
use drydock_runtime::pages::list_all_metadata;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::arguments::AcceptArguments;
use super::hub::Hub;
use super::{pre_checks, table};
use crate::cluster::print;
use crate::server::user;

/// The informers whose findings the health check of an agent is about, too.
const ALERTS: &str = "drydock.alerts";
const CLUSTER_OPERATORS: &str = "drydock.cluster-operators";

/// Accepts findings for the clusters of an upgrade.
///
/// # Errors
/// If there is no such finding, or the hub refuses.
pub async fn run(hub: &Hub, arguments: &AcceptArguments) -> anyhow::Result<()> {
    let upgrade = hub.upgrade(&arguments.upgrade.name).await?;
    // By the hub's clock, which its first answer says.
    if let Some(until) = arguments.until {
        ensure!(until > hub.now(), "--until {until} is over already");
    }
    // What is wrong with the upgrade comes before what is wrong with the fleet.
    drydock_edits::target(&upgrade)?;
    let mut found = pre_checks::read(hub, &upgrade).await?.checks;
    if !arguments.labels.is_empty() {
        let selected = with_labels(hub, &arguments.labels).await?;
        found.retain(|name, _| selected.contains(name.as_str()));
        ensure!(
            !found.is_empty(),
            "no cluster of {} has these labels: nothing is accepted",
            upgrade.name_any()
        );
    }
    let who = user(&hub.client).await;
    let accepting = Accepting {
        findings: &arguments.findings,
        level: arguments.level.map(|level| level.0),
        clusters: &arguments.clusters,
        labels: &arguments.labels,
        reason: &arguments.reason,
        until: arguments.until,
        who: &who,
        at: hub.now(),
    };
    let accepted = drydock_edits::accept(&hub.client, &upgrade, &accepting, &found).await?;
    for risk in &accepted.risks {
        table::print(&format!(
            "{}, by {who}, in UpgradeRiskAcceptance {}",
            said(risk),
            accepted.name
        ))?;
    }
    let named = hub.named(&upgrade.namespace().unwrap_or_default(), &upgrade.name_any());
    note_doubts(&named, arguments, &accepted, &found);
    Ok(())
}

/// Says where what was accepted changes nothing, or not all that was meant.
fn note_doubts(
    upgrade: &str,
    arguments: &AcceptArguments,
    accepted: &Accepted,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) {
    for finding in &arguments.findings {
        let about = accepted
            .risks
            .iter()
            .filter(|risk| is_of(risk, finding))
            .collect::<Vec<_>>();
        let meant = Meant {
            clusters: &arguments.clusters,
            has_labels: !arguments.labels.is_empty(),
        };
        for doubt in doubts(finding, &about, &meant, found) {
            print::note(&format!("{doubt}\n"));
        }
    }
    if let Some(note) = health_check(&accepted.risks, found) {
        print::note(&format!("{note}\n"));
    }
    if let Some(doubt) = too_many(upgrade, &arguments.clusters, found) {
        print::note(&format!("{doubt}\n"));
    }
    if let Some(before) = accepted.before.replaced() {
        print::note(&format!(
            "it replaces what you had accepted before, {}\n",
            table::printable(&before)
        ));
    }
    if accepted.before.is_wider {
        print::note(&format!(
            "you have accepted it on more clusters before, and that counts still: to take it back, edit UpgradeRiskAcceptance {}\n",
            accepted.name
        ));
    }
    for cluster in arguments
        .clusters
        .iter()
        .filter(|name| !found.contains_key(*name))
    {
        print::note(&format!(
            "{} has no cluster {}\n",
            arguments.upgrade.name,
            table::printable(cluster.as_str())
        ));
    }
}

/// Whether a risk was accepted for what was named so.
fn is_of(risk: &AcceptedRisk, finding: &str) -> bool {
    match finding.split_once('/') {
        Some((informer, uid)) => {
            risk.informer.as_deref() == Some(informer) && risk.uid.as_deref() == Some(uid)
        }
        None => risk.finding.as_deref() == Some(finding),
    }
}

/// What an agent looks at itself before it begins, whatever is accepted (UpgradeConfig, ClusterHealthyBeforeUpgrade).
fn health_check(
    risks: &[AcceptedRisk],
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> Option<&'static str> {
    let findings = found.values().flat_map(|checks| checks.answer.iter());
    let mut findings = findings
        .filter(|answer| matches!(answer.source, AnswerSource::Agent { .. }))
        .flat_map(|answer| answer.findings.iter());
    let is_accepted = |found: &Finding| {
        risks.iter().any(|risk| {
            let is_named = risk.informer.as_deref() == Some(&*found.informer)
                && risk.uid.as_deref() == found.uid.as_deref();
            is_named || (risk.finding.is_some() && risk.finding.as_deref() == found.uuid.as_deref())
        })
    };
    let is_looked_at = |found: &Finding| match &*found.informer {
        ALERTS => found.level == FindingLevel::Critical,
        informer => informer == CLUSTER_OPERATORS,
    };
    findings.any(|found| is_looked_at(found) && is_accepted(found)).then_some(
        "where the agent upgrades the cluster, its own health check waits nevertheless while critical alerts of the platform fire or operators are \
         degraded, and fails after two hours: correct them, or leave those alerts out by healthCheck.ignoredCriticals",
    )
}

/// On which clusters something is accepted.
struct Meant<'a> {
    clusters: &'a [ClusterName],
    has_labels: bool,
}

/// Says on which clusters there are so many acceptances that not all of them count: this one may be among those that do not.
fn too_many(
    upgrade: &str,
    named: &[ClusterName],
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> Option<String> {
    let is_meant = |name: &ClusterName| named.is_empty() || named.contains(name);
    let is_full = |checks: &ClusterPreChecks| checks.acceptances >= PreCheckAsk::MOST_ACCEPTED;
    let full = found
        .iter()
        .filter(|(name, checks)| is_meant(name) && is_full(checks));
    let mut full = full.map(|(name, _)| name);
    let (first, more) = (full.next()?, full.count());
    let others = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "{first}{others} had {} acceptances and more before, of which no more count: what is left out kubectl drydock pre-checks \
         {upgrade} --cluster {first} says",
        PreCheckAsk::MOST_ACCEPTED
    ))
}

/// Where what is accepted changes nothing now, and why: it may be what was meant, or not.
fn doubts(
    finding: &str,
    accepted: &[&AcceptedRisk],
    meant: &Meant<'_>,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> Vec<String> {
    let shown = table::printable(finding);
    let reported: BTreeMap<&ClusterName, FindingLevel> = found
        .iter()
        .filter_map(|(name, checks)| Some((name, reported_as(finding, checks)?)))
        .collect();
    if found.values().all(|checks| !checks.asked) {
        return vec![format!(
            "no cluster is asked at present, so that nobody reports {shown}: it counts once a cluster does"
        )];
    }
    if reported.is_empty() && meant.has_labels {
        return vec![format!(
            "no cluster with these labels reports anything of {shown} at present"
        )];
    }
    if reported.is_empty() {
        return vec![format!(
            "no cluster reports anything of {shown} at present: is it spelled as pre-checks -o wide shows it?"
        )];
    }
    let named = meant.clusters;
    let silent = named
        .iter()
        .filter(|name| found.contains_key(*name) && !reported.contains_key(name));
    let mut doubts: Vec<String> = silent
        .map(|name| format!("{name} does not report {shown} at present"))
        .collect();
    let mut uncovered: BTreeMap<FindingLevel, usize> = BTreeMap::new();
    for (name, level) in reported {
        let is_meant = named.is_empty() || named.contains(name);
        let covers = |risk: &&AcceptedRisk| {
            let is_about = risk.clusters.iter().flatten().any(|one| one == name.as_str());
            let accepted = risk
                .level
                .as_deref()
                .and_then(FindingLevel::parse)
                .unwrap_or_default();
            (risk.clusters.is_none() || is_about) && accepted.covers(level)
        };
        if is_meant && !accepted.iter().any(covers) {
            *uncovered.entry(level).or_default() += 1;
        }
    }
    doubts.extend(uncovered.into_iter().rev().map(|(level, count)| {
        let clusters = if count == 1 {
            "1 cluster reports"
        } else {
            &format!("{count} clusters report")
        };
        format!("{clusters} {shown} as {level}, which this does not cover: accept it with --level {level}")
    }));
    doubts
}

/// How bad a cluster says that something is, if it reports it.
fn reported_as(finding: &str, checks: &ClusterPreChecks) -> Option<FindingLevel> {
    let findings = checks.answer.iter().flat_map(|answer| answer.findings.iter());
    let is_it = |one: &&Finding| match finding.split_once('/') {
        // What an agent of an earlier release says comes without the uid.
        Some((informer, uid)) => {
            *one.informer == *informer && one.uid.as_deref().is_none_or(|known| known == uid)
        }
        None => one.uuid.as_deref() == Some(finding),
    };
    findings.filter(is_it).map(|one| one.level).max()
}

/// The names of the clusters that have these labels.
async fn with_labels(hub: &Hub, labels: &[(String, String)]) -> anyhow::Result<BTreeSet<String>> {
    let labels: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let api: Api<ManagedCluster> = Api::all(hub.client.clone());
    let clusters = list_all_metadata(&api, ListParams::default().labels(&labels.join(","))).await;
    let clusters = clusters.context("listing the ManagedClusters with these labels")?;
    Ok(clusters.iter().map(ResourceExt::name_any).collect())
}

/// What is accepted, on which clusters, and until when.
fn said(risk: &AcceptedRisk) -> String {
    let what = match (&risk.finding, &risk.informer, &risk.uid) {
        (Some(uuid), ..) => uuid.clone(),
        (None, informer, uid) => [informer, uid]
            .map(|part| part.clone().unwrap_or_default())
            .join("/"),
    };
    let level = risk.level.as_deref().unwrap_or_default();
    let clusters = match risk.clusters.as_deref() {
        None if risk.cluster_selector.is_some() => "on clusters with these labels".to_owned(),
        None => "on all clusters".to_owned(),
        Some([one]) => format!("on {one}"),
        Some(several) => format!("on {} clusters", several.len()),
    };
    let until = risk.until.as_ref().map(|until| format!(" until {}", until.0));
    format!(
        "{} accepted up to {level} {clusters}{}",
        table::printable(&what),
        until.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests;
