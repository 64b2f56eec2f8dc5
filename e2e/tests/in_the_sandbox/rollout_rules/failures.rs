//! The failure budget, and how failed clusters start over.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_spent_failure_budget_stops_the_rest_until_a_retry() {
    let settings = clusters(5);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    for cluster in ["dev2", "dev3"] {
        fault(&hub, cluster, &json!(Fault::UnknownUpdate.code())).await;
    }
    let strategy = json!({"maxFailures": 2, "maxConcurrency": 1});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let spent = fleet::until(&hub, "spent", 12 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "FailureBudgetSpent"
    });
    spent.await.unwrap();
    tokio::time::sleep(12 * HOUR).await;
    assert_eq!(starts(&hub).await.len(), 3, "the canary and the two that failed");
    // Fixed and retried, by whatever word, all of them go through.
    for cluster in ["dev2", "dev3"] {
        fault(&hub, cluster, &Value::Null).await;
    }
    tokio::time::sleep(HOUR / 60).await;
    retry(&hub, "tomorrow").await;
    let done = fleet::until(&hub, "complete", 48 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    assert_eq!(
        done.await.unwrap().status.unwrap().progress.as_deref(),
        Some("5/5")
    );
    fleet.shut_down().await.unwrap();
}

/// The post-upgrade action of the sample with a Job that ends so.
fn post_action(upgrade: &ManagedClustersUpgrade, outcome: &str) -> Value {
    let mut action = json!(upgrade.spec.post_upgrade_action);
    let manifests = action.pointer_mut("/manifestWork/workload/manifests").unwrap();
    let mut manifests = manifests.as_array_mut().unwrap().iter_mut();
    let job = manifests.find(|manifest| manifest["kind"] == "Job").unwrap();
    job["metadata"]["annotations"] = json!({"sandbox.drydock.dev/outcome": outcome});
    action
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_a_failed_post_action_repeats_that_action_only() {
    let settings = clusters(1);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let mut upgrade = upgrade(&settings, &json!({}));
    upgrade.spec.post_upgrade_action = serde_json::from_value(post_action(&upgrade, "fail")).unwrap();
    fleet::start(&hub, &upgrade).await.unwrap();
    let failed = fleet::until(&hub, "failed", 12 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Failed")
    });
    let failed = failed.await.unwrap();
    assert!(
        condition(&failed, "Failed").2.contains("post-upgrade action"),
        "{failed:?}"
    );
    let before = starts(&hub).await;
    let patch = json!({
        "metadata": {"annotations": {RETRY_ANNOTATION: fleet.clock.now().to_string()}},
        "spec": {"postUpgradeAction": post_action(&upgrade, "succeed")},
    });
    tokio::time::sleep(HOUR / 60).await;
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let done = fleet::until(&hub, "complete", HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    assert_eq!(starts(&hub).await, before, "the upgrade itself is not repeated");
    fleet.shut_down().await.unwrap();
}

/// How often the hub has written the upgrade's status.
fn status_writes(fleet: &LocalFleet) -> u64 {
    let requests = fleet.hub_server().unwrap().requests();
    let is_status =
        |resource: &str| resource.starts_with("managedclustersupgrades") && resource.ends_with("/status");
    let written = requests.iter().filter(|(key, _)| is_status(&key.resource));
    written.map(|(_, count)| count).sum()
}

/// Triggers the hub, by changes of a cluster that mean nothing.
async fn wake(hub: &Client, times: u32) {
    for number in 0..times {
        let patch = json!({"metadata": {"labels": {"change": number.to_string()}}});
        Api::<ManagedCluster>::all(hub.clone())
            .patch("dev1", &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
        tokio::time::sleep(HOUR / 60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_without_changes_is_not_written_and_a_retried_upgrade_is_frozen_again() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    fault(&hub, "dev2", &json!(Fault::UnknownUpdate.code())).await;
    fleet::start(&hub, &upgrade(&settings, &json!({}))).await.unwrap();
    let failed = fleet::until(&hub, "failed", 12 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Failed")
    });
    failed.await.unwrap();
    tokio::time::sleep(HOUR).await;
    let before = status_writes(&fleet);
    wake(&hub, 10).await;
    assert_eq!(status_writes(&fleet), before, "a failed cluster is no change");
    fault(&hub, "dev2", &Value::Null).await;
    tokio::time::sleep(HOUR / 60).await;
    retry(
        &hub,
        &(fleet.clock.now() + SignedDuration::from_millis(1_234)).to_string(),
    )
    .await;
    let done = fleet::until(&hub, "complete", 12 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    // Nothing is left to retry: the upgrade is complete as it was, and follows the fleet no more.
    retry(
        &hub,
        &(fleet.clock.now() + SignedDuration::from_millis(1_234)).to_string(),
    )
    .await;
    tokio::time::sleep(HOUR).await;
    let before = status_writes(&fleet);
    let patch = json!({"metadata": {"labels": {"name": "other"}}});
    Api::<ManagedCluster>::all(hub.clone())
        .patch("dev2", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(status_writes(&fleet), before, "a complete upgrade is frozen");
    assert_eq!(read(&hub).await.status.unwrap().progress.as_deref(), Some("2/2"));
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_cluster_waits_for_too_long_is_said_beside_its_share() {
    let mut settings = clusters(1);
    settings.clusters[0].faults = BTreeSet::from([Fault::OperatorSlow]);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let strategy = json!({"canaryClusters": null});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let says = |upgrade: &ManagedClustersUpgrade| {
        let clusters = upgrade
            .status
            .iter()
            .flat_map(|status| status.clusters.iter().flatten());
        let mut messages = clusters.filter_map(|entry| entry.message.as_deref());
        messages.any(|message| message.contains("% done; ") && message.contains("waiting on monitoring"))
    };
    fleet::until(&hub, "says what it waits for", 3 * HOUR, says)
        .await
        .unwrap();
    fleet.shut_down().await.unwrap();
}
