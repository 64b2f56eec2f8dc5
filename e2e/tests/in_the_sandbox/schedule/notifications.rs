//! Every step of a maintenance is notified, and one that is left out says why.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Secret;

use super::upgrades::ended;
use super::*;
use crate::agent::notifications::Receiver;

/// A cluster with a receiver of notifications, whose address is in a Secret.
async fn with_receiver(receiver: &Receiver) -> Spoke {
    with_router(receiver.router()).await
}

async fn with_router(router: axum::Router) -> Spoke {
    let spoke = Spoke::start(
        |_| {},
        move |outside| outside.with("hooks.example", router.clone()),
    );
    let spoke = spoke.await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(spoke.client.clone(), AGENT_NAMESPACE);
    let secret = json!({"metadata": {"name": "receiver"}, "data": {
        "url": "aHR0cHM6Ly9ob29rcy5leGFtcGxlL2hvb2s=", "key": "c2VjcmV0", "open": "aHR0cDovL2hvb2tzLmV4YW1wbGUvaG9vaw==",
    }});
    let secret: Secret = serde_json::from_value(secret).unwrap();
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    spoke
}

fn receivers() -> Value {
    json!([{
        "webhook": {
            "urlSecretRef": {"name": "receiver", "key": "url"},
            "signingKeySecretRef": {"name": "receiver", "key": "key"},
        },
        "annotations": {"tenant": "t-1"},
    }])
}

