//! A fleet over real API servers: the hub is one, the first cluster another; OCM's part and the clusters are played by the
//! sandbox's stand-ins in virtual time, and the programs run as processes in real time.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use drydock_runtime::{Clock, telemetry};
use drydock_sandbox::test_env::{self, ApiEndpoint, TestEnv, TestEnvSettings};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Client, ResourceExt};
use kube_sandbox::pace::Pace;
use kube_sandbox::server::{ApiServer, ServerSettings};
use openshift_sandbox::monitoring::{self, Monitoring};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use crate::manifests::{self, in_repository};
use crate::process::{Process, Workplace};
use crate::program;

/// Virtual seconds a second: an update of an hour takes some ten seconds.
const SPEED: NonZeroU32 = NonZeroU32::new(300).unwrap();
/// The cluster whose API server is a real one.
pub const REAL_SPOKE: &str = "dev1";

/// The namespaces in which the agent has rights.
const AGENT_NAMESPACES: [&str; 4] = [
    drydock_api::names::AGENT_NAMESPACE,
    drydock_api::machine_api::NAMESPACE,
    "openshift-monitoring",
    "openshift-config",
];

/// The fleet.
pub struct RealFleet {
    /// The hub's API server.
    pub hub: ControlPlane,
    /// The real cluster's API server.
    pub spoke: ControlPlane,
    agents: Vec<Process>,
    /// By which the real cluster's agent reaches its API server and its monitoring.
    agent_kubeconfig: PathBuf,
    monitoring: String,
    hub_process: Option<Process>,
    hub_kubeconfig: PathBuf,
    workplace: Workplace,
    env: Option<TestEnv>,
    stop: CancellationToken,
}

impl RealFleet {
    /// Starts everything. Must be called on a current-thread runtime, whose time is virtual from then on.
    ///
    /// # Errors
    /// If a part cannot start.
    pub async fn start(settings: TestEnvSettings) -> anyhow::Result<Self> {
        // RUST_LOG=drydock_sandbox=debug shows what the stand-ins do; the second fleet of a run finds it done.
        let _done = telemetry::start(telemetry::LogFormat::Text, "off");
        let etcd = Etcd::start()?;
        let (hub, spoke) = (Settings::named("hub"), Settings::named(REAL_SPOKE));
        let (hub, spoke) = tokio::try_join!(
            ControlPlane::start_with(&hub, Arc::clone(&etcd)),
            ControlPlane::start_with(&spoke, etcd)
        )?;
        let (admin, spoke_admin) = (hub.client(ADMIN).await?, spoke.client(ADMIN).await?);
        manifests::install(&admin, &definitions_of_hub()?).await?;
        manifests::install(&spoke_admin, &definitions_of_spoke()?).await?;
        namespace(&admin, "drydock").await?;
        for name in AGENT_NAMESPACES {
            namespace(&spoke_admin, name).await?;
        }
        manifests::apply_file(&admin, &in_repository("manifests/hub/rbac.yaml")).await?;
        manifests::apply_file(&spoke_admin, &in_repository("manifests/agent/rbac.yaml")).await?;
        let hub_kubeconfig = hub.service_account_kubeconfig("drydock", "drydock-hub").await?;
        let agent_kubeconfig = spoke
            .service_account_kubeconfig(drydock_api::names::AGENT_NAMESPACE, "drydock-agent")
            .await?;

        tokio::time::pause();
        let stop = CancellationToken::new();
        tokio::spawn(Pace::Scaled(SPEED).keep(stop.clone()));
        let workplace = Workplace::new("fleet")?;
        let endpoint = ApiEndpoint::Remote(patient(&spoke).await?);
        let monitoring = monitor(REAL_SPOKE, &endpoint, &stop).await?;
        let mut fleet = Self {
            agents: vec![agent(&workplace, REAL_SPOKE, &agent_kubeconfig, &monitoring)?],
            agent_kubeconfig,
            monitoring,
            hub_process: None,
            hub_kubeconfig,
            env: None,
            hub,
            spoke,
            workplace,
            stop,
        };
        fleet.play(settings).await?;
        Ok(fleet)
    }

