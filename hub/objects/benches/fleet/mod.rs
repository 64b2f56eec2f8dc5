//! A fleet that benches look at.

use std::sync::Arc;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{CLUSTER_SET_LABEL, PLACEMENT_LABEL, UPGRADE_FINALIZER};
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement, PlacementDecision,
};
use drydock_objects::{Fleet, FleetKind};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Clusters of a page of decisions, as OCM has it.
const PAGE: usize = 100;

/// A hub with one upgrade of a fleet, all of whose clusters are ready to start at once.
pub struct Bench {
    /// What the hub has seen.
    pub fleet: Fleet,
    /// The moment.
    pub now: Timestamp,
    /// The newest resource version.
    pub version: u64,
}

impl Bench {
    /// One of this many clusters.
    pub fn new(clusters: usize) -> Self {
        let mut bench = Self {
            fleet: Fleet::new(false),
            now: "2026-03-01T12:00:00Z".parse().expect("it is a moment"),
            version: 0,
        };
        let names: Vec<String> = (0..clusters).map(|number| format!("c{number:05}")).collect();
        for name in &names {
            bench.see::<ManagedCluster>("", name, cluster());
        }
        bench.see::<ManagedClusterSet>("", "fleet", json!({"spec": {}}));
        bench.see::<ManagedClusterSetBinding>("default", "fleet", json!({"spec": {"clusterSet": "fleet"}}));
        bench.select(&names);
        bench.version += 1;
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
            "metadata": {
                "name": "spring", "namespace": "default", "uid": "spring", "generation": 1,
                "resourceVersion": bench.version.to_string(), "finalizers": [UPGRADE_FINALIZER],
            },
            "spec": {
                "placement": [{"name": "all", "namespace": "default"}],
                "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"},
                "upgradeStrategy": {"maxConcurrency": "100%"},
            },
        }))
        .expect("it is an upgrade");
        let _change = bench.fleet.set_upgrade(&Arc::new(upgrade));
        bench
    }

    /// The watch brings an object.
    pub fn see<K: FleetKind + DeserializeOwned>(&mut self, namespace: &str, name: &str, mut object: Value) {
        self.version += 1;
        object["apiVersion"] = K::api_version(&()).into();
        object["kind"] = K::kind(&()).into();
        object["metadata"]["name"] = name.into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = namespace.into();
        }
        let object: K = serde_json::from_value(object).expect("it is an object of its kind");
        let _change = K::see(&mut self.fleet, namespace, name, Some(&object));
    }

    fn select(&mut self, names: &[String]) {
        let pages: Vec<String> = (1..=names.len().div_ceil(PAGE))
            .map(|number| format!("all-decision-{number}"))
            .collect();
        let groups = json!([{"decisionGroupIndex": 0, "decisionGroupName": "", "clustersCount": names.len(), "decisions": pages}]);
        self.see::<Placement>("default", "all", json!({
            "metadata": {"uid": "all"}, "spec": {},
            "status": {"numberOfSelectedClusters": names.len(), "decisionGroups": groups, "conditions": []},
        }));
        for (page, names) in pages.iter().zip(names.chunks(PAGE)) {
            let decisions: Vec<Value> = names
                .iter()
                .map(|name| json!({"clusterName": name, "reason": ""}))
                .collect();
            let owner = json!([{"apiVersion": "v1", "kind": "Placement", "name": "all", "uid": "all"}]);
            self.see::<PlacementDecision>(
                "default",
                page,
                json!({
                    "metadata": {"labels": {PLACEMENT_LABEL: "all"}, "ownerReferences": owner},
                    "status": {"decisions": decisions},
                }),
            );
        }
    }
}

fn cluster() -> Value {
    let conditions = [
        "HubAcceptedManagedCluster",
        "ManagedClusterJoined",
        "ManagedClusterConditionAvailable",
    ];
    let conditions =
        conditions.map(|name| json!({"type": name, "status": "True", "reason": "", "message": ""}));
    json!({
        "metadata": {"labels": {CLUSTER_SET_LABEL: "fleet"}},
        "spec": {"hubAcceptsClient": true},
        "status": {
            "conditions": conditions,
            "clusterClaims": [{"name": "version.openshift.io", "value": "4.14.10"}],
        },
    })
}
