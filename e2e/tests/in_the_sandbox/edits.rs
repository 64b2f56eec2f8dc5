//! Edits of an upgrade while it runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_api::openshift::ClusterVersion;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::local_fleet::LocalFleet;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube_sandbox::server::{FaultAction, RequestInfo, Status, Verb};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);

/// The versions that a cluster has completed, oldest first.
async fn completed(fleet: &LocalFleet, cluster: &str) -> Vec<String> {
    let versions: Api<ClusterVersion> = Api::all(fleet.user_of(cluster).unwrap());
    let status = versions.get("version").await.unwrap().status.unwrap();
    let done = status.history.iter().filter(|entry| entry.is_completed());
    let mut versions: Vec<String> = done.filter_map(|entry| entry.version.clone()).collect();
    versions.reverse();
    versions
}

/// Three clusters whose upgrade has been asked for.
async fn upgrading() -> LocalFleet {
    let settings = fleet::three_clusters(9);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let upgrade = fleet::upgrade(&settings.clusters).unwrap();
    fleet::start(&fleet.user().unwrap(), &upgrade).await.unwrap();
    fleet
}

async fn edit(fleet: &LocalFleet, spec: Value) {
    let hub = fleet.user().unwrap();
    let patch = Patch::Merge(json!({"spec": spec}));
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

async fn until_complete(fleet: &LocalFleet) {
    let hub = fleet.user().unwrap();
    fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
        let status = upgrade.status.as_ref();
        let seen = status.and_then(|status| status.observed_generation);
        fleet::is_true(upgrade, "Complete") && seen == upgrade.metadata.generation
    })
    .await
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_has_started_keeps_its_target_and_the_new_one_is_for_the_rest_and_then_for_all() {
    let fleet = upgrading().await;
    // The canary is in the middle of its update.
    tokio::time::sleep(HOUR / 2).await;
    edit(&fleet, json!({"clusterVersion": {"version": "4.14.13"}})).await;
    until_complete(&fleet).await;
    assert_eq!(
        completed(&fleet, "dev1").await,
        ["4.14.9", "4.14.12", "4.14.13"],
        "it went to its end, then again"
    );
    assert_eq!(completed(&fleet, "dev2").await, ["4.14.9", "4.14.13"]);
    assert_eq!(completed(&fleet, "dev3").await, ["4.14.9", "4.14.13"]);
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_meets_a_conflict_is_tried_again() {
    let fleet = upgrading().await;
    until_complete(&fleet).await;
    // The first work of each cluster that makes room for the new target; nothing else happens that would wake the hub.
    let refused = Mutex::new(BTreeSet::new());
    let server = fleet.hub_server().unwrap();
    server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
        let is_work = asked.kind.is_some_and(|kind| kind.kind == "ManifestWork");
        let cluster = asked.namespace.unwrap_or_default().to_owned();
        if asked.verb == Verb::Delete && is_work && refused.lock().unwrap().insert(cluster) {
            FaultAction::Refuse(Status::new(409, "Conflict", "the object has been modified"))
        } else {
            FaultAction::Pass
        }
    })));
    edit(&fleet, json!({"clusterVersion": {"version": "4.14.13"}})).await;
    until_complete(&fleet).await;
    for cluster in ["dev1", "dev2", "dev3"] {
        assert_eq!(completed(&fleet, cluster).await, ["4.14.9", "4.14.12", "4.14.13"]);
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_paused_upgrade_starts_nothing_and_continues_when_it_is_resumed() {
    let fleet = upgrading().await;
    tokio::time::sleep(HOUR / 2).await;
    edit(&fleet, json!({"paused": true})).await;
    tokio::time::sleep(12 * HOUR).await;
    assert_eq!(
        completed(&fleet, "dev1").await,
        ["4.14.9", "4.14.12"],
        "running upgrades continue"
    );
    assert_eq!(completed(&fleet, "dev2").await, ["4.14.9"]);
    edit(&fleet, json!({"paused": false})).await;
    until_complete(&fleet).await;
    assert_eq!(completed(&fleet, "dev2").await, ["4.14.9", "4.14.12"]);
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_was_created_while_the_hub_was_down_is_found_when_it_comes_up() {
    let settings = fleet::three_clusters(9);
    let mut fleet = local_fleet::without_hub(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    fleet::start(&hub, &fleet::upgrade(&settings.clusters).unwrap())
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert!(fleet::works(&hub).await.unwrap().is_empty());
    fleet.start_hub(drydock_e2e::local_fleet::hub_settings()).unwrap();
    until_complete(&fleet).await;
    fleet.shut_down().await.unwrap();
}
