//! What a seed draws: the fleet and what is asked of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_sandbox::access::{Access, Key, Removal};
use drydock_sandbox::bed::{BedSettings, ClusterSettings};
use drydock_sandbox::cluster::Fault;
use drydock_sandbox::ocm::kinds::{MANAGED_CLUSTER, NAMESPACE, PLACEMENT, PLACEMENT_DECISION};
use drydock_sandbox::ocm::names::SCHEDULING_DISABLED;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use semver::Version;
use serde_json::{Value, json};

/// The version that is asked for, and the one that an edit asks for.
pub(super) const TARGETS: [&str; 2] = ["4.14.12", "4.14.13"];

/// A number below `end`.
pub(super) fn below(rng: &mut ChaCha8Rng, end: u64) -> u64 {
    rng.next_u64() % end.max(1)
}

/// The fleet and the upgrade of a run.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    /// Simulated clusters with the real agent on some of them, instead of works that are answered.
    pub real: bool,
    /// The clusters that fail, and how: simulated ones only.
    pub faults: Vec<(usize, Fault)>,
    pub clusters: usize,
    pub canaries: usize,
    pub limit: usize,
    pub max_failures: Option<u64>,
    pub soak_minutes: u64,
    pub pre: bool,
    pub post: bool,
    pub operators: bool,
    /// Of a hundred stages of clusters so many fail.
    pub failures_percent: u64,
}

impl Scenario {
    pub fn draw(rng: &mut ChaCha8Rng, real: bool) -> Self {
        let clusters = 1 + below(rng, if real { 5 } else { 10 }) as usize;
        let chance = |rng: &mut ChaCha8Rng, of: u64| below(rng, of) == 0;
        let faults = (0..clusters)
            .filter_map(|number| {
                let fault = Fault::ALL[below(rng, Fault::ALL.len() as u64) as usize];
                (real && chance(rng, 2)).then_some((number, fault))
            })
            .collect();
        Self {
            real,
            faults,
            clusters,
            canaries: (below(rng, 3) as usize).min(clusters),
            limit: 1 + below(rng, 4) as usize,
            max_failures: chance(rng, 3).then(|| 1 + below(rng, 3)),
            soak_minutes: if chance(rng, 3) { 1 + below(rng, 90) } else { 0 },
            pre: chance(rng, 2),
            post: chance(rng, 2),
            operators: chance(rng, 4),
            failures_percent: if chance(rng, 2) { below(rng, 25) } else { 0 },
        }
    }

    /// A small rollout with a canary and every kind of work, in which nothing fails.
    pub fn small() -> Self {
        Self {
            real: false,
            faults: Vec::new(),
            clusters: 3,
            canaries: 1,
            limit: 2,
            max_failures: None,
            soak_minutes: 10,
            pre: true,
            post: true,
            operators: true,
            failures_percent: 0,
        }
    }

    pub fn names(&self) -> Vec<String> {
        (0..self.clusters).map(|number| format!("c{number}")).collect()
    }

    pub fn is_canary(&self, name: &str) -> bool {
        self.names()
            .iter()
            .take(self.canaries)
            .any(|canary| canary == name)
    }

    /// The bed of simulated clusters: every other one has the agent.
    pub fn bed(&self, seed: u64) -> BedSettings {
        let cluster = |number: usize| {
            let name = format!("c{number}");
            let labels = if self.is_canary(&name) {
                BTreeMap::from([("canary".to_owned(), "yes".to_owned())])
            } else {
                BTreeMap::new()
            };
            let faults = self.faults.iter().filter(|(failing, _)| *failing == number);
            ClusterSettings {
                labels,
                agent: number % 2 == 1,
                faults: faults.map(|(_, fault)| *fault).collect(),
                ..ClusterSettings::new(name, Version::new(4, 14, 9), "stable-4.14")
            }
        };
        BedSettings {
            clusters: (0..self.clusters).map(cluster).collect(),
            placement: Some(("default".to_owned(), "all".to_owned())),
            ..BedSettings::demo(0, seed)
        }
    }

    /// Makes the clusters, and a Placement that is decided once and for all.
    pub async fn prepare(&self, hub: &Access) -> anyhow::Result<()> {
        for name in self.names() {
            self.join(hub, &name).await?;
        }
        self.place(hub).await
    }

