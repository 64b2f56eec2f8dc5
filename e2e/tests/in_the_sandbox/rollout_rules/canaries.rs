//! Canaries soak before the others start.

use super::*;

#[tokio::test(start_paused = true)]
async fn canaries_soak_before_any_other_cluster_starts() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = json!({
        "clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "2h",
    });
    let strategy = json!({"canaryClusters": canaries});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let soaking = fleet::until(&hub, "soaking", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    });
    let soaking = soaking.await.unwrap();
    assert!(
        condition(&soaking, "InProgress")
            .2
            .contains("must stay healthy until")
    );
    let since = fleet.clock.now();
    // The canary falls silent for a while: its health counts from the moment that it is back.
    tokio::time::sleep(HOUR).await;
    assert!(fleet.env.set_connected("dev1", false));
    tokio::time::sleep(HOUR / 2).await;
    let (_, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!(reason, "CanarySoaking");
    assert!(message.contains("and are not: dev1"), "{message}");
    assert!(fleet.env.set_connected("dev1", true));
    let done = fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    let starts = starts(&hub).await;
    for other in ["dev2", "dev3"] {
        let waited = starts[other].duration_since(since);
        assert!(
            waited >= SignedDuration::from_mins(90 + 120),
            "{other} waited {waited}"
        );
        assert!(
            waited < SignedDuration::from_mins(90 + 130),
            "{other} waited {waited}"
        );
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn canaries_soak_for_a_new_target_although_others_were_started_for_the_old_one() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = json!({
        "clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "2h",
    });
    let strategy = json!({"canaryClusters": canaries, "maxConcurrency": 1});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    fleet::until(&hub, "the canary complete", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    // The next one hangs, and fails for the old target while the new one is asked for.
    fault(&hub, "dev2", &json!("F1")).await;
    fleet::until(&hub, "dev2 in flight", 6 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "ManagedClustersUpgradeInProgress"
    })
    .await
    .unwrap();
    let patch = Patch::Merge(json!({"spec": {"clusterVersion": {"version": "4.14.13"}}}));
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &patch)
        .await
        .unwrap();
    fleet::until(&hub, "the canary complete again", 12 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    let since = fleet.clock.now();
    tokio::time::sleep(HOUR).await;
    assert!(
        !starts(&hub).await.contains_key("dev3"),
        "it waits for the canary"
    );
    tokio::time::sleep(2 * HOUR).await;
    let waited = starts(&hub).await["dev3"].duration_since(since);
    assert!(waited > SignedDuration::from_mins(110), "dev3 waited {waited}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_goal_that_the_canaries_have_already_passed_shortens_no_soak() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = json!({
        "clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "2h",
    });
    let strategy = json!({"canaryClusters": canaries});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    fleet::until(&hub, "soaking", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    let since = fleet.clock.now();
    tokio::time::sleep(HOUR / 2).await;
    // The canary runs what is newer than that: it needs nothing.
    let patch = Patch::Merge(json!({"spec": {"clusterVersion": {"version": "4.14.10"}}}));
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &patch)
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(condition(&read(&hub).await, "InProgress").1, "CanarySoaking");
    fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    let waited = starts(&hub).await["dev2"].duration_since(since);
    assert!(waited > SignedDuration::from_mins(110), "dev2 waited {waited}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_is_named_later_soaks_although_others_were_started() {
    let settings = clusters(4);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = |names: &[&str]| {
        let named = json!({"key": "name", "operator": "In", "values": names});
        json!({"canaryClusters": {"clusterSelector": {"matchExpressions": [named]}, "soakTime": "2h"}, "maxConcurrency": 1})
    };
    fleet::start(&hub, &upgrade(&settings, &canaries(&["dev1"])))
        .await
        .unwrap();
    fleet::until(&hub, "the canary complete", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    fleet::until(&hub, "dev2 in flight", 6 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "ManagedClustersUpgradeInProgress"
    })
    .await
    .unwrap();
    let patch = Patch::Merge(json!({"spec": {"upgradeStrategy": canaries(&["dev1", "dev3"])}}));
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &patch)
        .await
        .unwrap();
    fleet::until(&hub, "the second canary complete", 12 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    let since = fleet.clock.now();
    assert!(starts(&hub).await.contains_key("dev3"), "the second canary");
    let done = fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    let waited = starts(&hub).await["dev4"].duration_since(since);
    assert!(waited > SignedDuration::from_mins(110), "dev4 waited {waited}");
    fleet.shut_down().await.unwrap();
}
