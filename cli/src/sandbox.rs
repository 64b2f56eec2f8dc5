//! `kubectl drydock sandbox`: the bed, idle, for the user's own kubectl.

use anyhow::Context;
use drydock_api::ocm::Placement;
use drydock_runtime::shutdown;
use kube::Api;
use kube::runtime::wait::await_condition;

use crate::arguments::SandboxArguments;
use crate::yard::Yard;

/// Starts the bed, prints the path of a kubeconfig and waits for Ctrl-C.
///
/// # Errors
/// If the bed cannot start.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the path is the command's result"
)]
pub async fn run(arguments: &SandboxArguments) -> anyhow::Result<()> {
    let signal = shutdown::on_signals()?;
    let mut yard = Yard::start(&arguments.bed, arguments.bed.pace()).await?;
    placed(&yard, arguments.bed.clusters.get()).await?;
    let served = yard.serve().await?;
    println!("{}", served.kubeconfig.display());
    eprintln!(
        "{} clusters are ready. In another terminal: export KUBECONFIG={}; kubectl get managedclusters\nThe update graph: {}?channel=stable-4.14\nAlerts and silences: {}/CLUSTER/prometheus/api/v1/alerts, …/CLUSTER/alertmanager/api/v2/silences\nCtrl-C ends it.",
        arguments.bed.clusters,
        served.kubeconfig.display(),
        served.graph,
        served.monitoring
    );
    signal.cancelled().await;
    yard.shut_down().await
}

/// Waits until the bed's placement has every cluster: from then on upgrades begin at once and rehearsals see them all.
async fn placed(yard: &Yard, clusters: usize) -> anyhow::Result<()> {
    let (namespace, name) = ("dev", "dev-clusters");
    let api: Api<Placement> = Api::namespaced(yard.client()?, namespace);
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
