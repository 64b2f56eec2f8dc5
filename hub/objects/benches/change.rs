//! What one change costs among many clusters: one work's feedback changes, and the upgrade is looked at again, beside the first look, in
//! which every cluster is started. Prints ratios; nothing is asserted.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "it measures real time for a person, with objects that are written here"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{CLUSTER_SET_LABEL, PLACEMENT_LABEL, UPGRADE_FINALIZER};
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding, Placement, PlacementDecision,
};
use drydock_objects::{Fleet, FleetKind};
use drydock_rollout::{ClusterName, Uid, UpgradeKey, Work, WorkFeedback, WorkKind, Works};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Clusters of a page of decisions, as OCM has it.
const PAGE: usize = 100;
/// How many changes are measured.
const CHANGES: usize = 1_000;

fn main() {
    println!(
        "{:>8} {:>14} {:>16} {:>8}",
        "clusters", "one change", "the first look", "ratio"
    );
    for clusters in [100, 1_000, 10_000] {
        let (one, all) = measure(clusters);
        println!(
            "{clusters:>8} {:>11.1} µs {:>13.1} µs {:>7.0}x",
            one.as_secs_f64() * 1e6,
            all.as_secs_f64() * 1e6,
            all.as_secs_f64() / one.as_secs_f64()
        );
    }
}

/// What one change costs, and the first look, at everything.
fn measure(clusters: usize) -> (Duration, Duration) {
    let mut bench = Bench::new(clusters);
    let begun = Instant::now();
    let works = bench.start_all();
    let all = begun.elapsed();
    let key = UpgradeKey::new("default", "spring");
    let begun = Instant::now();
    for number in 0..CHANGES {
        let (name, work) = &works[number * 7 % works.len()];
        bench.change(name, work, number);
        let planned = bench.fleet.plan(&key, bench.now).expect("the upgrade is there");
        std::hint::black_box(&planned.plan);
    }
    let one = begun.elapsed() / u32::try_from(CHANGES).unwrap_or(u32::MAX);
    (one, all)
}

struct Bench {
    fleet: Fleet,
    now: Timestamp,
    version: u64,
}

impl Bench {
    /// An upgrade of this many clusters, all ready to start at once.
    fn new(clusters: usize) -> Self {
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

    fn see<K: FleetKind + DeserializeOwned>(&mut self, namespace: &str, name: &str, mut object: Value) {
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

    /// Starts every cluster; gives the works that were made.
    fn start_all(&mut self) -> Vec<(ClusterName, Arc<Work>)> {
        let key = UpgradeKey::new("default", "spring");
        let planned = self.fleet.plan(&key, self.now).expect("the upgrade is there");
        let upgrade = &planned.rollout.upgrade;
        let mut works = Vec::new();
        for action in &planned.plan.actions {
            let Some(name) = action.starts() else { continue };
            let uid = Uid::new(format!("{name}-work"));
            let after = action.work_after(&Works::default(), upgrade, &uid, self.now);
            let Some((_, Some(work))) = after else { continue };
            self.version += 1;
            let _change = self
                .fleet
                .written(action, Some(uid), Some(self.version), self.now);
            works.push((name.clone(), work));
        }
        assert!(!works.is_empty(), "nothing starts");
        for (name, work) in &works {
            self.change(name, work, 0);
        }
        works
    }

    /// The watch brings a work whose cluster says how far it is.
    fn change(&mut self, name: &ClusterName, work: &Arc<Work>, number: usize) {
        let mut work = (**work).clone();
        if let WorkFeedback::ClusterVersion(feedback) = &mut work.feedback {
            feedback.percent = u8::try_from(number % 100).ok();
        }
        self.version += 1;
        let _change = self
            .fleet
            .set_work(name, WorkKind::Cluster, Arc::new(work), self.version);
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
