//! What others do to a rollout: clusters that are deleted, fall silent or belong to another upgrade, works that somebody
//! deletes or edits; and upgrades by image, by percentage and in the order of decision groups.

use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_LOCK_ANNOTATION};
use drydock_api::ocm::{ManagedCluster, ManifestWork, Placement};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::UpgradeConfig;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::local_fleet::LocalFleet;
use drydock_sandbox::test_env::TestEnvSettings;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use openshift_sandbox::cluster::model::release_image;
use semver::Version;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

fn clusters(count: usize) -> TestEnvSettings {
    let mut settings = TestEnvSettings::demo(count, 5);
    for cluster in &mut settings.clusters {
        cluster.agent = false;
    }
    settings
}

/// The sample upgrade of these clusters without canaries, with these fields of the spec and of the strategy.
fn upgrade(settings: &TestEnvSettings, spec: &Value, strategy: &Value) -> ManagedClustersUpgrade {
    let mut upgrade = serde_json::to_value(fleet::upgrade(&settings.clusters).unwrap()).unwrap();
    upgrade["spec"]["upgradeStrategy"]
        .as_object_mut()
        .unwrap()
        .remove("canaryClusters");
    for (field, value) in spec.as_object().unwrap() {
        upgrade["spec"][field] = value.clone();
    }
    for (field, value) in strategy.as_object().unwrap() {
        upgrade["spec"]["upgradeStrategy"][field] = value.clone();
    }
    for action in ["preUpgradeAction", "postUpgradeAction", "ocpOperators"] {
        upgrade["spec"].as_object_mut().unwrap().remove(action);
    }
    serde_json::from_value(upgrade).unwrap()
}

