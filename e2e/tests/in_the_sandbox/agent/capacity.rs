//! Extra workers.

use drydock_api::machine_api::{Machine, MachineSet, NAMESPACE};
use drydock_api::upgradeconfig::UpgradePhase;
use kube::api::{ListParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::{HOUR, MINUTE, description, hide_machine_sets, is_notified, spoke};

#[tokio::test(start_paused = true)]
async fn steps_6_and_13_extra_workers_come_before_the_upgrade_and_go_after_it() {
    let spoke = spoke().await;
    spoke.ask(json!({"capacityReservation": true})).await.unwrap();
    tokio::time::sleep(HOUR / 60).await;
    let reserved = spoke.condition("ComputeCapacityReserved").await.unwrap();
    let message = reserved.message.unwrap();
    assert!(message.starts_with("waiting for extra workers: "), "{message}");
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let machines: Api<Machine> = Api::namespaced(spoke.client.clone(), NAMESPACE);
    let left = machines.list(&ListParams::default()).await.unwrap().items;
    assert!(
        left.iter()
            .all(|machine| !machine.name_any().contains("-upgrade"))
    );
    let raised: Vec<String> = entry
        .notifications
        .unwrap()
        .into_iter()
        .map(|raised| raised.event)
        .collect();
    assert_eq!(
        raised,
        [
            "StateStarted",
            "StateControlPlaneStartedSL",
            "StateControlPlaneFinishedSL",
            "StateWorkerPlaneFinishedSL",
            "StateCompleted"
        ]
    );
    assert_eq!(spoke.metric(&["scaling_failed"]).unwrap(), Some(0.0));
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_6_extra_workers_that_do_not_come_in_time_or_cannot_be_made_are_done_without() {
    let late = spoke().await;
    late.configure("scale: {timeOut: 1}").await.unwrap();
    late.ask(json!({"capacityReservation": true})).await.unwrap();
    late.until_done("ComputeCapacityReserved").await.unwrap();
    let skipped = description(&late, "StateSkipped").await;
    assert!(
        skipped.starts_with("the upgrade continues without all extra workers"),
        "{skipped}"
    );
    assert_eq!(late.metric(&["scaling_failed"]).unwrap(), Some(1.0));
    late.until(UpgradePhase::Upgraded).await.unwrap();
    late.fleet.shut_down().await.unwrap();
    let without = spoke().await;
    hide_machine_sets(&without).await;
    without.ask(json!({"capacityReservation": true})).await.unwrap();
    without.until(UpgradePhase::Upgraded).await.unwrap();
    assert!(is_notified(&without, "StateScaleSkipped").await);
    without.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_6_a_copy_that_is_missing_is_made_beside_the_one_that_is_there() {
    let spoke = spoke().await;
    let sets: Api<MachineSet> = Api::namespaced(spoke.client.clone(), NAMESPACE);
    let originals = sets.list(&ListParams::default()).await.unwrap().items;
    let mut second = originals[0].clone();
    let first = second.name_any();
    second.metadata.name = Some("second".to_owned());
    second.metadata.resource_version = None;
    second.metadata.uid = None;
    let second = serde_json::to_string(&second).unwrap().replace(
        &format!("\"machine.openshift.io/cluster-api-machineset\":\"{first}\""),
        "\"machine.openshift.io/cluster-api-machineset\":\"second\"",
    );
    let second: MachineSet = serde_json::from_str(&second).unwrap();
    sets.create(&PostParams::default(), &second).await.unwrap();
    let made = async || {
        let extra = ListParams::default().labels("upgrade.managed.openshift.io=true");
        let mut names: Vec<String> = sets
            .list(&extra)
            .await
            .unwrap()
            .iter()
            .map(ResourceExt::name_any)
            .collect();
        names.sort();
        names
    };
    spoke.ask(json!({"capacityReservation": true})).await.unwrap();
    tokio::time::sleep(MINUTE / 6).await;
    let mut all: Vec<String> = originals
        .iter()
        .map(|set| format!("{}-upgrade", set.name_any()))
        .collect();
    all.push("second-upgrade".to_owned());
    all.sort();
    assert_eq!(made().await, all);
    sets.delete("second-upgrade", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(made().await, all);
    spoke.fleet.shut_down().await.unwrap();
}
