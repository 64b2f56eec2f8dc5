//! The fleet of a run: works that are answered without clusters, or simulated clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context;
use drydock_agent::Network;
use drydock_api::names::FREEZE_CALENDAR_LABEL;
use drydock_runtime::Clock;
use drydock_sandbox::test_env::{ClusterSettings, TestEnv, TestEnvSettings};
use jiff::SignedDuration;
use kube_sandbox::access::{Access, Kind};
use kube_sandbox::server::ApiServer;
use ocm_sandbox::kinds::{
    MANAGED_CLUSTER_ADD_ON, MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING, PLACEMENT,
};
use ocm_sandbox::spokes::{StubWorkAgent, StubWorkAgentSettings};
use semver::Version;
use serde_json::{Value, json};

use super::draw::{self, CALENDAR, CALENDAR_TEXT, Drawn, INSTALLED, NAMESPACES};
use super::scenario::Scenario;
use crate::hub_fleet::{HubFleet, Joining};
use crate::local_fleet::programs;

const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);

/// A hub and what answers it.
pub(super) struct Fleet {
    pub hub: ApiServer,
    pub user: Access,
    pub clock: Clock,
    /// Works that are answered.
    pub light: Option<HubFleet>,
    env: Option<Arc<TestEnv>>,
    with_agent: Vec<String>,
}

impl Fleet {
    pub async fn start(scenario: &Scenario, seed: u64) -> anyhow::Result<Self> {
        if scenario.real {
            Self::of_clusters(scenario, seed).await
        } else {
            Self::of_works(scenario, seed).await
        }
    }

    async fn of_clusters(scenario: &Scenario, seed: u64) -> anyhow::Result<Self> {
        let clock = Clock::simulated(crate::local_fleet::EPOCH);
        let cluster = |(number, drawn): (usize, &Drawn)| {
            let labels = drawn.labels.as_object().into_iter().flatten();
            let labels =
                labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
            let faults = scenario.faults.iter().filter(|(failing, _)| *failing == number);
            ClusterSettings {
                labels: labels.collect::<BTreeMap<_, _>>(),
                agent: number % 2 == 1,
                faults: faults.map(|(_, fault)| *fault).collect::<BTreeSet<_>>(),
                ..ClusterSettings::new(drawn.name.as_str(), Version::new(4, 14, 9), "stable-4.14")
            }
        };
        let settings = TestEnvSettings {
            programs: programs(),
            clusters: scenario.clusters.iter().enumerate().map(cluster).collect(),
            placement: None,
            ..TestEnvSettings::demo(0, seed)
        };
        let with_agent = settings.clusters.iter().filter(|cluster| cluster.agent);
        let with_agent = with_agent.map(|cluster| cluster.name.clone()).collect();
        let env = TestEnv::start(settings, clock.clone()).await?;
        let hub = env
            .hub_server()
            .context("the test environment's hub is in this process")?
            .clone();
        let fleet = Self {
            user: Access::memory(&hub, "user"),
            hub,
            clock,
            light: None,
            env: Some(Arc::new(env)),
            with_agent,
        };
        fleet.namespace("team").await?;
        fleet.bind("dev", "team").await?;
        fleet.place(scenario).await?;
        Ok(fleet)
    }

    async fn of_works(scenario: &Scenario, seed: u64) -> anyhow::Result<Self> {
        let settings = StubWorkAgentSettings {
            durations: [20, 45, 70, 100, 150].map(SignedDuration::from_mins).to_vec(),
            seed,
            version: INSTALLED.to_owned(),
            failures: scenario.failures,
            late: scenario.late,
            nonsense: scenario.nonsense,
            findings: scenario.findings,
            offers: draw::TARGETS.map(str::to_owned).to_vec(),
            finalizers: scenario.finalizers,
            ..StubWorkAgentSettings::default()
        };
        let light = HubFleet::without_hub(0, settings).await?;
        let fleet = Self {
            hub: light.server.clone(),
            user: light.user.clone(),
            clock: light.clock.clone(),
            light: Some(light),
            env: None,
            with_agent: Vec::new(),
        };
        fleet.namespace("team").await?;
        for set in draw::SETS {
            fleet.make_set(set).await?;
            for namespace in NAMESPACES
                .into_iter()
                .filter(|namespace| (set, *namespace) != ("global", "default"))
            {
                fleet.bind(set, namespace).await?;
            }
        }
        for drawn in &scenario.clusters {
            fleet.join(drawn).await?;
        }
        fleet.place(scenario).await?;
        Ok(fleet)
    }

