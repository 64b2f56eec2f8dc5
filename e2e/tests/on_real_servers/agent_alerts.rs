//! The expressions of the agent's alerts, asked of a real Prometheus that has scraped agents with problems.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::{any, get};
use axum::{Json, Router};
use drydock_api::names::AGENT_MANAGER;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::scraped::Scraped;
use drydock_e2e::spoke::{NAME, Spoke};
use kube_sandbox::server::{FaultAction, RequestInfo, Status};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);
const RULES: &str = include_str!("../../../manifests/agent/prometheusrule.yaml");

/// The alerts with their expressions.
fn rules() -> Vec<(String, String)> {
    let object: Value = serde_saphyr::from_str(RULES).unwrap();
    let groups = object["spec"]["groups"].as_array().unwrap().clone();
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rules
        .map(|rule| (text(&rule["alert"]), text(&rule["expr"])))
        .collect()
}

/// An agent with a problem: the faults of its cluster, its configuration, what is asked of it, and for how many hours.
struct AlertScenario {
    fault: Option<Fault>,
    configuration: &'static str,
    asked: Value,
    hours: u32,
}

/// Which alert each scenario is for, apart from those that need more than a fault of the cluster.
fn scenarios() -> Vec<(&'static str, AlertScenario)> {
    let by = |fault, hours| AlertScenario {
        fault: Some(fault),
        configuration: "{}",
        asked: json!({}),
        hours,
    };
    vec![
        ("UpgradeConfigValidationFailedSRE", by(Fault::UnknownUpdate, 3)),
        (
            "UpgradeNodeScalingFailedSRE",
            AlertScenario {
                fault: None,
                configuration: "scale: {timeOut: 1}",
                asked: json!({"capacityReservation": true}),
                hours: 1,
            },
        ),
        (
            "UpgradeControlPlaneUpgradeTimeoutSRE",
            by(Fault::OperatorUnavailable, 2),
        ),
        ("DrydockUpgradeStepOverdue", by(Fault::OperatorUnavailable, 12)),
        ("UpgradeNodeUpgradeTimeoutSRE", by(Fault::PausedPool, 12)),
        (
            "UpgradeNodeDrainFailedSRE",
            AlertScenario {
                configuration: "nodeDrain: {disableDrainStrategies: true}",
                ..by(Fault::DrainStuck, 6)
            },
        ),
        (
            "UpgradeNotificationFailedSRE",
            AlertScenario {
                fault: None,
                configuration: "notify: {webhooks: [{url: 'https://dead.example/'}]}",
                asked: json!({}),
                hours: 1,
            },
        ),
    ]
}

fn page(spoke: &Spoke) -> String {
    spoke.fleet.metrics(NAME).unwrap()
}

async fn run_scenario(scenario: AlertScenario) -> String {
    let dead = Router::new().route("/", any(|| async { StatusCode::INTERNAL_SERVER_ERROR }));
    let spoke = Spoke::start(
        |settings| settings.clusters[0].faults.extend(scenario.fault),
        move |outside| outside.with("dead.example", dead.clone()),
    )
    .await
    .unwrap();
    spoke.configure(scenario.configuration).await.unwrap();
    spoke.ask(scenario.asked).await.unwrap();
    tokio::time::sleep(HOUR * scenario.hours).await;
    let page = page(&spoke);
    spoke.fleet.shut_down().await.unwrap();
    page
}

/// A node that is cordoned by hand blocks the upgrade.
async fn unhealthy() -> String {
    let spoke = Spoke::start(|_| {}, |outside| outside).await.unwrap();
    let rule = json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
        "metadata": {"name": "broken", "namespace": "openshift-monitoring"},
        "spec": {"groups": [{"name": "ours", "rules": [
            {"alert": "Broken", "expr": "vector(1)", "labels": {"severity": "critical"}},
        ]}]},
    });
    let path = "/apis/monitoring.coreos.com/v1/namespaces/openshift-monitoring/prometheusrules";
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(rule.to_string().into_bytes())
        .unwrap();
    let _made: Value = spoke.client.request(request).await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let page = page(&spoke);
    spoke.fleet.shut_down().await.unwrap();
    page
}

