//! A bed with Drydock in it: the hub, the simulated clusters, and the real `drydock-hub` and `drydock-agent` running
//! on them, all in one runtime under virtual time.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, bail};
use drydock_agent::install_plans;
use drydock_api::{ClusterName, names};
use drydock_hub::LiveFleet;
use drydock_runtime::Clock;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::tasks::Tasks;
use drydock_sandbox::bed::{Bed, BedSettings};
use drydock_sandbox::cluster::{Fault, Programs};
use drydock_sandbox::monitoring;
use drydock_sandbox::pace::Pace;
use drydock_sandbox::server::ApiServer;
use drydock_sandbox::update_service::UpdateService;
use jiff::Timestamp;
use kube::Client;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::arguments::BedArguments;
use crate::kubeconfig::{self, Addresses};

/// When virtual time begins: always the same, so that the same seed gives the same run.
const EPOCH: Timestamp = Timestamp::constant(1_767_600_000, 0);

/// A bed, and what runs in it.
pub struct Yard {
    /// The hub, the clusters and OCM's part.
    pub bed: Bed,
    /// Virtual time.
    pub clock: Clock,
    tasks: Tasks,
    stop: CancellationToken,
}

/// A bed that listens for kubectl.
pub struct Served {
    /// The path of the kubeconfig.
    pub kubeconfig: PathBuf,
    /// Where the update graph is.
    pub graph: String,
    /// Where the clusters' Prometheus and Alertmanager are, each below its name.
    pub monitoring: String,
    _folder: TempDir,
}

impl Yard {
    /// Starts the bed that was asked for, the hub controller on its hub and an agent on each cluster that has one.
    ///
    /// # Errors
    /// If a fault names a cluster that is not there, or a part cannot start.
    pub async fn start(arguments: &BedArguments, pace: Pace) -> anyhow::Result<Self> {
        let clock = Clock::simulated(EPOCH);
        let stop = CancellationToken::new();
        let mut settings = settings(arguments)?;
        let with_agent: Vec<String> = settings
            .clusters
            .iter()
            .filter(|cluster| cluster.agent)
            .map(|cluster| cluster.name.clone())
            .collect();
        settings.programs = programs();
        let hub_settings = drydock_hub::Settings {
            pace: match pace {
                Pace::AsFastAsPossible => drydock_hub::Pace::of_rehearsal(settings.clusters.len()),
                Pace::VirtualSecondsASecond(_) => drydock_hub::Pace::default(),
            },
            ..drydock_hub::Settings::default()
        };
        let bed = Bed::start(settings, clock.clone())
            .await
            .context("starting the sandbox")?;
        let mut tasks = Tasks::new(stop.clone());
        let hub = client(hub_of(&bed)?, names::HUB_MANAGER)?;
        tasks.spawn(
            "hub",
            drydock_hub::run(hub_settings, hub, clock.clone(), stop.clone()),
        );
        for name in with_agent {
            let spoke = bed
                .spoke(&name)
                .with_context(|| format!("the bed has no cluster {name}"))?;
            let agent = client(spoke, names::AGENT_MANAGER)?;
            let settings = drydock_agent::Settings {
                network: drydock_agent::Network::in_process(bed.outside(&name)),
                ..drydock_agent::Settings::default()
            };
            tasks.spawn(
                "agent",
                drydock_agent::run(settings, agent, clock.clone(), stop.clone()),
            );
        }
        let mut yard = Self {
            bed,
            clock,
            tasks,
            stop,
        };
        yard.hold(pace);
        Ok(yard)
    }

    /// Follows the fleet from the outside, as any user could.
    ///
    /// # Errors
    /// If no client can be made.
    pub fn look_on(&mut self, pace: drydock_hub::Pace) -> anyhow::Result<LiveFleet> {
        let client = self.client()?;
        Ok(LiveFleet::follow(
            &client,
            &self.clock,
            pace,
            &mut self.tasks,
            &self.stop,
        ))
    }

    /// Holds virtual time to this pace from now on; of several the slowest counts.
    pub fn hold(&mut self, pace: Pace) {
        let stop = self.stop.clone();
        self.tasks.spawn("pace", async move {
            pace.hold(stop.clone()).await;
            stop.cancelled().await;
            Ok::<_, std::convert::Infallible>(())
        });
    }

