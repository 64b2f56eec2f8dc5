//! Upgrades that an agent is at, whoever waits for them: the version of a cluster comes before its workers, and is not the end.

use super::*;

/// One cluster with an agent, whose workers are kept back.
fn kept_back() -> TestEnvSettings {
    let mut settings = clusters(1);
    settings.clusters[0].agent = true;
    settings.clusters[0].faults = BTreeSet::from([Fault::PausedPool]);
    settings
}

async fn entry(hub: &Client) -> ClusterStatusEntry {
    let status = read(hub).await.status.unwrap();
    let first = status.clusters.iter().flatten().next();
    first.unwrap_or_else(|| panic!("{status:?}")).clone()
}

/// Lets the workers follow, waits until the upgrade is complete, and sees that they have.
async fn ends_with_its_workers(hub: &Client, cluster: Client) {
    let pools: Api<MachineConfigPool> = Api::all(cluster);
    let unpaused = Patch::Merge(json!({"spec": {"paused": false}}));
    pools
        .patch("worker", &PatchParams::default(), &unpaused)
        .await
        .unwrap();
    let complete = |upgrade: &ManagedClustersUpgrade| fleet::is_true(upgrade, "Complete");
    fleet::until(hub, "complete", 5 * HOUR, complete).await.unwrap();
    let workers = pools.get("worker").await.unwrap().status.unwrap();
    assert_eq!(workers.updated_machine_count, workers.machine_count);
}

#[tokio::test(start_paused = true)]
async fn a_retry_follows_the_upgrade_that_an_agent_is_at_to_its_workers() {
    let settings = kept_back();
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let strategy = json!({"canaryClusters": null, "clusterUpgradeTimeout": "2h"});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let failed = |upgrade: &ManagedClustersUpgrade| fleet::is_true(upgrade, "Failed");
    fleet::until(&hub, "failed", 5 * HOUR, failed).await.unwrap();
    assert!(entry(&hub).await.message.unwrap().contains("worker is paused"));

    retry(&hub, "again").await;
    tokio::time::sleep(HOUR).await;
    let retried = entry(&hub).await;
    assert_eq!(retried.state, "PartialUpgrade", "{retried:?}");
    ends_with_its_workers(&hub, fleet.user_of("dev1").unwrap()).await;
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_made_anew_waits_for_the_end_of_what_the_agent_is_at() {
    let settings = kept_back();
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let upgrade = upgrade(&settings, &json!({"canaryClusters": null}));
    fleet::start(&hub, &upgrade).await.unwrap();
    let waits = |upgrade: &ManagedClustersUpgrade| {
        let clusters = upgrade
            .status
            .iter()
            .flat_map(|status| status.clusters.iter().flatten());
        let mut messages = clusters.filter_map(|entry| entry.message.as_deref());
        messages.any(|message| message.contains("worker is paused"))
    };
    fleet::until(&hub, "waits for its workers", 5 * HOUR, waits)
        .await
        .unwrap();

    let upgrades = fleet::upgrades(&hub);
    upgrades
        .delete(fleet::UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    let gone = async || upgrades.get_opt(fleet::UPGRADE).await.unwrap().is_none();
    while !gone().await {
        tokio::time::sleep(HOUR / 60).await;
    }
    fleet::start(&hub, &upgrade).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let remade = entry(&hub).await;
    assert_eq!(
        (remade.state.as_str(), remade.reason.as_deref()),
        ("NotStarted", Some("ReplacingOldWork")),
        "{remade:?}"
    );
    ends_with_its_workers(&hub, fleet.user_of("dev1").unwrap()).await;
    fleet.shut_down().await.unwrap();
}

/// The newer release is no success of the upgrade that was under way: its workers may be anywhere.
#[tokio::test(start_paused = true)]
async fn an_upgrade_that_somebody_overtakes_on_its_cluster_has_failed() {
    let mut settings = kept_back();
    settings.clusters[0].faults.clear();
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let upgrade = upgrade(&settings, &json!({"canaryClusters": null}));
    fleet::start(&hub, &upgrade).await.unwrap();
    let versions: Api<ClusterVersion> = Api::all(fleet.user_of("dev1").unwrap());
    let begun = async || {
        let status = versions.get("version").await.unwrap().status.unwrap();
        status.history[0].version.as_deref() == Some("4.14.12")
    };
    while !begun().await {
        tokio::time::sleep(HOUR / 60).await;
    }
    let newer = Patch::Merge(json!({"spec": {"desiredUpdate": {"version": "4.14.13"}}}));
    versions
        .patch("version", &PatchParams::default(), &newer)
        .await
        .unwrap();
    let failed = |upgrade: &ManagedClustersUpgrade| fleet::is_true(upgrade, "Failed");
    fleet::until(&hub, "failed", 5 * HOUR, failed).await.unwrap();
    let overtaken = entry(&hub).await;
    assert_eq!(overtaken.reason.as_deref(), Some("AgentFailed"), "{overtaken:?}");
    assert!(overtaken.message.unwrap().contains("4.14.13"));
    fleet.shut_down().await.unwrap();
}
