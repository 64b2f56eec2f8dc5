//! The alerts of a cluster, asked of Thanos or Prometheus: by the API server's proxy of their services, which works with credentials of any
//! kind where they let it in, else by the route of Thanos, which wants a token.

use drydock_api::fact::{Fact, Unread};
use drydock_api::prometheus::{Alert, AlertsResponse};
use http::Request;
use kube::Client;
use serde_json::Value;

use crate::server::{Server, unread};

/// Where both are.
const NAMESPACE: &str = "openshift-monitoring";
/// The services that may be asked, by their names and ports.
const SERVICES: [&str; 2] = ["https:thanos-querier:web", "https:prometheus-k8s:web"];
/// The route of Thanos.
const ROUTE: &str = "/apis/route.openshift.io/v1/namespaces/openshift-monitoring/routes/thanos-querier";
/// Where alerts are.
const ALERTS: &str = "/api/v1/alerts";

/// The alerts.
pub async fn read(server: &Server) -> Fact<Vec<Alert>> {
    let mut reasons = Vec::new();
    for service in SERVICES {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/services/{service}/proxy{ALERTS}");
        match ask(&server.client, &path).await {
            Ok(alerts) => return Ok(alerts),
            Err(why) => reasons.push(format!("the service {service}: {why}")),
        }
    }
    match ask_route(server).await {
        Ok(alerts) => return Ok(alerts),
        Err(why) => reasons.push(format!("the route thanos-querier: {why}")),
    }
    Err(Unread::Failed(format!(
        "failed to get alerts from Thanos: {}",
        reasons.join("; ")
    )))
}

async fn ask_route(server: &Server) -> Fact<Vec<Alert>> {
    let route: Value = get(&server.client, ROUTE).await?;
    let host = route.pointer("/spec/host").and_then(Value::as_str);
    let host = host.ok_or_else(|| Unread::Failed("it has no host".to_owned()))?;
    let client = server
        .client_of_host(host)
        .map_err(|error| Unread::Failed(format!("{error:#}")))?;
    ask(&client, ALERTS).await
}

async fn ask(client: &Client, path: &str) -> Fact<Vec<Alert>> {
    let answer: AlertsResponse = get(client, path).await?;
    if answer.status == "success" {
        return Ok(answer.data.alerts);
    }
    let status = answer.status;
    let why = answer
        .error
        .unwrap_or_else(|| format!("it answers with the status {status:?}"));
    Err(Unread::Failed(why))
}

async fn get<T: serde::de::DeserializeOwned>(client: &Client, path: &str) -> Fact<T> {
    let request = Request::get(path)
        .body(Vec::new())
        .map_err(|error| Unread::Failed(error.to_string()))?;
    client.request(request).await.map_err(|error| unread(&error))
}
