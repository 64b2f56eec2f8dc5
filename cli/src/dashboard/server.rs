//! `drydock-dashboard`: the fleet page for all users of a hub, as a Deployment in its cluster.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use axum_server::tls_rustls::RustlsConfig;
use clap::Parser;
use drydock_dashboard::{Access, Dashboard, Reviews, Settings};
use drydock_hub::{LiveFleet, Pace};
use drydock_runtime::admin::{self, Readiness};
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::server_time::ServerTime;
use drydock_runtime::tasks::Tasks;
use drydock_runtime::telemetry::{self, LogFormat};
use drydock_runtime::{Clock, shutdown};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{PACE, serve};
use crate::plan::page::PagePlanner;

/// How often the certificate is read again: it is renewed while the server runs.
const READ_CERTIFICATE: Duration = Duration::from_mins(1);
/// How often it is looked whether everything has been seen, and is not old.
const LOOK: Duration = Duration::from_secs(1);

/// How it is called.
const EXAMPLES: &str = "\
Examples:
  # with a certificate, for bearer tokens of the hub's users
  drydock-dashboard --tls-certificate tls.crt --tls-key tls.key

  # behind a proxy in the same pod that signs users in and adds their token
  drydock-dashboard --listen 127.0.0.1:8443

  # users may pause, resume, retry, accept and apply, each with their own rights
  drydock-dashboard --listen 127.0.0.1:8443 --actions";

/// Serve the fleet page to all users of a hub, each with their own rights: what the Deployment of manifests/dashboard runs
#[derive(Parser, Debug)]
#[command(name = "drydock-dashboard", version, after_help = EXAMPLES)]
pub struct DashboardServerArguments {
    /// How to reach the hub's API server; else KUBECONFIG, or the pod's service account
    #[arg(long, env = "DRYDOCK_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where the page is served; without a certificate only on loopback
    #[arg(
        long,
        env = "DRYDOCK_LISTEN",
        default_value = "0.0.0.0:8443",
        value_name = "ADDRESS"
    )]
    listen: SocketAddr,
    /// The certificate, with those that have signed it (PEM); read again each minute
    #[arg(
        long,
        env = "DRYDOCK_TLS_CERTIFICATE",
        value_name = "FILE",
        requires = "tls_key"
    )]
    tls_certificate: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(
        long,
        env = "DRYDOCK_TLS_KEY",
        value_name = "FILE",
        requires = "tls_certificate"
    )]
    tls_key: Option<PathBuf>,
    /// Let users act, by impersonating them; else nothing can be changed
    #[arg(long, env = "DRYDOCK_ACTIONS")]
    actions: bool,
    /// What the hub is called on the page
    #[arg(long, env = "DRYDOCK_PLACE", default_value = "hub", value_name = "TEXT")]
    place: String,
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
}

/// Serves the page until a signal ends it.
///
/// # Errors
/// If the API server cannot be reached, an address is taken, or the certificate cannot be used.
pub fn run(arguments: &DashboardServerArguments) -> anyhow::Result<()> {
    // Who runs a server reads its logs.
    telemetry::start(arguments.log_format, "info").context("starting logs")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("starting the runtime")?.block_on(async {
        let shutdown = shutdown::on_signals().context("listening for signals")?;
        serve_until(arguments, shutdown).await
    })
}

/// Serves the page until `shutdown`.
///
/// # Errors
/// Those of [`run`].
async fn serve_until(
    arguments: &DashboardServerArguments,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let certificate = arguments.certificate().await?;
    // Before anything runs: a server without its port does not begin.
    let listener = serve::listen(arguments.listen)
        .with_context(|| format!("listening on {}: choose another --listen", arguments.listen))?;
    let admin_listener = TcpListener::bind(arguments.admin_address)
        .await
        .with_context(|| {
            format!(
                "listening on {}: choose another --admin-address",
                arguments.admin_address
            )
        })?;
    let config =
        client::config_from_environment(arguments.kubeconfig.as_deref(), "drydock-dashboard").await?;
    let namespace = config.default_namespace.clone();
    let registry = prometheus::Registry::new();
    let metrics = metrics(&registry)?;
    let time = ServerTime::new(&Clock::system());
    let client = client::from_config_with_server_time(config, &metrics, &time)?;
    let mut tasks = Tasks::new(shutdown.clone());
    let readiness = Readiness::default();
    let router = admin::router(registry, readiness.clone());
    tasks.spawn("admin", admin::serve(admin_listener, router, shutdown.clone()));
    let live = LiveFleet::follow(&client, &time.clock(), Pace(PACE), &mut tasks, &shutdown);
    readiness.expect("the fleet");
    let watching = watch_over(live.clone(), readiness);
    tasks.spawn("readiness", until(shutdown.clone(), watching));
    let reviews = Reviews::new(client.clone(), time.clock(), arguments.actions);
    let settings = Settings {
        planner: Some(Arc::new(PagePlanner::new(time.clock()))),
        ..Settings::new(Access::Reviewed(reviews), arguments.place.clone())
    };
    tracing::info!(namespace, actions = arguments.actions, address = %arguments.listen, "serves the fleet page");
    let page = Dashboard::start(live, client, settings, &mut tasks, shutdown.clone());
    if let Some(certificate) = certificate {
        let reloading = reload(arguments.files()?, certificate.clone());
        tasks.spawn("certificate", until(shutdown.clone(), reloading));
        let serving = serve::encrypted(listener, certificate, page, shutdown);
        tasks.spawn("https", serving);
    } else {
        tasks.spawn("http", serve::plain(listener, page, shutdown));
    }
    Ok(tasks.finished().await?)
}

