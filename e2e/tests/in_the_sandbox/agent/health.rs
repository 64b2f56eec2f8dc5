//! Health checks.

use axum::http::StatusCode;
use drydock_api::insights::UpdateInformer;
use drydock_api::openshift::ClusterOperator;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::spoke::NAME;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use openshift_sandbox::monitoring::ResponseMode;
use serde_json::json;

use super::{HOUR, description, fire, hide_machine_sets, spoke};

#[tokio::test(start_paused = true)]
async fn step_4_a_critical_alert_blocks_the_upgrade_and_an_ignored_one_does_not() {
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
    spoke.fleet.shut_down().await.unwrap();
}

/// An informer that is not there holds it; without it, the upgrade commences without anybody's help.
#[tokio::test(start_paused = true)]
async fn step_4_an_update_plan_holds_the_upgrade_where_that_is_asked_for() {
    let spoke = spoke().await;
    spoke
        .configure("healthCheck: {checkUpdatePlan: true}")
        .await
        .unwrap();
    let informers: Api<UpdateInformer> = Api::all(spoke.client.clone());
    let absent = json!({
        "metadata": {"name": "storage"},
        "spec": {"clientConfig": {"service": {"namespace": "x", "name": "x"}, "caBundle": "eA=="}, "failurePolicy": "Fail"},
    });
    let absent = serde_json::from_value(absent).unwrap();
    informers.create(&PostParams::default(), &absent).await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let health = spoke.condition("ClusterHealthyBeforeUpgrade").await.unwrap();
    let message = health.message.unwrap();
    assert!(
        message.contains("the update to 4.14.12 may not start: "),
        "{message}"
    );
    let reason = [
        "healthcheck_failed",
        "update_plan_not_startable",
        "Upgrading",
        "4.14.9",
    ];
    assert_eq!(spoke.metric(&reason).unwrap(), Some(1.0));
    informers
        .delete("storage", &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(HOUR / 4).await;
    let health = spoke.condition("ClusterHealthyBeforeUpgrade").await.unwrap();
    assert_eq!(health.status, "True", "{:?}", health.message);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_4_not_to_know_of_alerts_blocks_the_upgrade_until_its_window_is_over() {
    for condition in [
        ResponseMode::Failing(StatusCode::BAD_GATEWAY),
        ResponseMode::Garbled,
    ] {
        let spoke = spoke().await;
        let monitoring = spoke.fleet.env.monitoring(NAME).unwrap();
        monitoring.set_response_mode(condition);
        spoke.ask(json!({})).await.unwrap();
        tokio::time::sleep(HOUR).await;
        let health = spoke.condition("ClusterHealthyBeforeUpgrade").await.unwrap();
        let message = health.message.unwrap();
        assert!(
            message.starts_with("cannot check whether critical alerts fire: ")
                && message.contains("POST https://prometheus-k8s"),
            "{message}"
        );
        let reason = ["healthcheck_failed", "healthcheck_query_failed"];
        assert_eq!(spoke.metric(&reason).unwrap(), Some(1.0));
        spoke.until(UpgradePhase::Failed).await.unwrap();
        assert_eq!(spoke.metric(&["upgrade_window_breached"]).unwrap(), Some(1.0));
        spoke.fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn step_4_an_operator_that_is_degraded_or_not_available_blocks_the_upgrade() {
    for (type_, status, says) in [
        ("Degraded", "True", "ours is degraded: it is so"),
        ("Available", "False", "ours is not available: it is so"),
    ] {
        let spoke = spoke().await;
        let operators: Api<ClusterOperator> = Api::all(spoke.client.clone());
        let operator: ClusterOperator =
            serde_json::from_value(json!({"metadata": {"name": "ours"}, "spec": {}})).unwrap();
        operators.create(&PostParams::default(), &operator).await.unwrap();
        let with_status = |status: &str| {
            let since = "2026-01-01T00:00:00Z";
            Patch::Merge(json!({"status": {"conditions": [{
                "type": type_, "status": status, "reason": "Made", "message": "it is so", "lastTransitionTime": since,
            }]}}))
        };
        let as_user = PatchParams::default();
        operators
            .patch_status("ours", &as_user, &with_status(status))
            .await
            .unwrap();
        spoke.ask(json!({})).await.unwrap();
        tokio::time::sleep(HOUR / 2).await;
        let message = spoke.message("ClusterHealthyBeforeUpgrade").await.unwrap();
        assert!(message.contains(says), "{message}");
        let reason = ["healthcheck_failed", "cluster_operators_degraded", "Upgrading"];
        assert_eq!(spoke.metric(&reason).unwrap(), Some(1.0));
        let healthy = if status == "True" { "False" } else { "True" };
        operators
            .patch_status("ours", &as_user, &with_status(healthy))
            .await
            .unwrap();
        spoke.until_done("ClusterHealthyBeforeUpgrade").await.unwrap();
        assert_eq!(spoke.metric(&reason).unwrap(), Some(0.0));
        spoke.fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn step_4_with_the_feature_gate_what_will_block_drains_is_reported_and_blocks_nothing() {
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
    let found = description(&spoke, "StateHealthCheckSL").await;
    for part in [
        "extra workers are asked for, and no MachineSet has the label",
        &format!("worker nodes are cordoned by hand: {}", workers[0].name_any()),
        &format!("{} (disk space)", workers[1].name_any()),
        "default/strict (it allows no pod to be unavailable)",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    spoke.fleet.shut_down().await.unwrap();
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
    spoke.fleet.shut_down().await.unwrap();
}
