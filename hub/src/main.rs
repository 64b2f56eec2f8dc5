//! The `drydock-hub` process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use drydock_hub::{FORECAST_RUNS, RecordTtl, Settings};
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::leader::{Election, Leadership, LeaseSettings};
use drydock_runtime::server_time::ServerTime;
use drydock_runtime::telemetry::{self, LogFormat};
use drydock_runtime::{Clock, exit, shutdown};

/// Upgrades fleets of OpenShift-style clusters: reconciles ManagedClustersUpgrade on an Open Cluster Management hub.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// How to reach the hub's API server; else KUBECONFIG, or the pod's service account
    #[arg(long, env = "DRYDOCK_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where to serve /metrics, /healthz and /readyz
    #[arg(
        long,
        env = "DRYDOCK_ADMIN_ADDRESS",
        default_value = "0.0.0.0:8080",
        value_name = "ADDRESS"
    )]
    admin_address: SocketAddr,
    /// Refuse Placements of other namespaces than the upgrade's own
    #[arg(long, env = "DRYDOCK_SAME_NAMESPACE_PLACEMENTS")]
    same_namespace_placements: bool,
    /// Make the work agent cluster admin on the clusters, instead of granting ClusterVersion only
    #[arg(long, env = "DRYDOCK_GRANT_CLUSTER_ADMIN")]
    grant_cluster_admin: bool,
    /// The image of Drydock's agent, which clusters run to approve upgrades of operators
    #[arg(long, env = "DRYDOCK_AGENT_IMAGE", value_name = "IMAGE")]
    agent_image: Option<String>,
    /// How long records of clusters that have ended are kept, for example 12h, 90d or 2w; those of the newest ten rollouts of each
    /// upgrade are not deleted
    #[arg(
        long,
        env = "DRYDOCK_RECORD_TTL",
        default_value = "90d",
        allow_hyphen_values = true,
        value_name = "DURATION"
    )]
    record_ttl: RecordTtl,
    /// How many runs the forecast of an upgrade is made of, from 0 (none is made) to 10000
    #[arg(
        long,
        env = "DRYDOCK_FORECAST_RUNS",
        default_value_t = FORECAST_RUNS,
        value_parser = clap::value_parser!(u32).range(0..=10_000),
        value_name = "N"
    )]
    forecast_runs: u32,
    /// Let one of several replicas act: the holder of the Lease drydock-hub in this namespace
    #[arg(long, env = "DRYDOCK_LEADER_ELECTION_NAMESPACE", value_name = "NAMESPACE")]
    leader_election_namespace: Option<String>,
    /// This replica's name in the Lease; no two may have the same
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    identity: Option<String>,
    /// How a log line looks: json or text
    #[arg(
        long,
        env = "DRYDOCK_LOG_FORMAT",
        default_value = "json",
        value_name = "FORMAT"
    )]
    log_format: LogFormat,
}

// It waits for its API server nearly all the time: a second thread costs more in waking it than it brings.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let ended = run(Arguments::parse()).await;
    exit::report(ended.map(|()| ExitCode::SUCCESS))
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    telemetry::start(arguments.log_format, "info").context("starting logs")?;
    let leadership = Leadership::default();
    let config = client::config_from_environment(arguments.kubeconfig.as_deref(), "drydock-hub").await?;
    let mut settings = Settings {
        admin_address: Some(arguments.admin_address),
        same_namespace_placements: arguments.same_namespace_placements,
        grant_cluster_admin: arguments.grant_cluster_admin,
        agent_image: arguments.agent_image,
        record_ttl: arguments.record_ttl,
        forecast_runs: arguments.forecast_runs,
        ..Settings::default()
    };
    let metrics = RequestMetrics::register(&settings.registry).context("registering request metrics")?;
    let shutdown = shutdown::on_signals().context("listening for signals")?;
    let time = ServerTime::new(&Clock::system());
    let client = match arguments.leader_election_namespace {
        None => client::from_config_with_server_time(config, &metrics, &time)?,
        Some(namespace) => {
            let identity = arguments
                .identity
                .context("--leader-election-namespace needs --identity (or POD_NAME): who holds the Lease")?;
            let lease = LeaseSettings::new(namespace, "drydock-hub", identity);
            let own = client::from_config(config.clone(), &metrics)?;
            let election = Election::new(own, lease, Clock::system(), leadership.clone());
            settings.election = Some(Arc::new(election));
            client::from_config_for_leader(config, &metrics, &time, leadership)?
        }
    };
    drydock_hub::run(settings, client, time.clock(), shutdown).await?;
    Ok(())
}
