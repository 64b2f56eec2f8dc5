//! Alerts and silences of a simulated cluster, as Prometheus and Alertmanager serve them.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use drydock_runtime::Clock;
use drydock_sandbox::test_env::{TestEnv, TestEnvSettings};
use http_body_util::BodyExt;
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::access::{Access, Key, Kind, Removal, Selection};
use openshift_sandbox::cluster::Fault;
use openshift_sandbox::cluster::kinds::{CLUSTER_VERSION, NODE, POD, POD_DISRUPTION_BUDGET, POOL};
use openshift_sandbox::monitoring::ResponseMode;
use serde_json::{Value, json};
use tower::ServiceExt;

const RULE: Kind = Kind::new(
    "monitoring.coreos.com",
    "v1",
    "PrometheusRule",
    "prometheusrules",
    true,
);

struct Cluster {
    env: TestEnv,
    access: Access,
    clock: Clock,
}

impl Cluster {
    async fn start(faults: &[Fault]) -> Self {
        let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
        let mut settings = TestEnvSettings::demo(1, 7);
        settings.clusters[0].faults.extend(faults);
        let env = TestEnv::start(settings, clock.clone()).await.unwrap();
        let access = Access::memory(env.spoke("dev1").unwrap(), "user");
        Self { env, access, clock }
    }

