//! `kubectl drydock sandbox`: the bed, idle, for the user's own kubectl.

use drydock_runtime::shutdown;

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
