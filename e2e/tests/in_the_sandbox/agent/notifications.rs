//! Notifications: once each, from an outbox that holds nothing up, to webhooks as well (ours).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{any, post};
use drydock_api::names::AGENT_NAMESPACE;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::spoke::Spoke;
use drydock_sandbox::test_env::Outside;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::HOUR;

/// Events by their ids: the event, its type, and how often it came.
type Got = BTreeMap<String, (Value, String, usize)>;

/// What a receiver got.
#[derive(Clone, Default)]
pub(crate) struct Receiver {
    got: Arc<Mutex<Got>>,
    refusals: Arc<Mutex<usize>>,
}

impl Receiver {
    /// One that refuses the first few.
    pub(crate) fn refusing(first: usize) -> Self {
        let receiver = Self::default();
        *receiver.refusals.lock().unwrap() = first;
        receiver
    }

    /// It takes what is posted to `/hook`, signed with `secret`.
    pub(crate) fn router(&self) -> Router {
        Router::new()
            .route("/hook", post(receive))
            .with_state(self.clone())
    }

    /// The events, and how often each came.
    pub(crate) fn got(&self) -> Vec<(Value, usize)> {
        let got = self.got.lock().unwrap();
        got.values()
            .map(|(event, _, count)| (event.clone(), *count))
            .collect()
    }
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
    let receiver = Receiver::refusing(3);
    let router = receiver.router();
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
        let mut raised = upgrade.notifications.iter().flatten();
        raised
            .find(|raised| raised.event == event)
            .unwrap()
            .sent_time
            .is_some()
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
    spoke.fleet.shut_down().await.unwrap();
}
