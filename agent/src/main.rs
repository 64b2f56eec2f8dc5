//! The `drydock-agent` process.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Parser, Subcommand};
use drydock_agent::Settings;
use drydock_agent::install_plans;
use drydock_api::names::AGENT_NAMESPACE;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::telemetry::{self, LogFormat};
use drydock_runtime::{Clock, shutdown};

/// Upgrades the cluster it runs on: reconciles UpgradeConfig.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// How to reach the cluster's API server; else KUBECONFIG, or the pod's service account
    #[arg(long, env = "DRYDOCK_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The namespace of the UpgradeConfig and of the agent's ConfigMap
    #[arg(long, env = "POD_NAMESPACE", default_value = AGENT_NAMESPACE, value_name = "NAMESPACE")]
    namespace: String,
    /// Where to serve /metrics, /healthz and /readyz
    #[arg(
        long,
        env = "DRYDOCK_ADMIN_ADDRESS",
        default_value = "0.0.0.0:8080",
        value_name = "ADDRESS"
    )]
    admin_address: SocketAddr,
    /// How a log line looks: json or text
    #[arg(
        long,
        env = "DRYDOCK_LOG_FORMAT",
        default_value = "json",
        value_name = "FORMAT"
    )]
    log_format: LogFormat,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What else the program does.
#[derive(Clone, Copy, Debug, Subcommand)]
enum Command {
    /// Approve the manual InstallPlans of operators and wait until the operators run: the hub's Job for `ocpOperators`.
    /// Reads the environment: WAITTIME (seconds), INCLUDELIST and EXCLUDELIST (NAME,NAMESPACE of Subscriptions)
    ApproveInstallplans,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    telemetry::start(arguments.log_format, "info").context("starting logs")?;
    if let Some(Command::ApproveInstallplans) = arguments.command {
        return approve_install_plans(&arguments).await;
    }
    let settings = Settings {
        admin_address: Some(arguments.admin_address),
        namespace: arguments.namespace,
        ..Settings::default()
    };
    let metrics = RequestMetrics::register(&settings.registry).context("registering request metrics")?;
    let shutdown = shutdown::on_signals().context("listening for signals")?;
    let client = client::from_environment(arguments.kubeconfig.as_deref(), "drydock-agent", &metrics).await?;
    drydock_agent::run(settings, client, Clock::system(), shutdown).await?;
    Ok(())
}

async fn approve_install_plans(arguments: &Arguments) -> anyhow::Result<()> {
    let registry = prometheus::Registry::new();
    let metrics = RequestMetrics::register(&registry).context("registering request metrics")?;
    let shutdown = shutdown::on_signals().context("listening for signals")?;
    let client = client::from_environment(arguments.kubeconfig.as_deref(), "drydock-agent", &metrics).await?;
    let clock = Clock::system();
    tokio::select! {
        approved = install_plans::run(|name| std::env::var(name).ok(), &client, &clock) => Ok(approved?),
        () = shutdown.cancelled() => anyhow::bail!("interrupted before all operators were upgraded"),
    }
}
