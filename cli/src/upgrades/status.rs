//! `status`: where upgrades are.

use anyhow::Context;
use comfy_table::Cell;
use drydock_api::conditions::{self, AnyCondition};
use drydock_api::mcu::{ClustersSummary, ManagedClustersUpgrade, condition};
use drydock_objects::status::{NotSeen, is_over};
use drydock_runtime::pages::list_all;
use futures::TryStreamExt;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};

use super::arguments::{Output, StatusArguments};
use super::hub::Hub;
use super::{forecast, table};

/// Shows one upgrade, or all.
///
/// # Errors
/// If the hub cannot be read.
pub async fn run(hub: &Hub, arguments: &StatusArguments) -> anyhow::Result<()> {
    let Some(name) = &arguments.name else {
        return all(hub, arguments).await;
    };
    let upgrade = hub.upgrade(name).await?;
    show(hub, &upgrade, arguments.output)?;
    if arguments.watch && !is_over(&upgrade) {
        return follow(hub, name, &upgrade, arguments.output).await;
    }
    Ok(())
}

/// Shows the upgrade again each time that its status changes, until it is over.
async fn follow(hub: &Hub, name: &str, first: &ManagedClustersUpgrade, output: Output) -> anyhow::Result<()> {
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let changes = watcher(hub.upgrades(), only).default_backoff().applied_objects();
    futures::pin_mut!(changes);
    let mut shown = first.status.clone();
    while let Some(upgrade) = changes.try_next().await.context("watching the upgrade")? {
        if upgrade.status == shown {
            continue;
        }
        if matches!(output, Output::Table | Output::Wide) {
            table::print("")?;
        }
        show(hub, &upgrade, output)?;
        if is_over(&upgrade) {
            return Ok(());
        }
        shown = upgrade.status;
    }
    Ok(())
}

/// The upgrades of the namespace, or of all; or the one of this name.
///
/// # Errors
/// If they cannot be read, or there is none of the name.
pub async fn upgrades(
    hub: &Hub,
    name: Option<&str>,
    all_namespaces: bool,
) -> anyhow::Result<Vec<ManagedClustersUpgrade>> {
    if let Some(name) = name {
        return Ok(vec![hub.upgrade(name).await?]);
    }
    let api: Api<ManagedClustersUpgrade> = if all_namespaces {
        Api::all(hub.client.clone())
    } else {
        hub.upgrades()
    };
    let upgrades = list_all(&api, ListParams::default()).await;
    upgrades.context("listing the ManagedClustersUpgrades")
}

async fn all(hub: &Hub, arguments: &StatusArguments) -> anyhow::Result<()> {
    let upgrades = upgrades(hub, None, arguments.all_namespaces).await?;
    if let Some(text) = table::for_scripts(&upgrades, arguments.output)? {
        table::print(&text)?;
        return Ok(());
    }
    if upgrades.is_empty() {
        let place = if arguments.all_namespaces {
            "any namespace".to_owned()
        } else {
            format!("namespace {}", hub.namespace)
        };
        table::print(&format!("There is no ManagedClustersUpgrade in {place}."))?;
        return Ok(());
    }
    let mut header = vec![
        "NAME",
        "TARGET",
        "SELECTED",
        "COMPLETE",
        "FAILED",
        "IN FLIGHT",
        "PHASE",
        "ENDS",
    ];
    if arguments.all_namespaces {
        header.insert(0, "NAMESPACE");
    }
    let mut shown = table::plain(&header);
    for upgrade in &upgrades {
        let mut cells = row(upgrade);
        if arguments.all_namespaces {
            cells.insert(0, upgrade.namespace().unwrap_or_default());
        }
        shown.add_row(cells);
    }
    table::print(&table::text(&shown))?;
    Ok(())
}

/// What an upgrade asks for.
pub fn target(upgrade: &ManagedClustersUpgrade) -> String {
    let platform = upgrade.spec.cluster_version.as_ref();
    let platform = platform.and_then(|version| version.version.clone().or(version.image.clone()));
    platform.unwrap_or_else(|| "operators".to_owned())
}

fn in_flight(summary: &ClustersSummary) -> i64 {
    summary.total - summary.pending - summary.complete - summary.failed
}

