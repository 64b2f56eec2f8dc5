//! `accept`: says, in an UpgradeRiskAcceptance, that findings hold no cluster.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use drydock_api::mcu::AcceptedRisk;
use drydock_api::ocm::ManagedCluster;
use drydock_edits::Accepting;
use drydock_runtime::pages::list_all_metadata;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use super::arguments::AcceptArguments;
use super::hub::Hub;
use super::{pre_checks, table};
use crate::cluster::print;
use crate::server::user;

/// Accepts findings for the clusters of an upgrade.
///
/// # Errors
/// If there is no such finding, or the hub refuses.
pub async fn run(hub: &Hub, arguments: &AcceptArguments) -> anyhow::Result<()> {
    if let Some(until) = arguments.until {
        ensure!(until > hub.now(), "--until {until} is over already");
    }
    let upgrade = hub.upgrade(&arguments.upgrade.name).await?;
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
    let (risks, name) = drydock_edits::accept(&hub.client, &upgrade, &accepting, &found).await?;
    for risk in &risks {
        table::print(&format!(
            "{}, by {who}, in UpgradeRiskAcceptance {name}",
            said(risk)
        ))?;
    }
    let is_reported = |finding: &&String| {
        let answers = found.values().filter_map(|checks| checks.answer.as_ref());
        let mut findings = answers.flat_map(|answer| answer.findings.iter());
        findings.any(|one| match finding.split_once('/') {
            // An agent's findings come without the uid: they are known by their uuids.
            Some((informer, uid)) => {
                *one.informer == *informer && one.uid.as_deref().is_none_or(|known| known == uid)
            }
            None => one.uuid.as_deref() == Some(finding.as_str()),
        })
    };
    for finding in arguments.findings.iter().filter(|finding| !is_reported(finding)) {
        print::note(&format!(
            "no cluster reports anything of {} at present: is it spelled as pre-checks -o wide shows it?\n",
            table::printable(finding)
        ));
    }
    for cluster in arguments
        .clusters
        .iter()
        .filter(|name| !found.contains_key(*name))
    {
        print::note(&format!(
            "{} has no cluster {}\n",
            upgrade.name_any(),
            table::printable(cluster.as_str())
        ));
    }
    Ok(())
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
