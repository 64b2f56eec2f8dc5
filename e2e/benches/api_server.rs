//! The sandbox's API server beside a real kube-apiserver, on the same machine in one run: `make bench`. Prints a table with
//! ratios; nothing is asserted, because no two machines are alike.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "it measures real time for a person"
)]

use std::time::{Duration, Instant};

use anyhow::Context;
use bytes::Bytes;
use drydock_e2e::control_plane::ControlPlane;
use drydock_e2e::differential::{Pair, Target};
use drydock_runtime::Clock;
use drydock_sandbox::test_env::hub_types;
use kube_sandbox::access::Access;
use kube_sandbox::server::{ApiServer, ServerSettings, Types};
use ocm_sandbox::kinds;
use serde_json::{Value, json};

/// How often each request is made.
const TIMES: usize = 300;
/// How many watch at once.
const WATCHERS: usize = 100;
const NAMESPACE: &str = "bench";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let begun = Instant::now();
    let types = Types::with_definitions(&drydock_api::crds())?;
    let sandbox = ApiServer::new(ServerSettings::new("hub", Clock::system(), 1, types));
    let sandbox_ready = begun.elapsed();
    let begun = Instant::now();
    let control_plane = ControlPlane::start().await?;
    let real_ready = begun.elapsed();
    let pair = Pair::start(sandbox, control_plane).await?;
    println!("{:<28} {:>12} {:>12} {:>9}", "", "sandbox", "real", "ratio");
    row("until ready", sandbox_ready, real_ready);
    let (ours, theirs) = (measure(&pair.sandbox).await?, measure(&pair.real).await?);
    for ((what, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        row(what, *ours, *theirs);
    }
    pair.stop().await?;
    fill().await
}

/// What a fleet of ten thousand costs in memory: a ManagedCluster and a ManifestWork each.
async fn fill() -> anyhow::Result<()> {
    let clusters = 10_000;
    let before = resident()?;
    let settings = ServerSettings::new("hub", Clock::system(), 1, hub_types()?);
    let server = ApiServer::new(settings);
    let access = Access::memory(&server, "bench");
    for number in 0..clusters {
        let name = format!("cluster{number}");
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        access.create(&kinds::NAMESPACE, space).await?;
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {"name": name, "vendor": "OpenShift"}},
            "spec": {"hubAcceptsClient": true},
        });
        access.create(&kinds::MANAGED_CLUSTER, cluster).await?;
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"name": "work", "namespace": name, "labels": {"app": "bench"}},
            "spec": {"workload": {"manifests": [map("a", number)]}},
        });
        access.create(&kinds::MANIFEST_WORK, work).await?;
    }
    let used = resident()?.saturating_sub(before);
    println!(
        "{clusters} ManagedClusters and ManifestWorks, with their namespaces: {} MB",
        used / 1024
    );
    drop(server);
    Ok(())
}

/// What this process has in memory, in KiB.
fn resident() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("reading this process's memory")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.context("no VmRSS")?.parse().context("reading VmRSS")
}

fn row(what: &str, sandbox: Duration, real: Duration) {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    println!(
        "{what:<28} {:>9.3} ms {:>9.3} ms {:>8.1}x",
        milliseconds(sandbox),
        milliseconds(real),
        real.as_secs_f64() / sandbox.as_secs_f64()
    );
}

fn map(name: &str, value: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": "bench"}},
        "data": {"value": value.to_string(), "text": "x".repeat(500)},
    })
}

fn request(
    method: &str,
    path: &str,
    content: &str,
    body: Option<&Value>,
) -> anyhow::Result<http::Request<Bytes>> {
    let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
    http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content)
        .body(body)
        .context("building a request")
}

async fn sent(target: &Target, request: http::Request<Bytes>) -> anyhow::Result<Value> {
    let what = format!("{} {}", request.method(), request.uri());
    let answer = target.send(request, false).await?;
    anyhow::ensure!(answer.code < 300, "{what}: {}", answer.value());
    Ok(answer.body)
}

/// The median of a request's times.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

async fn measure(target: &Target) -> anyhow::Result<Vec<(&'static str, Duration)>> {
    let json_type = "application/json";
    let space = json!({"metadata": {"name": NAMESPACE}});
    sent(
        target,
        request("POST", "/api/v1/namespaces", json_type, Some(&space))?,
    )
    .await?;
    let maps = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    let mut measured = Vec::new();
    let mut times = Vec::new();
    for number in 0..500 {
        let body = map(&format!("m{number}"), number);
        let begun = Instant::now();
        sent(target, request("POST", &maps, json_type, Some(&body))?).await?;
        times.push(begun.elapsed());
    }
    measured.push(("create", median(times)));
    let steps: [(&'static str, &str, &str); 4] = [
        ("get", "GET", json_type),
        ("update", "PUT", json_type),
        ("merge patch", "PATCH", "application/merge-patch+json"),
        ("apply", "PATCH", "application/apply-patch+yaml"),
    ];
    for (what, method, content) in steps {
        let mut times = Vec::new();
        for number in 0..TIMES {
            let name = format!("m{number}");
            let body = (method != "GET").then(|| map(&name, number + 1000 + what.len()));
            let path = match what {
                "apply" => format!("{maps}/{name}?fieldManager=bench&force=true"),
                _ => format!("{maps}/{name}"),
            };
            let begun = Instant::now();
            sent(target, request(method, &path, content, body.as_ref())?).await?;
            times.push(begun.elapsed());
        }
        measured.push((what, median(times)));
    }
    let mut times = Vec::new();
    for _ in 0..50 {
        let begun = Instant::now();
        sent(
            target,
            request("GET", &format!("{maps}?limit=500"), json_type, None)?,
        )
        .await?;
        times.push(begun.elapsed());
    }
    measured.push(("list 500", median(times)));
    measured.push(("100 changes to 100 watchers", fan_out(target, &maps).await?));
    Ok(measured)
}

/// How long the writer of a hundred changes takes while a hundred watch, less the time that the watches last in any case.
async fn fan_out(target: &Target, maps: &str) -> anyhow::Result<Duration> {
    let seconds = 4;
    let list = sent(
        target,
        request("GET", &format!("{maps}?limit=1"), "application/json", None)?,
    )
    .await?;
    let version = list["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let path = format!("{maps}?watch=true&resourceVersion={version}&timeoutSeconds={seconds}");
    let mut watches = tokio::task::JoinSet::new();
    for _ in 0..WATCHERS {
        let (target, path) = (target.clone(), path.clone());
        watches.spawn(async move {
            target
                .send(request("GET", &path, "application/json", None)?, true)
                .await
        });
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let begun = Instant::now();
    for number in 0..100 {
        let body = json!({"data": {"value": format!("watched-{number}")}});
        let path = format!("{maps}/m{number}");
        sent(
            target,
            request("PATCH", &path, "application/merge-patch+json", Some(&body))?,
        )
        .await?;
    }
    let written = begun.elapsed();
    while let Some(answer) = watches.join_next().await {
        let events = answer??.body.as_array().map_or(0, Vec::len);
        anyhow::ensure!(events == 100, "a watcher saw {events} of 100 changes");
    }
    Ok(written)
}
