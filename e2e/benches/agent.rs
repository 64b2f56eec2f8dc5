//! The agent of one cluster: `make bench-agent`. Requests are counted in the sandbox, in virtual time; memory and CPU are
//! those of the process on a real API server, with a simulated cluster behind it. Nothing is asserted.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures real time for a person"
)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use drydock_api::names::{AGENT_MANAGER, AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::schedule;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradePhase};
use drydock_e2e::fleet;
use drydock_e2e::process::used;
use drydock_e2e::real::{REAL_SPOKE, RealFleet};
use drydock_e2e::spoke::{NAME, Spoke};
use jiff::{SignedDuration, Timestamp};
use kube::api::PostParams;
use kube::{Api, Client};
use kube_sandbox::server::Verb;
use serde_json::json;
use tokio::runtime::Runtime;

const HOUR: Duration = Duration::from_hours(1);
/// Virtual time until an upgrade is given up.
const TIMEOUT: u32 = 48;

fn main() -> anyhow::Result<()> {
    let virtually = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    virtually.block_on(requests())?;
    really()?.block_on(process())?;
    really()?.block_on(schedules())
}

/// A runtime whose time is that of the machine, until a fleet speeds it up.
fn really() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// UpgradeConfigs and UpgradeJobs of a busy cluster.
const CONFIGS: usize = 20;
const JOBS: usize = 1000;