    /// Makes the Placements of all namespaces.
    pub async fn place(&self, scenario: &Scenario) -> anyhow::Result<()> {
        for namespace in NAMESPACES {
            self.user.create(&CONFIG_MAP, calendar(namespace)).await?;
            for (name, required) in &scenario.placements {
                self.user
                    .create(&PLACEMENT, placement(namespace, name, required))
                    .await?;
            }
        }
        Ok(())
    }

    /// Makes a namespace, unless it is there.
    pub async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.user.create(&ocm_sandbox::kinds::NAMESPACE, namespace).await {
            Err(error) if !error.is_already_exists() => Err(error).context("making a namespace"),
            _ => Ok(()),
        }
    }

    /// Makes a cluster set, unless it is there.
    pub async fn make_set(&self, name: &str) -> anyhow::Result<()> {
        let members = if name == "blue" {
            json!({"matchLabels": {"env": "blue"}})
        } else {
            json!({})
        };
        let set = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": name},
            "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": members}},
        });
        match self.user.create(&MANAGED_CLUSTER_SET, set).await {
            Err(error) if !error.is_already_exists() => Err(error).context("making a cluster set"),
            _ => Ok(()),
        }
    }

    /// Lets Placements of a namespace select from a set.
    pub async fn bind(&self, set: &str, namespace: &str) -> anyhow::Result<()> {
        let binding = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": {"name": set, "namespace": namespace}, "spec": {"clusterSet": set},
        });
        match self.user.create(&MANAGED_CLUSTER_SET_BINDING, binding).await {
            Err(error) if !error.is_already_exists() => Err(error).context("binding a cluster set"),
            _ => Ok(()),
        }
    }

    /// A cluster joins that nobody has upgraded yet.
    pub async fn join(&self, drawn: &Drawn) -> anyhow::Result<()> {
        let Some(light) = &self.light else {
            return Ok(());
        };
        light.spokes.remove(&drawn.name);
        light
            .spokes
            .with(&drawn.name, |cluster, _| cluster.has_agent(drawn.agent));
        let joining = Joining {
            labels: drawn.labels.clone(),
            claims: drawn.claims,
            product: drawn.is_other_product.then_some("EKS"),
            ..Joining::new(&drawn.name)
        };
        light.join(&joining).await?;
        if drawn.agent {
            self.make_add_on(&drawn.name).await?;
        }
        Ok(())
    }

    /// The agent's add-on is Available on a cluster.
    pub async fn make_add_on(&self, cluster: &str) -> anyhow::Result<()> {
        let add_on = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
            "metadata": {"name": drydock_api::names::AGENT_ADDON, "namespace": cluster}, "spec": {},
        });
        let mut add_on = self
            .user
            .create(&MANAGED_CLUSTER_ADD_ON, add_on)
            .await?
            .value()
            .clone();
        add_on["status"] = json!({"conditions": [{
            "type": "Available", "status": "True", "reason": "Available", "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
        self.user.replace_status(&MANAGED_CLUSTER_ADD_ON, add_on).await?;
        Ok(())
    }

    pub fn spokes(&self) -> Option<&StubWorkAgent> {
        self.light.as_ref().map(|light| &light.spokes)
    }

    /// The API servers of the clusters that have the agent, and what the agents reach besides.
    pub fn agents(&self) -> Vec<(String, ApiServer, Network)> {
        let clusters = self.with_agent.iter();
        let agent = |name: &String| {
            let env = self.env.as_ref()?;
            let network = Network::in_process(env.outside(name));
            Some((name.clone(), env.spoke(name)?.clone(), network))
        };
        clusters.filter_map(agent).collect()
    }

    /// Cuts the agents of a simulated cluster off from the hub (false), or restores them.
    pub fn set_connected(&self, cluster: &str, connected: bool) {
        if let Some(env) = &self.env {
            env.set_connected(cluster, connected);
        }
    }
}

/// The ConfigMap with the calendar of freezes.
fn calendar(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": CALENDAR.0, "namespace": namespace, "labels": {FREEZE_CALENDAR_LABEL: ""}},
        "data": {CALENDAR.1: CALENDAR_TEXT},
    })
}

/// A Placement that requires this of clusters.
pub(super) fn placement(namespace: &str, name: &str, required: &Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": required}}]},
    })
}
