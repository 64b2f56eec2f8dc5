//! A test environment with Drydock in it: the hub, the simulated clusters, and the real `drydock-hub` and `drydock-agent` running on
//! them, all in one runtime under virtual time.

mod serve;

pub use serve::{Addresses, ServeError};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drydock_agent::{ScheduleSettings, install_plans};
use drydock_api::names;
use drydock_hub::LiveFleet;
use drydock_runtime::Clock;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::tasks::{TaskEnded, Tasks};
use jiff::Timestamp;
use kube::Client;
use kube_sandbox::pace::Pace;
use kube_sandbox::server::ApiServer;
use openshift_sandbox::cluster::Programs;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::test_env::{Outside, TestEnv, TestEnvError, TestEnvSettings};

/// When virtual time begins, unless something else is said: always the same, so that the same seed gives the same run.
pub const EPOCH: Timestamp = Timestamp::constant(1_767_600_000, 0);

/// Why a local fleet could not be started, or ended.
#[derive(Debug, thiserror::Error)]
pub enum LocalFleetError {
    /// The hub and the clusters could not be made.
    #[error("starting the simulated hub and its clusters")]
    TestEnv(#[from] TestEnvError),
    /// A program's client could not be made.
    #[error("registering the metrics of a client's requests")]
    Client(#[from] prometheus::Error),
    /// There is no such server in this process.
    #[error("{0} has no API server in this process")]
    NoServer(String),
    /// There is no such agent.
    #[error("{0} has no agent")]
    NoAgent(String),
    /// A program had ended before it was stopped.
    #[error("running the programs of the local fleet")]
    Ended(#[from] TaskEnded),
    /// The hub panicked or ended with an error.
    #[error("the hub ended: {0}")]
    Hub(String),
}

/// What a program on a cluster reaches besides API servers, made of what there is by default.
pub type Extend = Arc<dyn Fn(Outside) -> Outside + Send + Sync>;

/// How a local fleet is started.
#[derive(Clone)]
pub struct LocalFleetSettings {
    /// The hub and its clusters.
    pub env: TestEnvSettings,
    /// When virtual time begins.
    pub epoch: Timestamp,
    /// How long after the clusters the agents start.
    pub agents_after: Duration,
    /// What agents reach besides API servers.
    pub outside: Extend,
    /// How agents act on maintenance schedules.
    pub schedule: ScheduleSettings,
}

impl LocalFleetSettings {
    /// These clusters, from [`EPOCH`] on, with nothing else to reach.
    pub fn new(env: TestEnvSettings) -> Self {
        Self {
            env,
            epoch: EPOCH,
            agents_after: Duration::ZERO,
            outside: Arc::new(|outside| outside),
            schedule: ScheduleSettings::default(),
        }
    }
}

/// The test environment and what runs in it.
pub struct LocalFleet {
    /// The hub's API server, the clusters and OCM's part.
    pub env: TestEnv,
    /// Virtual time.
    pub clock: Clock,
    tasks: Tasks,
    registries: BTreeMap<String, prometheus::Registry>,
    hub: Option<RunningHub>,
    stop: CancellationToken,
}

struct RunningHub {
    task: JoinHandle<Result<(), String>>,
    stop: CancellationToken,
}

impl LocalFleet {
    /// Starts the clusters, and an agent on each that has one. The hub's controller does not run yet.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn start(settings: LocalFleetSettings) -> Result<Self, LocalFleetError> {
        let clock = Clock::simulated(settings.epoch);
        let stop = CancellationToken::new();
        let with_agent: Vec<String> = settings
            .env
            .clusters
            .iter()
            .filter(|cluster| cluster.agent)
            .map(|cluster| cluster.name.clone())
            .collect();
        let env = TestEnvSettings {
            programs: programs(),
            ..settings.env
        };
        let mut fleet = Self {
            env: TestEnv::start(env, clock.clone()).await?,
            clock,
            tasks: Tasks::new(stop.clone()),
            registries: BTreeMap::new(),
            hub: None,
            stop,
        };
        for name in with_agent {
            let agent = drydock_agent::Settings {
                network: drydock_agent::Network::in_process((settings.outside)(fleet.env.outside(&name))),
                registry: prometheus::Registry::new(),
                schedule: settings.schedule.clone(),
                ..drydock_agent::Settings::default()
            };
            fleet.start_agent(&name, agent, settings.agents_after)?;
        }
        Ok(fleet)
    }

    fn start_agent(
        &mut self,
        cluster: &str,
        settings: drydock_agent::Settings,
        after: Duration,
    ) -> Result<(), LocalFleetError> {
        let client = program_client(self.server_of(cluster)?, names::AGENT_MANAGER)?;
        self.registries
            .insert(cluster.to_owned(), settings.registry.clone());
        let (clock, stop) = (self.clock.clone(), self.stop.clone());
        self.tasks.spawn("agent", async move {
            if !after.is_zero() {
                tokio::time::sleep(after).await;
            }
            drydock_agent::run(settings, client, clock, stop).await
        });
        Ok(())
    }

    /// Starts the hub's controller; it must not run.
    ///
    /// # Errors
    /// If no client can be made.
    pub fn start_hub(&mut self, settings: drydock_hub::Settings) -> Result<(), LocalFleetError> {
        let client = program_client(self.hub_server()?, names::HUB_MANAGER)?;
        let (clock, stop) = (self.clock.clone(), self.stop.child_token());
        let task = {
            let stop = stop.clone();
            tokio::spawn(async move {
                let ended = drydock_hub::run(settings, client, clock, stop).await;
                ended.map_err(|error| error.to_string())
            })
        };
        self.hub = Some(RunningHub { task, stop });
        Ok(())
    }

    /// Ends the hub's controller as a kill does: in the middle of whatever it is doing.
    pub async fn kill_hub(&mut self) {
        if let Some(running) = self.hub.take() {
            running.task.abort();
            // That it was aborted is what was asked for.
            let _aborted = running.task.await;
            running.stop.cancel();
        }
    }

    /// Follows the fleet from the outside, as any user could.
    ///
    /// # Errors
    /// If the hub's server is not in this process.
    pub fn watch(&mut self, pace: drydock_hub::Pace) -> Result<LiveFleet, LocalFleetError> {
        let client = self.client("kubectl-drydock")?;
        Ok(LiveFleet::follow(
            &client,
            &self.clock,
            pace,
            &mut self.tasks,
            &self.stop,
        ))
    }

    /// Where what else runs on the fleet is started, with the token that ends it.
    pub fn tasks(&mut self) -> (&mut Tasks, CancellationToken) {
        (&mut self.tasks, self.stop.clone())
    }

    /// Holds virtual time to this pace from now on; of several the slowest counts.
    pub fn keep_pace(&mut self, pace: Pace) {
        let stop = self.stop.clone();
        self.tasks.spawn("pace", async move {
            pace.keep(stop.clone()).await;
            stop.cancelled().await;
            Ok::<_, std::convert::Infallible>(())
        });
    }

    /// The hub's API server.
    ///
    /// # Errors
    /// If it is not in this process.
    pub fn hub_server(&self) -> Result<&ApiServer, LocalFleetError> {
        self.env
            .hub_server()
            .ok_or_else(|| LocalFleetError::NoServer("the hub".to_owned()))
    }

    fn server_of(&self, cluster: &str) -> Result<&ApiServer, LocalFleetError> {
        self.env
            .spoke(cluster)
            .ok_or_else(|| LocalFleetError::NoServer(cluster.to_owned()))
    }

    /// A client of the hub with the stack that programs have.
    ///
    /// # Errors
    /// If the hub's server is not in this process.
    pub fn client(&self, user_agent: &str) -> Result<Client, LocalFleetError> {
        Ok(program_client(self.hub_server()?, user_agent)?)
    }

    /// A user of the hub.
    ///
    /// # Errors
    /// If the hub's server is not in this process.
    pub fn user(&self) -> Result<Client, LocalFleetError> {
        Ok(self.hub_server()?.client("user"))
    }

    /// A user of a cluster.
    ///
    /// # Errors
    /// If there is no such cluster.
    pub fn user_of(&self, cluster: &str) -> Result<Client, LocalFleetError> {
        Ok(self.server_of(cluster)?.client("user"))
    }

    /// The metrics of a cluster's agent, as they are scraped.
    ///
    /// # Errors
    /// If the cluster has no agent, or the metrics cannot be written as text.
    pub fn metrics(&self, cluster: &str) -> Result<String, LocalFleetError> {
        let registry = self.registries.get(cluster);
        let registry = registry.ok_or_else(|| LocalFleetError::NoAgent(cluster.to_owned()))?;
        Ok(prometheus::TextEncoder::new().encode_to_string(&registry.gather())?)
    }

    /// Stops everything and waits until it has stopped.
    ///
    /// # Errors
    /// If the hub or an agent had ended early, or with an error.
    pub async fn shut_down(mut self) -> Result<(), LocalFleetError> {
        self.stop.cancel();
        if let Some(running) = self.hub.take() {
            let ended = running.task.await;
            ended
                .map_err(|error| LocalFleetError::Hub(error.to_string()))?
                .map_err(LocalFleetError::Hub)?;
        }
        self.env.shut_down().await;
        Ok(self.tasks.finished().await?)
    }
}

/// A client with the stack that the programs have, for a server in this process.
///
/// # Errors
/// If its metrics cannot be registered, which a new registry rules out.
pub fn program_client(server: &ApiServer, user_agent: &str) -> Result<Client, prometheus::Error> {
    let metrics = RequestMetrics::register(&prometheus::Registry::new())?;
    Ok(client::from_service(
        server.service(user_agent),
        "default",
        &metrics,
    ))
}

/// What pods run as they would outside.
pub fn programs() -> Programs {
    Programs::default().with(&names::APPROVE_COMMAND, |pod| async move {
        let variable = |name: &str| pod.environment.get(name).cloned();
        install_plans::run(variable, &pod.client, &pod.clock)
            .await
            .is_ok()
    })
}
