//! The agent's steps against the monitoring, the machines, the pods and the graph of a simulated cluster.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{any, get, post};
use drydock_api::machine_api::{Machine, MachineSet, NAMESPACE};
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::spoke::{NAME, Spoke};
use drydock_sandbox::bed::Outside;
use drydock_sandbox::cluster::Fault;
use drydock_sandbox::monitoring::Condition;
use drydock_sandbox::update_service;
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);

async fn spoke() -> Spoke {
    Spoke::start(|_| {}, |outside| outside).await.unwrap()
}

async fn faulty(faults: &[Fault]) -> Spoke {
    let change =
        |settings: &mut drydock_sandbox::bed::BedSettings| settings.clusters[0].faults.extend(faults);
    Spoke::start(change, |outside| outside).await.unwrap()
}

/// Lets an alert fire for as long as its rule is there.
async fn fire(spoke: &Spoke, alert: &str) {
    let rules = GroupVersionKind::gvk("monitoring.coreos.com", "v1", "PrometheusRule");
    let (kind, _) = kube::discovery::pinned_kind(&spoke.client, &rules).await.unwrap();
    let rule: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
        "metadata": {"name": alert.to_lowercase(), "namespace": "openshift-monitoring"},
        "spec": {"groups": [{"name": "ours", "rules": [
            {"alert": alert, "expr": "vector(1)", "labels": {"severity": "critical"}},
        ]}]},
    }))
    .unwrap();
    let api: Api<DynamicObject> = Api::namespaced_with(spoke.client.clone(), "openshift-monitoring", &kind);
    api.create(&PostParams::default(), &rule).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_critical_alert_holds_the_upgrade_up_and_an_ignored_one_does_not() {
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
async fn not_to_know_of_alerts_holds_the_upgrade_up_until_its_window_is_over() {
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
async fn silences_are_made_once_replaced_as_workers_finish_and_ended() {
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
async fn an_upgrade_that_is_deleted_before_it_commences_leaves_nothing_behind() {
    let spoke = faulty(&[Fault::UnknownUpdate]).await;
    // The channel is another: that it offers nothing is found when everything else is ready.
    let fields =
        json!({"desired": {"version": "4.15.2", "channel": "stable-4.15"}, "capacityReservation": true});
    spoke.ask(fields).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let commenced = spoke.condition("UpgradeCommenced").await.unwrap();
    assert_eq!(commenced.status, "False");
    assert_eq!(spoke.silences().await.unwrap()[0].1, "active");
    let sets: Api<MachineSet> = Api::namespaced(spoke.client.clone(), NAMESPACE);
    let extra = ListParams::default().labels("upgrade.managed.openshift.io=true");
    assert!(!sets.list(&extra).await.unwrap().items.is_empty());
    spoke.withdraw().await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert!(spoke.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap().is_none());
    let silences = spoke.silences().await.unwrap();
    assert!(
        silences.iter().all(|(_, state)| state == "expired"),
        "{silences:?}"
    );
    let left = sets.list(&extra).await.unwrap().items;
    let left: Vec<String> = left.iter().map(ResourceExt::name_any).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(
        spoke.metric(&["upgrade_started_timestamp"]).unwrap(),
        None,
        "its metrics went"
    );
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_deleted_after_it_has_commenced_goes_on_and_is_cleaned_up() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    spoke.withdraw().await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let upgrade = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap();
    assert!(
        upgrade.metadata.deletion_timestamp.is_some(),
        "it waits for the end"
    );
    tokio::time::sleep(4 * HOUR).await;
    assert!(spoke.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap().is_none());
    let versions: Api<ClusterVersion> = Api::all(spoke.client.clone());
    let history = versions.get("version").await.unwrap().status.unwrap().history;
    assert!(
        history
            .iter()
            .any(|past| past.version.as_deref() == Some("4.14.12") && past.is_completed())
    );
    let silences = spoke.silences().await.unwrap();
    assert!(
        silences.iter().all(|(_, state)| state == "expired"),
        "{silences:?}"
    );
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn extra_workers_come_before_the_upgrade_and_go_after_it() {
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

/// Events by their ids: the event, its type, and how often it came.
type Got = BTreeMap<String, (Value, String, usize)>;

/// What a receiver got.
#[derive(Clone, Default)]
struct Receiver {
    got: Arc<Mutex<Got>>,
    refusals: Arc<Mutex<usize>>,
}

async fn receive(State(receiver): State<Receiver>, headers: HeaderMap, body: String) -> StatusCode {
    let mut refusals = receiver.refusals.lock().unwrap();
    if *refusals > 0 {
        *refusals -= 1;
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"secret");
    let tag: String = ring::hmac::sign(&key, body.as_bytes())
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(headers["x-drydock-signature-256"], format!("sha256={tag}"));
    let event: Value = serde_json::from_str(&body).unwrap();
    let kind = event["type"].as_str().unwrap().to_owned();
    let id = event["id"].as_str().unwrap().to_owned();
    receiver
        .got
        .lock()
        .unwrap()
        .entry(id)
        .or_insert((event, kind, 0))
        .2 += 1;
    StatusCode::NO_CONTENT
}

#[tokio::test(start_paused = true)]
async fn webhooks_get_each_state_once_signed_and_as_cloud_events_and_hold_nothing_up() {
    let receiver = Receiver::default();
    *receiver.refusals.lock().unwrap() = 3;
    let router = Router::new()
        .route("/hook", post(receive))
        .with_state(receiver.clone());
    let dead = Router::new().route("/", any(|| async { StatusCode::INTERNAL_SERVER_ERROR }));
    let extend = move |outside: Outside| {
        outside
            .with("hooks.example", router.clone())
            .with("dead.example", dead.clone())
    };
    let spoke = Spoke::start(|_| {}, extend).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(spoke.client.clone(), AGENT_NAMESPACE);
    let secret =
        json!({"metadata": {"name": "hook"}, "stringData": {"key": "secret"}, "data": {"key": "c2VjcmV0"}});
    let secret: Secret = serde_json::from_value(secret).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let hooks = "notify:
  webhooks:
    - {url: 'https://hooks.example/hook', secretRef: {name: hook}, events: [StateStarted, StateCompleted]}
    - {url: 'https://dead.example/', events: [StateCompleted]}
";
    spoke.configure(hooks).await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let got = receiver.got.lock().unwrap().clone();
    let mut kinds: Vec<(String, usize)> = got
        .values()
        .map(|(_, kind, count)| (kind.clone(), *count))
        .collect();
    kinds.sort();
    let once = |kind: &str| (format!("dev.drydock.upgrade.{kind}"), 1);
    assert_eq!(kinds, [once("StateCompleted"), once("StateStarted")]);
    for (event, _, _) in got.values() {
        assert_eq!(event["specversion"], "1.0");
        assert_eq!(event["subject"], "4.14.12");
    }
    let upgrade = spoke.entry().await.unwrap();
    let sent = |event: &str| {
        let mut told = upgrade.notifications.iter().flatten();
        told.find(|told| told.event == event).unwrap().sent_time.is_some()
    };
    assert!(
        sent("StateStarted") && !sent("StateCompleted"),
        "one receiver never takes it"
    );
    let failed = ["upgrade_notification_failed", "StateCompleted"];
    assert_eq!(spoke.metric(&failed).unwrap(), Some(1.0));
    assert_eq!(
        spoke.metric(&["upgrade_notification{", "StateStarted"]).unwrap(),
        Some(1.0)
    );
    assert!(entry.complete_time.is_some());
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_a_budget_forbids_is_freed_after_its_time_and_told_of() {
    let spoke = faulty(&[Fault::DrainStuck]).await;
    spoke.ask(json!({"PDBForceDrainTimeout": 30})).await.unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let told = entry.notifications.unwrap();
    let delayed = told.iter().find(|told| told.event == "StateDelayed").unwrap();
    let description = delayed.description.as_deref().unwrap();
    assert!(
        description.contains("pods under a budget are deleted, default/drain-blocker first"),
        "{description}"
    );
    assert!(spoke.events().await.unwrap().contains(&"DrainForced".to_owned()));
    let lasted = entry
        .complete_time
        .unwrap()
        .0
        .duration_since(entry.start_time.unwrap().0);
    assert!(lasted.as_hours() < 4, "{lasted}");
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_strategies_disabled_a_drain_is_only_measured() {
    let spoke = faulty(&[Fault::DrainStuck]).await;
    spoke
        .configure("nodeDrain: {disableDrainStrategies: true}")
        .await
        .unwrap();
    spoke.ask(json!({"PDBForceDrainTimeout": 30})).await.unwrap();
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(spoke.entry().await.unwrap().phase, UpgradePhase::Upgrading);
    let pods: Api<Pod> = Api::namespaced(spoke.client.clone(), "default");
    assert!(pods.get_opt("drain-blocker").await.unwrap().is_some());
    let node = pods
        .get("drain-blocker")
        .await
        .unwrap()
        .spec
        .unwrap()
        .node_name
        .unwrap();
    assert_eq!(spoke.metric(&["node_drain_timeout", &node]).unwrap(), Some(1.0));
    spoke.yard.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn external_dependencies_must_answer_200() {
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

#[tokio::test(start_paused = true)]
async fn another_channel_is_checked_with_the_update_graph() {
    let spoke = spoke().await;
    spoke.configure("validation: {cincinnati: true}").await.unwrap();
    let graph = spoke.yard.bed.update_service().clone();
    graph.set_condition(update_service::Condition::Garbled);
    let asked = json!({"desired": {"version": "4.15.99", "channel": "stable-4.15"}});
    spoke.ask(asked).await.unwrap();
    let says = async || {
        tokio::time::sleep(HOUR / 4).await;
        spoke
            .condition("UpgradeConfigValidated")
            .await
            .unwrap()
            .message
            .unwrap()
    };
    let message = says().await;
    assert!(
        message.contains("whether channel stable-4.15 leads to 4.15.99 is not known"),
        "{message}"
    );
    graph.set_condition(update_service::Condition::Whole);
    let message = says().await;
    assert!(
        message.contains("4.15.99 is not an update that channel stable-4.15 offers from 4.14.9"),
        "{message}"
    );
    spoke.yard.shut_down().await.unwrap();
}