    /// Starts the stand-ins, and an agent on each simulated cluster that has one.
    async fn play(&mut self, settings: TestEnvSettings) -> anyhow::Result<()> {
        let clock = Clock::simulated(Clock::system().now());
        let types = test_env::spoke_types()?;
        let mut endpoints = BTreeMap::new();
        for cluster in &settings.clusters {
            let name = cluster.name.clone();
            if name == REAL_SPOKE {
                endpoints.insert(name, ApiEndpoint::Remote(patient(&self.spoke).await?));
                continue;
            }
            let settings =
                ServerSettings::new(name.as_str(), clock.clone(), settings.seed, Arc::clone(&types));
            let server = ApiServer::new(settings);
            if cluster.agent {
                let kubeconfig = self.listen(&name, &server).await?;
                let endpoint = ApiEndpoint::Memory(server.clone());
                let monitoring = monitor(&name, &endpoint, &self.stop).await?;
                let agent = agent(&self.workplace, &name, &kubeconfig, &monitoring)?;
                self.agents.push(agent);
            }
            endpoints.insert(name, ApiEndpoint::Memory(server));
        }
        let hub = ApiEndpoint::Remote(patient(&self.hub).await?);
        self.env = Some(TestEnv::over(settings, clock, hub, endpoints).await?);
        Ok(())
    }

    /// Lets a process reach a server of the sandbox.
    async fn listen(&self, name: &str, server: &ApiServer) -> anyhow::Result<PathBuf> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("binding a port on loopback")?;
        let address = listener.local_addr().context("reading the port that was bound")?;
        let (server, stop) = (server.clone(), self.stop.clone());
        tokio::spawn(async move { server.serve(listener, stop).await });
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": format!("http://{address}")}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "nobody"}}],
            "users": [{"name": "nobody", "user": {}}],
        });
        self.workplace
            .write(&format!("{name}.kubeconfig"), &config.to_string())
    }

    /// Starts the hub.
    ///
    /// # Errors
    /// If it is not built.
    pub fn start_hub(&mut self) -> anyhow::Result<()> {
        let arguments = ["--admin-address", "127.0.0.1:0", "--log-format", "text"];
        self.hub_process = Some(program::start(
            &self.workplace,
            "drydock-hub",
            "drydock-hub",
            &self.hub_kubeconfig,
            &arguments,
        )?);
        Ok(())
    }

    /// Starts one of several replicas of the hub, which choose one among them.
    ///
    /// # Errors
    /// If it is not built.
    pub fn start_replica(&self, name: &str) -> anyhow::Result<Process> {
        let arguments = [
            "--admin-address",
            "127.0.0.1:0",
            "--log-format",
            "text",
            "--leader-election-namespace",
            "drydock",
            "--identity",
            name,
        ];
        program::start(
            &self.workplace,
            name,
            "drydock-hub",
            &self.hub_kubeconfig,
            &arguments,
        )
    }

    /// The process numbers of the agents, the real cluster's first.
    pub fn agents(&self) -> Vec<u32> {
        self.agents.iter().map(Process::id).collect()
    }

    /// Starts the real cluster's agent anew, and says which process it is then.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn restart_agent(&mut self) -> anyhow::Result<u32> {
        let started = agent(
            &self.workplace,
            REAL_SPOKE,
            &self.agent_kubeconfig,
            &self.monitoring,
        )?;
        let id = started.id();
        // The first one is dropped, and ends so.
        match self.agents.first_mut() {
            Some(first) => *first = started,
            None => self.agents.push(started),
        }
        Ok(id)
    }

    /// Kills the hub as `kill -9` does.
    pub fn kill_hub(&mut self) {
        if let Some(mut hub) = self.hub_process.take() {
            hub.kill();
        }
    }

    /// A user of the hub who may do anything.
    ///
    /// # Errors
    /// If its kubeconfig cannot be used.
    pub async fn user(&self) -> anyhow::Result<Client> {
        patient(&self.hub).await
    }

    /// A user of a cluster who may do anything.
    ///
    /// # Errors
    /// If there is no such cluster.
    pub async fn user_of(&self, cluster: &str) -> anyhow::Result<Client> {
        if cluster == REAL_SPOKE {
            return patient(&self.spoke).await;
        }
        let server = self.env.as_ref().and_then(|env| env.spoke(cluster));
        Ok(server
            .with_context(|| format!("the fleet has no {cluster}"))?
            .client("user"))
    }

    /// The ends of the programs' logs, for the message of a test that fails.
    pub fn logs(&self) -> String {
        let hub = self.hub_process.iter();
        let logs: Vec<String> = hub.chain(&self.agents).map(Process::log_end).collect();
        logs.join("\n")
    }

    /// Stops everything.
    pub async fn shut_down(mut self) {
        self.stop.cancel();
        if let Some(env) = self.env.take() {
            env.shut_down().await;
        }
        self.kill_hub();
    }
}