    /// The hub gets a cluster that nobody has upgraded yet.
    pub async fn join(&self, hub: &Access, name: &str) -> anyhow::Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        hub.create(&NAMESPACE, namespace).await?;
        let labels = if self.is_canary(name) {
            json!({"canary": "yes"})
        } else {
            json!({})
        };
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels},
            "spec": {"hubAcceptsClient": true},
        });
        let mut cluster = hub.create(&MANAGED_CLUSTER, cluster).await?.value().clone();
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": "True", "reason": kind, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        let conditions: Vec<Value> = [
            "HubAcceptedManagedCluster",
            "ManagedClusterJoined",
            "ManagedClusterConditionAvailable",
        ]
        .into_iter()
        .map(condition)
        .collect();
        cluster["status"] = json!({
            "conditions": conditions,
            "clusterClaims": [{"name": "version.openshift.io", "value": "4.14.9"}],
        });
        hub.replace_status(&MANAGED_CLUSTER, cluster).await?;
        Ok(())
    }

    /// The hub loses a cluster, and with its namespace its works.
    pub async fn leave(&self, hub: &Access, name: &str) -> anyhow::Result<()> {
        let (key, now) = (Key::cluster(name), Removal::default());
        hub.delete(&MANAGED_CLUSTER, &key, &now).await?;
        hub.delete(&NAMESPACE, &key, &now).await?;
        Ok(())
    }

    async fn place(&self, hub: &Access) -> anyhow::Result<()> {
        let api = "cluster.open-cluster-management.io/v1beta1";
        let placement = json!({
            "apiVersion": api, "kind": "Placement", "spec": {},
            "metadata": {"name": "all", "namespace": "default", "annotations": {SCHEDULING_DISABLED: "true"}},
        });
        let placement = hub.create(&PLACEMENT, placement).await?;
        let page = json!({
            "apiVersion": api, "kind": "PlacementDecision",
            "metadata": {"name": "all-decision-1", "namespace": "default", "ownerReferences": [{
                "apiVersion": api, "kind": "Placement", "name": "all", "uid": placement.uid(),
            }], "labels": {
                "cluster.open-cluster-management.io/placement": "all",
                "cluster.open-cluster-management.io/decision-group-index": "0",
            }},
        });
        hub.create(&PLACEMENT_DECISION, page).await?;
        self.decide(hub, &self.names().into_iter().collect()).await
    }

    /// Lets the Placement select these clusters: first the page says so, then the Placement, as with the real one.
    pub async fn decide(&self, hub: &Access, selected: &BTreeSet<String>) -> anyhow::Result<()> {
        let key = Key::namespaced("default", "all-decision-1");
        let mut page = hub.get(&PLACEMENT_DECISION, &key).await?.value().clone();
        let decisions: Vec<Value> = selected
            .iter()
            .map(|name| json!({"clusterName": name, "reason": ""}))
            .collect();
        page["status"] = json!({"decisions": decisions});
        hub.replace_status(&PLACEMENT_DECISION, page).await?;
        let key = Key::namespaced("default", "all");
        let mut placement = hub.get(&PLACEMENT, &key).await?.value().clone();
        placement["status"] = json!({
            "numberOfSelectedClusters": selected.len(),
            "decisionGroups": [{
                "decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["all-decision-1"],
                "clustersCount": selected.len(),
            }],
            "conditions": [{
                "type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        });
        hub.replace_status(&PLACEMENT, placement).await?;
        Ok(())
    }

    /// The upgrade of all of them.
    pub fn upgrade(&self) -> anyhow::Result<ManagedClustersUpgrade> {
        let action = |name: &str| {
            let job = json!({
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
            });
            json!({"manifestWork": {"workload": {"manifests": [job]}}})
        };
        let mut strategy = json!({"maxConcurrency": self.limit, "upgradeVia": if self.real { "Auto" } else { "ClusterVersion" }});
        if self.canaries > 0 {
            strategy["canaryClusters"] = json!({
                "clusterSelector": {"matchLabels": {"canary": "yes"}},
                "soakTime": format!("{}m", self.soak_minutes),
            });
        }
        if let Some(failures) = self.max_failures {
            strategy["maxFailures"] = failures.into();
        }
        let mut spec = BTreeMap::from([
            ("placement", json!([{"name": "all", "namespace": "default"}])),
            (
                "clusterVersion",
                json!({"channel": "stable-4.14", "version": TARGETS[0]}),
            ),
            ("upgradeStrategy", strategy),
        ]);
        if self.pre {
            spec.insert("preUpgradeAction", action("before"));
        }
        if self.post {
            spec.insert("postUpgradeAction", action("after"));
        }
        if self.operators {
            spec.insert("ocpOperators", json!({"approveAllUpgrades": true}));
        }
        serde_json::from_value(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
            "metadata": {"name": "sim", "namespace": "default"}, "spec": spec,
        }))
        .context("building the upgrade of a scenario")
    }
}