/// Creates them: the UpgradeJobs of the past, which have expired.
async fn maintain(client: &Client, now: Timestamp) -> anyhow::Result<()> {
    let job_config =
        json!({"upgradeTimeout": "12h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {}});
    let configs: Api<schedule::UpgradeConfig> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    for number in 0..CONFIGS {
        let config = json!({
            "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeConfig",
            "metadata": {"name": format!("config-{number}"), "labels": {"number": number.to_string()}},
            "spec": {
                "schedule": {"cron": format!("{number} 22 1 * *"), "location": "Europe/Zurich"},
                "jobTemplate": {"spec": {"config": job_config}},
            },
        });
        let config = serde_json::from_value(config)?;
        configs.create(&PostParams::default(), &config).await?;
    }
    let jobs: Api<schedule::UpgradeJob> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    for number in 0..JOBS {
        let start = now - SignedDuration::from_hours(24 * 7);
        let job = json!({
            "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeJob",
            "metadata": {"name": format!("job-{number}")},
            "spec": {
                "startAfter": start.to_string(), "startBefore": (start + SignedDuration::from_hours(1)).to_string(),
                "desiredVersion": {"version": "4.14.12", "image": "quay.io/openshift-release-dev/ocp-release@sha256:1"},
                "config": job_config,
            },
        });
        let job = serde_json::from_value(job)?;
        jobs.create(&PostParams::default(), &job).await?;
    }
    Ok(())
}

/// Memory of the process with maintenance schedules.
async fn schedules() -> anyhow::Result<()> {
    let mut settings = fleet::three_clusters(5);
    settings.clusters.truncate(1);
    let mut fleet = RealFleet::start(settings).await?;
    let pid = *fleet.agents().first().context("there is no agent")?;
    maintain(&fleet.user_of(REAL_SPOKE).await?, Timestamp::now()).await?;
    // As above, the agent has some hundredth of this time.
    tokio::time::sleep(4 * HOUR).await;
    let (before, began) = (used(pid)?, Instant::now());
    tokio::time::sleep(6 * HOUR).await;
    let after = used(pid)?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{CONFIGS} UpgradeConfigs and {JOBS} UpgradeJobs that were created at once, idle, {seconds:.0} s: {} KiB resident, {} KiB at the highest, {:.3} CPU seconds a minute",
        after.resident_kibibytes,
        after.peak_kibibytes,
        (after.cpu_seconds - before.cpu_seconds) * 60.0 / seconds
    );
    let pid = fleet.restart_agent()?;
    tokio::time::sleep(4 * HOUR).await;
    let after = used(pid)?;
    println!(
        "an agent that starts with them: {} KiB resident, {} KiB at the highest",
        after.resident_kibibytes, after.peak_kibibytes
    );
    fleet.shut_down().await;
    Ok(())
}

/// Prints and returns what the agent has asked for since the last time.
fn counted(spoke: &Spoke, of: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let server = spoke.fleet.env.spoke(NAME).context("there is no such cluster")?;
    let mut counts = BTreeMap::new();
    for (key, count) in server.requests() {
        if key.identity == AGENT_MANAGER && !key.resource.is_empty() {
            *counts
                .entry(format!("{:?} {}", key.verb, key.resource))
                .or_default() += count;
        }
    }
    server.reset_requests();
    let watches: u64 = sum(&counts, |what| what.starts_with(&format!("{:?} ", Verb::Watch)));
    let all: u64 = sum(&counts, |_| true);
    println!("{of}: {all} requests, {watches} of them watches");
    for (what, count) in &counts {
        println!("  {count:>5} {what}");
    }
    Ok(counts)
}

fn sum(counts: &BTreeMap<String, u64>, matches: impl Fn(&str) -> bool) -> u64 {
    let matching = counts.iter().filter(|(what, _)| matches(what));
    matching.map(|(_, count)| count).sum()
}

async fn requests() -> anyhow::Result<()> {
    let spoke = Spoke::start(|_| {}, |outside| outside).await?;
    tokio::time::sleep(HOUR).await;
    counted(&spoke, "start and first hour, nothing to do")?;
    tokio::time::sleep(HOUR).await;
    counted(&spoke, "an idle hour, nothing to do")?;
    maintain(&spoke.client, spoke.fleet.clock.now()).await?;
    tokio::time::sleep(HOUR).await;
    counted(
        &spoke,
        "20 UpgradeConfigs and 1,000 UpgradeJobs that have expired are created",
    )?;
    tokio::time::sleep(HOUR).await;
    counted(&spoke, "an idle hour with them")?;
    spoke.ask(json!({"upgradeAt": "2026-01-06T00:00:00Z"})).await?;
    tokio::time::sleep(HOUR / 60).await;
    counted(&spoke, "an upgrade is asked for, of tomorrow")?;
    tokio::time::sleep(HOUR).await;
    counted(&spoke, "an idle hour, an upgrade waits for its time")?;
    spoke.withdraw().await?;
    tokio::time::sleep(HOUR / 60).await;
    counted(&spoke, "it is withdrawn")?;
    spoke.ask(json!({"capacityReservation": true})).await?;
    let began = spoke.fleet.clock.now();
    spoke.until(UpgradePhase::Upgraded).await?;
    let minutes = spoke.fleet.clock.now().duration_since(began).as_mins();
    counted(
        &spoke,
        &format!("a whole upgrade with extra workers, {minutes} min"),
    )?;
    Ok(spoke.fleet.shut_down().await?)
}

async fn process() -> anyhow::Result<()> {
    let mut settings = fleet::three_clusters(5);
    settings.clusters.truncate(1);
    let fleet = RealFleet::start(settings).await?;
    let pid = *fleet.agents().first().context("there is no agent")?;
    // The stand-ins' time runs some hundred times faster than the agent's.
    tokio::time::sleep(2 * HOUR).await;
    let before = used(pid)?;
    let began = Instant::now();
    tokio::time::sleep(6 * HOUR).await;
    let after = used(pid)?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "idle, {seconds:.0} s: {} KiB resident, {:.3} CPU seconds a minute",
        after.resident_kibibytes,
        (after.cpu_seconds - before.cpu_seconds) * 60.0 / seconds
    );
    let api: Api<UpgradeConfig> = Api::namespaced(fleet.user_of(REAL_SPOKE).await?, AGENT_NAMESPACE);
    let upgrade = serde_json::from_value(json!({
        "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
        "metadata": {"name": UPGRADE_CONFIG},
        "spec": {
            "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 60,
            "desired": {"version": "4.14.12", "channel": "stable-4.14"},
        },
    }))?;
    let (before, began) = (after, Instant::now());
    api.create(&PostParams::default(), &upgrade).await?;
    for _ in 0..TIMEOUT * 60 {
        tokio::time::sleep(HOUR / 60).await;
        let status = api.get(UPGRADE_CONFIG).await?.status.unwrap_or_default();
        let newest = status.history.unwrap_or_default().into_iter().next();
        if newest.is_some_and(|entry| entry.phase == UpgradePhase::Upgraded) {
            let after = used(pid)?;
            println!(
                "a whole upgrade, {:.0} s: {} KiB at the highest, {:.3} CPU seconds",
                began.elapsed().as_secs_f64(),
                after.peak_kibibytes,
                after.cpu_seconds - before.cpu_seconds
            );
            fleet.shut_down().await;
            return Ok(());
        }
    }
    anyhow::bail!("the upgrade does not end\n{}", fleet.logs())
}