/// The types of the events that came, each with its data; each came once.
fn got(receiver: &Receiver) -> Vec<(String, Value)> {
    let mut got: Vec<_> = receiver.got();
    got.sort_by_key(|(event, _)| event["time"].as_str().unwrap().to_owned());
    got.into_iter()
        .map(|(event, count)| {
            assert_eq!(count, 1, "{event}");
            (
                event["data"]["type"].as_str().unwrap().to_owned(),
                event["data"].clone(),
            )
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn every_step_of_an_upgrade_is_notified_once_though_the_receiver_fails_at_first() {
    let receiver = Receiver::refusing(3);
    let spoke = with_receiver(&receiver).await;
    let client = &spoke.client;
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["config"]["notifications"] = receivers();
    create_job(client, "one", spec).await;
    assert_eq!(ended(client, "one").await.0, "Succeeded");
    tokio::time::sleep(HOUR).await;
    let got = got(&receiver);
    let types: BTreeSet<&str> = got.iter().map(|(type_, _)| type_.as_str()).collect();
    let expected = [
        "UpgradeScheduled",
        "UpgradeStarted",
        "PreHealthCheckCompleted",
        "UpgradeCommenced",
        "UpgradeCompleted",
        "PostHealthCheckCompleted",
        "UpgradeSucceeded",
    ];
    assert_eq!(types, expected.into());
    let (_, last) = got.iter().find(|(type_, _)| type_ == "UpgradeSucceeded").unwrap();
    assert_eq!(last["desiredVersion"]["version"], "4.14.12");
    assert_eq!(last["annotations"]["tenant"], "t-1");
    assert_eq!(
        (&last["status"], &last["reason"]),
        (&json!("True"), &json!("Succeeded"))
    );
    let status = jobs(client).get("one").await.unwrap().status.unwrap();
    let raised = status.notifications.unwrap();
    assert!(
        raised.iter().all(|raised| raised.sent_time.is_some()),
        "{raised:#?}"
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_maintenance_that_is_left_out_says_why() {
    let receiver = Receiver::default();
    let spoke = with_receiver(&receiver).await;
    let client = &spoke.client;
    let mut spec = weekly();
    spec["notifications"] = receivers();
    create(client, "nights", spec).await;
    holidays(client, "2026-01-06T00:00:00Z", "2026-01-07T00:00:00Z").await;
    until(&spoke.fleet.clock, "2026-01-07T00:00:00Z").await;
    let got = got(&receiver);
    assert_eq!(got.len(), 1, "{got:#?}");
    let (type_, data) = &got[0];
    assert_eq!(
        (type_.as_str(), &data["reason"]),
        ("UpgradeSkipped", &json!("Suspended"))
    );
    let message = data["message"].as_str().unwrap();
    assert!(
        message.contains("holidays") && message.contains("nobody is there"),
        "{message}"
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_missing_or_not_secret_holds_up_nothing_and_is_given_up_after_a_day() {
    let receiver = Receiver::default();
    let spoke = with_receiver(&receiver).await;
    let client = &spoke.client;
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["config"]["notifications"] = json!([
        {"webhook": {"urlSecretRef": {"name": "nowhere", "key": "url"}}},
        {"webhook": {"urlSecretRef": {"name": "receiver", "key": "open"}}},
    ]);
    create_job(client, "one", spec).await;
    assert_eq!(ended(client, "one").await.0, "Succeeded");
    tokio::time::sleep(26 * HOUR).await;
    assert!(receiver.got().is_empty());
    let server = spoke.fleet.env.spoke(drydock_e2e::spoke::NAME).unwrap();
    server.reset_requests();
    tokio::time::sleep(DAY).await;
    let asked = server
        .requests()
        .into_iter()
        .filter(|(key, _)| key.resource == "secrets");
    assert_eq!(asked.count(), 0);
    spoke.fleet.shut_down().await.unwrap();
}

/// Nobody reads the agent's log: that a receiver gets nothing is said where the UpgradeJob is.
#[tokio::test(start_paused = true)]
async fn a_receiver_that_cannot_be_reached_is_named_once_by_an_event() {
    let receiver = Receiver::refusing(0);
    let spoke = with_receiver(&receiver).await;
    let client = &spoke.client;
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["config"]["notifications"] = receivers();
    spec["config"]["notifications"][0]["webhook"]["urlSecretRef"]["key"] = json!("lost");
    create_job(client, "one", spec).await;
    assert_eq!(ended(client, "one").await.0, "Succeeded");
    assert_eq!(events(&spoke, "NotificationNotSent").await, 1);
    spoke.fleet.shut_down().await.unwrap();
}

/// Each try lasts until its time is over, and the notifications of all others wait meanwhile.
#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_answers_is_asked_once_a_minute_however_many_upgrades_it_has() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let silent = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<()>()
    };
    let router = axum::Router::new().route("/hook", axum::routing::post(silent));
    let spoke = with_router(router).await;
    for name in ["a", "b", "c", "d", "e", "f"] {
        let mut spec = job_at("2026-01-05T09:00:00Z");
        spec["config"]["notifications"] = receivers();
        create_job(&spoke.client, name, spec).await;
    }
    assert_eq!(ended(&spoke.client, "a").await.0, "Succeeded");
    tries.store(0, Ordering::Relaxed);
    tokio::time::sleep(10 * MINUTE).await;
    let tries = tries.load(Ordering::Relaxed);
    assert!((1..=11).contains(&tries), "{tries}");
    spoke.fleet.shut_down().await.unwrap();
}

/// Receivers are asked at once: three that hang cost the others the time of one.
#[tokio::test(start_paused = true)]
async fn receivers_that_never_answer_do_not_hold_up_the_others() {
    let receiver = Receiver::default();
    let silent = || std::future::pending::<()>();
    let router = receiver.router().route("/silent", axum::routing::post(silent));
    let spoke = with_router(router).await;
    let secrets: Api<Secret> = Api::namespaced(spoke.client.clone(), AGENT_NAMESPACE);
    let mut all = Vec::new();
    for name in ["one", "two", "three"] {
        let url = "aHR0cHM6Ly9ob29rcy5leGFtcGxlL3NpbGVudA==";
        let secret: Secret =
            serde_json::from_value(json!({"metadata": {"name": name}, "data": {"url": url}})).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
        all.push(json!({"webhook": {"urlSecretRef": {"name": name, "key": "url"}}}));
    }
    all.extend(receivers().as_array().unwrap().clone());
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["config"]["notifications"] = json!(all);
    create_job(&spoke.client, "one", spec).await;
    until(&spoke.fleet.clock, "2026-01-05T09:00:15Z").await;
    assert!(!receiver.got().is_empty());
    spoke.fleet.shut_down().await.unwrap();
}
