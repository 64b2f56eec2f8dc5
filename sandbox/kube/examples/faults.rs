//! Faults: requests that are refused, late or lose their answer, by who asks for what; and a watch that is cut.
//!
//! `cargo run --package kube-sandbox --example faults`

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube_sandbox::Clock;
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, ServerSettings, Types, Verb};
use serde_json::json;

#[tokio::main(flavor = "current_thread", start_paused = true)]
#[expect(clippy::print_stdout, reason = "it is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
    let server = ApiServer::new(ServerSettings::new("demo", clock.clone(), 1, Types::built_in()));

    // The answer to the program's first write is lost; every list of it takes ten seconds.
    let writes = AtomicUsize::new(0);
    server.set_fault_hook(Some(Arc::new(move |request: &RequestInfo<'_>| {
        match (request.identity.name(), request.verb) {
            ("program", Verb::Create) if writes.fetch_add(1, Ordering::Relaxed) == 0 => {
                FaultAction::DropAfterWrite
            }
            ("program", Verb::List) => FaultAction::Delay(Duration::from_secs(10)),
            _ => FaultAction::Pass,
        }
    })));

    let program: Api<ConfigMap> = Api::namespaced(server.client("program"), "default");
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "one"}}))?;
    for attempt in 1..=2 {
        match program.create(&PostParams::default(), &map).await {
            Ok(_) => println!("attempt {attempt}: made"),
            Err(error) => println!("attempt {attempt}: {error}"),
        }
    }

    let seen = watcher(program.clone(), watcher::Config::default())
        .default_backoff()
        .applied_objects();
    let mut seen = std::pin::pin!(seen);
    let first = seen.try_next().await?;
    println!(
        "{}: the watch has brought {} object",
        clock.now(),
        first.iter().count()
    );
    server.cut_watches(|identity, _| identity == "program");
    let more: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "two"}}))?;
    let user: Api<ConfigMap> = Api::namespaced(server.client("user"), "default");
    user.create(&PostParams::default(), &more).await?;
    while let Some(event) = seen.next().await {
        match event {
            Ok(map) => {
                println!("{}: after the cut it brings {:?}", clock.now(), map.metadata.name);
                if map.metadata.name.as_deref() == Some("two") {
                    break;
                }
            }
            Err(error) => println!("{}: {error}", clock.now()),
        }
    }
    Ok(())
}