fn agent(
    workplace: &Workplace,
    cluster: &str,
    kubeconfig: &std::path::Path,
    monitoring: &str,
) -> anyhow::Result<Process> {
    let (prometheus, alertmanager) = (
        format!("{monitoring}/prometheus"),
        format!("{monitoring}/alertmanager"),
    );
    let arguments = [
        "--admin-address",
        "127.0.0.1:0",
        "--log-format",
        "text",
        "--prometheus-url",
        &prometheus,
        "--alertmanager-url",
        &alertmanager,
    ];
    program::start(
        workplace,
        &format!("drydock-agent-{cluster}"),
        "drydock-agent",
        kubeconfig,
        &arguments,
    )
}

/// Serves a cluster's monitoring; returns where. Its clock is the agent's, which is a process and knows no virtual time.
async fn monitor(cluster: &str, endpoint: &ApiEndpoint, stop: &CancellationToken) -> anyhow::Result<String> {
    let served = Monitoring::new(cluster, endpoint.access("prometheus"), Clock::system());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (all, stop) = (BTreeMap::from([(cluster.to_owned(), served)]), stop.clone());
    tokio::spawn(async move { monitoring::serve(&all, listener, stop).await });
    Ok(format!("http://{address}/{cluster}"))
}

/// A client whose requests have no time limit: under virtual time a limit of seconds is over in a blink.
async fn patient(control_plane: &ControlPlane) -> anyhow::Result<Client> {
    let file = kube::config::Kubeconfig::read_from(control_plane.kubeconfig(ADMIN)?)?;
    let mut config =
        kube::Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default()).await?;
    config.connect_timeout = None;
    config.read_timeout = None;
    config.write_timeout = None;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

async fn namespace(client: &Client, name: &str) -> anyhow::Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    manifests::apply(client, &serde_json::from_value(object)?).await?;
    Ok(())
}

fn is_of_hub(definition: &CustomResourceDefinition) -> bool {
    definition.spec.group.ends_with("open-cluster-management.io")
}

/// The CustomResourceDefinitions of a hub.
///
/// # Errors
/// As [`manifests::definitions`].
pub fn definitions_of_hub() -> anyhow::Result<Vec<CustomResourceDefinition>> {
    Ok(manifests::definitions()?.into_iter().filter(is_of_hub).collect())
}

fn definitions_of_spoke() -> anyhow::Result<Vec<CustomResourceDefinition>> {
    let own = |definition: &CustomResourceDefinition| {
        !is_of_hub(definition) || definition.name_any().starts_with("appliedmanifestworks.")
    };
    let mut definitions: Vec<_> = manifests::definitions()?.into_iter().filter(own).collect();
    if !definitions.iter().any(is_of_hub) {
        for text in ocm_sandbox::crds::SPOKE {
            definitions
                .push(serde_saphyr::from_str(text).context("reading the definition of AppliedManifestWork")?);
        }
    }
    Ok(definitions)
}
