//! `kubectl drydock sandbox`: the test environment, idle, for the user's own kubectl.

use anyhow::Context;
use drydock_api::ocm::Placement;
use drydock_runtime::Clock;
use drydock_runtime::shutdown;
use jiff::Timestamp;
use kube::Api;
use kube::runtime::wait::await_condition;

use crate::arguments::SandboxArguments;
use crate::upgrades::table;
use crate::{dashboard, local_fleet};
use drydock_sandbox::local_fleet::LocalFleet;

/// Starts the test environment, prints the path of a kubeconfig and waits for Ctrl-C.
///
/// # Errors
/// If the test environment cannot start.
#[expect(clippy::print_stderr, reason = "standard output is for the result")]
pub async fn run(arguments: &SandboxArguments) -> anyhow::Result<()> {
    let signal = shutdown::on_signals()?;
    let starting = async {
        let mut fleet = local_fleet::start(&arguments.env, arguments.env.pace(), present()).await?;
        let page = dashboard::of_local_fleet(&mut fleet, &arguments.env, arguments.env.pace()).await?;
        placed(&fleet, arguments.env.clusters.get()).await?;
        let served = local_fleet::serve(&mut fleet).await?;
        anyhow::Ok((fleet, page, served))
    };
    let Some(started) = signal.run_until_cancelled(Box::pin(starting)).await else {
        return Ok(());
    };
    let (fleet, _page, served) = started?;
    table::print(&served.kubeconfig.display().to_string())?;
    eprintln!(
        "{} clusters are ready. In another terminal: export KUBECONFIG={}; kubectl get managedclusters\nThe update graph: {}?channel=stable-4.14\nAlerts and silences: {}/CLUSTER/prometheus/api/v1/alerts, …/CLUSTER/alertmanager/api/v2/silences\nVirtual time began now, and {} s of it pass in a second: the servers count ages by it.\nCtrl-C ends it.",
        arguments.env.clusters,
        served.kubeconfig.display(),
        served.update_graph,
        served.monitoring,
        arguments.env.speed
    );
    signal.cancelled().await;
    Ok(fleet.shut_down().await?)
}

/// The second that it is, so that ages which kubectl shows are right.
fn present() -> Timestamp {
    let now = Clock::system().now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

/// Waits until the test environment's placement has every cluster: from then on upgrades begin at once and forecasts see them all.
async fn placed(fleet: &LocalFleet, clusters: usize) -> anyhow::Result<()> {
    let (namespace, name) = ("dev", "dev-clusters");
    let api: Api<Placement> = Api::namespaced(fleet.client("kubectl-drydock")?, namespace);
    let decided = |placement: Option<&Placement>| {
        placement
            .and_then(|placement| placement.status.as_ref())
            .and_then(|status| status.number_of_selected_clusters)
            .is_some_and(|selected| usize::try_from(selected) == Ok(clusters))
    };
    await_condition(api, name, decided)
        .await
        .with_context(|| format!("waiting until Placement {namespace}/{name} is decided"))?;
    Ok(())
}