/// OCM brought a policy at the beginning, and nothing since: the time of the simulation is long past.
async fn out_of_sync() -> String {
    let cluster = json!({"id": "c1", "version": {"channel_group": "stable"}});
    let clusters = json!({"kind": "ClusterList", "items": [cluster]});
    let policy = json!({"id": "p1", "version": "4.14.12", "next_run": "2026-01-05T11:00:00Z"});
    let policies = json!({"kind": "UpgradePolicyList", "items": [policy]});
    let state = json!({"kind": "UpgradePolicyState", "value": "scheduled"});
    let answer = |body: Value| get(move || async move { Json(body) });
    let path = "/api/clusters_mgmt/v1/clusters";
    let ocm = Router::new()
        .route(path, answer(clusters))
        .route(&format!("{path}/c1/upgrade_policies"), answer(policies))
        .route(&format!("{path}/c1/upgrade_policies/p1/state"), answer(state));
    let spoke = Spoke::start(|_| {}, move |outside| outside.with("ocm.example", ocm.clone()))
        .await
        .unwrap();
    let auths = json!({"auths": {"cloud.openshift.com": {"auth": "bzpj"}}});
    spoke.give_pull_secret(&auths).await.unwrap();
    let source = "{upgradeType: OSD, configManager: {source: OCM, ocmBaseUrl: 'https://ocm.example'}}";
    spoke.configure(source).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let page = page(&spoke);
    spoke.fleet.shut_down().await.unwrap();
    page
}

/// An agent whose status the server refuses, at two moments.
async fn refused() -> Vec<String> {
    let spoke = Spoke::start(|_| {}, |outside| outside).await.unwrap();
    let server = spoke.fleet.env.spoke(NAME).unwrap();
    server.set_fault_hook(Some(Arc::new(|asked: &RequestInfo<'_>| {
        let is_status =
            asked.subresource.is_some() && asked.kind.is_some_and(|kind| kind.plural == "upgradeconfigs");
        if is_status && asked.identity.name() == AGENT_MANAGER {
            FaultAction::Refuse(Status::new(403, "Forbidden", "no"))
        } else {
            FaultAction::Pass
        }
    })));
    spoke.ask(json!({})).await.unwrap();
    let mut pages = Vec::new();
    for _ in 0..2 {
        tokio::time::sleep(HOUR).await;
        pages.push(page(&spoke));
    }
    spoke.fleet.shut_down().await.unwrap();
    pages
}

async fn calm() -> String {
    let spoke = Spoke::start(|_| {}, |outside| outside).await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let page = page(&spoke);
    spoke.fleet.shut_down().await.unwrap();
    page
}

/// What is scraped of agents in each scenario, by alert, and of one without any.
async fn all_pages() -> (Vec<(&'static str, Vec<String>)>, String) {
    let mut pages = Vec::new();
    for (alert, scenario) in scenarios() {
        pages.push((alert, vec![run_scenario(scenario).await]));
    }
    pages.push(("UpgradeClusterCheckFailedSRE", vec![unhealthy().await]));
    pages.push(("UpgradeConfigSyncFailureOver4HrSRE", vec![out_of_sync().await]));
    pages.push(("DrydockAgentPassesFail", refused().await));
    (pages, calm().await)
}

#[test]
fn every_expression_finds_its_scenario_on_a_scrape_and_none_where_all_is_well() {
    let simulated = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let (pages, calm) = simulated.block_on(all_pages());
    drop(simulated);
    let real = tokio::runtime::Runtime::new().unwrap();
    real.block_on(async {
        let programs: Vec<Vec<String>> = pages.iter().map(|(_, pages)| pages.clone()).collect();
        let alerting = Scraped::pages("another", &programs).await.unwrap();
        let well = Scraped::pages("drydock-agent", &[vec![calm]]).await.unwrap();
        for (alert, expression) in rules() {
            let is_expected = alert == "DrydockAgentDown" || pages.iter().any(|(of, _)| *of == alert);
            assert!(is_expected, "no scenario triggers {alert}");
            let found = alerting.ask(&expression).await.unwrap();
            assert!(!found.is_empty(), "{alert}: {expression}");
            assert_eq!(
                well.ask(&expression).await.unwrap(),
                Vec::<Value>::new(),
                "{alert}"
            );
        }
    });
}
