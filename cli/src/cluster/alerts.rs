//! The alerts of a cluster, and queries, asked of Thanos or Prometheus: by the API server's proxy of their services, which works with credentials of any
//! kind where they let it in, else by the route of Thanos, which wants a token.

use drydock_agent::cluster_objects::Prometheus;
use drydock_api::fact::{Fact, Unread};
use drydock_api::prometheus::{Alert, AlertsResponse};
use http::Request;
use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
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
    let answer: AlertsResponse = ask(server, ALERTS).await.map_err(|reasons| {
        let reasons = reasons.join("; ");
        Unread::Failed(format!("failed to get alerts from Thanos: {reasons}"))
    })?;
    Ok(answer.data.alerts)
}

/// The Prometheus of a cluster, for what the agent's own informers ask where there is no agent.
pub struct Monitoring<'a>(pub &'a Server);

impl Prometheus for Monitoring<'_> {
    /// Alerts that may not be read are reported as not looked at. They must not hold an update for which nothing could be
    /// accepted.
    async fn alerts(&self) -> Fact<Vec<Alert>> {
        read(self.0).await.map_err(|_unreadable| Unread::NotAsked)
    }

    async fn holds(&self, query: &str) -> Fact<bool> {
        let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let path = format!("/api/v1/query?query={query}");
        let answer: QueryResponse = ask(self.0, &path)
            .await
            .map_err(|reasons| Unread::Failed(reasons.join("; ")))?;
        let values: Vec<&str> = answer
            .data
            .result
            .iter()
            .map(|sample| sample.value.1.as_str())
            .collect();
        match values.as_slice() {
            ["1"] => Ok(true),
            ["0"] => Ok(false),
            _ => Err(Unread::Failed("the query has no value of 0 or 1".to_owned())),
        }
    }
}

/// What an instant query is answered, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct QueryResponse {
    #[serde(default)]
    status: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    data: QueryData,
}

#[derive(Debug, Default, Deserialize)]
struct QueryData {
    #[serde(default)]
    result: Vec<Sample>,
}

#[derive(Debug, Deserialize)]
struct Sample {
    value: (f64, String),
}

/// An answer of Prometheus' API: a success, or not.
trait Answered: DeserializeOwned {
    fn outcome(&self) -> (&str, Option<&String>);
}

impl Answered for AlertsResponse {
    fn outcome(&self) -> (&str, Option<&String>) {
        (&self.status, self.error.as_ref())
    }
}

impl Answered for QueryResponse {
    fn outcome(&self) -> (&str, Option<&String>) {
        (&self.status, self.error.as_ref())
    }
}

/// Asks all that may answer, one after the other.
///
/// # Errors
/// Why none of them does.
async fn ask<T: Answered>(server: &Server, path: &str) -> Result<T, Vec<String>> {
    let mut reasons = Vec::new();
    for service in SERVICES {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/services/{service}/proxy{path}");
        match ask_one(&server.client, &path).await {
            Ok(answer) => return Ok(answer),
            Err(why) => reasons.push(format!("the service {service}: {why}")),
        }
    }
    match ask_route(server, path).await {
        Ok(answer) => return Ok(answer),
        Err(why) => reasons.push(format!("the route thanos-querier: {why}")),
    }
    Err(reasons)
}

async fn ask_route<T: Answered>(server: &Server, path: &str) -> Fact<T> {
    let route: Value = get(&server.client, ROUTE).await?;
    let host = route.pointer("/spec/host").and_then(Value::as_str);
    let host = host.ok_or_else(|| Unread::Failed("it has no host".to_owned()))?;
    let client = server
        .client_of_host(host)
        .map_err(|error| Unread::Failed(format!("{error:#}")))?;
    ask_one(&client, path).await
}

async fn ask_one<T: Answered>(client: &Client, path: &str) -> Fact<T> {
    let answer: T = get(client, path).await?;
    let (status, error) = answer.outcome();
    if status == "success" {
        return Ok(answer);
    }
    let why = error
        .cloned()
        .unwrap_or_else(|| format!("it answers with the status {status:?}"));
    Err(Unread::Failed(why))
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Fact<T> {
    let request = Request::get(path)
        .body(Vec::new())
        .map_err(|error| Unread::Failed(error.to_string()))?;
    client.request(request).await.map_err(|error| unread(&error))
}
