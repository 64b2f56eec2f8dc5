//! The whole test environment: a hub, its spokes, OCM's part and the simulated clusters.

mod endpoint;
mod hub;
mod injection;
pub mod outside;
mod settings;

pub use endpoint::ApiEndpoint;
pub use injection::FAULT_ANNOTATION;
pub use outside::Outside;
pub use settings::{ClusterSettings, TestEnvSettings};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drydock_runtime::Clock;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use kube_sandbox::access::{Access, AccessError};
use kube_sandbox::server::{ApiServer, ServerSettings, Types, TypesError, read_definitions};
use ocm_sandbox::connection::Connection;
use ocm_sandbox::placement::controller::{self, PlacementSettings};
use ocm_sandbox::work::agent::{self, WorkAgentSettings};
use ocm_sandbox::{kinds, registration};
use openshift_sandbox::cluster::kinds::MACHINE_API_NAMESPACE;
use openshift_sandbox::cluster::{self, ClusterSimulator};
use openshift_sandbox::monitoring::{Monitoring, services};
use openshift_sandbox::olm;
use openshift_sandbox::update_service::UpdateService;

/// How many changes of a collection a cluster's server keeps for watches that resume: there are many clusters, each with
/// a few watchers that are never far behind.
const SPOKE_HISTORY: usize = 4;

/// Why a test environment could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TestEnvError {
    /// A definition that comes with the project is not usable.
    #[error("installing the kinds of the test environment: {0}")]
    Types(#[from] TypesError),
    /// An object of the test environment cannot be made.
    #[error("preparing {what}: {source}")]
    Access {
        /// Which part of the test environment.
        what: String,
        /// The server's answer.
        #[source]
        source: Box<AccessError>,
    },
    /// A cluster has no API server.
    #[error("cluster {0} has no API server: give a endpoint for it")]
    NoPlace(String),
}

/// A running test environment.
pub struct TestEnv {
    hub: ApiEndpoint,
    spokes: BTreeMap<String, ApiEndpoint>,
    connections: BTreeMap<String, Connection>,
    monitoring: BTreeMap<String, Monitoring>,
    update_service: UpdateService,
    names: Vec<String>,
    tasks: JoinSet<()>,
    stop: CancellationToken,
}

/// So many clusters are installed before others have a turn.
const JOINED_AT_ONCE: usize = 64;

impl TestEnv {
    /// Starts a test environment whose API servers are all in this process.
    ///
    /// # Errors
    /// If a part cannot be made, which for settings with different names is a mistake of the sandbox.
    pub async fn start(settings: TestEnvSettings, clock: Clock) -> Result<Self, TestEnvError> {
        let hub = ApiServer::new(ServerSettings::new(
            "hub",
            clock.clone(),
            settings.seed,
            hub_types()?,
        ));
        let types = spoke_types()?;
        let spoke = |name: &str| {
            ApiServer::new(ServerSettings {
                history: SPOKE_HISTORY,
                ..ServerSettings::new(name, clock.clone(), settings.seed, Arc::clone(&types))
            })
        };
        let spokes = settings
            .clusters
            .iter()
            .map(|cluster| (cluster.name.clone(), ApiEndpoint::Memory(spoke(&cluster.name))))
            .collect();
        Self::over(settings, clock, ApiEndpoint::Memory(hub), spokes).await
    }

