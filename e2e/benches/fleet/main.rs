//! A large fleet on a real API server: `make bench-fleet N=10000`. The hub runs as a process; works are answered by spokes
//! that write status as the work agent does. Prints what it took at a hundredth, a tenth and all of N, or with `ONLY=1` at all of N alone,
//! not compared with anything; nothing is asserted.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures real time for a person"
)]

mod floor;
mod meter;
mod objects;
mod ocm;
mod page;
mod proxy;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use drydock_api::ocm::ManifestWork;
use drydock_e2e::control_plane::{ADMIN, ControlPlane};
use drydock_e2e::manifests::{self, in_repository};
use drydock_e2e::process::Workplace;
use drydock_e2e::{fleet, program};
use drydock_runtime::Clock;
use jiff::SignedDuration;
use kube::api::ListParams;
use kube::{Api, Client};
use kube_sandbox::access::Access;
use ocm_sandbox::spokes::{StubWorkAgent, StubWorkAgentSettings};

use floor::Contents;
use meter::{Meter, Reading};
use proxy::Proxy;

/// By when a stage of a run is over.
const TIMEOUT: Duration = Duration::from_mins(30);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let number = |name: &str, default: usize| {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let all = number("FLEET_CLUSTERS", 1000);
    let idle = Duration::from_secs(60 * number("FLEET_IDLE_MINUTES", 5) as u64);
    let answers = match std::env::var("FLEET_ANSWERS").as_deref() {
        Ok("late") => Answers::Late,
        _ => Answers::AtOnce,
    };
    let only = std::env::var("FLEET_ONLY").is_ok_and(|only| !only.is_empty());
    let smaller = [all / 100, all / 10].into_iter().filter(|_| !only);
    let mut sizes: Vec<usize> = smaller.chain([all]).filter(|size| *size > 0).collect();
    sizes.dedup();
    println!(
        "{:>8} {:<15} {:>9} {:>9} {:>9} {:>9} {:>9} {:>12} {:>12}",
        "clusters", "", "after", "CPU", "peak", "requests", "a cluster", "received", "sent"
    );
    for size in sizes {
        // Only the largest fleet is left alone for a while: an idle one costs the same at any size, or should.
        let idle = (size == all && !only).then_some(idle);
        run(size, answers, idle, only)
            .await
            .with_context(|| format!("with {size} clusters"))?;
    }
    Ok(())
}

/// How many browsers follow the fleet: `VIEWERS=100`.
fn viewers() -> usize {
    let text = std::env::var("FLEET_VIEWERS").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// From when on works are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answers {
    AtOnce,
    /// When all works are there: what it takes to make them shows by itself.
    Late,
}

fn row(size: usize, what: &str, after: Duration, reading: &Reading) {
    println!(
        "{size:>8} {what:<15} {:>7.1} s {:>7.2} s {:>6} MB {:>9} {:>9.2} {:>9.1} MB {:>9.1} MB",
        after.as_secs_f64(),
        reading.cpu_seconds,
        reading.peak_kibibytes / 1024,
        reading.total_requests(),
        reading.total_requests() as f64 / size as f64,
        reading.received as f64 / 1e6,
        reading.sent as f64 / 1e6,
    );
}