fn row(upgrade: &ManagedClustersUpgrade) -> Vec<String> {
    let status = upgrade.status.clone().unwrap_or_default();
    let summary = status.clusters_summery.unwrap_or_default();
    vec![
        upgrade.name_any(),
        target(upgrade),
        status.selected_clusters.unwrap_or_default().to_string(),
        summary.complete.to_string(),
        summary.failed.to_string(),
        in_flight(&summary).to_string(),
        status.phase.clone().unwrap_or_else(|| "-".to_owned()),
        forecast::short(&status),
    ]
}

fn show(hub: &Hub, upgrade: &ManagedClustersUpgrade, output: Output) -> anyhow::Result<()> {
    let text = table::for_scripts(upgrade, output)?;
    let named = hub.named(&upgrade.namespace().unwrap_or_default(), &upgrade.name_any());
    table::print(&text.unwrap_or_else(|| render(upgrade, &named, hub.now())))?;
    Ok(())
}

/// How many clusters are where.
fn heading(upgrade: &ManagedClustersUpgrade, summary: &ClustersSummary) -> Vec<String> {
    let clusters = if summary.total == 1 { "cluster" } else { "clusters" };
    let mut lines = vec![format!(
        "{} upgrades {} {clusters} to {}",
        upgrade.name_any(),
        summary.total,
        target(upgrade)
    )];
    if let Some(not_seen) = NotSeen::of(upgrade) {
        lines.push(format!("  {}: {}", not_seen.words(), NotSeen::WHERE_TO_LOOK));
    }
    lines.push(format!(
        "  {} complete, {} in flight, {} failed, {} not started",
        summary.complete,
        in_flight(summary),
        summary.failed,
        summary.pending
    ));
    lines
}

/// One upgrade for people: what it is about, why it stands where it stands, and the clusters that move or need attention. Commands call it
/// `named`.
fn render(upgrade: &ManagedClustersUpgrade, named: &str, now: Timestamp) -> String {
    let status = upgrade.status.clone().unwrap_or_default();
    let summary = status.clusters_summery.unwrap_or_default();
    let mut lines = heading(upgrade, &summary);
    if let Some(canaries) = &status.canary_clusters_summery {
        lines.push(format!(
            "  canaries: {} of {} complete, {} failed",
            canaries.complete, canaries.total, canaries.failed
        ));
    }
    lines.extend(forecast::lines(upgrade, named, now));
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let shown = [
        condition::SELECTED,
        condition::IN_PROGRESS,
        condition::FAILED,
        condition::DELETING,
    ];
    for type_ in shown {
        let wanted = |found: &&_| match type_ {
            condition::SELECTED => !conditions::is_true(std::slice::from_ref(*found), type_),
            condition::FAILED => conditions::is_true(std::slice::from_ref(*found), type_),
            _ => true,
        };
        if let Some(found) = conditions::find(conditions, type_).filter(wanted) {
            let message = table::printable(found.message());
            lines.push(format!("  {type_}: {}: {message}", found.reason));
        }
    }
    let clusters = status.clusters.as_deref().unwrap_or_default();
    if !clusters.is_empty() {
        let mut shown = table::plain(&["CLUSTER", "CANARY", "STATE", "FOR", "VERSION", "MESSAGE"]);
        for cluster in clusters {
            let since = cluster.since.as_ref();
            let lasts = since.map(|since| table::short(now.duration_since(since.0)));
            shown.add_row([
                Cell::new(table::printable(&cluster.name)),
                Cell::new(table::yes(cluster.canary == Some(true))),
                table::state(&cluster.state),
                Cell::new(lasts.as_deref().unwrap_or("-")),
                Cell::new(table::printable(cluster.version.as_deref().unwrap_or("-"))),
                Cell::new(table::printable(cluster.message.as_deref().unwrap_or_default())),
            ]);
        }
        lines.push(String::new());
        lines.push(table::text(&shown));
    }
    if let Some(more) = status.clusters_not_listed.filter(|more| *more > 0) {
        lines.push(format!("and {more} more: kubectl drydock clusters {named}"));
    }
    if summary.failed > 0 {
        lines.push(String::new());
        lines.push(format!(
            "What to do about the failed ones: kubectl drydock clusters {named} --state failed"
        ));
    }
    lines.join("\n")
}
