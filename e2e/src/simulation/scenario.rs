//! The fleet and the first upgrades of a run.

use std::collections::BTreeMap;

use openshift_sandbox::cluster::Fault;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::draw::{self, ALL, Drawn, PLACEMENTS, Which, below, chance};
use crate::hub_fleet::action;

/// The fleet and the first upgrades of a run.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    /// Simulated clusters with the real agent on some of them, instead of works that are answered.
    pub real: bool,
    /// The clusters that fail, and how: simulated ones only.
    pub faults: Vec<(usize, Fault)>,
    pub clusters: Vec<Drawn>,
    /// What the Placements of both namespaces require of clusters.
    pub placements: BTreeMap<&'static str, Value>,
    pub upgrades: Vec<(Which, Value)>,
    /// In a hundred, what fails, is late, or is answered with nonsense.
    pub failures: u64,
    pub late: u64,
    pub nonsense: u64,
    /// In a hundred, plans for which something is found.
    pub findings: u64,
    pub finalizers: bool,
}

impl Scenario {
    pub fn draw(rng: &mut ChaCha8Rng, real: bool) -> Self {
        let count = 3 + below(rng, if real { 2 } else { 6 }) as usize;
        let names = draw::names(count);
        let clusters: Vec<Drawn> = names.iter().map(|name| draw::cluster(rng, name)).collect();
        let faults = (0..count)
            .filter_map(|number| {
                let fault = Fault::ALL[below(rng, Fault::ALL.len() as u64) as usize];
                (real && chance(rng, 40)).then_some((number, fault))
            })
            .collect();
        let placements = PLACEMENTS
            .into_iter()
            .map(|name| (name, draw::selector(rng, count)))
            .collect();
        let upgrades = 2 + below(rng, 3) as usize;
        let upgrades = ALL
            .iter()
            .take(upgrades)
            .map(|which| (which.clone(), draw::spec(rng, count, real)));
        Self {
            real,
            faults,
            clusters,
            placements,
            upgrades: upgrades.collect(),
            failures: draw::pick(rng, &[0, 0, 5, 20]),
            late: draw::pick(rng, &[0, 0, 5, 20]),
            nonsense: draw::pick(rng, &[0, 0, 10]),
            findings: draw::pick(rng, &[0, 30, 80]),
            finalizers: chance(rng, 60),
        }
    }

    /// A small rollout with a canary and every kind of work, in which nothing fails.
    pub fn small() -> Self {
        let clusters = draw::names(3).into_iter().map(|name| Drawn {
            labels: json!({"env": "blue", "canary": if name == "c0" { "yes" } else { "no" }}),
            name,
            claims: true,
            is_other_product: false,
            agent: false,
        });
        let spec = json!({
            "clusterSelector": {"matchLabels": {"env": "blue"}},
            "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            "ocpOperators": {"approveAllUpgrades": true},
            "preUpgradeAction": action("before"),
            "postUpgradeAction": action("after"),
            "upgradeStrategy": {
                "maxConcurrency": 2, "upgradeVia": "ClusterVersion",
                "canaryClusters": {"clusterSelector": {"matchLabels": {"canary": "yes"}}, "soakTime": "10m"},
            },
        });
        Self {
            real: false,
            faults: Vec::new(),
            clusters: clusters.collect(),
            placements: BTreeMap::new(),
            upgrades: vec![(ALL[1].clone(), spec)],
            failures: 0,
            late: 0,
            nonsense: 0,
            findings: 0,
            finalizers: false,
        }
    }

    pub fn names(&self) -> Vec<String> {
        self.clusters.iter().map(|cluster| cluster.name.clone()).collect()
    }
}
