//! A bed in this process with the real hub and agents running in it, under paused time.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use drydock_agent::install_plans;
use drydock_api::names;
use drydock_runtime::Clock;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_sandbox::bed::{Bed, BedSettings, Outside};
use drydock_sandbox::cluster::Programs;
use drydock_sandbox::server::ApiServer;
use jiff::Timestamp;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// When virtual time begins.
pub const EPOCH: Timestamp = Timestamp::constant(1_767_600_000, 0);

/// What is there first on a cluster: the agent, or the objects that a test writes.
#[derive(Clone, Copy, Debug)]
enum Order {
    AgentFirst,
    ObjectsFirst,
}

impl Order {
    /// The order of this run of the tests: `AGENT_ORDER=objects-first` is the other one.
    fn of_run() -> Self {
        match std::env::var("AGENT_ORDER").as_deref() {
            Ok("objects-first") => Self::ObjectsFirst,
            _ => Self::AgentFirst,
        }
    }

    /// What a test writes at its beginning takes no virtual time.
    async fn wait(self) {
        if matches!(self, Self::ObjectsFirst) {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    }
}

/// The bed and what runs in it.
pub struct Yard {
    /// The hub's API server, the clusters and OCM's part.
    pub bed: Bed,
    /// Virtual time.
    pub clock: Clock,
    agents: JoinSet<Result<(), String>>,
    registries: BTreeMap<String, prometheus::Registry>,
    hub: Option<Running>,
    stop: CancellationToken,
}

struct Running {
    task: tokio::task::JoinHandle<Result<(), String>>,
    stop: CancellationToken,
}

impl Yard {
    /// Starts a bed, an agent on each cluster that has one, and the hub.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn start(settings: BedSettings) -> anyhow::Result<Self> {
        let mut yard = Self::without_hub(settings).await?;
        yard.start_hub(drydock_hub::Settings::default())?;
        Ok(yard)
    }

    /// Starts a bed and an agent on each cluster that has one.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn without_hub(settings: BedSettings) -> anyhow::Result<Self> {
        Self::with_outside(settings, |outside| outside).await
    }

    /// Starts a bed and an agent on each cluster that has one, which reaches what `extend` makes of what there is besides
    /// API servers.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn with_outside(
        mut settings: BedSettings,
        extend: impl Fn(Outside) -> Outside,
    ) -> anyhow::Result<Self> {
        let clock = Clock::simulated(EPOCH);
        let stop = CancellationToken::new();
        let with_agent: Vec<String> = settings
            .clusters
            .iter()
            .filter(|cluster| cluster.agent)
            .map(|cluster| cluster.name.clone())
            .collect();
        settings.programs = programs();
        let bed = Bed::start(settings, clock.clone())
            .await
            .context("starting the bed")?;
        let (mut agents, mut registries) = (JoinSet::new(), BTreeMap::new());
        for name in with_agent {
            let spoke = bed
                .spoke(&name)
                .with_context(|| format!("the bed has no {name}"))?;
            let client = stack(spoke, names::AGENT_MANAGER)?;
            let (clock, stop) = (clock.clone(), stop.clone());
            let network = drydock_agent::Network::in_process(extend(bed.outside(&name)));
            let registry = prometheus::Registry::new();
            registries.insert(name.clone(), registry.clone());
            let order = Order::of_run();
            agents.spawn(async move {
                order.wait().await;
                let settings = drydock_agent::Settings {
                    network,
                    registry,
                    ..drydock_agent::Settings::default()
                };
                let ended = drydock_agent::run(settings, client, clock, stop).await;
                ended.map_err(|error| error.to_string())
            });
        }
        Ok(Self {
            bed,
            clock,
            agents,
            registries,
            hub: None,
            stop,
        })
    }

    /// Starts the hub; it must not run.
    ///
    /// # Errors
    /// If the bed's hub is not in this process.
    pub fn start_hub(&mut self, settings: drydock_hub::Settings) -> anyhow::Result<()> {
        let client = stack(self.hub_server()?, names::HUB_MANAGER)?;
        let (clock, stop) = (self.clock.clone(), self.stop.child_token());
        let task = {
            let stop = stop.clone();
            tokio::spawn(async move {
                let ended = drydock_hub::run(settings, client, clock, stop).await;
                ended.map_err(|error| error.to_string())
            })
        };
        self.hub = Some(Running { task, stop });
        Ok(())
    }

    /// Ends the hub as a kill does: in the middle of whatever it is doing.
    pub async fn kill_hub(&mut self) {
        if let Some(running) = self.hub.take() {
            running.task.abort();
            // That it was aborted is what was asked for.
            let _aborted = running.task.await;
            running.stop.cancel();
        }
    }

    /// The hub's API server.
    ///
    /// # Errors
    /// If it is not in this process, which a bed of this yard rules out.
    pub fn hub_server(&self) -> anyhow::Result<&ApiServer> {
        self.bed
            .hub_server()
            .context("the bed's hub is not in this process")
    }

    /// A user of the hub.
    ///
    /// # Errors
    /// As [`Self::hub_server`].
    pub fn user(&self) -> anyhow::Result<Client> {
        Ok(self.hub_server()?.client("user"))
    }

    /// A user of a cluster.
    ///
    /// # Errors
    /// If there is no such cluster.
    pub fn user_of(&self, cluster: &str) -> anyhow::Result<Client> {
        let spoke = self.bed.spoke(cluster);
        Ok(spoke
            .with_context(|| format!("the bed has no {cluster}"))?
            .client("user"))
    }

    /// The metrics of a cluster's agent, as they are scraped.
    ///
    /// # Errors
    /// If the cluster has no agent, or the metrics cannot be written as text.
    pub fn metrics(&self, cluster: &str) -> anyhow::Result<String> {
        let registry = self.registries.get(cluster);
        let registry = registry.with_context(|| format!("{cluster} has no agent"))?;
        Ok(prometheus::TextEncoder::new().encode_to_string(&registry.gather())?)
    }

    /// Stops everything.
    ///
    /// # Errors
    /// If the hub or an agent had ended with an error.
    pub async fn shut_down(mut self) -> anyhow::Result<()> {
        self.stop.cancel();
        if let Some(running) = self.hub.take() {
            running
                .task
                .await
                .context("the hub panicked")?
                .map_err(anyhow::Error::msg)
                .context("the hub ended")?;
        }
        while let Some(ended) = self.agents.join_next().await {
            ended
                .context("an agent panicked")?
                .map_err(anyhow::Error::msg)
                .context("an agent ended")?;
        }
        self.bed.shut_down().await;
        Ok(())
    }
}

/// The client that the programs use, for a server in this process.
///
/// # Errors
/// If its metrics cannot be registered, which a new registry rules out.
pub fn stack(server: &ApiServer, user_agent: &str) -> anyhow::Result<Client> {
    let metrics = RequestMetrics::register(&prometheus::Registry::new()).context("registering metrics")?;
    Ok(client::from_service(
        server.service(user_agent),
        "default",
        &metrics,
    ))
}

/// What pods run as they would outside.
pub(crate) fn programs() -> Programs {
    Programs::default().with(&names::APPROVE_COMMAND, |pod| async move {
        let variable = |name: &str| pod.environment.get(name).cloned();
        install_plans::run(variable, &pod.client, &pod.clock)
            .await
            .is_ok()
    })
}