    /// Starts a test environment over API servers that are there, and have the kinds of [`hub_types`] and [`spoke_types`].
    ///
    /// # Errors
    /// If a server refuses a part of it.
    pub async fn over(
        settings: TestEnvSettings,
        clock: Clock,
        hub: ApiEndpoint,
        spokes: BTreeMap<String, ApiEndpoint>,
    ) -> Result<Self, TestEnvError> {
        let mut env = Self {
            names: settings
                .clusters
                .iter()
                .map(|cluster| cluster.name.clone())
                .collect(),
            hub,
            spokes,
            connections: BTreeMap::new(),
            monitoring: BTreeMap::new(),
            update_service: UpdateService::default(),
            tasks: JoinSet::new(),
            stop: CancellationToken::new(),
        };
        let admin = env.hub.access("sandbox");
        hub::prepare(&admin, &settings).await.map_err(failed("the hub"))?;
        env.tasks.spawn(controller::run(
            PlacementSettings::default(),
            env.hub.access("ocm-placement"),
            clock.clone(),
            env.stop.clone(),
        ));
        for (index, cluster) in settings.clusters.iter().enumerate() {
            env.join(&settings, cluster, &clock).await?;
            // Servers in this process answer at once: thousands of clusters would leave nobody else a turn, nor hear a signal to stop.
            if index % JOINED_AT_ONCE == JOINED_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
        }
        Ok(env)
    }

    /// Installs one cluster, lets it join, and starts what plays it.
    async fn join(
        &mut self,
        settings: &TestEnvSettings,
        cluster: &ClusterSettings,
        clock: &Clock,
    ) -> Result<(), TestEnvError> {
        let name = cluster.name.as_str();
        let endpoint = self
            .spokes
            .get(name)
            .ok_or_else(|| TestEnvError::NoPlace(name.to_owned()))?;
        let connection = Connection::default();
        let outage = {
            let (endpoint, connection) = (endpoint.clone(), connection.clone());
            Box::new(move |reachable| {
                endpoint.set_reachable(reachable);
                connection.set(reachable);
            })
        };
        let shape = cluster.shape(settings.seed);
        let spoke = endpoint.access("openshift");
        let agent_namespace = cluster.agent.then_some(drydock_api::names::AGENT_NAMESPACE);
        for namespace in agent_namespace.into_iter().chain([MACHINE_API_NAMESPACE]) {
            hub::ensure(&spoke, &kinds::NAMESPACE, hub::namespace_of(namespace, None))
                .await
                .map_err(failed(name))?;
        }
        if cluster.agent {
            announce_monitoring(&spoke).await.map_err(failed(name))?;
        }
        let monitoring = Monitoring::new(name, endpoint.access("prometheus"), clock.clone());
        self.monitoring.insert(name.to_owned(), monitoring);
        let player = ClusterSimulator {
            access: spoke,
            client: endpoint.client("pod"),
            clock: clock.clone(),
            outage,
            programs: settings.programs.clone(),
        };
        let played = cluster::install(&shape, player).await.map_err(failed(name))?;
        self.tasks
            .spawn(olm::run(endpoint.access("olm"), clock.clone(), self.stop.clone()));
        let (faults, seen) = watch::channel(cluster.faults.clone());
        self.tasks.spawn(played.run(seen, self.stop.clone()));
        self.tasks.spawn(injection::follow(
            name.to_owned(),
            self.hub.access("sandbox"),
            cluster.faults.clone(),
            faults,
            self.stop.clone(),
        ));
        hub::join(&self.hub.access("sandbox"), settings, cluster)
            .await
            .map_err(failed(name))?;
        self.tasks.spawn(registration::run(
            name.to_owned(),
            self.hub.access("ocm-registration"),
            endpoint.access("ocm-registration"),
            clock.clone(),
            connection.clone(),
            self.stop.clone(),
        ));
        let work_agent = work_agent_of(name, settings.seed);
        self.tasks.spawn(agent::run(
            work_agent,
            self.hub.access("ocm-work-agent"),
            endpoint.access("ocm-work-agent"),
            clock.clone(),
            connection.clone(),
            self.stop.clone(),
        ));
        self.connections.insert(name.to_owned(), connection);
        Ok(())
    }

    /// The hub's API server, if it is in this process.
    pub fn hub_server(&self) -> Option<&ApiServer> {
        match &self.hub {
            ApiEndpoint::Memory(server) => Some(server),
            ApiEndpoint::Remote(_) => None,
        }
    }

