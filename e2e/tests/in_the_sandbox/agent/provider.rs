//! The agent with OpenShift Cluster Manager as its provider: policies become UpgradeConfigs, states are reported back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::spoke::Spoke;
use drydock_sandbox::test_env::Outside;
use serde_json::{Value, json};

use super::{HOUR, MINUTE};

pub(super) const CONFIGURATION: &str = "
upgradeType: OSD
configManager: {source: OCM, ocmBaseUrl: 'https://ocm.example'}
featureGate: {enabled: [ServiceLogNotification]}
";

/// What OCM has and has received.
#[derive(Default)]
struct Known {
    policies: Vec<Value>,
    states: BTreeMap<String, String>,
    received: Vec<String>,
    logs: Vec<String>,
    is_down: bool,
    asked: usize,
}

/// OCM.
#[derive(Clone, Default)]
pub(super) struct Ocm(Arc<Mutex<Known>>);

type Answer = Result<Json<Value>, StatusCode>;

impl Ocm {
    pub(super) fn schedule(&self, id: &str, version: &str, at: &str) {
        let mut known = self.0.lock().unwrap();
        known.policies = vec![json!({"id": id, "version": version, "next_run": at})];
        known.states.insert(id.to_owned(), "scheduled".to_owned());
    }

    /// Takes the policies away.
    pub(super) fn withdraw(&self) {
        self.0.lock().unwrap().policies.clear();
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), StatusCode> {
        let mut known = self.0.lock().unwrap();
        known.asked += 1;
        if known.is_down {
            return Err(StatusCode::SERVICE_UNAVAILABLE);
        }
        let proof = headers.get("authorization").and_then(|value| value.to_str().ok());
        // Who asks: the cluster's id, and its token.
        let proof = proof.and_then(|proof| proof.strip_prefix("AccessToken ")?.split_once(':'));
        if proof.is_some_and(|(id, token)| id.len() == 36 && token == "bzpj") {
            Ok(())
        } else {
            Err(StatusCode::UNAUTHORIZED)
        }
    }

    pub(super) fn router(&self) -> Router {
        let cluster = "/api/clusters_mgmt/v1/clusters";
        Router::new()
            .route(cluster, get(clusters))
            .route(&format!("{cluster}/c1/upgrade_policies"), get(policies))
            .route(
                &format!("{cluster}/c1/upgrade_policies/{{id}}/state"),
                get(state).patch(set_state),
            )
            .route("/api/service_logs/v1/cluster_logs", post(log))
            .with_state(self.clone())
    }
}

async fn clusters(State(ocm): State<Ocm>, headers: HeaderMap) -> Answer {
    ocm.check(&headers)?;
    let grace = json!({"value": 30.0, "unit": "minutes"});
    let cluster =
        json!({"id": "c1", "version": {"channel_group": "stable"}, "node_drain_grace_period": grace});
    Ok(Json(json!({"kind": "ClusterList", "items": [cluster]})))
}

async fn policies(State(ocm): State<Ocm>, headers: HeaderMap) -> Answer {
    ocm.check(&headers)?;
    Ok(Json(
        json!({"kind": "UpgradePolicyList", "items": ocm.0.lock().unwrap().policies}),
    ))
}

async fn state(State(ocm): State<Ocm>, Path(id): Path<String>, headers: HeaderMap) -> Answer {
    ocm.check(&headers)?;
    let known = ocm.0.lock().unwrap();
    Ok(Json(
        json!({"kind": "UpgradePolicyState", "value": known.states.get(&id).ok_or(StatusCode::NOT_FOUND)?}),
    ))
}

