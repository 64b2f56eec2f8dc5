//! The agent started after what it needs is there already, and started again while something is wrong: each upgrade drains the
//! masters on which it runs.

use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::any;
use axum::{Json, Router};
use drydock_api::names::{AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_sandbox::test_env::Outside;
use drydock_sandbox::test_env::outside::PROMETHEUS;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use kube_sandbox::server::Verb;
use serde_json::json;

use super::bench::{Bench, Fault, Kind};
use super::provider::{CONFIGURATION, Ocm};
use super::{HOUR, MINUTE};

/// A cluster that OCM knows; its ConfigMap is there before the agent.
async fn known_to(ocm: &Ocm) -> Bench {
    let router = ocm.router();
    let bench = Bench::make(CONFIGURATION, &[], move |outside: Outside| {
        outside.with("ocm.example", router.clone())
    })
    .await;
    let namespaces: Api<Namespace> = Api::all(bench.client.clone());
    let namespace = serde_json::from_value(json!({"metadata": {"name": "openshift-config"}})).unwrap();
    let as_user = PostParams::default();
    namespaces.create(&as_user, &namespace).await.unwrap();
    let auths = json!({"auths": {"cloud.openshift.com": {"auth": "bzpj"}}});
    let secret = json!({
        "metadata": {"name": "pull-secret"},
        "data": {".dockerconfigjson": ByteString(auths.to_string().into_bytes())},
    });
    let secrets: Api<Secret> = Api::namespaced(bench.client.clone(), "openshift-config");
    secrets
        .create(&as_user, &serde_json::from_value(secret).unwrap())
        .await
        .unwrap();
    bench
}

async fn exists(bench: &Bench) -> bool {
    bench.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap().is_some()
}

#[tokio::test(start_paused = true)]
async fn a_policy_is_brought_to_a_cluster_whose_configuration_was_there_before_the_agent() {
    let ocm = Ocm::default();
    ocm.schedule("p1", "4.14.12", "2026-01-06T10:00:00Z");
    let mut bench = known_to(&ocm).await;
    bench.start_agent();
    tokio::time::sleep(5 * MINUTE).await;
    assert!(exists(&bench).await);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_ocm_does_not_start_once_the_configuration_is_gone() {
    let ocm = Ocm::default();
    ocm.schedule("p1", "4.14.12", "2026-01-05T11:00:00Z");
    let mut bench = known_to(&ocm).await;
    bench.start_agent();
    tokio::time::sleep(5 * MINUTE).await;
    bench.configure(None).await;
    bench.restart().await;
    // The policy is withdrawn, and the last good configuration says whom to ask.
    ocm.withdraw();
    tokio::time::sleep(6 * HOUR).await;
    assert!(!exists(&bench).await);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_is_broken_while_the_agent_starts_again_stops_nothing() {
    let mut bench = Bench::start().await;
    bench.ask().await;
    bench.until_done("UpgradeCommenced").await;
    bench.configure(Some("notify: [")).await;
    bench.restart().await;
    tokio::time::sleep(5 * MINUTE).await;
    assert!(
        bench
            .metrics()
            .contains("upgradeoperator_upgrade_started_timestamp{")
    );
    let entry = bench.entry().await;
    let conditions = entry.conditions.unwrap();
    let condition = conditions
        .iter()
        .find(|condition| condition.type_ == "ConfigurationAccepted")
        .unwrap();
    assert_eq!(condition.status, "False");
    bench.until_done("CompletedNotificationSent").await;
    let received = bench.line.received.lock().unwrap().clone();
    assert!(
        received.contains_key("StateCompleted"),
        "the last good configuration says whom to notify: {received:?}"
    );
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_defaults_hold_once_both_config_maps_are_deleted() {
    let mut bench = Bench::start().await;
    bench.ask().await;
    bench.until_done("UpgradeCommenced").await;
    let state = async |bench: &Bench| {
        let conditions = bench.entry().await.conditions.unwrap();
        let condition = conditions
            .into_iter()
            .find(|condition| condition.type_ == "ConfigurationAccepted")
            .unwrap();
        (condition.status, condition.reason.unwrap_or_default())
    };
    bench.configure(None).await;
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(
        state(&bench).await,
        ("False".to_owned(), "ConfigMapDeleted".to_owned())
    );
    let maps: Api<ConfigMap> = Api::namespaced(bench.client.clone(), AGENT_NAMESPACE);
    maps.delete("drydock-agent-last-good-configuration", &DeleteParams::default())
        .await
        .unwrap();
    for restarts in [false, true] {
        if restarts {
            bench.restart().await;
        }
        tokio::time::sleep(5 * MINUTE).await;
        let expected = ("True".to_owned(), "Defaults".to_owned());
        assert_eq!(state(&bench).await, expected, "restarts: {restarts}");
    }
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_is_away_does_not_make_the_others_be_notified_again() {
    let hooks =
        "notify: {webhooks: [{url: 'https://dead.example/x'}, {url: 'https://hooks.example/secret-path'}]}";
    let dead = Router::new().route("/x", any(|| async { StatusCode::BAD_GATEWAY }));
    let mut bench = Bench::make(hooks, &[], move |outside| {
        outside.with("dead.example", dead.clone())
    })
    .await;
    bench.start_agent();
    bench.ask().await;
    for _ in 0..6 {
        tokio::time::sleep(HOUR).await;
        bench.restart().await;
    }
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench.entry().await.phase, UpgradePhase::Upgraded);
    let received = bench.line.received.lock().unwrap().clone();
    assert!(
        received.len() >= 5 && received.values().all(|times| *times == 1),
        "{received:?}"
    );
    assert!(bench.metrics().contains("upgrade_notification_failed{"));
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn metrics_go_with_an_upgrade_config_that_is_deleted_while_nobody_watches() {
    let mut bench = Bench::make("{}", &[], |outside| outside).await;
    bench.start_agent();
    let upgrade = json!({
        "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
        "metadata": {"name": UPGRADE_CONFIG},
        "spec": {
            "type": "OSD", "upgradeAt": "2026-03-01T00:00:00Z", "PDBForceDrainTimeout": 30,
            "desired": {"version": "4.14.99", "channel": "stable-4.14"},
        },
    });
    let upgrade = serde_json::from_value(upgrade).unwrap();
    bench
        .upgrades()
        .create(&PostParams::default(), &upgrade)
        .await
        .unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    assert_ne!(bench.problems(), [""; 0]);
    let watch = (Kind::Api(Verb::Watch, "upgradeconfigs"), Fault::Unreachable);
    *bench.line.failing.lock().unwrap() = Some(watch);
    bench.server.cut_watches(|_, _| true);
    bench
        .upgrades()
        .delete(UPGRADE_CONFIG, &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    bench.server.compact();
    *bench.line.failing.lock().unwrap() = None;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(bench.problems(), [""; 0]);
    bench.end().await;
}

#[tokio::test(start_paused = true)]
async fn how_an_upgrade_went_is_asked_until_it_is_known() {
    let nothing = json!({"status": "success", "data": {"resultType": "vector", "result": []}});
    let prometheus = Router::new().fallback(any(|| async move { Json(nothing) }));
    let mut bench = Bench::make("{}", &[], move |outside| {
        outside.with(PROMETHEUS, prometheus.clone())
    })
    .await;
    bench.start_agent();
    bench.ask().await;
    bench.until_done("CompletedNotificationSent").await;
    let query = (Kind::Outside("POST", "prometheus-k8s"), Fault::Code(500));
    *bench.line.failing.lock().unwrap() = Some(query);
    bench.restart().await;
    tokio::time::sleep(HOUR).await;
    assert!(!bench.metrics().contains("upgradeoperator_upgrade_result{"));
    *bench.line.failing.lock().unwrap() = None;
    tokio::time::sleep(Duration::from_mins(15)).await;
    assert!(
        bench.metrics().contains("upgradeoperator_upgrade_result{"),
        "{:?}",
        bench.entry().await
    );
    bench.end().await;
}