    /// A client of the hub for the command itself.
    ///
    /// # Errors
    /// If its metrics cannot be registered, which a new registry rules out.
    pub fn client(&self) -> anyhow::Result<Client> {
        client(hub_of(&self.bed)?, "kubectl-drydock")
    }

    /// Lets kubectl in: the hub and every cluster listen on loopback, each on a port of its own.
    ///
    /// # Errors
    /// If a port or the kubeconfig cannot be had.
    pub async fn serve(&mut self) -> anyhow::Result<Served> {
        let hub = self.listen(hub_of(&self.bed)?.clone()).await?;
        let mut clusters = Vec::new();
        for name in self.bed.cluster_names() {
            if let Some(spoke) = self.bed.spoke(&name).cloned() {
                clusters.push((name, self.listen(spoke).await?));
            }
        }
        let graph = self.listen_graph().await?;
        let monitoring = self.listen_monitoring().await?;
        let folder = tempfile::Builder::new()
            .prefix("drydock-")
            .tempdir()
            .context("making a folder for the kubeconfig")?;
        let kubeconfig = kubeconfig::write(folder.path(), &Addresses { hub, clusters })?;
        Ok(Served {
            kubeconfig,
            graph,
            monitoring,
            _folder: folder,
        })
    }

    async fn listen_graph(&mut self) -> anyhow::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("binding a port on loopback")?;
        let address = listener.local_addr().context("reading the port that was bound")?;
        let stop = self.stop.clone();
        self.tasks.spawn("update-graph", async move {
            UpdateService::default().serve(listener, stop).await
        });
        Ok(format!("http://{address}/api/upgrades_info/v1/graph"))
    }

    async fn listen_monitoring(&mut self) -> anyhow::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("binding a port on loopback")?;
        let address = listener.local_addr().context("reading the port that was bound")?;
        let stop = self.stop.clone();
        let all = self.bed.all_monitoring().clone();
        self.tasks.spawn("monitoring", async move {
            monitoring::serve(&all, listener, stop).await
        });
        Ok(format!("http://{address}"))
    }

    async fn listen(&mut self, server: ApiServer) -> anyhow::Result<std::net::SocketAddr> {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .context("binding a port on loopback")?;
        let address = listener.local_addr().context("reading the port that was bound")?;
        let stop = self.stop.clone();
        self.tasks
            .spawn("serve", async move { server.serve(listener, stop).await });
        Ok(address)
    }

    /// Stops everything and waits until it has stopped.
    ///
    /// # Errors
    /// If a part had ended early.
    pub async fn shut_down(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.bed.shut_down().await;
        self.tasks.finished().await.context("running the sandbox")
    }
}

fn hub_of(bed: &Bed) -> anyhow::Result<&ApiServer> {
    bed.hub_server().context("the bed's hub is not in this process")
}

/// A client of a server of this process.
pub(crate) fn client(server: &ApiServer, user_agent: &str) -> anyhow::Result<Client> {
    let metrics =
        RequestMetrics::register(&prometheus::Registry::new()).context("registering request metrics")?;
    Ok(client::from_service(
        server.service(user_agent),
        "default",
        &metrics,
    ))
}

/// The demo's bed with these faults.
fn settings(arguments: &BedArguments) -> anyhow::Result<BedSettings> {
    let mut settings = BedSettings::demo(arguments.clusters.get(), arguments.seed);
    let mut faults: BTreeMap<&ClusterName, Vec<Fault>> = BTreeMap::new();
    for given in &arguments.faults {
        faults.entry(&given.cluster).or_default().push(given.fault);
    }
    for (name, faults) in faults {
        let Some(cluster) = settings
            .clusters
            .iter_mut()
            .find(|cluster| cluster.name == name.as_str())
        else {
            bail!(
                "--fault {name}=…: there is no such cluster; they are {}",
                range(arguments.clusters)
            );
        };
        cluster.faults.extend(faults);
    }
    Ok(settings)
}

fn range(clusters: NonZeroUsize) -> String {
    if clusters.get() == 1 {
        "dev1".to_owned()
    } else {
        format!("dev1 to dev{clusters}")
    }
}

/// What pods run as they would outside.
fn programs() -> Programs {
    Programs::default().with(&names::APPROVE_COMMAND, |pod| async move {
        let variable = |name: &str| pod.environment.get(name).cloned();
        install_plans::run(variable, &pod.client, &pod.clock)
            .await
            .is_ok()
    })
}