    async fn send(&self, method: Method, path: &str, body: String) -> (StatusCode, String) {
        let mut request = Request::builder().method(method).uri(path);
        if path.contains("/prometheus/") && !body.is_empty() {
            request = request.header("content-type", "application/x-www-form-urlencoded");
        }
        let request = request.body(Body::from(body)).unwrap();
        let router = self.env.monitoring("dev1").unwrap().router();
        let answer = router.oneshot(request).await.unwrap();
        let status = answer.status();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        let (status, body) = self.send(Method::GET, path, String::new()).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// `name severity state` of the alerts.
    async fn alerts(&self) -> Vec<String> {
        let answer = self.get("/prometheus/api/v1/alerts").await;
        let alerts = answer["data"]["alerts"].as_array().unwrap();
        let mut firing: Vec<String> = alerts
            .iter()
            .map(|alert| {
                let label = |name: &str| alert["labels"][name].as_str().unwrap();
                let state = alert["state"].as_str().unwrap();
                format!("{} {} {state}", label("alertname"), label("severity"))
            })
            .collect();
        firing.sort();
        firing
    }

    async fn query(&self, query: &str) -> (StatusCode, Value) {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("query", query)
            .finish();
        let (status, body) = self.send(Method::POST, "/prometheus/api/v1/query", form).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    /// The names of the alerts that a query selects.
    async fn selected(&self, query: &str) -> Vec<String> {
        let (status, answer) = self.query(query).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert_eq!(answer["data"]["resultType"], "vector");
        let samples = answer["data"]["result"].as_array().unwrap();
        let names = samples
            .iter()
            .map(|sample| sample["metric"]["alertname"].as_str());
        names.map(|name| name.unwrap().to_owned()).collect()
    }

    async fn upgrade(&self) {
        let patch = json!({"spec": {"desiredUpdate": {"version": "4.14.12"}}});
        let key = Key::cluster("version");
        self.access
            .merge_patch(&CLUSTER_VERSION, &key, patch)
            .await
            .unwrap();
    }

    async fn inject(&self, name: &str, severity: &str, pending_for: &str) {
        let rule = json!({
            "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": name.to_lowercase(), "namespace": "openshift-machine-api"},
            "spec": {"groups": [{"name": "ours", "rules": [
                {"alert": name, "expr": "vector(1)", "for": pending_for, "labels": {"severity": severity}},
                {"record": "not:an:alert", "expr": "vector(1)"},
                {"alert": "NotEvaluated", "expr": "up == 0"},
            ]}]},
        });
        self.access.create(&RULE, rule).await.unwrap();
    }

    async fn silence(&self, silence: &Value) -> (StatusCode, String) {
        self.send(Method::POST, "/alertmanager/api/v2/silences", silence.to_string())
            .await
    }

    fn window(&self, minutes: i64) -> (String, String) {
        let now = self.clock.now();
        (
            now.to_string(),
            (now + SignedDuration::from_mins(minutes)).to_string(),
        )
    }
}

async fn pass(minutes: u64) {
    tokio::time::sleep(Duration::from_mins(minutes)).await;
}

const CRITICAL: &str = r#"ALERTS{alertstate="firing",severity="critical",namespace=~"^openshift.*|^kube-.*|^default$",namespace!="openshift-customer-monitoring",alertname!="IgnoredCritical"}"#;

#[tokio::test(start_paused = true)]
async fn a_healthy_cluster_has_its_watchdog_and_nothing_critical() {
    let cluster = Cluster::start(&[]).await;
    pass(10).await;
    assert_eq!(
        cluster.alerts().await,
        ["UpdateAvailable info firing", "Watchdog none firing"]
    );
    assert!(cluster.selected(CRITICAL).await.is_empty());
    assert_eq!(
        cluster.selected(r#"ALERTS{alertname="Watchdog"}"#).await,
        ["Watchdog"]
    );
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_is_down_is_pending_and_then_critical() {
    let cluster = Cluster::start(&[Fault::OperatorUnavailable]).await;
    cluster.upgrade().await;
    let mut history = Vec::new();
    for _ in 0..90 {
        pass(1).await;
        for alert in cluster.alerts().await {
            if alert.starts_with("ClusterOperatorDown") && !history.contains(&alert) {
                history.push(alert);
            }
        }
    }
    assert_eq!(
        history,
        [
            "ClusterOperatorDown critical pending",
            "ClusterOperatorDown critical firing"
        ]
    );
    assert_eq!(cluster.selected(CRITICAL).await, ["ClusterOperatorDown"]);
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_a_person_fires_after_its_time_and_can_be_ignored_by_name() {
    let cluster = Cluster::start(&[]).await;
    cluster.inject("Ours", "critical", "5m").await;
    cluster.inject("IgnoredCritical", "critical", "").await;
    pass(1).await;
    assert!(cluster.selected(CRITICAL).await.is_empty());
    assert!(
        cluster
            .alerts()
            .await
            .contains(&"Ours critical pending".to_owned())
    );
    pass(5).await;
    assert_eq!(cluster.selected(CRITICAL).await, ["Ours"]);
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_a_budget_forbids_is_reported_and_continues_when_its_pod_is_deleted() {
    let cluster = Cluster::start(&[Fault::DrainStuck]).await;
    cluster.upgrade().await;
    pass(180).await;
    let firing = cluster.alerts().await;
    for expected in [
        "MCCDrainError warning firing",
        "PodDisruptionBudgetAtLimit warning firing",
    ] {
        assert!(firing.contains(&expected.to_owned()), "{firing:?}");
    }
    let nodes = cluster
        .access
        .list(&NODE, &Selection::everything())
        .await
        .unwrap();
    let draining = nodes
        .iter()
        .find(|node| node["spec"]["unschedulable"] == true)
        .unwrap();
    let pods = cluster.access.list(&POD, &Selection::everything()).await.unwrap();
    assert_eq!(pods[0]["spec"]["nodeName"], draining.name());
    let at_once = Removal {
        grace_period: Some(0),
        ..Removal::default()
    };
    let key = Key::namespaced("default", pods[0].name());
    cluster.access.delete(&POD, &key, &at_once).await.unwrap();
    pass(90).await;
    let pool = cluster.access.get(&POOL, &Key::cluster("worker")).await.unwrap();
    assert_eq!(pool["status"]["updatedMachineCount"], 3);
    let budgets = cluster
        .access
        .list(&POD_DISRUPTION_BUDGET, &Selection::everything())
        .await;
    assert!(budgets.unwrap().is_empty());
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn silences_are_made_found_changed_and_expired() {
    let cluster = Cluster::start(&[]).await;
    cluster.inject("Noise", "warning", "").await;
    let (start, end) = cluster.window(60);
    let mut silence = json!({
        "matchers": [{"name": "severity", "value": "(warning|info)", "isRegex": true}],
        "startsAt": start, "endsAt": end, "createdBy": "agent", "comment": "Silence for an upgrade",
    });
    let (status, body) = cluster.silence(&silence).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let made: Value = serde_json::from_str(&body).unwrap();
    let id = made["silenceID"].as_str().unwrap().to_owned();
    let path = "/alertmanager/api/v2/silences";
    let listed = cluster.get(path).await;
    assert_eq!(listed[0]["id"], id);
    assert_eq!(listed[0]["status"]["state"], "active");
    assert_eq!(listed[0]["matchers"][0]["isEqual"], true);
    let alerts = cluster.get("/alertmanager/api/v2/alerts").await;
    let noise = alerts
        .as_array()
        .unwrap()
        .iter()
        .find(|alert| alert["labels"]["alertname"] == "Noise");
    let expected = json!([id]);
    assert_eq!(noise.unwrap()["status"]["silencedBy"], expected);
    assert_eq!(noise.unwrap()["status"]["state"], "suppressed");

    let (_, later) = cluster.window(120);
    silence["id"] = Value::from(id.as_str());
    silence["startsAt"] = listed[0]["startsAt"].clone();
    silence["endsAt"] = Value::from(later);
    let (_, body) = cluster.silence(&silence).await;
    assert_eq!(body, made.to_string(), "an end that moves keeps the id");
    silence["matchers"][0]["value"] = json!("none");
    let (_, body) = cluster.silence(&silence).await;
    assert_ne!(body, made.to_string(), "other matchers are another silence");
    let states: Vec<Value> = cluster.get(path).await.as_array().unwrap().clone();
    let states: Vec<&Value> = states.iter().map(|silence| &silence["status"]["state"]).collect();
    assert_eq!(states, ["active", "expired"]);
    let found = cluster.get(&format!("{path}?filter=severity%3D%22none%22")).await;
    assert_eq!(found.as_array().unwrap().len(), 1);

    let id = found[0]["id"].as_str().unwrap();
    let one = format!("/alertmanager/api/v2/silence/{id}");
    let (status, _) = cluster.send(Method::DELETE, &one, String::new()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(cluster.get(&one).await["status"]["state"], "expired");
    let (status, body) = cluster.send(Method::DELETE, &one, String::new()).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{body}");
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_answered_says_why() {
    let cluster = Cluster::start(&[]).await;
    for (query, status, kind) in [
        ("ALERTS{", 400, "bad_data"),
        ("", 400, "bad_data"),
        ("sum(ALERTS)", 422, "execution"),
    ] {
        let (answered, answer) = cluster.query(query).await;
        assert_eq!(
            (answered.as_u16(), answer["errorType"].as_str()),
            (status, Some(kind)),
            "{answer}"
        );
    }
    let (start, end) = cluster.window(60);
    let matcher = |value: &str| json!([{"name": "a", "value": value, "isRegex": false}]);
    for (matchers, starts, ends, status) in [
        (matcher("b"), &end, &start, 400),
        (matcher("b"), &start, &start, 400),
        (matcher(""), &start, &end, 400),
        (json!("none"), &start, &end, 422),
    ] {
        let silence = json!({
            "matchers": matchers, "startsAt": starts, "endsAt": ends, "createdBy": "test", "comment": "",
        });
        let (answered, body) = cluster.silence(&silence).await;
        assert_eq!(answered.as_u16(), status, "{body}");
    }
    let monitoring = cluster.env.monitoring("dev1").unwrap();
    let path = "/prometheus/api/v1/alerts";
    monitoring.set_response_mode(ResponseMode::Failing(StatusCode::BAD_GATEWAY));
    let (status, _) = cluster.send(Method::GET, path, String::new()).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY);
    monitoring.set_response_mode(ResponseMode::Garbled);
    let (_, body) = cluster.send(Method::GET, path, String::new()).await;
    assert_eq!(body, "<html>");
    monitoring.set_response_mode(ResponseMode::Whole);
    cluster.env.spoke("dev1").unwrap().set_reachable(false);
    let (status, _) = cluster.send(Method::GET, path, String::new()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    cluster.env.shut_down().await;
}
