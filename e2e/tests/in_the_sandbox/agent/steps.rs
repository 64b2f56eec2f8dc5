//! The steps (agent 3), a test a row.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use drydock_api::machine_api::{Machine, MachineSet, NAMESPACE};
use drydock_api::names::AGENT_MANAGER;
use drydock_api::openshift::{ClusterOperator, MachineConfigPool};
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::manifests;
use drydock_e2e::spoke::{NAME, Spoke};
use drydock_e2e::still::Watched;
use drydock_e2e::still::silences::what_is_silenced_when;
use drydock_e2e::yard::{EPOCH, stack};
use drydock_runtime::Clock;
use drydock_sandbox::bed::{Outside, spoke_types};
use drydock_sandbox::cluster::Fault;
use drydock_sandbox::monitoring::Condition;
use drydock_sandbox::server::{ApiServer, ServerSettings};
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::{HOUR, MINUTE, faulty, fire, spoke};

#[tokio::test(start_paused = true)]
async fn step_4_a_critical_alert_holds_the_upgrade_up_and_an_ignored_one_does_not() {
    let spoke = spoke().await;
    fire(&spoke, "Broken").await;
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let health = spoke.condition("ClusterHealthyBeforeUpgrade").await.unwrap();
    assert_eq!(health.message.as_deref(), Some("critical alerts fire: Broken"));
    let reason = [
        "healthcheck_failed",
        "critical_alerts_firing",
        "Upgrading",
        "4.14.9",
    ];
    assert_eq!(spoke.metric(&reason).unwrap(), Some(1.0));
    spoke
        .configure("healthCheck: {ignoredCriticals: [Broken]}")
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgrading).await.unwrap();
    tokio::time::sleep(HOUR / 30).await;
    let health = spoke.condition("ClusterHealthyBeforeUpgrade").await.unwrap();
    assert_eq!(health.status, "True");
    assert_eq!(spoke.metric(&reason).unwrap(), Some(0.0));
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_4_not_to_know_of_alerts_holds_the_upgrade_up_until_its_window_is_over() {
    for condition in [Condition::Failing(StatusCode::BAD_GATEWAY), Condition::Garbled] {
        let spoke = spoke().await;
        let monitoring = spoke.yard.bed.monitoring(NAME).unwrap();
        monitoring.set_condition(condition);
        spoke.ask(json!({})).await.unwrap();
        tokio::time::sleep(HOUR).await;
        let health = spoke.condition("ClusterHealthyBeforeUpgrade").await.unwrap();
        let message = health.message.unwrap();
        assert!(
            message.starts_with("whether critical alerts fire is not known: ")
                && message.contains("POST https://prometheus-k8s"),
            "{message}"
        );
        let reason = ["healthcheck_failed", "healthcheck_query_failed"];
        assert_eq!(spoke.metric(&reason).unwrap(), Some(1.0));
        spoke.until(UpgradePhase::Failed).await.unwrap();
        assert_eq!(spoke.metric(&["upgrade_window_breached"]).unwrap(), Some(1.0));
        spoke.yard.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn steps_7_and_11_silences_are_made_once_replaced_as_workers_finish_and_ended() {
    // The workers are not done long after the control plane is.
    let spoke = faulty(&[Fault::DrainStuck]).await;
    let criticals = "maintenance: {ignoredAlerts: {controlPlaneCriticals: [ClusterOperatorDown]}}";
    spoke.configure(criticals).await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 6).await;
    let states = |silences: Vec<(String, String)>| -> Vec<String> {
        silences
            .into_iter()
            .map(|(comment, state)| format!("{state} {comment}"))
            .collect()
    };
    assert_eq!(
        states(spoke.silences().await.unwrap()),
        [
            "active Silence for OSD control plane upgrade to version 4.14.12",
            "active Silence for critical alerts during OSD control plane upgrade to version 4.14.12",
        ]
    );
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let silences = spoke.silences().await.unwrap();
    assert!(
        silences.iter().all(|(_, state)| state == "expired"),
        "{silences:?}"
    );
    let workers: Vec<&str> = silences
        .iter()
        .filter_map(|(comment, _)| comment.split("with remaining ").nth(1))
        .collect();
    let mut once = workers.clone();
    once.dedup();
    assert!(!workers.is_empty() && workers == once, "{workers:?}");
    let of_control_plane = silences
        .iter()
        .filter(|(comment, _)| comment.contains("control plane"));
    assert_eq!(of_control_plane.count(), 2, "{silences:?}");
    spoke.yard.shut_down().await.unwrap();
}

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
    let told: Vec<String> = entry
        .notifications
        .unwrap()
        .into_iter()
        .map(|told| told.event)
        .collect();
    assert_eq!(
        told,
        [
            "StateStarted",
            "StateControlPlaneStartedSL",
            "StateControlPlaneFinishedSL",
            "StateWorkerPlaneFinishedSL",
            "StateCompleted"
        ]
    );
    assert_eq!(spoke.metric(&["scaling_failed"]).unwrap(), Some(0.0));
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_5_external_dependencies_must_answer_200() {
    let status = Arc::new(Mutex::new(StatusCode::FOUND));
    let router = {
        let status = Arc::clone(&status);
        Router::new().route("/", get(move || async move { *status.lock().unwrap() }))
    };
    let extend = move |outside: Outside| outside.with("needed.example", router.clone());
    let spoke = Spoke::start(|_| {}, extend).await.unwrap();
    let urls = "extDependencyAvailabilityChecks: {http: {urls: ['https://needed.example/', 'https://none.example/']}}";
    spoke.configure(urls).await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let available = spoke.condition("ExternalDependenciesAvailable").await.unwrap();
    let message = available.message.unwrap();
    assert!(
        message.contains("GET https://needed.example/ answers 302"),
        "{message}"
    );
    assert!(message.contains("no such host: none.example"), "{message}");
    *status.lock().unwrap() = StatusCode::OK;
    spoke
        .configure(&urls.replace(", 'https://none.example/'", ""))
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    spoke.yard.shut_down().await.unwrap();
}

async fn events_told(spoke: &Spoke) -> Vec<String> {
    let told = spoke.told().await.unwrap();
    told.into_iter().map(|(event, _)| event).collect()
}

/// What is told of an event; empty if it is not.
async fn description(spoke: &Spoke, event: &str) -> String {
    let told: BTreeMap<String, String> = spoke.told().await.unwrap().into_iter().collect();
    told.get(event).cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn step_1_the_start_is_told_and_measured() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    let started = spoke.until_done("StartedNotificationSent").await.unwrap();
    assert_eq!(
        (started.reason.as_deref(), started.message.as_deref()),
        (
            Some("StartedNotificationSent done"),
            Some("StartedNotificationSent is completed")
        )
    );
    assert!(started.complete_time.is_some());
    assert_eq!(events_told(&spoke).await[0], "StateStarted");
    let at = spoke.entry().await.unwrap().start_time.unwrap().0.as_second();
    let series = [
        "upgrade_started_timestamp{_id=",
        "upgradeconfig_name=\"managed-upgrade-config\"",
        "version=\"4.14.12\"",
    ];
    assert_eq!(spoke.metric(&series).unwrap(), Some(at as f64));
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_2_a_delay_is_told_once_with_the_step_that_waits_and_blocks_nothing() {
    let spoke = spoke().await;
    fire(&spoke, "Broken").await;
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(29 * MINUTE).await;
    assert_eq!(description(&spoke, "StateDelayed").await, "");
    tokio::time::sleep(3 * MINUTE).await;
    assert_eq!(
        description(&spoke, "StateDelayed").await,
        "the upgrade has not commenced yet: ClusterHealthyBeforeUpgrade is not done"
    );
    let delayed = spoke.condition("UpgradeDelayedCheck").await.unwrap();
    assert_eq!(
        (delayed.status.as_str(), delayed.reason.as_deref()),
        ("True", Some("UpgradeDelayed"))
    );
    tokio::time::sleep(HOUR).await;
    let delays = events_told(&spoke)
        .await
        .into_iter()
        .filter(|event| event == "StateDelayed");
    assert_eq!(delays.count(), 1);
    spoke
        .configure("healthCheck: {ignoredCriticals: [Broken]}")
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_3_what_blocks_minor_updates_blocks_them_and_no_patch() {
    let spoke = faulty(&[Fault::MinorBlocked]).await;
    let minor = json!({"desired": {"version": "4.15.2", "channel": "stable-4.15"}});
    spoke.ask(minor).await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let message = spoke.message("IsClusterUpgradable").await.unwrap();
    assert!(
        message.starts_with("the cluster is not upgradeable to 4.15.2: AdminAckRequired: "),
        "{message}"
    );
    spoke.yard.shut_down().await.unwrap();
    let spoke = faulty(&[Fault::MinorBlocked]).await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_4_an_operator_that_is_degraded_or_not_available_holds_the_upgrade_up() {
    for (type_, status, says) in [
        ("Degraded", "True", "ours is degraded: it is so"),
        ("Available", "False", "ours is not available: it is so"),
    ] {
        let spoke = spoke().await;
        let operators: Api<ClusterOperator> = Api::all(spoke.client.clone());
        let operator: ClusterOperator =
            serde_json::from_value(json!({"metadata": {"name": "ours"}, "spec": {}})).unwrap();
        operators.create(&PostParams::default(), &operator).await.unwrap();
        let ill = |status: &str| {
            let since = "2026-01-01T00:00:00Z";
            Patch::Merge(json!({"status": {"conditions": [{
                "type": type_, "status": status, "reason": "Made", "message": "it is so", "lastTransitionTime": since,
            }]}}))
        };
        let as_user = PatchParams::default();
        operators
            .patch_status("ours", &as_user, &ill(status))
            .await
            .unwrap();
        spoke.ask(json!({})).await.unwrap();
        tokio::time::sleep(HOUR / 2).await;
        let message = spoke.message("ClusterHealthyBeforeUpgrade").await.unwrap();
        assert!(message.contains(says), "{message}");
        let reason = ["healthcheck_failed", "cluster_operators_degraded", "Upgrading"];
        assert_eq!(spoke.metric(&reason).unwrap(), Some(1.0));
        let well = if status == "True" { "False" } else { "True" };
        operators
            .patch_status("ours", &as_user, &ill(well))
            .await
            .unwrap();
        spoke.until_done("ClusterHealthyBeforeUpgrade").await.unwrap();
        assert_eq!(spoke.metric(&reason).unwrap(), Some(0.0));
        spoke.yard.shut_down().await.unwrap();
    }
}

/// Takes the label away by which MachineSets are found.
async fn hide_machine_sets(spoke: &Spoke) {
    let sets: Api<MachineSet> = Api::namespaced(spoke.client.clone(), NAMESPACE);
    let hidden = json!({"metadata": {"labels": {"hive.openshift.io/machine-pool": null}}});
    for set in sets.list(&ListParams::default()).await.unwrap().items {
        let as_user = PatchParams::default();
        sets.patch(&set.name_any(), &as_user, &Patch::Merge(&hidden))
            .await
            .unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn step_4_with_the_feature_gate_what_will_hold_drains_up_is_told_and_blocks_nothing() {
    let spoke = spoke().await;
    spoke
        .configure("featureGate: {enabled: [PreHealthCheck]}")
        .await
        .unwrap();
    hide_machine_sets(&spoke).await;
    let nodes: Api<Node> = Api::all(spoke.client.clone());
    let workers = ListParams::default().labels("node-role.kubernetes.io/worker");
    let workers = nodes.list(&workers).await.unwrap().items;
    let taint = |key: &str| json!({"key": key, "effect": "NoSchedule"});
    let cordoned =
        json!({"spec": {"unschedulable": true, "taints": [taint("node.kubernetes.io/unschedulable")]}});
    let pressed = json!({"spec": {"taints": [taint("node.kubernetes.io/disk-pressure")]}});
    spoke
        .change::<Node>(&workers[0].name_any(), &cordoned)
        .await
        .unwrap();
    spoke
        .change::<Node>(&workers[1].name_any(), &pressed)
        .await
        .unwrap();
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(spoke.client.clone(), "default");
    let budget = json!({
        "metadata": {"name": "strict"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "db"}}},
    });
    let budget = serde_json::from_value(budget).unwrap();
    budgets.create(&PostParams::default(), &budget).await.unwrap();
    spoke.ask(json!({"capacityReservation": true})).await.unwrap();
    spoke.until_done("ClusterHealthyBeforeUpgrade").await.unwrap();
    let told = description(&spoke, "StateHealthCheckSL").await;
    for part in [
        "extra workers are asked for, and no MachineSet has the label",
        &format!("worker nodes are cordoned by hand: {}", workers[0].name_any()),
        &format!("{} (disk space)", workers[1].name_any()),
        "default/strict (it allows no pod to be unavailable)",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_6_extra_workers_that_do_not_come_in_time_or_cannot_be_made_are_done_without() {
    let late = spoke().await;
    late.configure("scale: {timeOut: 1}").await.unwrap();
    late.ask(json!({"capacityReservation": true})).await.unwrap();
    late.until_done("ComputeCapacityReserved").await.unwrap();
    let told = description(&late, "StateSkipped").await;
    assert!(
        told.starts_with("the upgrade goes on without all extra workers"),
        "{told}"
    );
    assert_eq!(late.metric(&["scaling_failed"]).unwrap(), Some(1.0));
    late.until(UpgradePhase::Upgraded).await.unwrap();
    late.yard.shut_down().await.unwrap();
    let without = spoke().await;
    hide_machine_sets(&without).await;
    without.ask(json!({"capacityReservation": true})).await.unwrap();
    without.until(UpgradePhase::Upgraded).await.unwrap();
    assert!(
        events_told(&without)
            .await
            .contains(&"StateScaleSkipped".to_owned())
    );
    without.yard.shut_down().await.unwrap();
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
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_7_the_silence_of_a_control_plane_that_takes_longer_is_renewed_and_never_doubled() {
    let spoke = faulty(&[Fault::OperatorUnavailable]).await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until_done("UpgradeCommenced").await.unwrap();
    for _ in 0..5 * 60 {
        tokio::time::sleep(MINUTE).await;
        let comment = "Silence for OSD control plane upgrade to version 4.14.12";
        let expected = [(comment.to_owned(), "active".to_owned())];
        assert_eq!(spoke.silences().await.unwrap(), expected);
    }
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_8_only_channel_and_desired_update_are_touched_and_it_is_told() {
    let spoke = spoke().await;
    let theirs = json!({"spec": {"overrides": [
        {"kind": "Deployment", "group": "apps", "namespace": "openshift-x", "name": "x", "unmanaged": true},
    ]}});
    let spec = async || serde_json::to_value(spoke.version().await.unwrap()).unwrap()["spec"].clone();
    let raw = async || -> Value {
        let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "ClusterVersion");
        let (kind, _) = kube::discovery::pinned_kind(&spoke.client, &kind).await.unwrap();
        let api: Api<DynamicObject> = Api::all_with(spoke.client.clone(), &kind);
        api.get("version").await.unwrap().data["spec"].clone()
    };
    spoke
        .change::<drydock_api::openshift::ClusterVersion>("version", &theirs)
        .await
        .unwrap();
    let mut expected = raw().await;
    let minor = json!({"desired": {"version": "4.15.15", "channel": "fast-4.15"}});
    spoke.ask(minor).await.unwrap();
    spoke.until_done("UpgradeCommenced").await.unwrap();
    expected["channel"] = json!("fast-4.15");
    expected["desiredUpdate"] = json!({"version": "4.15.15"});
    assert_eq!(raw().await, expected);
    assert_eq!(spec().await["channel"], "fast-4.15");
    assert!(
        events_told(&spoke)
            .await
            .contains(&"StateControlPlaneStartedSL".to_owned())
    );
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_9_a_control_plane_that_takes_longer_than_it_should_is_measured() {
    let spoke = spoke().await;
    spoke
        .configure("maintenance: {controlPlaneTime: 10}")
        .await
        .unwrap();
    spoke.ask(json!({})).await.unwrap();
    spoke.until_done("UpgradeCommenced").await.unwrap();
    let late = ["controlplane_timeout", "version=\"4.14.12\""];
    assert_ne!(spoke.metric(&late).unwrap(), Some(1.0));
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(
        spoke.condition("ControlPlaneUpgraded").await.unwrap().status,
        "False"
    );
    assert_eq!(spoke.metric(&late).unwrap(), Some(1.0));
    spoke.until_done("ControlPlaneUpgraded").await.unwrap();
    assert!(
        events_told(&spoke)
            .await
            .contains(&"StateControlPlaneFinishedSL".to_owned())
    );
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn steps_10_and_14_silences_end_when_what_they_are_for_is_done() {
    // The workers are not done long after the control plane is.
    let spoke = faulty(&[Fault::DrainStuck]).await;
    spoke.ask(json!({})).await.unwrap();
    let states = async |part: &str| -> Vec<String> {
        let silences = spoke.silences().await.unwrap().into_iter();
        let of_part = silences.filter(|(comment, _)| comment.contains(part));
        of_part.map(|(_, state)| state).collect()
    };
    spoke.until_done("UpgradeCommenced").await.unwrap();
    assert_eq!(states("control plane").await, ["active"]);
    spoke
        .until_done("ControlPlaneMaintenanceWindowRemoved")
        .await
        .unwrap();
    assert_eq!(states("control plane").await, ["expired"]);
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let workers = states("worker node").await;
    assert!(
        !workers.is_empty() && workers.iter().all(|state| state == "expired"),
        "{workers:?}"
    );
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_12_workers_that_are_not_updated_are_waited_for_and_measured_once_nothing_is_silent() {
    let spoke = spoke().await;
    let paused = |paused: bool| json!({"spec": {"paused": paused}});
    spoke
        .change::<MachineConfigPool>("worker", &paused(true))
        .await
        .unwrap();
    spoke.ask(json!({"PDBForceDrainTimeout": 0})).await.unwrap();
    spoke.until_done("ControlPlaneUpgraded").await.unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    let message = spoke.message("WorkerNodesUpgraded").await.unwrap();
    assert!(
        message.contains("the MachineConfigPool worker is paused"),
        "{message}"
    );
    let late = ["worker_timeout", "version=\"4.14.12\""];
    assert_eq!(spoke.metric(&late).unwrap(), Some(0.0));
    // Nobody renews the silence of workers that stand still.
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(spoke.metric(&late).unwrap(), Some(1.0));
    spoke
        .change::<MachineConfigPool>("worker", &paused(false))
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert!(
        events_told(&spoke)
            .await
            .contains(&"StateWorkerPlaneFinishedSL".to_owned())
    );
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_15_the_upgrade_ends_when_the_cluster_is_well_again() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until_done("UpgradeCommenced").await.unwrap();
    fire(&spoke, "Broken").await;
    spoke.until_done("WorkersMaintenanceWindowRemoved").await.unwrap();
    tokio::time::sleep(HOUR).await;
    let message = spoke.message("ClusterHealthyAfterUpgrade").await.unwrap();
    assert_eq!(message, "critical alerts fire: Broken");
    assert_eq!(spoke.entry().await.unwrap().phase, UpgradePhase::Upgrading);
    spoke
        .configure("healthCheck: {ignoredCriticals: [Broken]}")
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_16_in_fedramp_the_file_integrity_operator_starts_over_and_keeps_its_annotations() {
    let spoke = spoke().await;
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "fileintegrities.fileintegrity.openshift.io"},
        "spec": {
            "group": "fileintegrity.openshift.io", "scope": "Namespaced",
            "names": {"kind": "FileIntegrity", "plural": "fileintegrities", "singular": "fileintegrity"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    }))
    .unwrap();
    let as_user = PostParams::default();
    let definitions: Api<CustomResourceDefinition> = Api::all(spoke.client.clone());
    definitions.create(&as_user, &definition).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(spoke.client.clone());
    let namespace =
        serde_json::from_value(json!({"metadata": {"name": "openshift-file-integrity"}})).unwrap();
    namespaces.create(&as_user, &namespace).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    let kind = GroupVersionKind::gvk("fileintegrity.openshift.io", "v1alpha1", "FileIntegrity");
    let (kind, _) = kube::discovery::pinned_kind(&spoke.client, &kind).await.unwrap();
    let api: Api<DynamicObject> =
        Api::namespaced_with(spoke.client.clone(), "openshift-file-integrity", &kind);
    let object = serde_json::from_value(json!({
        "apiVersion": "fileintegrity.openshift.io/v1alpha1", "kind": "FileIntegrity",
        "metadata": {"name": "osd-fileintegrity", "annotations": {"theirs": "kept"}},
    }))
    .unwrap();
    api.create(&as_user, &object).await.unwrap();
    spoke.configure("environment: {fedramp: true}").await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let annotations = api.get("osd-fileintegrity").await.unwrap().annotations().clone();
    let expected = [("file-integrity.openshift.io/re-init", ""), ("theirs", "kept")];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(annotations, BTreeMap::from(expected));
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_17_the_end_is_told_and_measured() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert_eq!(events_told(&spoke).await.last().unwrap(), "StateCompleted");
    let at = entry.complete_time.unwrap().0.as_second();
    let series = ["upgrade_completed_timestamp{_id=", "version=\"4.14.12\""];
    assert_eq!(spoke.metric(&series).unwrap(), Some(at as f64));
    assert_eq!(
        spoke.condition("CompletedNotificationSent").await.unwrap().status,
        "True"
    );
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn alerts_and_silences_are_as_with_a_real_prometheus_and_a_real_alertmanager() {
    let clock = Clock::simulated(EPOCH);
    let types = spoke_types().unwrap();
    let server = ApiServer::new(ServerSettings::new("still", clock.clone(), 1, types));
    let client = stack(&server, AGENT_MANAGER).unwrap();
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-monitoring"}});
    manifests::apply(&client, &serde_json::from_value(namespace).unwrap())
        .await
        .unwrap();
    for (alert, namespace) in [("Broken", "openshift-etcd"), ("Elsewhere", "shop")] {
        let rule = json!({
            "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": alert.to_lowercase(), "namespace": "openshift-monitoring"},
            "spec": {"groups": [{"name": "ours", "rules": [
                {"alert": alert, "expr": "vector(1)", "labels": {"severity": "critical", "namespace": namespace}},
            ]}]},
        });
        manifests::apply(&client, &serde_json::from_value(rule).unwrap())
            .await
            .unwrap();
    }
    let watched = Watched::by_sandbox(&client, &clock);
    what_is_silenced_when(client, clock, watched).await.unwrap();
}