impl DashboardServerArguments {
    /// The certificate, which only loopback goes without.
    async fn certificate(&self) -> anyhow::Result<Option<RustlsConfig>> {
        if self.tls_certificate.is_none() {
            ensure!(
                self.listen.ip().is_loopback(),
                "tokens are not sent in the clear: give --tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy"
            );
            return Ok(None);
        }
        let (certificate, key) = self.files()?;
        let read = RustlsConfig::from_pem_file(&certificate, &key).await;
        let read = read.with_context(|| {
            format!(
                "reading the certificate {} and its key {}",
                certificate.display(),
                key.display()
            )
        })?;
        Ok(Some(read))
    }

    fn files(&self) -> anyhow::Result<(PathBuf, PathBuf)> {
        let files = self.tls_certificate.clone().zip(self.tls_key.clone());
        files.context("give --tls-certificate and --tls-key together")
    }
}

/// What goes on for ever, until `shutdown`.
async fn until(
    shutdown: CancellationToken,
    endless: impl Future<Output = Infallible>,
) -> Result<(), Infallible> {
    shutdown.run_until_cancelled(endless).await;
    Ok(())
}

/// What the server counts: all of it, for its page of docs lists it.
fn metrics(registry: &prometheus::Registry) -> anyhow::Result<RequestMetrics> {
    RequestMetrics::register(registry).context("registering request metrics")
}

/// The server is ready while there is something to show that is not old.
async fn watch_over(live: LiveFleet, readiness: Readiness) -> Infallible {
    let part = "the fleet";
    loop {
        if live.waiting_for().is_empty() && live.outdated().is_empty() {
            readiness.ready(part);
        } else {
            readiness.lost(part);
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Takes over a certificate that has been renewed. One that cannot be read leaves the one before in force.
async fn reload((certificate, key): (PathBuf, PathBuf), config: RustlsConfig) -> Infallible {
    loop {
        tokio::time::sleep(READ_CERTIFICATE).await;
        if let Err(error) = config.reload_from_pem_file(&certificate, &key).await {
            tracing::error!(%error, certificate = %certificate.display(), "the certificate cannot be read again");
        }
    }
}

#[cfg(test)]
mod metrics_page;

#[cfg(test)]
mod tests {
    use drydock_sandbox::local_fleet::{LocalFleet, LocalFleetSettings};
    use drydock_sandbox::test_env::TestEnvSettings;
    use kube_sandbox::server::{FaultAction, RequestInfo, Status};
    use tokio::time::timeout;
    use tokio_util::task::AbortOnDropHandle;

    use super::*;

    /// By when everything has ended that ends at all, of virtual time.
    const EVER: Duration = Duration::from_hours(1);

    /// A hub that does not answer: nobody waits for it at the end.
    const KUBECONFIG: &str = r#"{
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{"name": "hub", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "hub"}}],
        "users": [{"name": "hub", "user": {}}]
    }"#;

    /// What the server comes to that listens there.
    async fn outcome(listen: &str, shutdown: CancellationToken) -> anyhow::Result<()> {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, KUBECONFIG).unwrap();
        let kubeconfig = kubeconfig.to_str().unwrap();
        let flags = ["x", "--kubeconfig", kubeconfig, "--listen", listen];
        let flags = flags.into_iter().chain(["--admin-address", "127.0.0.1:0"]);
        let arguments = DashboardServerArguments::parse_from(flags);
        let serving = timeout(EVER, serve_until(&arguments, shutdown));
        serving.await.expect("it ends")
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_ends_when_it_is_asked_to() {
        let shutdown = CancellationToken::new();
        let asked = shutdown.clone();
        tokio::spawn(async move {
            tokio::time::sleep(READ_CERTIFICATE).await;
            asked.cancel();
        });
        outcome("127.0.0.1:0", shutdown).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_whose_port_is_taken_fails() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let error = outcome(&address, CancellationToken::new()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("listening on {address}: choose another --listen")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_is_ready_while_what_it_shows_is_not_old() {
        let env = TestEnvSettings::demo(1, 7);
        let mut fleet = LocalFleet::start(LocalFleetSettings::new(env)).await.unwrap();
        let live = fleet.watch(Pace(PACE)).unwrap();
        let readiness = Readiness::default();
        let _watching = AbortOnDropHandle::new(tokio::spawn(watch_over(live, readiness.clone())));
        let some_time = Duration::from_mins(4);
        tokio::time::sleep(some_time).await;
        assert!(readiness.is_ready());
        let server = fleet.hub_server().unwrap();
        let refuse = |asked: &RequestInfo<'_>| {
            let is_it = asked.kind.is_some_and(|kind| kind.kind == "ManagedCluster");
            if is_it && asked.identity.name() == "kubectl-drydock" {
                FaultAction::Refuse(Status::new(403, "Forbidden", "the server may not list them"))
            } else {
                FaultAction::Pass
            }
        };
        server.set_fault_hook(Some(Arc::new(refuse)));
        server.cut_watches(|_, _| true);
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert_eq!(readiness.waiting_for(), ["the fleet"]);
        server.set_fault_hook(None);
        tokio::time::sleep(some_time).await;
        assert!(readiness.is_ready());
        fleet.shut_down().await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_goes_on_for_ever_ends_with_the_server() {
        let shutdown = CancellationToken::new();
        shutdown.cancel();
        let ended = timeout(EVER, until(shutdown, std::future::pending())).await;
        ended.expect("it ends").unwrap();
    }
}
