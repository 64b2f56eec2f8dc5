//! The `drydock-agent` process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand, ValueEnum};
use drydock_agent::install_plans;
use drydock_agent::{
    EndpointConfig, InsightsPart, InsightsSettings, ScheduleNamespace, SchedulePart, ScheduleSettings,
    Settings,
};
use drydock_api::names::{AGENT_NAMESPACE, CLUSTER_VERSION};
use drydock_api::{GoDuration, machine_api};
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::telemetry::{self, LogFormat};
use drydock_runtime::{Clock, exit, shutdown};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// Upgrades the cluster it runs on: reconciles UpgradeConfig, maintenance schedules and update insights.
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
    /// Where Prometheus is; else behind the Service openshift-monitoring/prometheus-k8s
    #[arg(
        long,
        env = "DRYDOCK_PROMETHEUS_URL",
        value_name = "URL",
        requires = "alertmanager_url"
    )]
    prometheus_url: Option<http::Uri>,
    /// Where Alertmanager is; else behind the Service openshift-monitoring/alertmanager-main
    #[arg(
        long,
        env = "DRYDOCK_ALERTMANAGER_URL",
        value_name = "URL",
        requires = "prometheus_url"
    )]
    alertmanager_url: Option<http::Uri>,
    /// The authority (PEM) that signed the certificates of both URLs; else those that the machine trusts
    #[arg(
        long,
        env = "DRYDOCK_MONITORING_CA",
        value_name = "FILE",
        requires = "prometheus_url"
    )]
    monitoring_ca: Option<PathBuf>,
    /// The bearer token for both URLs; none is sent if not given
    #[arg(
        long,
        env = "DRYDOCK_MONITORING_TOKEN",
        value_name = "FILE",
        requires = "prometheus_url"
    )]
    monitoring_token: Option<PathBuf>,
    #[command(flatten)]
    schedule: ScheduleArguments,
    /// Parts of update insights to leave alone
    #[arg(
        long,
        env = "DRYDOCK_INSIGHTS_OFF",
        value_name = "PART",
        value_delimiter = ','
    )]
    insights_off: Vec<PartOfInsights>,
    #[command(subcommand)]
    command: Option<Command>,
}

impl Arguments {
    fn monitoring(&self) -> EndpointConfig {
        match (&self.prometheus_url, &self.alertmanager_url) {
            (Some(prometheus), Some(alertmanager)) => EndpointConfig::At {
                prometheus: prometheus.to_string(),
                alertmanager: alertmanager.to_string(),
                authority: self.monitoring_ca.clone(),
                token: self.monitoring_token.clone(),
            },
            _ => EndpointConfig::Services,
        }
    }
}

/// How maintenance schedules (managedupgrade.appuio.io) are acted on.
#[derive(Debug, Args)]
struct ScheduleArguments {
    /// Where the objects of maintenance schedules are but the managed ClusterVersion: a namespace, or nothing for all;
    /// else the agent's own. Others need rights of their own
    #[arg(long, env = "DRYDOCK_SCHEDULE_NAMESPACE", value_name = "NAMESPACE")]
    schedule_namespace: Option<String>,
    /// Parts of maintenance schedules to leave alone
    #[arg(
        long,
        env = "DRYDOCK_SCHEDULE_OFF",
        value_name = "PART",
        value_delimiter = ','
    )]
    schedule_off: Vec<Part>,
    /// The name of the managed ClusterVersion: no other is acted on
    #[arg(long, default_value = CLUSTER_VERSION, value_name = "NAME")]
    managed_cluster_version_name: String,
    /// The namespace of the managed ClusterVersion; else the agent's own
    #[arg(long, value_name = "NAMESPACE")]
    managed_cluster_version_namespace: Option<String>,
    /// How often NodeForceDrains look at drains while a node is drained, such as 3m; 0 for only when something is due
    #[arg(long, default_value = "3m", value_name = "DURATION")]
    node_drain_reconcile_interval: GoDuration,
    /// Where Machines are
    #[arg(long, default_value = machine_api::NAMESPACE, value_name = "NAMESPACE")]
    machine_namespace: String,
    /// The name of OpenShift's ClusterVersion
    #[arg(long, default_value = CLUSTER_VERSION, value_name = "NAME")]
    managed_upstream_cluster_version_name: String,
}

/// A part of maintenance schedules.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Part {
    /// UpgradeConfigs and UpgradeSuspensionWindows
    UpgradeConfigs,
    /// UpgradeJobs and UpgradeJobHooks
    UpgradeJobs,
    /// NodeForceDrains
    NodeForceDrains,
    /// The managed ClusterVersion
    ClusterVersion,
}

impl From<Part> for SchedulePart {
    fn from(part: Part) -> Self {
        match part {
            Part::UpgradeConfigs => Self::UpgradeConfigs,
            Part::UpgradeJobs => Self::UpgradeJobs,
            Part::NodeForceDrains => Self::NodeForceDrains,
            Part::ClusterVersion => Self::ClusterVersion,
        }
    }
}

/// A part of update insights.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PartOfInsights {
    /// Whether UpdateInformers are online
    Informers,
    /// The UpdateStatus
    Status,
    /// UpdatePlans and UpdatePlanInsights
    Plans,
    /// What the agent itself knows of updates
    BuiltIn,
}

impl From<PartOfInsights> for InsightsPart {
    fn from(part: PartOfInsights) -> Self {
        match part {
            PartOfInsights::Informers => Self::UpdateInformers,
            PartOfInsights::Status => Self::UpdateStatus,
            PartOfInsights::Plans => Self::UpdatePlans,
            PartOfInsights::BuiltIn => Self::BuiltInInformers,
        }
    }
}

impl From<ScheduleArguments> for ScheduleSettings {
    fn from(arguments: ScheduleArguments) -> Self {
        Self {
            off: arguments.schedule_off.into_iter().map(Into::into).collect(),
            namespace: match arguments.schedule_namespace {
                None => ScheduleNamespace::Own,
                Some(all) if all.is_empty() => ScheduleNamespace::All,
                Some(namespace) => ScheduleNamespace::Named(namespace),
            },
            managed_namespace: arguments.managed_cluster_version_namespace,
            managed_name: arguments.managed_cluster_version_name,
            upstream_name: arguments.managed_upstream_cluster_version_name,
            machine_namespace: arguments.machine_namespace,
            local_zone: TimeZone::system(),
            drain_interval: Some(arguments.node_drain_reconcile_interval.signed())
                .filter(SignedDuration::is_positive),
        }
    }
}

/// What else the program does.
#[derive(Clone, Copy, Debug, Subcommand)]
enum Command {
    /// Approve the manual InstallPlans of operators and wait until the operators run: the hub's Job for `ocpOperators`.
    /// Reads the environment: WAITTIME (seconds), INCLUDELIST and EXCLUDELIST (NAME,NAMESPACE of Subscriptions)
    ApproveInstallplans,
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = run(Arguments::parse()).await;
    exit::report(ended.map(|()| ExitCode::SUCCESS))
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    telemetry::start(arguments.log_format, "info").context("starting logs")?;
    if let Some(Command::ApproveInstallplans) = arguments.command {
        return approve_install_plans(&arguments).await;
    }
    let settings = Settings {
        admin_address: Some(arguments.admin_address),
        monitoring: arguments.monitoring(),
        namespace: arguments.namespace,
        schedule: arguments.schedule.into(),
        insights: InsightsSettings {
            off: arguments.insights_off.into_iter().map(Into::into).collect(),
            ..InsightsSettings::default()
        },
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