async fn set_state(
    State(ocm): State<Ocm>,
    Path(id): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Answer {
    ocm.check(&headers)?;
    let value = body["value"].as_str().unwrap().to_owned();
    let mut known = ocm.0.lock().unwrap();
    known.received.push(format!("{id} {value}"));
    known.states.insert(id, value);
    Ok(Json(json!({})))
}

async fn log(State(ocm): State<Ocm>, headers: HeaderMap, Json(body): Json<Value>) -> Answer {
    ocm.check(&headers)?;
    let description = body["description"].as_str().unwrap().to_owned();
    ocm.0.lock().unwrap().logs.push(description);
    Ok(Json(json!({})))
}

/// A cluster whose pull secret OCM knows.
async fn spoke(ocm: &Ocm) -> Spoke {
    let router = ocm.router();
    let extend = move |outside: Outside| outside.with("ocm.example", router.clone());
    let spoke = Spoke::start(|_| {}, extend).await.unwrap();
    let auths = json!({"auths": {"cloud.openshift.com": {"auth": "bzpj"}}});
    spoke.give_pull_secret(&auths).await.unwrap();
    spoke.configure(CONFIGURATION).await.unwrap();
    spoke
}

async fn exists(spoke: &Spoke) -> bool {
    spoke.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap().is_some()
}

#[tokio::test(start_paused = true)]
async fn a_policy_becomes_an_upgrade_whose_states_are_reported_and_which_goes_with_it() {
    let ocm = Ocm::default();
    let spoke = spoke(&ocm).await;
    tokio::time::sleep(3 * MINUTE).await;
    assert!(!exists(&spoke).await, "there is no policy yet");
    ocm.schedule("p1", "4.14.12", "2026-01-05T10:00:00Z");
    tokio::time::sleep(70 * MINUTE).await;
    let upgrade = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap();
    assert_eq!(upgrade.spec.desired.channel.as_deref(), Some("stable-4.14"));
    assert_eq!(upgrade.spec.pdb_force_drain_timeout, 30);
    assert!(spoke.metric(&["upgradeconfig_sync_timestamp"]).unwrap().is_some());
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    tokio::time::sleep(5 * MINUTE).await;
    {
        let known = ocm.0.lock().unwrap();
        assert_eq!(known.received, ["p1 started", "p1 completed"]);
        assert_eq!(known.logs.len(), 3, "{:?}", known.logs);
    }
    tokio::time::sleep(70 * MINUTE).await;
    assert!(!exists(&spoke).await, "its policy is over");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_has_changed_by_its_time_is_not_started_but_replaced() {
    let ocm = Ocm::default();
    ocm.schedule("p1", "4.14.12", "2026-01-05T09:00:00Z");
    let spoke = spoke(&ocm).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert!(exists(&spoke).await);
    ocm.schedule("p2", "4.14.13", "2026-01-05T09:30:00Z");
    let due = "2026-01-05T09:00:00Z".parse().unwrap();
    while spoke.fleet.clock.now() < due {
        tokio::time::sleep(MINUTE).await;
    }
    tokio::time::sleep(2 * MINUTE).await;
    // It is replaced when it would have begun, not by the next of the hourly looks.
    let asked = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap().spec;
    assert_eq!(asked.desired.version.as_deref(), Some("4.14.13"));
    assert_eq!(asked.upgrade_at, "2026-01-05T09:30:00Z");
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert_eq!(entry.version.as_deref(), Some("4.14.13"));
    let began = entry.start_time.unwrap().0;
    let late = began.duration_since("2026-01-05T09:30:00Z".parse().unwrap());
    assert!(late.as_mins() < 3, "{began}");
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(ocm.0.lock().unwrap().received, ["p2 started", "p2 completed"]);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn while_the_provider_does_not_answer_nothing_starts_and_what_has_commenced_continues() {
    let ocm = Ocm::default();
    ocm.schedule("p1", "4.14.12", "2026-01-05T09:00:00Z");
    let spoke = spoke(&ocm).await;
    tokio::time::sleep(10 * MINUTE).await;
    ocm.0.lock().unwrap().is_down = true;
    tokio::time::sleep(120 * MINUTE).await;
    assert_eq!(spoke.entry().await.unwrap().phase, UpgradePhase::Pending);
    let refreshed = spoke.condition("PolicyRefreshed").await.unwrap();
    assert_eq!(refreshed.reason.as_deref(), Some("PolicyUnknown"));
    ocm.0.lock().unwrap().is_down = false;
    tokio::time::sleep(45 * MINUTE).await;
    assert_eq!(spoke.condition("UpgradeCommenced").await.unwrap().status, "True");
    // Neither its silence nor another policy stops what has commenced.
    ocm.0.lock().unwrap().is_down = true;
    tokio::time::sleep(10 * MINUTE).await;
    ocm.schedule("p2", "4.14.13", "2026-01-07T09:00:00Z");
    ocm.0.lock().unwrap().is_down = false;
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert_eq!(entry.version.as_deref(), Some("4.14.12"));
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_a_policy_that_is_scheduled_counts_and_the_earliest_of_them() {
    let ocm = Ocm::default();
    for state in ["pending", "completed", "cancelled"] {
        ocm.schedule(state, "4.14.13", "2026-01-06T10:00:00Z");
        ocm.0
            .lock()
            .unwrap()
            .states
            .insert(state.to_owned(), state.to_owned());
        let spoke = spoke(&ocm).await;
        tokio::time::sleep(10 * MINUTE).await;
        assert!(!exists(&spoke).await, "{state}");
        spoke.fleet.shut_down().await.unwrap();
    }
    ocm.schedule("later", "4.14.13", "2026-01-06T10:00:00Z");
    ocm.0
        .lock()
        .unwrap()
        .policies
        .push(json!({"id": "earlier", "version": "4.14.12", "next_run": "2026-01-06T09:00:00Z"}));
    ocm.0
        .lock()
        .unwrap()
        .states
        .insert("earlier".to_owned(), "scheduled".to_owned());
    let spoke = spoke(&ocm).await;
    tokio::time::sleep(10 * MINUTE).await;
    let asked = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap().spec;
    assert_eq!(asked.desired.version.as_deref(), Some("4.14.12"));
    assert_eq!(asked.upgrade_at, "2026-01-06T09:00:00Z");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_is_withdrawn_takes_its_upgrade_with_it_before_commencement() {
    let ocm = Ocm::default();
    ocm.schedule("p1", "4.14.12", "2026-01-06T10:00:00Z");
    let spoke = spoke(&ocm).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert!(exists(&spoke).await);
    ocm.0.lock().unwrap().policies.clear();
    tokio::time::sleep(2 * HOUR).await;
    assert!(!exists(&spoke).await);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_is_asked_less_and_less_often() {
    let ocm = Ocm::default();
    let spoke = spoke(&ocm).await;
    tokio::time::sleep(10 * MINUTE).await;
    ocm.0.lock().unwrap().is_down = true;
    let asked = || ocm.0.lock().unwrap().asked;
    let before = asked();
    tokio::time::sleep(3 * HOUR).await;
    let first = asked() - before;
    tokio::time::sleep(9 * HOUR).await;
    let later = asked() - before - first;
    // Each time once and five times again: some eight times in the first hours, once an hour after that.
    assert!((6..=9 * 6).contains(&first), "{first} requests in three hours");
    assert!(
        (6..=10 * 6).contains(&later),
        "{later} requests in the nine hours after"
    );
    ocm.schedule("p1", "4.14.12", "2026-01-07T10:00:00Z");
    ocm.0.lock().unwrap().is_down = false;
    tokio::time::sleep(2 * HOUR).await;
    assert!(exists(&spoke).await, "it is asked again when it is back");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_failure_and_a_delay_are_reported() {
    let ocm = Ocm::default();
    ocm.schedule("p1", "4.14.12", "2026-01-05T09:00:00Z");
    let spoke = spoke(&ocm).await;
    super::fire(&spoke, "Broken").await;
    spoke.until(UpgradePhase::Failed).await.unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(
        ocm.0.lock().unwrap().received,
        ["p1 started", "p1 delayed", "p1 failed"]
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_a_provider_the_upgrade_config_is_the_policy_and_states_are_events() {
    let spoke = super::spoke().await;
    spoke.configure("configManager: {source: LOCAL}").await.unwrap();
    super::fire(&spoke, "Broken").await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until(UpgradePhase::Failed).await.unwrap();
    assert_eq!(
        spoke.events().await.unwrap(),
        [
            "UpgradeStarted",
            "HealthCheckFailed",
            "UpgradeDelayed",
            "UpgradeFailed"
        ]
    );
    spoke.fleet.shut_down().await.unwrap();
}

/// How far an upgrade has come when its policy changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Pending,
    /// Held up by an alert.
    Upgrading,
    Commenced,
    Upgraded,
}

impl Stage {
    async fn reached(self, spoke: &Spoke) {
        match self {
            Self::Pending => {
                spoke.until(UpgradePhase::Pending).await.unwrap();
            }
            Self::Upgrading => {
                super::fire(spoke, "Broken").await;
                spoke.until(UpgradePhase::Upgrading).await.unwrap();
            }
            Self::Commenced => {
                spoke.until_done("UpgradeCommenced").await.unwrap();
            }
            Self::Upgraded => {
                spoke.until(UpgradePhase::Upgraded).await.unwrap();
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_changes_or_disappears_counts_at_every_stage_but_while_the_upgrade_has_commenced() {
    for stage in [
        Stage::Pending,
        Stage::Upgrading,
        Stage::Commenced,
        Stage::Upgraded,
    ] {
        for disappears in [false, true] {
            let ocm = Ocm::default();
            ocm.schedule("p1", "4.14.12", "2026-01-05T09:00:00Z");
            let spoke = spoke(&ocm).await;
            tokio::time::sleep(2 * MINUTE).await;
            stage.reached(&spoke).await;
            if disappears {
                ocm.0.lock().unwrap().policies.clear();
            } else {
                ocm.schedule("p2", "4.14.13", "2026-01-09T09:00:00Z");
            }
            // A sync, and a wait, later; an upgrade that has commenced takes no more than a few hours.
            tokio::time::sleep(HOUR + 20 * MINUTE).await;
            let name = format!("{stage:?}, disappears: {disappears}");
            if stage == Stage::Commenced {
                let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
                assert_eq!(entry.version.as_deref(), Some("4.14.12"), "{name}");
                tokio::time::sleep(2 * HOUR).await;
            }
            if disappears {
                assert!(!exists(&spoke).await, "{name}");
            } else {
                let asked = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap().spec;
                assert_eq!(asked.desired.version.as_deref(), Some("4.14.13"), "{name}");
            }
            spoke.fleet.shut_down().await.unwrap();
        }
    }
}
