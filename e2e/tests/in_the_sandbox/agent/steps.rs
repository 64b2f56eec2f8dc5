//! The other steps, a test a row: 1 to 3, 5, 8, 9, 12, 16 and 17; health checks, extra workers and maintenance windows
//! have files of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use drydock_api::openshift::MachineConfigPool;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::spoke::Spoke;
use drydock_sandbox::test_env::Outside;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

use super::{HOUR, MINUTE, description, faulty, fire, is_notified, spoke};

async fn notified_events(spoke: &Spoke) -> Vec<String> {
    let notified = spoke.notifications().await.unwrap();
    notified.into_iter().map(|(event, _)| event).collect()
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
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_1_the_start_is_notified_and_measured() {
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
    assert_eq!(notified_events(&spoke).await[0], "StateStarted");
    let at = spoke.entry().await.unwrap().start_time.unwrap().0.as_second();
    let series = [
        "upgradeoperator_upgrade_started_timestamp{_id=",
        "upgradeconfig_name=\"managed-upgrade-config\"",
        "version=\"4.14.12\"",
    ];
    assert_eq!(spoke.metric(&series).unwrap(), Some(at as f64));
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_2_a_delay_is_notified_once_with_the_step_that_waits_and_blocks_nothing() {
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
    let delays = notified_events(&spoke)
        .await
        .into_iter()
        .filter(|event| event == "StateDelayed");
    assert_eq!(delays.count(), 1);
    spoke
        .configure("healthCheck: {ignoredCriticals: [Broken]}")
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    spoke.fleet.shut_down().await.unwrap();
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
    spoke.fleet.shut_down().await.unwrap();
    let spoke = faulty(&[Fault::MinorBlocked]).await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_8_only_channel_and_desired_update_are_touched_and_it_is_notified() {
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
    assert!(is_notified(&spoke, "StateControlPlaneStartedSL").await);
    spoke.fleet.shut_down().await.unwrap();
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
    assert!(is_notified(&spoke, "StateControlPlaneFinishedSL").await);
    spoke.fleet.shut_down().await.unwrap();
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
    // Nobody renews the silence of workers that make no progress.
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(spoke.metric(&late).unwrap(), Some(1.0));
    spoke
        .change::<MachineConfigPool>("worker", &paused(false))
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert!(is_notified(&spoke, "StateWorkerPlaneFinishedSL").await);
    spoke.fleet.shut_down().await.unwrap();
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
    let expected = [
        ("drydock.dev/reinitialized-for", "4.14.12"),
        ("file-integrity.openshift.io/re-init", ""),
        ("theirs", "kept"),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(annotations, BTreeMap::from(expected));
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_17_the_end_is_notified_and_measured() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert_eq!(notified_events(&spoke).await.last().unwrap(), "StateCompleted");
    let at = entry.complete_time.unwrap().0.as_second();
    let series = [
        "upgradeoperator_upgrade_completed_timestamp{_id=",
        "version=\"4.14.12\"",
    ];
    assert_eq!(spoke.metric(&series).unwrap(), Some(at as f64));
    assert_eq!(
        spoke.condition("CompletedNotificationSent").await.unwrap().status,
        "True"
    );
    spoke.fleet.shut_down().await.unwrap();
}
