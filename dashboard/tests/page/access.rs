//! Who is answered, and what each answer asks of the browser.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use drydock_dashboard::Settings;
use drydock_sandbox::test_env::TestEnvSettings;
use futures::{StreamExt, stream};
use http::{Method, StatusCode, header};
use http_body_util::BodyExt;
use kube_sandbox::server::{FaultAction, RequestInfo};
use serde_json::{Value, json};

use crate::fixture::{Page, json_of, own, path};

/// Each address of the server.
const ADDRESSES: [(Method, &str); 15] = [
    (Method::GET, "/api/session"),
    (Method::GET, "/api/snapshot"),
    (Method::GET, "/api/changes"),
    (Method::GET, "/api/history"),
    (Method::GET, "/api/clusters/dev1"),
    (Method::GET, "/api/upgrades/default/spring"),
    (Method::GET, "/api/upgrades/default/spring/forecast"),
    (Method::POST, "/api/upgrades/default/spring/pause"),
    (Method::POST, "/api/upgrades/default/spring/resume"),
    (Method::POST, "/api/upgrades/default/spring/retry"),
    (Method::POST, "/api/upgrades/default/spring/accept"),
    (Method::POST, "/api/plan"),
    (Method::POST, "/api/preview"),
    (Method::POST, "/api/apply"),
    (Method::GET, "/api/anything"),
];

