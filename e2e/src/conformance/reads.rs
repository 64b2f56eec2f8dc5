//! Reading: lists, pages, watches.

use std::collections::BTreeSet;

use anyhow::ensure;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;

use super::{Case, refused};

/// The pages of a list show one moment, whatever happens in between.
///
/// # Errors
/// If the server behaves in another way.
pub async fn pages_of_a_list_show_one_moment(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "pages").await?;
    for number in 0..5 {
        case.make(json!({"metadata": {"name": format!("m{number}"), "labels": {"case": "pages"}}}))
            .await?;
    }
    let first = case.maps().list(&ListParams::default().limit(2)).await?;
    ensure!(first.items.len() == 2);
    case.maps().delete("m3", &DeleteParams::default()).await?;
    let token = first.metadata.continue_.unwrap_or_default();
    let parameters = ListParams::default().limit(50).continue_token(&token);
    let rest = case.maps().list(&parameters).await?;
    let mut names: Vec<String> = first
        .items
        .iter()
        .chain(&rest.items)
        .map(ResourceExt::name_any)
        .collect();
    names.retain(|name| name.starts_with('m'));
    ensure!(names == ["m0", "m1", "m2", "m3", "m4"], "{names:?}");
    Ok(())
}

/// Labels and fields select; a selector that cannot be read is refused.
///
/// # Errors
/// If the server behaves in another way.
pub async fn selectors_select(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "selectors").await?;
    for (name, tier) in [("a", "web"), ("b", "data"), ("c", "web")] {
        case.make(json!({"metadata": {"name": name, "labels": {"tier": tier}}}))
            .await?;
    }
    for (labels, expected) in [
        ("tier=web", vec!["a", "c"]),
        ("tier!=web,tier", vec!["b"]),
        ("tier in (web, data)", vec!["a", "b", "c"]),
        ("tier notin (web),tier", vec!["b"]),
        ("!tier,x", vec![]),
    ] {
        let found = case.maps().list(&ListParams::default().labels(labels)).await?;
        let names: Vec<String> = found.iter().map(ResourceExt::name_any).collect();
        ensure!(names == expected, "{labels}: {names:?}");
    }
    let one = case
        .maps()
        .list(&ListParams::default().fields("metadata.name=b"))
        .await?;
    ensure!(one.items.len() == 1);
    refused(
        case.maps().list(&ListParams::default().labels("a in b")).await,
        400,
        "BadRequest",
    )?;
    refused(
        case.maps().list(&ListParams::default().fields("data.x=1")).await,
        400,
        "BadRequest",
    )?;
    Ok(())
}

/// A watch continues from its version, and reports what comes into its selector and what leaves it.
///
/// # Errors
/// If the server behaves in another way.
pub async fn a_watch_tells_what_comes_and_what_leaves(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "watches").await?;
    let first = case
        .make(json!({"metadata": {"name": "a", "labels": {"in": "yes"}}}))
        .await?;
    let since = first.resource_version().unwrap_or_default();
    let patch = json!({"metadata": {"labels": {"in": "no"}}});
    case.maps()
        .patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    case.make(json!({"metadata": {"name": "b", "labels": {"in": "yes"}}}))
        .await?;
    case.make(json!({"metadata": {"name": "c"}})).await?;
    case.maps().delete("b", &DeleteParams::default()).await?;
    let parameters = WatchParams::default().labels("in=yes").timeout(3);
    let stream = case.maps().watch(&parameters, &since).await?;
    let events: Vec<WatchEvent<ConfigMap>> = stream.try_collect().await?;
    let changes: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            WatchEvent::Added(map) => Some(format!("added {}", map.name_any())),
            WatchEvent::Modified(map) => Some(format!("modified {}", map.name_any())),
            WatchEvent::Deleted(map) => Some(format!("deleted {}", map.name_any())),
            WatchEvent::Bookmark(_) | WatchEvent::Error(_) => None,
        })
        .collect();
    ensure!(changes == ["deleted a", "added b", "deleted b"], "{changes:?}");
    Ok(())
}

/// Discovery names our kinds with their short names and parts.
///
/// # Errors
/// If the server behaves in another way.
pub async fn discovery_names_the_kinds(client: Client) -> anyhow::Result<()> {
    let list = client
        .list_api_group_resources("cluster.open-cluster-management.io/v1beta1")
        .await?;
    let names: BTreeSet<&str> = list
        .resources
        .iter()
        .map(|resource| resource.name.as_str())
        .collect();
    ensure!(
        names.contains("managedclustersupgrades") && names.contains("managedclustersupgrades/status"),
        "{names:?}"
    );
    let ours = list
        .resources
        .iter()
        .find(|resource| resource.name == "managedclustersupgrades");
    ensure!(ours.is_some_and(|ours| ours.namespaced && ours.short_names == Some(vec!["mcu".to_owned()])));
    Ok(())
}