async fn until_complete(hub: &Client) -> ManagedClustersUpgrade {
    fleet::until(hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap()
}

fn work_api(hub: &Client, cluster: &str) -> Api<ManifestWork> {
    Api::namespaced(hub.clone(), cluster)
}

fn work_name(cluster: &str) -> String {
    format!("{cluster}-cluster-upgrade")
}

/// Waits until a cluster is on its way.
async fn until_started(hub: &Client, cluster: &str) -> ManifestWork {
    for _ in 0..1000 {
        let found = work_api(hub, cluster).get_opt(&work_name(cluster)).await.unwrap();
        if let Some(work) = found {
            return work;
        }
        tokio::time::sleep(MINUTE).await;
    }
    panic!("{cluster} does not start");
}

/// `version state` of a cluster's history, newest first.
async fn history(fleet: &LocalFleet, cluster: &str) -> Vec<String> {
    let api: Api<ClusterVersion> = Api::all(fleet.user_of(cluster).unwrap());
    let status = api.get("version").await.unwrap().status.unwrap();
    let entries = status.history.iter();
    entries
        .map(|entry| format!("{} {}", entry.version.clone().unwrap_or_default(), entry.state))
        .collect()
}

/// The reason and the message of a cluster's entry in the status.
fn cluster_message(upgrade: &ManagedClustersUpgrade, cluster: &str) -> String {
    let status = serde_json::to_value(upgrade.status.as_ref().unwrap()).unwrap();
    let entries = status["clusters"].as_array().unwrap();
    let entry = entries.iter().find(|entry| entry["name"] == cluster);
    entry.map_or_else(String::new, |entry| {
        format!(
            "{} {}",
            entry["state"].as_str().unwrap(),
            entry["message"].as_str().unwrap_or_default()
        )
    })
}

#[tokio::test(start_paused = true)]
async fn a_fleet_is_upgraded_to_an_image() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let image = release_image(&Version::new(4, 14, 12));
    let target = json!({"clusterVersion": {"channel": "stable-4.14", "image": image}});
    fleet::start(&hub, &upgrade(&settings, &target, &json!({})))
        .await
        .unwrap();
    until_complete(&hub).await;
    for name in ["dev1", "dev2"] {
        assert_eq!(history(&fleet, name).await[0], "4.14.12 Completed");
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_another_version_than_was_said_fails_the_cluster() {
    let settings = clusters(1);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let image = release_image(&Version::new(4, 14, 11));
    let target = json!({"clusterVersion": {"channel": "stable-4.14", "image": image, "version": "4.14.12"}});
    fleet::start(&hub, &upgrade(&settings, &target, &json!({})))
        .await
        .unwrap();
    let failed = fleet::until(&hub, "failed", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Failed")
    });
    let message = cluster_message(&failed.await.unwrap(), "dev1");
    assert!(
        message.starts_with("Failed") && message.contains("4.14.1"),
        "{message}"
    );
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_deleted_in_flight_blocks_nobody() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let strategy = json!({"maxConcurrency": 1});
    fleet::start(&hub, &upgrade(&settings, &json!({}), &strategy))
        .await
        .unwrap();
    until_started(&hub, "dev1").await;
    tokio::time::sleep(20 * MINUTE).await;
    let gone = DeleteParams::default();
    let managed: Api<ManagedCluster> = Api::all(hub.clone());
    managed.delete("dev1", &gone).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(hub.clone());
    namespaces.delete("dev1", &gone).await.unwrap();
    let upgrade = until_complete(&hub).await;
    let summary = upgrade.status.unwrap().clusters_summery.unwrap();
    assert_eq!((summary.total, summary.complete), (2, 2));
    for name in ["dev2", "dev3"] {
        assert_eq!(history(&fleet, name).await[0], "4.14.12 Completed");
    }
    // The upgrade on the cluster continues: its ClusterVersion was orphaned, not deleted.
    assert!(history(&fleet, "dev1").await[0].starts_with("4.14.12"));
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_agents_say_nothing_fails_at_its_timeout_and_the_next_one_starts() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let strategy = json!({"maxConcurrency": 1, "clusterUpgradeTimeout": "2h"});
    fleet::start(&hub, &upgrade(&settings, &json!({}), &strategy))
        .await
        .unwrap();
    let started = until_started(&hub, "dev1").await.creation_timestamp().unwrap().0;
    assert!(fleet.env.set_connected("dev1", false));
    let next = until_started(&hub, "dev2").await.creation_timestamp().unwrap().0;
    let waited = next.duration_since(started).as_mins();
    assert!((120..130).contains(&waited), "{waited} minutes");
    let failed = fleet::until(&hub, "failed", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Failed")
    });
    let message = cluster_message(&failed.await.unwrap(), "dev1");
    assert!(message.starts_with("Failed"), "{message}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_of_two_upgrades_is_taken_by_one_after_the_other() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let first = upgrade(&settings, &json!({}), &json!({"maxConcurrency": 2}));
    fleet::start(&hub, &first).await.unwrap();
    until_started(&hub, "dev1").await;
    let target = json!({"clusterVersion": {"channel": "stable-4.14", "version": "4.14.15"}});
    let mut second = upgrade(&settings, &target, &json!({"maxConcurrency": 2}));
    second.metadata.name = Some("second".to_owned());
    fleet::start(&hub, &second).await.unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    let upgrades = fleet::upgrades(&hub);
    let waiting = upgrades.get("second").await.unwrap();
    let summary = waiting.status.unwrap().clusters_summery.unwrap();
    assert_eq!((summary.total, summary.initialized, summary.pending), (2, 0, 2));
    until_complete(&hub).await;
    for _ in 0..1000 {
        if fleet::is_true(&upgrades.get("second").await.unwrap(), "Complete") {
            break;
        }
        tokio::time::sleep(MINUTE).await;
    }
    for name in ["dev1", "dev2"] {
        assert_eq!(
            history(&fleet, name).await,
            ["4.14.15 Completed", "4.14.12 Completed", "4.14.9 Completed"]
        );
        let work = work_api(&hub, name).get(&work_name(name)).await.unwrap();
        assert_eq!(work.annotations()["drydock.dev/upgrade"], "default/second");
    }
    // The first one stays what it was.
    let first = upgrades.get(fleet::UPGRADE).await.unwrap();
    assert!(fleet::is_true(&first, "Complete"));
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn works_that_somebody_deletes_or_edits_do_not_upgrade_a_cluster_twice() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let strategy = json!({"maxConcurrency": 2});
    fleet::start(&hub, &upgrade(&settings, &json!({}), &strategy))
        .await
        .unwrap();
    until_started(&hub, "dev1").await;
    until_started(&hub, "dev2").await;
    tokio::time::sleep(30 * MINUTE).await;
    work_api(&hub, "dev1")
        .delete(&work_name("dev1"), &DeleteParams::default())
        .await
        .unwrap();
    let edit = json!({"metadata": {"labels": {"somebody": "was-here"}}, "spec": {"manifestConfigs": []}});
    work_api(&hub, "dev2")
        .patch(&work_name("dev2"), &PatchParams::default(), &Patch::Merge(edit))
        .await
        .unwrap();
    let ended = fleet::until(&hub, "an end", 24 * HOUR, |upgrade| {
        let summary = upgrade.status.as_ref().and_then(|status| status.clusters_summery);
        summary.is_some_and(|summary| summary.total > 0 && summary.complete + summary.failed == summary.total)
    });
    let ended = ended.await.unwrap();
    assert_eq!(
        history(&fleet, "dev1").await,
        ["4.14.12 Completed", "4.14.9 Completed"]
    );
    assert_eq!(
        history(&fleet, "dev2").await,
        ["4.14.12 Completed", "4.14.9 Completed"]
    );
    // The one whose feedback was taken away cannot be seen to end, so its timeout ends it, and its slot is freed.
    let summary = ended.status.clone().unwrap().clusters_summery.unwrap();
    assert_eq!((summary.complete, summary.failed), (1, 1), "{:?}", ended.status);
    assert!(
        cluster_message(&ended, "dev2").contains("took too long"),
        "{}",
        cluster_message(&ended, "dev2")
    );
    let work = work_api(&hub, "dev2").get(&work_name("dev2")).await.unwrap();
    let configs = serde_json::to_value(&work.spec.manifest_configs).unwrap();
    assert_eq!(configs[0]["resourceIdentifier"]["resource"], "clusterversions");
    assert_eq!(configs[0]["updateStrategy"]["type"], "ReadOnly");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn decision_groups_are_upgraded_in_their_order_and_a_percentage_at_a_time() {
    let settings = clusters(5);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let placements: Api<Placement> = Api::namespaced(hub.clone(), "default");
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "grouped", "namespace": "default"},
        "spec": {
            "decisionStrategy": {"groupStrategy": {"decisionGroups": [
                {"groupName": "last-first", "groupClusterSelector": {"labelSelector": {"matchExpressions": [
                    {"key": "name", "operator": "In", "values": ["dev4", "dev5"]},
                ]}}},
            ]}},
        },
    });
    placements
        .create(
            &kube::api::PostParams::default(),
            &serde_json::from_value(placement).unwrap(),
        )
        .await
        .unwrap();
    let spec = json!({"placement": [{"name": "grouped", "namespace": "default"}], "clusterSelector": null});
    let strategy = json!({"maxConcurrency": "25%"});
    fleet::start(&hub, &upgrade(&settings, &spec, &strategy))
        .await
        .unwrap();
    until_complete(&hub).await;
    let works = fleet::works(&hub).await.unwrap();
    let mut starts: Vec<(Timestamp, String)> = works
        .iter()
        .map(|work| (work.creation_timestamp().unwrap().0, work.namespace().unwrap()))
        .collect();
    starts.sort();
    let order: Vec<&str> = starts.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(&order[..2], ["dev4", "dev5"], "a quarter of five is two");
    assert_eq!(starts[0].0, starts[1].0);
    assert!(starts[2].0 > starts[1].0);
    assert_eq!(&order[2..], ["dev1", "dev2", "dev3"]);
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_there_when_its_upgrade_config_is_created_again_is_complete() {
    let mut settings = clusters(1);
    settings.clusters[0].agent = true;
    let wanted = upgrade(
        &settings,
        &json!({}),
        &json!({"upgradeVia": "Agent", "clusterUpgradeTimeout": "12h"}),
    );
    let fleet = local_fleet::start(settings).await.unwrap();
    let (hub, spoke) = (fleet.user().unwrap(), fleet.user_of("dev1").unwrap());
    fleet::start(&hub, &wanted).await.unwrap();
    let configs: Api<UpgradeConfig> = Api::namespaced(spoke.clone(), AGENT_NAMESPACE);
    let is_at_workers = |config: &UpgradeConfig| {
        let newest = config.status.as_ref()?.history.as_ref()?.first()?;
        let conditions = newest.conditions.as_ref()?;
        Some(conditions.first()?.type_ == "WorkerNodesUpgraded")
    };
    let mut begun = false;
    for _ in 0..600 {
        tokio::time::sleep(MINUTE).await;
        let config = configs.get_opt("managed-upgrade-config").await.unwrap();
        begun = config.as_ref().and_then(is_at_workers) == Some(true);
        if begun {
            break;
        }
    }
    assert!(begun, "the workers have not begun");
    configs
        .delete("managed-upgrade-config", &DeleteParams::default())
        .await
        .unwrap();
    let cleared = Patch::Merge(json!({"spec": {"desiredUpdate": null}}));
    Api::<ClusterVersion>::all(spoke)
        .patch("version", &PatchParams::default(), &cleared)
        .await
        .unwrap();
    until_complete(&hub).await;
    fleet.shut_down().await.unwrap();
}