#[tokio::test(start_paused = true)]
async fn nobody_is_answered_without_the_token() {
    let page = Page::of(1).await;
    for (method, address) in ADDRESSES {
        let wrong = format!("Bearer {}0", &page.token[1..]);
        for given in [
            None,
            Some(""),
            Some("Bearer "),
            Some(page.token.as_str()),
            Some(wrong.as_str()),
        ] {
            let mut request = page.request(method.clone(), address, "{}");
            request.headers_mut().remove(header::AUTHORIZATION);
            if let Some(given) = given {
                let given = given.parse().unwrap();
                request.headers_mut().insert(header::AUTHORIZATION, given);
            }
            let (status, answer) = json_of(page.ask(request).await).await;
            assert_eq!(
                status,
                StatusCode::UNAUTHORIZED,
                "{method} {address} with {given:?}"
            );
            assert!(answer["error"].is_string());
        }
    }
    let (status, session) = page.get("/api/session").await;
    assert_eq!(status, StatusCode::OK);
    let expected = json!({"user": "ann", "readOnly": false, "where": "a test", "sandbox": false, "speed": 1, "docs": session["docs"]});
    assert_eq!(session, expected);
    assert!(session["docs"].as_str().unwrap().starts_with("https://"));
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn every_answer_confines_the_page() {
    let page = Page::of(1).await;
    let mut without_token = page.request(Method::GET, "/api/session", "");
    without_token.headers_mut().remove(header::AUTHORIZATION);
    let mut elsewhere = page.request(Method::GET, "/", "");
    elsewhere
        .headers_mut()
        .insert(header::HOST, "evil.example:8080".parse().unwrap());
    for (request, expected) in [
        (page.request(Method::GET, "/", ""), 200),
        (page.request(Method::GET, "/nothing.js", ""), 404),
        (page.request(Method::GET, "/api/session", ""), 200),
        (page.request(Method::GET, "/api/anything", ""), 404),
        (page.request(Method::DELETE, "/api/session", ""), 405),
        (without_token, 401),
        (elsewhere, 421),
    ] {
        let response = page.ask(request).await;
        assert_eq!(response.status(), expected);
        let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
        let policy = header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        ] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"));
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin");
        assert!(header("permissions-policy").contains("camera=()"));
        assert!(response.headers().contains_key(header::CACHE_CONTROL));
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_page_is_sent_once_and_then_confirmed() {
    let page = Page::of(1).await;
    let first = page.ask(page.request(Method::GET, "/", "")).await;
    assert_eq!(first.headers()[header::CONTENT_TYPE], "text/html; charset=utf-8");
    assert_eq!(first.headers()[header::CACHE_CONTROL], "no-cache");
    let etag = first.headers()[header::ETAG].clone();
    let mut again = page.request(Method::GET, "/", "");
    again.headers_mut().insert(header::IF_NONE_MATCH, etag);
    let again = page.ask(again).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert!(again.into_body().collect().await.unwrap().to_bytes().is_empty());
    for outside in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/index.html.gz",
        "/assets/",
    ] {
        let answer = page.ask(page.request(Method::GET, outside, "")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{outside}");
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_no_request_is_answered_in_words() {
    let page = Page::of(1).await;
    let long = format!("{{\"yaml\": \"{}\"}}", "x".repeat(2 << 20));
    for (address, body, expected) in [
        ("/api/apply", long.as_str(), 413),
        ("/api/apply", "{", 400),
        ("/api/apply", "{}", 422),
        ("/api/apply", "{\"yaml\": \"a: [\", \"seen\": \"\"}", 422),
        ("/api/upgrades/default/none/pause", "{}", 404),
        ("/api/upgrades/elsewhere/spring/pause", "{}", 404),
        ("/api/upgrades/default/spring/pause", long.as_str(), 413),
    ] {
        let (status, answer) = json_of(page.ask(page.request(Method::POST, address, body)).await).await;
        assert_eq!(status, expected, "{address}: {answer}");
        assert!(
            answer["error"].as_str().is_some_and(|words| !words.is_empty()),
            "{answer}"
        );
    }
    page.end().await;
}

/// Over HTTP/2 a stream is reset whose request was not read, and the client may lose the answer.
#[tokio::test(start_paused = true)]
async fn the_body_of_an_action_is_read() {
    let page = Page::of(1).await;
    page.upgrade(&["dev1"]).await;
    let addresses = ["/pause", "/resume", "/retry", "/accept"].map(path);
    for address in addresses
        .iter()
        .map(String::as_str)
        .chain(["/api/preview", "/api/apply", "/api/plan"])
    {
        for has_type in [true, false] {
            let read = Arc::new(Mutex::new(0));
            let counted = Arc::clone(&read);
            let parts = stream::iter(["{", " ", "}"]).map(move |part| {
                *counted.lock().unwrap() += 1;
                Ok::<_, Infallible>(part)
            });
            let mut request = page.request(Method::POST, address, "");
            if !has_type {
                request.headers_mut().remove(header::CONTENT_TYPE);
            }
            *request.body_mut() = Body::from_stream(parts);
            page.ask(request).await;
            assert_eq!(*read.lock().unwrap(), 3, "{address}, {has_type}");
        }
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_path_that_is_no_text_is_answered_in_words() {
    let page = Page::of(1).await;
    for (method, address) in [
        (Method::GET, "/api/clusters/%ff"),
        (Method::GET, "/api/upgrades/default/%ff"),
        (Method::GET, "/api/upgrades/%ff/spring/forecast"),
        (Method::POST, "/api/upgrades/default/%ff/pause"),
        (Method::POST, "/api/upgrades/default/%ff/retry"),
    ] {
        let (status, answer) = json_of(page.ask(page.request(method, address, "{}")).await).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{address}");
        assert!(answer["error"].is_string(), "{address}: {answer}");
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_come_is_not_waited_for() {
    let page = Page::of(1).await;
    let mut request = page.request(Method::POST, "/api/apply", "");
    *request.body_mut() = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
    let answer = tokio::time::timeout(Duration::from_mins(1), page.ask(request)).await;
    let (status, answer) = json_of(answer.expect("it is answered")).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let words = answer["error"].as_str().unwrap();
    assert!(words.contains("has not come in time"), "{words}");
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_read_only_or_of_one_namespace_does_no_more() {
    let read_only = |settings: Settings| own(settings, |own| own.read_only = true);
    let page = Page::with(TestEnvSettings::demo(1, 7), read_only).await;
    page.upgrade(&["dev1"]).await;
    for action in ["/pause", "/resume", "/retry", "/accept"] {
        let body = json!({"finding": "a/b", "target": "4.14.12", "reporters": "a", "reason": "c"});
        assert_eq!(page.post(&path(action), body).await.0, StatusCode::FORBIDDEN);
    }
    for address in ["/api/preview", "/api/apply"] {
        let (status, _) = page.post(address, json!({"yaml": "", "seen": ""})).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
    }
    assert_eq!(page.upgrades().get("spring").await.unwrap().spec.paused, None);
    page.end().await;

    let of_one = |settings: Settings| own(settings, |own| own.namespace = Some("platform".to_owned()));
    let page = Page::with(TestEnvSettings::demo(1, 7), of_one).await;
    let upgrade = serde_json::from_value(crate::fixture::manifest(&["dev1"])).unwrap();
    page.upgrades()
        .create(&kube::api::PostParams::default(), &upgrade)
        .await
        .unwrap();
    tokio::time::sleep(std::time::Duration::from_mins(5)).await;
    let (_, snapshot) = page.get("/api/snapshot").await;
    assert_eq!(snapshot["upgrades"], json!([]));
    assert_eq!(snapshot["clusters"]["upgrade"], json!([0]));
    assert_eq!(page.get(&path("")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        page.post(&path("/pause"), json!({})).await.0,
        StatusCode::NOT_FOUND
    );
    page.end().await;
}

/// `group resource verb`, of the roles of `manifests/dashboard`.
fn granted() -> BTreeSet<String> {
    let text = include_str!("../../../manifests/dashboard/rbac.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(text).unwrap();
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = BTreeSet::new();
    let rules = objects.iter().filter_map(|object| object["rules"].as_array());
    for rule in rules.flatten() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                let verbs = texts(&rule["verbs"]).into_iter();
                rights.extend(verbs.map(|verb| format!("{group} {resource} {verb}")));
            }
        }
    }
    rights
}

#[tokio::test(start_paused = true)]
async fn the_rights_of_the_manifest_are_those_that_the_page_uses() {
    let page = Page::of(1).await;
    let used = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&used);
    let server = page.fleet.hub_server().unwrap();
    server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
        if ["page", "kubectl-drydock"].contains(&asked.identity.name())
            && let Some(kind) = asked.kind
        {
            let verb = format!("{:?}", asked.verb).to_lowercase();
            let right = format!("{} {} {verb}", kind.group, kind.plural);
            seen.lock().unwrap().insert(right);
        }
        FaultAction::Pass
    })));
    // What was watched before is watched again, so that it is seen.
    server.compact();
    server.cut_watches(|_, _| true);
    page.upgrade(&["dev1"]).await;
    assert_eq!(page.get(&path("")).await.0, StatusCode::OK);
    assert_eq!(page.get("/api/history").await.0, StatusCode::OK);
    tokio::time::sleep(std::time::Duration::from_mins(10)).await;
    let mut used = used.lock().unwrap().clone();
    // Who forecasts reads the upgrade and lists what is watched; who users are, and what they may, is asked on a real API server (e2e, on_real_servers).
    used.insert("cluster.open-cluster-management.io managedclustersupgrades get".to_owned());
    used.insert("cluster.open-cluster-management.io placements list".to_owned());
    used.insert("authentication.k8s.io tokenreviews create".to_owned());
    used.insert("authorization.k8s.io subjectaccessreviews create".to_owned());
    assert_eq!(used, granted());
    page.end().await;
}
