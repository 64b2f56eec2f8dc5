//! `kubectl drydock dashboard`: the fleet page, served on loopback by this process.

mod connection;
mod serve;
pub mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_dashboard::{Access, Dashboard, OwnAccess, Settings, Token};
use drydock_edits::{MANAGER, user_name};
use drydock_hub::{LiveFleet, Pace};
use drydock_runtime::shutdown;
use drydock_runtime::tasks::Tasks;
use drydock_sandbox::local_fleet::LocalFleet;
use kube::Api;
use kube::api::ListParams;
use kube_sandbox::pace;
use tokio::net::TcpListener;

use crate::arguments::TestEnvArguments;
use crate::local_fleet::unattended_pace;
use crate::plan::page::PagePlanner;
use crate::server::{Server, user};
use crate::upgrades::arguments::Connection;
use crate::upgrades::table;

/// How long changes are gathered before the page gets them: as long as a person does not call late.
const PACE: Duration = Duration::from_millis(250);
/// How fast virtual time is taken to be that nobody holds back.
const UNHELD: u32 = 36_000;

/// How it is called.
pub const EXAMPLES: &str = "\
Examples:
  # all upgrades and clusters of the hub of the current context
  kubectl drydock dashboard

  # the upgrades of one namespace; print the link, open nothing
  kubectl drydock dashboard -n platform --no-browser

  # on a machine without a browser: forward the port with ssh -L 8090:127.0.0.1:8090
  kubectl drydock dashboard --port 8090 --no-browser

  # on a wall
  kubectl drydock dashboard --read-only";

/// Flags of `dashboard`.
#[derive(Args, Debug)]
pub struct DashboardArguments {
    /// The hub.
    #[command(flatten)]
    pub connection: Connection,
    /// The port on 127.0.0.1; 0 takes one that is free
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    pub port: u16,
    /// Print the link, and do not open it
    #[arg(long)]
    pub no_browser: bool,
    /// Change nothing, whatever your rights are
    #[arg(long)]
    pub read_only: bool,
}

/// Serves the page until Ctrl-C.
///
/// # Errors
/// If the hub cannot be reached, or the port is taken.
pub async fn run(arguments: &DashboardArguments) -> anyhow::Result<()> {
    let shutdown = shutdown::on_signals()?;
    let server = Server::connect(&arguments.connection).await?;
    let upgrades: Api<ManagedClustersUpgrade> = Api::all(server.client.clone());
    // Watches try again without end: what is wrong from the beginning is said here.
    let first = upgrades.list(&ListParams::default().limit(1)).await;
    first.context("listing the ManagedClustersUpgrades of the hub")?;
    let (listener, address) = bind(arguments.port).await?;
    let token = Token::random()?;
    let link = link(address, &token);
    let mut tasks = Tasks::new(shutdown.clone());
    let clock = server.time.clock();
    let live = LiveFleet::follow(&server.client, &clock, Pace(PACE), &mut tasks, &shutdown);
    // Who changes nothing accepts nothing: it need not be known who that is.
    let who = if arguments.read_only {
        let known = user_name(&server.client).await;
        known.unwrap_or_else(|| MANAGER.to_owned())
    } else {
        user(&server.client).await
    };
    let own = OwnAccess {
        read_only: arguments.read_only,
        namespace: arguments.connection.namespace.clone(),
        own_namespace: server.default_namespace.clone(),
        ..OwnAccess::new(token, who)
    };
    let settings = Settings {
        planner: Some(Arc::new(PagePlanner::new(clock))),
        ..Settings::new(Access::Own(own), server.url())
    };
    let page = Dashboard::start(live, server.client, settings, &mut tasks, shutdown.clone());
    tasks.spawn("http", serve::plain(listener, page, shutdown));
    table::print(&link)?;
    if !arguments.no_browser {
        open_browser(&link);
    }
    Ok(tasks.finished().await?)
}

/// The link was printed: who has no browser here opens it elsewhere.
#[expect(clippy::print_stderr, reason = "standard output is for the link")]
fn open_browser(link: &str) {
    if let Err(error) = open::that_detached(link) {
        eprintln!("no browser can be opened ({error}): open the link yourself, or give --no-browser");
    }
}

/// Serves the page of a local fleet and prints the link to it, if that is asked for. It ends with the fleet.
///
/// # Errors
/// If no port can be had.
#[expect(clippy::print_stderr, reason = "standard output is for the result")]
pub async fn of_local_fleet(
    fleet: &mut LocalFleet,
    arguments: &TestEnvArguments,
    pace: pace::Pace,
) -> anyhow::Result<Option<Dashboard>> {
    if !arguments.dashboard {
        return Ok(None);
    }
    let (listener, address) = bind(0).await?;
    let token = Token::random()?;
    let link = link(address, &token);
    // What is measured in seconds of a person is longer by the clock of the fleet.
    let (speed, gathered) = match pace {
        pace::Pace::Scaled(speed) => (speed.get(), Pace(PACE * speed.get())),
        pace::Pace::AsFastAsPossible => (UNHELD, unattended_pace(arguments.clusters.get())),
    };
    let live = fleet.watch(gathered)?;
    let client = fleet.client("kubectl-drydock")?;
    let place = format!("sandbox of {} clusters", arguments.clusters);
    let planner = PagePlanner::new(fleet.clock.clone());
    let own = OwnAccess::new(token, "sandbox".to_owned());
    let settings = Settings::new(Access::Own(own), place);
    let settings = Settings {
        sandbox: true,
        planner: Some(Arc::new(planner)),
        speed,
        keep_alive: settings.keep_alive * speed,
        ..settings
    };
    let (tasks, stop) = fleet.tasks();
    let page = Dashboard::start(live, client, settings, tasks, stop);
    tasks.spawn("http", page.clone().serve(listener));
    eprintln!("The fleet page: {link}");
    Ok(Some(page))
}

async fn bind(port: u16) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let asked = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let listener = TcpListener::bind(asked)
        .await
        .with_context(|| format!("listening on {asked}: choose another --port"))?;
    let address = listener.local_addr().context("reading the port")?;
    Ok((listener, address))
}

/// What follows the # is never sent to a server: the token stands in no log.
fn link(address: SocketAddr, token: &Token) -> String {
    format!("http://{address}/#token={}", token.as_str())
}
