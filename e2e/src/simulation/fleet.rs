//! The fleet of a run: works that are answered without clusters, or simulated clusters.

use std::sync::Arc;

use anyhow::Context;
use drydock_agent::Network;
use drydock_runtime::Clock;
use drydock_sandbox::access::Access;
use drydock_sandbox::bed::{self, Bed, BedSettings};
use drydock_sandbox::ocm::spokes::{SpokeSettings, Spokes};
use drydock_sandbox::server::{ApiServer, ServerSettings};
use jiff::SignedDuration;
use tokio::task::JoinSet;

use super::events::Connect;
use super::scenario::Scenario;
use crate::yard::programs;

/// A hub and what answers it.
pub(super) struct Fleet {
    pub hub: ApiServer,
    bed: Option<Arc<Bed>>,
    with_agent: Vec<String>,
    _spokes: JoinSet<()>,
}

impl Fleet {
    pub async fn start(scenario: &Scenario, seed: u64, clock: &Clock) -> anyhow::Result<Self> {
        if scenario.real {
            Self::of_clusters(scenario, seed, clock).await
        } else {
            Self::of_works(scenario, seed, clock).await
        }
    }

    async fn of_clusters(scenario: &Scenario, seed: u64, clock: &Clock) -> anyhow::Result<Self> {
        let settings = BedSettings {
            programs: programs(),
            ..scenario.bed(seed)
        };
        let clusters = settings.clusters.iter().filter(|cluster| cluster.agent);
        let with_agent = clusters.map(|cluster| cluster.name.clone()).collect();
        let bed = Bed::start(settings, clock.clone()).await?;
        Ok(Self {
            hub: bed
                .hub_server()
                .context("the bed's hub is in this process")?
                .clone(),
            bed: Some(Arc::new(bed)),
            with_agent,
            _spokes: JoinSet::new(),
        })
    }

    async fn of_works(scenario: &Scenario, seed: u64, clock: &Clock) -> anyhow::Result<Self> {
        let types = bed::hub_types().context("the kinds of a hub")?;
        let hub = ApiServer::new(ServerSettings::new("hub", clock.clone(), seed, types));
        scenario.prepare(&Access::memory(&hub, "user")).await?;
        let settings = SpokeSettings {
            durations: [20, 45, 70, 100, 150].map(SignedDuration::from_mins).to_vec(),
            seed,
            failures: scenario.failures_percent,
            ..SpokeSettings::default()
        };
        let spokes = Spokes::new(settings, clock.clone());
        let mut played = JoinSet::new();
        played.spawn(spokes.run(Access::memory(&hub, "spokes")));
        Ok(Self {
            hub,
            bed: None,
            with_agent: Vec::new(),
            _spokes: played,
        })
    }

    /// The API servers of the clusters that have the agent, and what the agents reach besides.
    pub fn agents(&self) -> Vec<(String, ApiServer, Network)> {
        let clusters = self.with_agent.iter();
        let agent = |name: &String| {
            let bed = self.bed.as_ref()?;
            let network = Network::in_process(bed.outside(name));
            Some((name.clone(), bed.spoke(name)?.clone(), network))
        };
        clusters.filter_map(agent).collect()
    }

    /// What cuts a cluster's agents off from the hub, or restores them.
    pub fn connection(&self) -> Connect {
        let bed = self.bed.clone();
        Box::new(move |cluster, connected| {
            if let Some(bed) = &bed {
                bed.set_connected(cluster, connected);
            }
        })
    }
}
