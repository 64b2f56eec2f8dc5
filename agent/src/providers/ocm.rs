//! The API of OpenShift Cluster Manager, as far as upgrades need it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::ProviderError;
use super::policy::State;
use crate::http::{self as bounded, Answer, Exchange, HttpError, Limits};

/// How often a request is sent again, and the first wait.
const RETRIES: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_secs(2);
/// How long an answer may take. Longer than a connection may, so that a slow connection to the outside can be distinguished from a slow service.
const ANSWER: Duration = Duration::from_mins(1);
/// Policies a request; a cluster has one or two.
const PAGE: usize = 100;

/// The host of the ocm-agent, which represents OCM within the cluster (production of hosted control planes).
const IN_CLUSTER: &str = "ocm-agent.openshift-ocm-agent-operator.svc.cluster.local";

/// A list. Anything else that is answered with status 200, such as `{}` or an error, is none.
#[derive(Debug, Deserialize)]
struct Items<T> {
    kind: String,
    items: Vec<T>,
}

impl<T> Items<T> {
    fn of(answer: &Answer) -> Result<Vec<T>, HttpError>
    where
        T: DeserializeOwned,
    {
        let list: Self = answer.json()?;
        if list.kind.ends_with("List") {
            Ok(list.items)
        } else {
            Err(answer.malformed("its kind is not that of a list"))
        }
    }
}

/// A cluster.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RegisteredCluster {
    pub id: String,
    #[serde(default)]
    pub version: Option<OcmVersion>,
    #[serde(default)]
    pub node_drain_grace_period: Option<Grace>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct OcmVersion {
    #[serde(default)]
    pub channel_group: String,
}

/// How long a drain may be blocked.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Grace {
    #[serde(default)]
    pub value: f64,
    #[serde(default)]
    pub unit: String,
}

impl Grace {
    /// In minutes.
    pub fn minutes(&self) -> f64 {
        match self.unit.trim_end_matches('s') {
            "hour" => self.value * 60.0,
            "second" => self.value / 60.0,
            _ => self.value,
        }
    }
}

/// An upgrade policy.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Policy {
    pub id: String,
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub next_run: String,
}

#[derive(Debug, Deserialize)]
struct PolicyState {
    value: String,
}

/// Asks OCM.
pub(super) struct Ocm {
    exchange: Exchange,
    base: String,
    /// Who asks: the cluster's id and its token.
    proof: String,
}

impl Ocm {
    pub fn new(exchange: Exchange, base: &str, cluster: &str, token: &str) -> Self {
        Self {
            exchange,
            base: base.trim_end_matches('/').to_owned(),
            proof: format!("AccessToken {cluster}:{}", token.trim()),
        }
    }

    /// The cluster with this `spec.clusterID`.
    pub async fn cluster(&self, external_id: &str) -> Result<RegisteredCluster, ProviderError> {
        // The agent in the cluster knows one.
        if self.base.contains(IN_CLUSTER) {
            return Ok(self.get("/").await?.json()?);
        }
        let search = format!("external_id='{}'", external_id.replace('\'', ""));
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("search", &search)
            .finish();
        let path = format!("/api/clusters_mgmt/v1/clusters?{query}");
        let mut found = Items::<RegisteredCluster>::of(&self.get(&path).await?)?.into_iter();
        match (found.next(), found.next()) {
            (Some(cluster), None) => Ok(cluster),
            _ => Err(ProviderError::UnknownCluster(external_id.to_owned())),
        }
    }

    /// The upgrade policies of a cluster.
    pub async fn policies(&self, cluster: &str) -> Result<Vec<Policy>, HttpError> {
        let path = format!("{}?size={PAGE}", policies(cluster));
        Items::of(&self.get(&path).await?)
    }

    /// The state of a policy.
    pub async fn state(&self, cluster: &str, policy: &str) -> Result<State, HttpError> {
        let state: PolicyState = self.get(&state(cluster, policy)).await?.json()?;
        Ok(State(state.value))
    }

    /// Reports a state.
    pub async fn set_state(
        &self,
        cluster: &str,
        policy: &str,
        value: &str,
        description: &str,
    ) -> Result<(), HttpError> {
        let body = json!({"value": value, "description": description});
        self.send(Method::PATCH, &state(cluster, policy), Some(&body))
            .await?;
        Ok(())
    }

    /// Writes into the cluster's service log.
    pub async fn log(&self, external_id: &str, description: &str) -> Result<(), HttpError> {
        let body = json!({
            "cluster_uuid": external_id, "severity": "Info", "log_type": "Cluster Updates", "internal_only": false,
            "service_name": "RedHat Managed Upgrade Notifications", "summary": "Cluster upgrade", "description": description,
        });
        self.send(Method::POST, "/api/service_logs/v1/cluster_logs", Some(&body))
            .await?;
        Ok(())
    }

    async fn get(&self, path: &str) -> Result<Answer, HttpError> {
        self.send(Method::GET, path, None).await
    }

    /// Sends a request, and again while OCM is busy or away.
    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, HttpError> {
        let mut wait = FIRST_WAIT;
        for _ in 0..RETRIES {
            let answered = self.once(method.clone(), path, body).await;
            let again = match &answered {
                Ok(answer) => {
                    let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
                    busy.contains(&answer.status)
                }
                Err(
                    HttpError::Unreachable { .. } | HttpError::Untrusted { .. } | HttpError::TooSlow { .. },
                ) => true,
                Err(_) => false,
            };
            if !again {
                return answered?.success();
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        self.once(method, path, body).await?.success()
    }

    async fn once(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer, HttpError> {
        let uri = format!("{}{path}", self.base);
        let unusable = |reason: String| HttpError::Unreachable {
            target: uri.clone(),
            reason,
        };
        let mut proof = HeaderValue::try_from(self.proof.as_str())
            .map_err(|_| unusable("the token of the pull secret is invalid".to_owned()))?;
        proof.set_sensitive(true);
        let mut request = Request::builder()
            .method(method)
            .uri(&uri)
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, proof);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let bytes = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let request = request.body(bytes).map_err(|error| unusable(error.to_string()))?;
        let limits = Limits {
            time: ANSWER,
            ..Limits::default()
        };
        bounded::send(&self.exchange, request, limits).await
    }
}

fn escaped(segment: &str) -> String {
    form_urlencoded::byte_serialize(segment.as_bytes()).collect()
}

fn policies(cluster: &str) -> String {
    format!(
        "/api/clusters_mgmt/v1/clusters/{}/upgrade_policies",
        escaped(cluster)
    )
}

fn state(cluster: &str, policy: &str) -> String {
    format!("{}/{}/state", policies(cluster), escaped(policy))
}