/// One upgrade at a time on a cluster: who has the lock of its ClusterVersion is waited for, and named.
#[tokio::test(start_paused = true)]
async fn a_cluster_whose_lock_an_upgrade_job_has_is_asked_for_nothing_before_that_has_ended() {
    let settings = clusters(1);
    let wanted = upgrade(&settings, &json!({}), &json!({"upgradeVia": "ClusterVersion"}));
    let fleet = local_fleet::start(settings).await.unwrap();
    let (hub, spoke) = (fleet.user().unwrap(), fleet.user_of("dev1").unwrap());
    let versions: Api<ClusterVersion> = Api::all(spoke);
    let lock = |holder: Value| {
        let patch = json!({"metadata": {"annotations": {UPGRADE_LOCK_ANNOTATION: holder}}});
        let versions = versions.clone();
        async move {
            let patch = Patch::Merge(patch);
            versions
                .patch("version", &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    };
    lock(json!("maintenance/nights")).await;
    fleet::start(&hub, &wanted).await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(versions.get("version").await.unwrap().spec.desired_update, None);
    let upgrades: Api<ManagedClustersUpgrade> = Api::namespaced(hub.clone(), &wanted.namespace().unwrap());
    let status = upgrades.get(&wanted.name_any()).await.unwrap().status.unwrap();
    let cluster = &status.clusters.unwrap()[0];
    assert_eq!(cluster.reason.as_deref(), Some("LockHeld"));
    let message = cluster.message.clone().unwrap_or_default();
    assert!(
        message.contains("UpgradeJob maintenance/nights, which has the lock of the cluster"),
        "{message}"
    );
    lock(Value::Null).await;
    let mut has_asked = false;
    for _ in 0..60 {
        tokio::time::sleep(MINUTE).await;
        has_asked = versions
            .get("version")
            .await
            .unwrap()
            .spec
            .desired_update
            .is_some();
        if has_asked {
            break;
        }
    }
    assert!(has_asked, "it is asked for the target once nobody has the lock");
    fleet.shut_down().await.unwrap();
}
