//! The fleet as it is before the upgrade, and the upgrade.

use anyhow::Context;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::fleet::UPGRADE;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::DynamicObject;
use kube_sandbox::access::{Access, AccessError};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, NAMESPACE, PLACEMENT, PLACEMENT_DECISION};
use ocm_sandbox::names;
use serde_json::{Value, json};

/// How many requests are made at once.
const AT_ONCE: usize = 32;
/// Clusters a page of decisions.
const PAGE: usize = 100;

pub fn namespace(name: &str) -> anyhow::Result<DynamicObject> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    serde_json::from_value(object).context("building a namespace")
}

pub fn name(number: usize) -> String {
    format!("cluster{number:05}")
}

/// This many clusters, and a Placement that selects them all.
pub async fn make_fleet(hub: &Access, size: usize) -> anyhow::Result<()> {
    stream::iter(0..size)
        .map(|number| make_cluster(hub, name(number)))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await
        .context("making the clusters")?;
    place(hub, size).await.context("placing the clusters")
}

fn condition(kind: &str) -> Value {
    json!({
        "type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

async fn make_cluster(hub: &Access, name: String) -> Result<(), AccessError> {
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    hub.create(&NAMESPACE, space).await?;
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": {"name": name, "vendor": "OpenShift"}},
        "spec": {"hubAcceptsClient": true},
    });
    let mut cluster = hub.create(&MANAGED_CLUSTER, cluster).await?.value().clone();
    let conditions = [
        "HubAcceptedManagedCluster",
        "ManagedClusterJoined",
        "ManagedClusterConditionAvailable",
    ]
    .map(condition);
    cluster["status"] = json!({
        "version": {"kubernetes": "v1.27.8"},
        "conditions": conditions,
        "clusterClaims": [
            {"name": "version.openshift.io", "value": "4.14.9"},
            {"name": "id.openshift.io", "value": format!("00000000-0000-4000-8000-{name:0>12}")},
        ],
    });
    hub.replace_status(&MANAGED_CLUSTER, cluster).await.map(drop)
}

async fn place(hub: &Access, size: usize) -> Result<(), AccessError> {
    let api = "cluster.open-cluster-management.io/v1beta1";
    let placement = json!({
        "apiVersion": api, "kind": "Placement", "spec": {},
        "metadata": {"name": "all", "namespace": "default", "annotations": {names::SCHEDULING_DISABLED: "true"}},
    });
    let mut placement = hub.create(&PLACEMENT, placement).await?.value().clone();
    let owner = json!({
        "apiVersion": api, "kind": "Placement", "name": "all", "uid": placement["metadata"]["uid"],
    });
    let numbers: Vec<usize> = (0..size).collect();
    let mut pages = Vec::new();
    for (index, members) in numbers.chunks(PAGE).enumerate() {
        let page_name = format!("all-decision-{}", index + 1);
        let page = json!({
            "apiVersion": api, "kind": "PlacementDecision",
            "metadata": {"name": page_name, "namespace": "default", "ownerReferences": [owner], "labels": {
                names::PLACEMENT_LABEL: "all", names::DECISION_GROUP_INDEX_LABEL: "0",
            }},
        });
        let mut page = hub.create(&PLACEMENT_DECISION, page).await?.value().clone();
        let decisions: Vec<Value> = members
            .iter()
            .map(|number| json!({"clusterName": name(*number), "reason": ""}))
            .collect();
        page["status"] = json!({"decisions": decisions});
        hub.replace_status(&PLACEMENT_DECISION, page).await?;
        pages.push(page_name);
    }
    placement["status"] = json!({
        "numberOfSelectedClusters": size,
        "decisionGroups": [{
            "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": pages, "clustersCount": size,
        }],
        "conditions": [condition("PlacementSatisfied")],
    });
    hub.replace_status(&PLACEMENT, placement).await.map(drop)
}

/// The upgrade of all of them at once.
pub fn upgrade(size: usize) -> anyhow::Result<ManagedClustersUpgrade> {
    serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": UPGRADE, "namespace": "default"},
        "spec": {
            "placement": [{"name": "all", "namespace": "default"}],
            "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            "upgradeStrategy": {"maxConcurrency": size, "upgradeVia": "ClusterVersion"},
        },
    }))
    .context("building the upgrade")
}
