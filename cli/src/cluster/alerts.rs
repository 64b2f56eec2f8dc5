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
    asked(server)
        .await
        .map_err(|refusals| Unread::Failed(unread_alerts(&refusals)))
}

/// Why there are no alerts.
fn unread_alerts(refusals: &Refusals) -> String {
    format!("failed to get alerts from Thanos: {}", refusals.words())
}

async fn asked(server: &Server) -> Result<Vec<Alert>, Refusals> {
    let answer: AlertsResponse = ask(server, ALERTS).await?;
    Ok(answer.data.alerts)
}

/// Why nobody answers.
struct Refusals(Vec<(String, Refusal)>);

impl Refusals {
    fn words(&self) -> String {
        let reasons = self
            .0
            .iter()
            .map(|(who, refusal)| format!("{who}: {}", refusal.why));
        reasons.collect::<Vec<_>>().join("; ")
    }

    /// Is none of them there? Then the cluster has no Prometheus.
    fn is_absent(&self) -> bool {
        self.0.iter().all(|(_, refusal)| refusal.is_absent)
    }
}

/// Why one does not answer.
struct Refusal {
    why: String,
    is_absent: bool,
}

impl Refusal {
    fn because(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            is_absent: false,
        }
    }
}

/// The Prometheus of a cluster, for what the agent's own informers ask where there is no agent.
pub struct Monitoring<'a>(pub &'a Server);

impl Prometheus for Monitoring<'_> {
    /// A cluster without a Prometheus has none to look at. Those that cannot be read may be anything.
    async fn alerts(&self) -> Fact<Vec<Alert>> {
        asked(self.0).await.map_err(|refusals| {
            if refusals.is_absent() {
                Unread::NotAsked
            } else {
                Unread::Failed(unread_alerts(&refusals))
            }
        })
    }

    async fn holds(&self, query: &str) -> Fact<bool> {
        let query: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let path = format!("/api/v1/query?query={query}");
        let answer: QueryResponse = ask(self.0, &path)
            .await
            .map_err(|refusals: Refusals| Unread::Failed(refusals.words()))?;
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
async fn ask<T: Answered>(server: &Server, path: &str) -> Result<T, Refusals> {
    let mut reasons = Vec::new();
    for service in SERVICES {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/services/{service}/proxy{path}");
        match ask_one(&server.client, &path).await {
            Ok(answer) => return Ok(answer),
            Err(refusal) => reasons.push((format!("the service {service}"), refusal)),
        }
    }
    match ask_route(server, path).await {
        Ok(answer) => return Ok(answer),
        Err(refusal) => reasons.push(("the route thanos-querier".to_owned(), refusal)),
    }
    Err(Refusals(reasons))
}

async fn ask_route<T: Answered>(server: &Server, path: &str) -> Result<T, Refusal> {
    let route: Value = get(&server.client, ROUTE).await?;
    let host = route.pointer("/spec/host").and_then(Value::as_str);
    let host = host.ok_or_else(|| Refusal::because("it has no host"))?;
    let client = server
        .client_of_host(host)
        .map_err(|error| Refusal::because(format!("{error:#}")))?;
    ask_one(&client, path).await
}

async fn ask_one<T: Answered>(client: &Client, path: &str) -> Result<T, Refusal> {
    let answer: T = get(client, path).await?;
    let (status, error) = answer.outcome();
    if status == "success" {
        return Ok(answer);
    }
    let why = error
        .cloned()
        .unwrap_or_else(|| format!("it answers with the status {status:?}"));
    Err(Refusal::because(why))
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Result<T, Refusal> {
    let request = Request::get(path)
        .body(Vec::new())
        .map_err(|error| Refusal::because(error.to_string()))?;
    client.request(request).await.map_err(|error| Refusal {
        why: unread(&error).to_string(),
        is_absent: matches!(&error, kube::Error::Api(refusal) if refusal.code == 404),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_whose_alerts_may_not_be_read_is_not_one_without_a_prometheus() {
        let refusals = |absent: [bool; 3]| {
            let of = |is_absent| Refusal {
                why: "no".to_owned(),
                is_absent,
            };
            Refusals(absent.map(|is_absent| ("it".to_owned(), of(is_absent))).into())
        };
        assert!(refusals([true; 3]).is_absent());
        assert!(!refusals([true, false, true]).is_absent());
        assert_eq!(refusals([false; 3]).words(), "it: no; it: no; it: no");
    }
}
