//! Which of a cluster's alerts block the agent, and what it silences, as Alertmanager says it.

use anyhow::ensure;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_runtime::Clock;
use jiff::SignedDuration;
use kube::Client;

use super::{StaticCluster, Watched, until};

const ALERTS: &str = "healthCheck: {ignoredCriticals: [Broken]}
maintenance: {ignoredAlerts: {controlPlaneCriticals: [ClusterOperatorDown, 'Quoted\\\"One']}}
";

/// The same, and a control plane may take longer.
const LONGER: &str = "healthCheck: {ignoredCriticals: [Broken]}
maintenance: {controlPlaneTime: 180, ignoredAlerts: {controlPlaneCriticals: [ClusterOperatorDown, 'Quoted\\\"One']}}
";

fn of_control_plane(over: bool) -> Vec<(String, bool)> {
    ["", "critical alerts during "]
        .map(|what| {
            (
                format!("Silence for {what}OSD control plane upgrade to version 4.14.12"),
                over,
            )
        })
        .to_vec()
}

/// The silences of a whole upgrade, and of one that is given up. Where they run, the alerts `Broken` (critical, of the
/// namespace openshift-etcd) and `Elsewhere` (critical, of the namespace shop) fire.
///
/// # Errors
/// What is not as it should be.
pub async fn what_is_silenced_when(client: Client, clock: Clock, watched: Watched) -> anyhow::Result<()> {
    let mut cluster = StaticCluster::make(client, clock, watched).await?;
    cluster.start_agent();
    cluster.ask("4.14.12", "stable-4.14").await?;
    let alerts = "critical alerts fire: Broken";
    let says = |text: &'static str| {
        move |condition: &drydock_api::upgradeconfig::UpgradeCondition| {
            condition.message.as_deref() == Some(text)
        }
    };
    cluster
        .until_condition("ClusterHealthyBeforeUpgrade", says(alerts))
        .await?;
    ensure!(cluster.silences().await?.is_empty());
    cluster.configure(ALERTS).await?;
    cluster
        .until_condition("UpgradeCommenced", |condition| condition.status == "True")
        .await?;
    ensure!(cluster.silences().await? == of_control_plane(false));

    // Another agent finds them again.
    cluster.kill_agent().await;
    cluster.start_agent();
    cluster.advance_to(30).await?;
    let waits = |condition: &drydock_api::upgradeconfig::UpgradeCondition| condition.status == "False";
    cluster.until_condition("ControlPlaneUpgraded", waits).await?;
    ensure!(cluster.silences().await? == of_control_plane(false));

    // They are made longer where a control plane may take longer.
    let first = cluster.last_end().await?;
    cluster.advance_to(60).await?;
    cluster.configure(LONGER).await?;
    let longer = first + SignedDuration::from_mins(80);
    until("the silences last longer", async || {
        Ok(cluster.last_end().await? > longer)
    })
    .await?;
    ensure!(cluster.silences().await? == of_control_plane(false));

    workers(&cluster).await?;

    // Alerts count after the upgrade as well.
    cluster.kill_agent().await;
    cluster.configure("{}").await?;
    cluster.update_workers(3).await?;
    cluster.start_agent();
    cluster
        .until_condition("ClusterHealthyAfterUpgrade", says(alerts))
        .await?;
    let silences = cluster.silences().await?;
    ensure!(
        silences.len() == 4 && silences.iter().all(|(_, over)| *over),
        "{silences:?}"
    );
    cluster.configure(ALERTS).await?;
    cluster
        .until_condition("CompletedNotificationSent", |condition| {
            condition.status == "True"
        })
        .await?;
    ensure!(cluster.entry().await?.phase == UpgradePhase::Upgraded);

    give_up(&cluster).await?;
    cluster.kill_agent().await;
    Ok(())
}

/// The silence of the workers is replaced as they finish.
async fn workers(cluster: &StaticCluster) -> anyhow::Result<()> {
    let of_workers = |left: i64, over: bool| {
        let comment =
            format!("Silence for OSD worker node upgrade to version 4.14.12 with remaining {left} nodes");
        (comment, over)
    };
    cluster.update_workers(1).await?;
    cluster.run(&["4.14.12", "4.14.9"]).await?;
    let mut expected = [of_control_plane(true), vec![of_workers(2, false)]].concat();
    expected.sort();
    until("the silence of the workers", async || {
        Ok(cluster.silences().await? == expected)
    })
    .await?;
    cluster.update_workers(2).await?;
    let mut expected = [
        of_control_plane(true),
        vec![of_workers(1, false), of_workers(2, true)],
    ]
    .concat();
    expected.sort();
    until("the next silence of the workers", async || {
        Ok(cluster.silences().await? == expected)
    })
    .await
}

/// An upgrade that does not commence in its window leaves no silence.
async fn give_up(cluster: &StaticCluster) -> anyhow::Result<()> {
    // Less than the silences last, so that it is the agent that ends them.
    let window = format!("{ALERTS}upgradeWindow: {{timeOut: 60}}\n");
    cluster.configure(&window).await?;
    cluster.ask("4.15.2", "stable-4.15").await?;
    let waits = |condition: &drydock_api::upgradeconfig::UpgradeCondition| condition.status == "False";
    cluster.until_condition("UpgradeCommenced", waits).await?;
    let active = cluster
        .silences()
        .await?
        .into_iter()
        .filter(|(_, over)| !over)
        .count();
    ensure!(active == 2, "{active}");
    cluster.advance_to(60 + 63).await?;
    cluster
        .until_condition("FailedUpgrade", |condition| condition.status == "True")
        .await?;
    until("its silences end", async || {
        Ok(cluster.silences().await?.iter().all(|(_, over)| *over))
    })
    .await
}