    /// A cluster's API server, if there is such a cluster and its server is in this process.
    pub fn spoke(&self, name: &str) -> Option<&ApiServer> {
        match self.spokes.get(name)? {
            ApiEndpoint::Memory(server) => Some(server),
            ApiEndpoint::Remote(_) => None,
        }
    }

    /// The monitoring of all clusters, by their names.
    pub fn all_monitoring(&self) -> &BTreeMap<String, Monitoring> {
        &self.monitoring
    }

    /// A cluster's monitoring, if there is such a cluster.
    pub fn monitoring(&self, name: &str) -> Option<&Monitoring> {
        self.monitoring.get(name)
    }

    /// What a program on a cluster reaches besides API servers.
    pub fn outside(&self, name: &str) -> Outside {
        let monitoring = self.monitoring.get(name);
        let outside = Outside::default().with(outside::UPDATE_GRAPH, self.update_service.router());
        match monitoring {
            None => outside,
            Some(monitoring) => outside
                .with(outside::PROMETHEUS, monitoring.prometheus())
                .with(outside::ALERTMANAGER, monitoring.alertmanager()),
        }
    }

    /// The update graph that clusters' programs ask.
    pub fn update_service(&self) -> &UpdateService {
        &self.update_service
    }

    /// Cuts a cluster's agents off from the hub (F15's other half), or restores them. False if there is no such cluster.
    pub fn set_connected(&self, name: &str, connected: bool) -> bool {
        let connection = self.connections.get(name);
        if let Some(connection) = connection {
            connection.set(connected);
        }
        connection.is_some()
    }

    /// The clusters, in the order of the settings.
    pub fn cluster_names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Stops everything and waits until it has stopped.
    pub async fn shut_down(mut self) {
        self.stop.cancel();
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Lets programs on the cluster find its monitoring.
async fn announce_monitoring(spoke: &Access) -> Result<(), AccessError> {
    let namespace = hub::namespace_of(services::NAMESPACE, None);
    hub::ensure(spoke, &kinds::NAMESPACE, namespace).await?;
    for (kind, object) in services::objects() {
        hub::ensure(spoke, kind, object).await?;
    }
    Ok(())
}

fn work_agent_of(cluster: &str, seed: u64) -> WorkAgentSettings {
    WorkAgentSettings {
        cluster: cluster.to_owned(),
        hub_url: "https://hub.sandbox".to_owned(),
        agent_id: format!("agent-{cluster}"),
        seed,
        status_sync: Duration::from_secs(10),
    }
}

fn failed(what: &str) -> impl FnOnce(AccessError) -> TestEnvError {
    let what = what.to_owned();
    move |source| TestEnvError::Access {
        what,
        source: Box::new(source),
    }
}

/// The kinds of a hub: Kubernetes', OCM's and Drydock's of the hub.
///
/// # Errors
/// If a definition that comes with the project is not usable.
pub fn hub_types() -> Result<Arc<Types>, TestEnvError> {
    types(true, &[ocm_sandbox::crds::HUB])
}

/// The kinds of a spoke: Kubernetes', OpenShift's, Drydock's of a cluster and what the work agent keeps.
///
/// # Errors
/// If a definition that comes with the project is not usable.
pub fn spoke_types() -> Result<Arc<Types>, TestEnvError> {
    types(
        false,
        &[ocm_sandbox::crds::SPOKE, openshift_sandbox::crds::CLUSTER],
    )
}

fn types(of_hub: bool, foreign: &[&[&str]]) -> Result<Arc<Types>, TestEnvError> {
    let ours = drydock_api::crds().into_iter();
    let mut definitions: Vec<_> = ours
        .filter(|definition| definition.spec.group.ends_with("open-cluster-management.io") == of_hub)
        .map(|definition| json!(definition))
        .collect();
    for texts in foreign {
        definitions.extend(read_definitions(texts)?);
    }
    Ok(Types::with_definition_values(definitions)?)
}
