//! Answers that mean harm, from each of the servers that the agent asks: what they cost is bounded, what they say is shown in
//! a condition, they are never followed to another host with what is secret, and the agent lives.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use drydock_e2e::spoke::Spoke;
use drydock_sandbox::test_env::outside::{ALERTMANAGER, PROMETHEUS, UPDATE_GRAPH};
use futures::stream;
use serde_json::{Value, json};

use super::{HOUR, MINUTE};

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    /// It answers after an hour.
    Slow,
    /// It never ends its answer, a byte a second.
    Endless,
    /// It sends as fast as it can, without end.
    Huge,
    /// What it sends is no JSON.
    Malformed,
    /// It sends to another host.
    Redirecting,
}

const HARMS: [Harm; 5] = [
    Harm::Slow,
    Harm::Endless,
    Harm::Huge,
    Harm::Malformed,
    Harm::Redirecting,
];

async fn harm(harm: Harm) -> Response {
    match harm {
        Harm::Slow => {
            tokio::time::sleep(HOUR).await;
            StatusCode::OK.into_response()
        }
        Harm::Endless => {
            let bytes = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
            });
            Body::from_stream(bytes).into_response()
        }
        Harm::Huge => {
            let chunk = Bytes::from(vec![b' '; 1 << 20]);
            let bytes = stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
            Body::from_stream(bytes).into_response()
        }
        Harm::Malformed => "{\"status\": \"success\", \u{1b}[31m".into_response(),
        Harm::Redirecting => {
            let elsewhere = [("location", "https://evil.example/")];
            (StatusCode::TEMPORARY_REDIRECT, elsewhere).into_response()
        }
    }
}

/// What came to the other host: whether it carried a proof of who asks.
type Reached = Arc<Mutex<Vec<bool>>>;

struct Case {
    host: &'static str,
    configuration: &'static str,
    fields: Value,
    condition: &'static str,
    /// What the condition says before the reason.
    says: &'static str,
}

fn cases() -> Vec<Case> {
    let case = |host, configuration, fields, condition, says| Case {
        host,
        configuration,
        fields,
        condition,
        says,
    };
    let image = format!("registry.example/openshift/release@sha256:{}", "0".repeat(64));
    vec![
        case(
            PROMETHEUS,
            "{}",
            json!({}),
            "ClusterHealthyBeforeUpgrade",
            "cannot check whether critical alerts fire: ",
        ),
        case(
            ALERTMANAGER,
            "{}",
            json!({}),
            "ControlPlaneMaintenanceWindowCreated",
            "silences cannot be read: ",
        ),
        case(
            UPDATE_GRAPH,
            "validation: {cincinnati: true}",
            json!({"desired": {"version": "4.15.15", "channel": "fast-4.15"}}),
            "UpgradeConfigValidated",
            "cannot check whether channel fast-4.15 leads to 4.15.15: ",
        ),
        case(
            "registry.example",
            "{}",
            json!({"desired": {"image": image, "version": null, "channel": null}}),
            "UpgradeConfigValidated",
            "cannot be read from its registry: ",
        ),
        case(
            "ocm.example",
            "configManager: {source: OCM, ocmBaseUrl: 'https://ocm.example'}",
            json!({}),
            "PolicyRefreshed",
            "cannot check whether the upgrade policy still matches this UpgradeConfig: ",
        ),
    ]
}

async fn meets(case: &Case, kind: Harm) -> (String, Vec<bool>) {
    let reached = Reached::default();
    let elsewhere = {
        let reached = Arc::clone(&reached);
        Router::new().fallback(move |headers: HeaderMap, _: Uri| async move {
            reached
                .lock()
                .unwrap()
                .push(headers.contains_key("authorization"));
            StatusCode::OK
        })
    };
    let host = case.host;
    let spoke = Spoke::start(
        |_| {},
        move |outside| {
            outside
                .with(host, Router::new().fallback(move || harm(kind)))
                .with("evil.example", elsewhere.clone())
        },
    )
    .await
    .unwrap();
    let auths = json!({"auths": {
        "cloud.openshift.com": {"auth": "bzpj"}, "registry.example": {"auth": "dXNlcjpwYXNz"},
    }});
    spoke.give_pull_secret(&auths).await.unwrap();
    spoke.configure(case.configuration).await.unwrap();
    spoke.ask(case.fields.clone()).await.unwrap();
    tokio::time::sleep(20 * MINUTE).await;
    let message = spoke.message(case.condition).await.unwrap();
    spoke.fleet.shut_down().await.unwrap();
    let reached = reached.lock().unwrap().clone();
    (message, reached)
}

/// What is said of it. A registry may send elsewhere for what has the right digest.
fn reason(kind: Harm, host: &str) -> &'static str {
    match kind {
        Harm::Slow | Harm::Endless => "has not answered within ",
        Harm::Huge => " is larger than ",
        Harm::Malformed | Harm::Redirecting if host == "registry.example" => "with another digest",
        Harm::Malformed => " cannot be understood: ",
        Harm::Redirecting => " answers 307 ",
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_mean_harm_are_bounded_shown_and_not_followed_with_secrets() {
    for case in cases() {
        for kind in HARMS {
            let (message, reached) = meets(&case, kind).await;
            let name = format!("{} {kind:?}", case.host);
            let (_, why) = message.split_once(case.says).expect(&message);
            assert!(why.contains(reason(kind, case.host)), "{name}: {message}");
            assert!(
                message.len() < 2_048 && !message.contains('\u{1b}'),
                "{name}: {message:?}"
            );
            let may_reach = kind == Harm::Redirecting && case.host == "registry.example";
            assert!(may_reach || reached.is_empty(), "{name}");
            assert!(reached.iter().all(|secret| !secret), "{name}");
        }
    }
}
