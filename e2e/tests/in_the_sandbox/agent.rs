//! The agent by itself on a simulated cluster: what a user sees who writes an UpgradeConfig.

use std::time::Duration;

use drydock_api::names::AGENT_NAMESPACE;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradePhase};
use drydock_e2e::fleet;
use drydock_e2e::yard::Yard;
use drydock_sandbox::cluster::Fault;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

const HOUR: Duration = Duration::from_hours(1);

async fn yard(faults: &[Fault]) -> (Yard, Client) {
    let mut settings = fleet::three_clusters(4);
    settings.clusters.truncate(1);
    settings.clusters[0].faults.extend(faults);
    let yard = Yard::without_hub(settings).await.unwrap();
    let cluster = yard.user_of("dev1").unwrap();
    (yard, cluster)
}

fn upgrades(cluster: &Client) -> Api<UpgradeConfig> {
    Api::namespaced(cluster.clone(), AGENT_NAMESPACE)
}

async fn ask(cluster: &Client, name: &str, kind: &str) {
    let object = json!({
        "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
        "metadata": {"name": name},
        "spec": {
            "type": kind, "upgradeAt": "2026-01-05T10:00:00Z", "PDBForceDrainTimeout": 60,
            "desired": {"version": "4.14.12", "channel": "stable-4.14"},
        },
    });
    let object: UpgradeConfig = serde_json::from_value(object).unwrap();
    upgrades(cluster)
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
}

async fn phase(cluster: &Client) -> UpgradePhase {
    let upgrade = upgrades(cluster).get("managed-upgrade-config").await.unwrap();
    upgrade.status.unwrap_or_default().history.unwrap_or_default()[0].phase
}

async fn events(cluster: &Client) -> Vec<String> {
    let api: Api<Event> = Api::namespaced(cluster.clone(), AGENT_NAMESPACE);
    let mut events = api.list(&ListParams::default()).await.unwrap().items;
    events.sort_by_key(|event| event.event_time.clone());
    events.into_iter().filter_map(|event| event.reason).collect()
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_starts_at_its_time_and_tells_each_of_its_steps_once() {
    for kind in ["OSD", "ARO"] {
        let (yard, cluster) = yard(&[]).await;
        ask(&cluster, "managed-upgrade-config", kind).await;
        tokio::time::sleep(HOUR).await;
        assert_eq!(phase(&cluster).await, UpgradePhase::Pending, "its time is at ten");
        tokio::time::sleep(5 * HOUR).await;
        assert_eq!(phase(&cluster).await, UpgradePhase::Upgraded);
        assert_eq!(
            events(&cluster).await,
            [
                "UpgradeStarted",
                "ControlPlaneUpgradeStarted",
                "ControlPlaneUpgradeFinished",
                "WorkerUpgradeFinished",
                "UpgradeCompleted"
            ],
            "{kind}"
        );
        let upgrade = upgrades(&cluster).get("managed-upgrade-config").await.unwrap();
        let entry = &upgrade.status.unwrap().history.unwrap()[0];
        assert!(entry.worker_start_time.is_some() && entry.worker_complete_time.is_some());
        yard.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_config_of_another_name_is_told_of_and_left_alone() {
    let (yard, cluster) = yard(&[]).await;
    ask(&cluster, "mine", "OSD").await;
    tokio::time::sleep(12 * HOUR).await;
    assert_eq!(events(&cluster).await, ["IgnoredUpgradeConfig"]);
    assert!(upgrades(&cluster).get("mine").await.unwrap().status.is_none());
    yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_makes_no_sense_is_refused_and_the_last_good_one_holds() {
    let (yard, cluster) = yard(&[]).await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.clone(), AGENT_NAMESPACE);
    let map = |text: &str| -> ConfigMap {
        let object = json!({
            "metadata": {"name": "managed-upgrade-operator-config"}, "data": {"config.yaml": text},
        });
        serde_json::from_value(object).unwrap()
    };
    maps.create(&PostParams::default(), &map("upgradeWindow: {timeOut: 60}"))
        .await
        .unwrap();
    ask(&cluster, "managed-upgrade-config", "OSD").await;
    tokio::time::sleep(HOUR / 2).await;
    let mut broken = map("upgradeWindow: {timeOut: -5}");
    broken.metadata = maps
        .get("managed-upgrade-operator-config")
        .await
        .unwrap()
        .metadata;
    maps.replace("managed-upgrade-operator-config", &PostParams::default(), &broken)
        .await
        .unwrap();
    tokio::time::sleep(5 * HOUR).await;
    let told = events(&cluster).await;
    assert_eq!(
        told.iter()
            .filter(|reason| *reason == "InvalidConfiguration")
            .count(),
        1,
        "{told:?}"
    );
    assert_eq!(
        phase(&cluster).await,
        UpgradePhase::Upgraded,
        "the last good configuration was enough"
    );
    yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_not_offered_stays_pending_with_a_condition_that_says_so() {
    let (yard, cluster) = yard(&[Fault::UnknownUpdate]).await;
    ask(&cluster, "managed-upgrade-config", "OSD").await;
    tokio::time::sleep(12 * HOUR).await;
    assert_eq!(phase(&cluster).await, UpgradePhase::Pending);
    let upgrade = upgrades(&cluster).get("managed-upgrade-config").await.unwrap();
    let conditions = upgrade.status.unwrap().history.unwrap()[0]
        .conditions
        .clone()
        .unwrap();
    assert_eq!(conditions[0].reason.as_deref(), Some("InvalidUpgradeConfig"));
    assert!(
        conditions[0]
            .message
            .as_ref()
            .unwrap()
            .contains("the cluster is offered none")
    );
    yard.shut_down().await.unwrap();
}
