//! A controller under paused time: a day of its reconciles takes a moment. It marks every ConfigMap with the label `mark=yes`, and
//! looks at each again every hour.
//!
//! `cargo run --package kube-sandbox --example controller`

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, ResourceExt};
use kube_sandbox::Clock;
use kube_sandbox::server::{ApiServer, ServerSettings, Types};
use serde_json::json;

struct Context {
    client: Client,
    reconciles: AtomicUsize,
}

async fn reconcile(map: Arc<ConfigMap>, context: Arc<Context>) -> Result<Action, kube::Error> {
    context.reconciles.fetch_add(1, Ordering::Relaxed);
    let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), "default");
    let marked = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": map.name_any()}, "data": {"marked": "yes"},
    });
    api.patch(
        &map.name_any(),
        &PatchParams::apply("marker"),
        &Patch::Apply(&marked),
    )
    .await?;
    Ok(Action::requeue(Duration::from_hours(1)))
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
#[expect(clippy::print_stdout, reason = "it is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
    let server = ApiServer::new(ServerSettings::new("demo", clock.clone(), 1, Types::built_in()));
    let user: Api<ConfigMap> = Api::namespaced(server.client("user"), "default");
    for name in ["one", "two", "three"] {
        let map = serde_json::from_value(json!({"metadata": {"name": name, "labels": {"mark": "yes"}}}))?;
        user.create(&PostParams::default(), &map).await?;
    }

    let context = Arc::new(Context {
        client: server.client("marker"),
        reconciles: AtomicUsize::new(0),
    });
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), "default");
    let controller = Controller::new(maps, watcher::Config::default().labels("mark=yes"));
    let on_error = |_, _: &kube::Error, _| Action::requeue(Duration::from_secs(10));
    let running = controller
        .run(reconcile, on_error, Arc::clone(&context))
        .for_each(|_| std::future::ready(()));
    tokio::spawn(async move {
        let _: () = running.await;
        Ok::<(), Infallible>(())
    });

    // Nothing sleeps: as soon as everybody waits, the clock jumps to the next timer.
    tokio::time::sleep(Duration::from_hours(24)).await;
    println!(
        "it is {}, and there were {} reconciles; one says {:?}",
        clock.now(),
        context.reconciles.load(Ordering::Relaxed),
        user.get("one").await?.data,
    );
    Ok(())
}
