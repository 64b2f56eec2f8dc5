//! The main job with everything in this process: three clusters, two of them with the agent, under paused time.

use std::time::Duration;

use drydock_api::openshift::ClusterVersion;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use kube::api::DeleteParams;
use kube::{Api, Client, ResourceExt};
use serde_json::json;

const HOURS: Duration = Duration::from_hours(1);

async fn version(cluster: &Client) -> ClusterVersion {
    Api::all(cluster.clone()).get("version").await.unwrap()
}

fn history(version: &ClusterVersion) -> Vec<(String, Option<String>)> {
    let status = version.status.clone().unwrap_or_default();
    status
        .history
        .iter()
        .map(|entry| (entry.state.clone(), entry.version.clone()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn one_object_upgrades_clusters_with_and_without_the_agent() {
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
    for name in fleet.env.cluster_names() {
        let version = version(&fleet.user_of(&name).unwrap()).await;
        let newest = history(&version).into_iter().next().unwrap();
        assert_eq!(
            newest,
            ("Completed".to_owned(), Some("4.14.12".to_owned())),
            "{name}"
        );
    }
    let end = fleet::end_state(&hub).await.unwrap();
    assert_eq!(
        end["works"],
        json!([
            ["dev1", "cluster", "Complete"],
            ["dev2", "cluster", "Complete"],
            ["dev3", "cluster", "Complete"]
        ]),
        "{end:#}"
    );
    fleet.shut_down().await.unwrap();
}

/// An image stands alone: its version is found by the agent, and what becomes of it is read by its digest.
#[tokio::test(start_paused = true)]
async fn an_image_upgrades_clusters_with_and_without_the_agent() {
    let settings = fleet::three_clusters(5);
    let mut upgrade = fleet::upgrade(&settings.clusters).unwrap();
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    let status = version(&fleet.user_of("dev1").unwrap()).await.status.unwrap();
    let mut offered = status.available_updates.iter();
    let release = offered.find(|release| release.version.as_deref() == Some("4.14.12"));
    let target = upgrade.spec.cluster_version.as_mut().unwrap();
    (target.version, target.channel) = (None, None);
    target.image = release.unwrap().image.clone();
    fleet::start(&hub, &upgrade).await.unwrap();
    fleet::until(&hub, "complete", 10 * HOURS, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_is_killed_again_and_again_comes_to_the_same_end() {
    let settings = fleet::three_clusters(5);
    let upgrade = fleet::upgrade(&settings.clusters).unwrap();
    let mut ends = Vec::new();
    for kills in [0, 40] {
        let mut fleet = local_fleet::start(settings.clone()).await.unwrap();
        let hub = fleet.user().unwrap();
        fleet::start(&hub, &upgrade).await.unwrap();
        for kill in 0_u64..kills {
            // Not a multiple of anything: each kill meets the hub somewhere else.
            tokio::time::sleep(Duration::from_millis(97_331 + kill * 7_919)).await;
            fleet.kill_hub().await;
            tokio::time::sleep(Duration::from_secs(kill % 20)).await;
            fleet.start_hub(drydock_e2e::local_fleet::hub_settings()).unwrap();
        }
        fleet::until(&hub, "complete", 10 * HOURS, |upgrade| {
            fleet::is_true(upgrade, "Complete")
        })
        .await
        .unwrap();
        ends.push(fleet::end_state(&hub).await.unwrap());
        fleet.shut_down().await.unwrap();
    }
    assert_eq!(ends[0], ends[1]);
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_deleted_midway_leaves_the_clusters_to_themselves() {
    let settings = fleet::three_clusters(5);
    let upgrade = fleet::upgrade(&settings.clusters).unwrap();
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    let clusters: Vec<Client> = ["dev1", "dev2", "dev3"]
        .map(|name| fleet.user_of(name).unwrap())
        .into();
    let mut before = Vec::new();
    for cluster in &clusters {
        before.push(version(cluster).await);
    }
    fleet::start(&hub, &upgrade).await.unwrap();
    // The canary is done, the other two are under way.
    tokio::time::sleep(2 * HOURS).await;
    fleet::upgrades(&hub)
        .delete(fleet::UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(4 * HOURS).await;
    assert!(
        fleet::upgrades(&hub)
            .get_opt(fleet::UPGRADE)
            .await
            .unwrap()
            .is_none()
    );
    assert!(fleet::works(&hub).await.unwrap().is_empty());
    for (cluster, before) in clusters.iter().zip(before) {
        let after = version(cluster).await;
        assert_eq!(after.uid(), before.uid());
        assert_eq!(after.spec.cluster_id, before.spec.cluster_id);
        // What has begun continues to its end: there is no way back.
        let newest = history(&after).into_iter().next().unwrap();
        assert_eq!(newest, ("Completed".to_owned(), Some("4.14.12".to_owned())));
    }
    fleet.shut_down().await.unwrap();
}