async fn run(size: usize, answers: Answers, idle: Option<Duration>, only: bool) -> anyhow::Result<()> {
    let control_plane = ControlPlane::start().await?;
    let admin = control_plane.client(ADMIN).await?;
    manifests::install(&admin, &manifests::definitions()?).await?;
    manifests::apply(&admin, &objects::namespace("drydock")?).await?;
    manifests::apply_file(&admin, &in_repository("manifests/hub/rbac.yaml")).await?;
    objects::make_fleet(&Access::remote(admin.clone(), "bench"), size).await?;

    if !only {
        compare(&control_plane, &admin, size).await?;
    }

    let proxy = Proxy::start(control_plane.server()).await?;
    let kubeconfig = control_plane
        .service_account_kubeconfig("drydock", "drydock-hub")
        .await?;
    let text = std::fs::read_to_string(&kubeconfig).context("reading the hub's kubeconfig")?;
    let workplace = Workplace::new("bench-fleet")?;
    let kubeconfig = workplace.write(
        "hub.kubeconfig",
        &text.replace(control_plane.server(), &proxy.url()),
    )?;
    let address = meter::free_address()?;
    let arguments = ["--admin-address", address.as_str()];
    let hub = workplace.start(
        "drydock-hub",
        Command::new(program::path("drydock-hub")?)
            .env("KUBECONFIG", kubeconfig)
            .args(arguments),
    )?;
    let meter = Meter::new(hub.id(), address, proxy);
    meter.wait_until_ready(TIMEOUT).await?;
    let access = Access::remote(admin.clone(), "spokes");
    let settings = StubWorkAgentSettings {
        durations: vec![SignedDuration::from_secs(1)],
        applies: Duration::from_secs(5),
        sees: Duration::from_millis(100),
        ..StubWorkAgentSettings::default()
    };
    let feed = || {
        let spokes = StubWorkAgent::new(settings.clone(), Clock::system());
        tokio::spawn(spokes.run(access.clone()))
    };
    let early = (answers == Answers::AtOnce).then(feed);
    let mut page = match viewers() {
        0 => None,
        viewers => Some(page::Page::start(&control_plane, &admin, &workplace, viewers).await?),
    };

    let begun = Instant::now();
    fleet::start(&admin, &objects::upgrade(size)?).await?;
    count_works(&admin, size).await?;
    row(size, "works are there", begun.elapsed(), &meter.read().await?);
    let spokes = early.unwrap_or_else(feed);
    complete(&admin).await?;
    let reading = meter.read().await?;
    row(size, "all complete", begun.elapsed(), &reading);
    if let Some(page) = &mut page {
        page.print(size)?;
    }
    if let Some(idle) = idle {
        breakdown(&reading);
        rest(&meter, idle).await?;
    }
    spokes.abort();
    drop(hub);
    Ok(())
}

/// What the API server takes for as many works from others.
async fn compare(control_plane: &ControlPlane, admin: &Client, size: usize) -> anyhow::Result<()> {
    for (what, contents) in [("bare", Contents::Bare), ("like the hub's", Contents::Full)] {
        let took = floor::measure(admin, size, contents).await?;
        println!(
            "{size:>8} works {what}, from a client that only makes them: {:.1} s",
            took.as_secs_f64()
        );
        if let Some(manager) = std::env::var_os("FLEET_OCM").filter(|path| !path.is_empty()) {
            let work = floor::work(&objects::name(0), contents)?;
            let (took, used) = ocm::measure(manager.as_ref(), control_plane, size, &work).await?;
            println!(
                "{size:>8} works {what}, from OCM's controller: {:.1} s, {:.2} CPU s, {} MB",
                took.as_secs_f64(),
                used.cpu_seconds,
                used.peak_kibibytes / 1024,
            );
        }
    }
    Ok(())
}

fn breakdown(reading: &Reading) {
    println!("requests of the hub, by verb and resource:");
    for (what, count) in &reading.requests {
        println!("  {count:>8} {what}");
    }
}

/// What an idle fleet costs, once the Events of what happened are written.
async fn rest(meter: &Meter, idle: Duration) -> anyhow::Result<()> {
    let mut before = meter.read().await?;
    let quiet = async {
        loop {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let now = meter.read().await?;
            let writes = now.since(&before).iter().any(|what| !what.contains(" watch "));
            before = now;
            if !writes {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(TIMEOUT, quiet)
        .await
        .context("the hub does not come to rest")??;
    tokio::time::sleep(idle).await;
    let after = meter.read().await?;
    println!(
        "idle for {} min: {:.2} CPU s, {} requests ({}), {} MB resident",
        idle.as_secs() / 60,
        after.cpu_seconds - before.cpu_seconds,
        after.total_requests() - before.total_requests(),
        after.since(&before).join(", "),
        after.resident_kibibytes / 1024,
    );
    Ok(())
}

/// Returns when there are this many works. It asks for one of them and how many more there are: a watch of them all would take
/// its part of the two cores.
async fn count_works(client: &Client, size: usize) -> anyhow::Result<()> {
    let works: Api<ManifestWork> = Api::all(client.clone());
    let one = ListParams::default().limit(1);
    let counting = async {
        loop {
            let page = works.list_metadata(&one).await.context("counting works")?;
            let more = page.metadata.remaining_item_count.unwrap_or_default();
            if page.items.len() + usize::try_from(more)? >= size {
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, counting)
        .await
        .context("not all works came")?
}

async fn complete(client: &Client) -> anyhow::Result<()> {
    let upgrades = Arc::new(fleet::upgrades(client));
    let waiting = async {
        loop {
            let upgrade = upgrades
                .get(fleet::UPGRADE)
                .await
                .context("reading the upgrade")?;
            if fleet::is_true(&upgrade, "Complete") {
                return anyhow::Ok(());
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, waiting)
        .await
        .context("it does not come to an end")?
}
