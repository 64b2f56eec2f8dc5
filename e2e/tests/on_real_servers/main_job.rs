//! The main job on real API servers with the programs as processes: three clusters, one of them a second API server.

use std::time::Duration;

use drydock_api::openshift::ClusterVersion;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::real::RealFleet;
use kube::api::DeleteParams;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio::sync::Mutex;

const HOURS: Duration = Duration::from_hours(1);

/// Two cores have enough to do with one fleet at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

async fn version(cluster: &Client) -> ClusterVersion {
    Api::all(cluster.clone()).get("version").await.unwrap()
}

fn newest(version: &ClusterVersion) -> (String, Option<String>) {
    let status = version.status.clone().unwrap_or_default();
    let newest = status.history.iter().next().unwrap();
    (newest.state.clone(), newest.version.clone())
}

/// How the same ends in the sandbox. Runs on a runtime of its own, whose time is its own.
fn end_in_the_sandbox() -> Value {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let settings = fleet::three_clusters(5);
            let upgrade = fleet::upgrade(&settings.clusters).unwrap();
            let fleet = local_fleet::start(settings).await.unwrap();
            let hub = fleet.user().unwrap();
            fleet::start(&hub, &upgrade).await.unwrap();
            fleet::until(&hub, "complete", 10 * HOURS, |upgrade| {
                fleet::is_true(upgrade, "Complete")
            })
            .await
            .unwrap();
            let end = fleet::end_state(&hub).await.unwrap();
            fleet.shut_down().await.unwrap();
            end
        })
    };
    std::thread::spawn(run).join().unwrap()
}

#[tokio::test]
async fn a_fleet_is_upgraded_though_the_hub_is_killed_midway_and_ends_as_in_the_sandbox() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let settings = fleet::three_clusters(5);
    let upgrade = fleet::upgrade(&settings.clusters).unwrap();
    let mut real = RealFleet::start(settings).await.unwrap();
    real.start_hub().unwrap();
    let hub = real.user().await.unwrap();
    fleet::start(&hub, &upgrade).await.unwrap();
    let started = fleet::until(&hub, "started", 24 * HOURS, |upgrade| {
        fleet::is_true(upgrade, "InProgress")
    })
    .await;
    started.unwrap_or_else(|error| panic!("{error:#}\n{}", real.logs()));
    // The canary is in the middle of its update.
    tokio::time::sleep(HOURS / 2).await;
    real.kill_hub();
    tokio::time::sleep(HOURS / 4).await;
    real.start_hub().unwrap();
    let ended = fleet::until(&hub, "complete", 24 * HOURS, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await;
    ended.unwrap_or_else(|error| panic!("{error:#}\n{}", real.logs()));
    for name in ["dev1", "dev2", "dev3"] {
        let version = version(&real.user_of(name).await.unwrap()).await;
        assert_eq!(
            newest(&version),
            ("Completed".to_owned(), Some("4.14.12".to_owned())),
            "{name}"
        );
    }
    fleet::until_tidy(&hub, 3, 24 * HOURS).await.unwrap();
    assert_eq!(fleet::end_state(&hub).await.unwrap(), end_in_the_sandbox());
    real.shut_down().await;
}

#[tokio::test]
async fn an_upgrade_that_is_deleted_midway_leaves_cluster_version_as_it_was() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let settings = fleet::three_clusters(5);
    let upgrade = fleet::upgrade(&settings.clusters).unwrap();
    let mut real = RealFleet::start(settings).await.unwrap();
    let cluster = real.user_of("dev1").await.unwrap();
    let before = version(&cluster).await;
    real.start_hub().unwrap();
    let hub = real.user().await.unwrap();
    fleet::start(&hub, &upgrade).await.unwrap();
    let deadline = tokio::time::Instant::now() + 24 * HOURS;
    while version(&cluster).await.spec.desired_update.is_none() {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the canary does not begin\n{}",
            real.logs()
        );
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    fleet::upgrades(&hub)
        .delete(fleet::UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    while fleet::upgrades(&hub)
        .get_opt(fleet::UPGRADE)
        .await
        .unwrap()
        .is_some()
    {
        assert!(
            tokio::time::Instant::now() < deadline,
            "the upgrade does not go\n{}",
            real.logs()
        );
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    // The upgrade goes when the deletions are accepted; the clusters' agents follow.
    fleet::until_tidy(&hub, 0, 24 * HOURS).await.unwrap();
    while newest(&version(&cluster).await) != ("Completed".to_owned(), Some("4.14.12".to_owned())) {
        assert!(
            tokio::time::Instant::now() < deadline,
            "what has begun does not end"
        );
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    let after = version(&cluster).await;
    assert_eq!(after.uid(), before.uid());
    assert_eq!(after.spec.cluster_id, before.spec.cluster_id);
    assert_eq!(after.spec.other, before.spec.other);
    real.shut_down().await;
}
