//! The update graph over HTTP, and its errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use http_body_util::BodyExt;
use openshift_sandbox::update_service::{GraphError, GraphMode, UpdateService};
use serde_json::{Value, json};
use tower::ServiceExt;

const PATH: &str = "/api/upgrades_info/v1/graph";

async fn get(service: &UpdateService, path: &str, accept: Option<&str>) -> (StatusCode, String) {
    let mut request = Request::get(path);
    if let Some(accept) = accept {
        request = request.header(header::ACCEPT, accept);
    }
    let request = request.body(Body::empty()).unwrap();
    let answer = service.router().oneshot(request).await.unwrap();
    let status = answer.status();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

async fn graph(service: &UpdateService, query: &str) -> Value {
    let (status, body) = get(service, &format!("{PATH}?{query}"), None).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn the_whole_channel_is_answered_with_edges_between_its_releases() {
    let service = UpdateService::default();
    let graph = graph(&service, "channel=stable-4.14&version=4.14.9&arch=amd64&id=x").await;
    assert_eq!(graph["version"], 1);
    let nodes = graph["nodes"].as_array().unwrap();
    let index = |version: &str| nodes.iter().position(|node| node["version"] == version).unwrap();
    let edges = graph["edges"].as_array().unwrap();
    assert!(edges.contains(&json!([index("4.14.9"), index("4.14.12")])));
    assert!(
        edges.contains(&json!([index("4.13.3"), index("4.14.12")])),
        "from the minor before"
    );
    assert!(
        !edges.contains(&json!([index("4.14.12"), index("4.14.9")])),
        "never back"
    );
    let node = &nodes[index("4.14.12")];
    assert!(node["payload"].as_str().unwrap().contains("@sha256:"));
    let channels = &node["metadata"]["io.openshift.upgrades.graph.release.channels"];
    assert!(
        channels
            .as_str()
            .unwrap()
            .split(',')
            .any(|channel| channel == "stable-4.14")
    );
    assert_eq!(graph["conditionalEdges"], json!([]));
}

#[tokio::test]
async fn a_channel_that_there_is_not_is_an_empty_graph() {
    let graph = graph(&UpdateService::default(), "channel=stable-4.99").await;
    assert_eq!(
        graph,
        json!({"version": 1, "nodes": [], "edges": [], "conditionalEdges": []})
    );
}

#[tokio::test]
async fn what_cannot_be_answered_has_its_status_and_kind() {
    let service = UpdateService::default();
    let table = [
        (PATH.to_owned(), None, 400, "missing_params", "channel"),
        (
            format!("{PATH}?channel=Stable%204"),
            None,
            400,
            "invalid_params",
            "channel",
        ),
        (
            format!("{PATH}?channel=stable-4.14&arch=x_y"),
            None,
            400,
            "invalid_params",
            "arch",
        ),
        (
            "/api/upgrades_info/v2/graph".to_owned(),
            None,
            404,
            "does_not_exist",
            "",
        ),
        (
            format!("{PATH}?channel=stable-4.14"),
            Some("text/html"),
            406,
            "invalid_content_type",
            "",
        ),
    ];
    for (path, accept, status, kind, word) in table {
        let (seen, body) = get(&service, &path, accept).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(
            (seen.as_u16(), body["kind"].as_str()),
            (status, Some(kind)),
            "{path}"
        );
        assert!(body["value"].as_str().unwrap().contains(word), "{path}: {body}");
    }
    for accept in ["application/json", "application/*", "text/html, */*;q=0.1"] {
        let path = format!("{PATH}?channel=stable-4.14");
        assert_eq!(
            get(&service, &path, Some(accept)).await.0,
            StatusCode::OK,
            "{accept}"
        );
    }
}

#[tokio::test]
async fn a_failing_service_fails_garbles_or_warns() {
    let service = UpdateService::default();
    let path = format!("{PATH}?channel=stable-4.14");
    service.set_mode(GraphMode::Failing(GraphError::FailedUpstreamFetch));
    let (status, body) = get(&service, &path, None).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(body.contains("failed_upstream_fetch"), "{body}");
    service.set_mode(GraphMode::Garbled);
    let (status, body) = get(&service, &path, None).await;
    assert_eq!(status, StatusCode::OK);
    assert!(serde_json::from_str::<Value>(&body).is_err());
    service.set_mode(GraphMode::Risky);
    let graph = graph(&service, "channel=stable-4.14").await;
    assert_eq!(graph["edges"], json!([]));
    assert_eq!(
        graph["conditionalEdges"][0]["risks"][0]["matchingRules"][0]["type"],
        "Always"
    );
}
