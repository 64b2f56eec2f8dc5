//! The cluster's Prometheus and Alertmanager: where they are, and how they are queried.

mod alertmanager;
mod prometheus;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::{Api, Client};
use thiserror::Error;

use drydock_engine::configuration::may_carry_secrets;

use crate::http::{self as bounded, Answer, Exchange, HttpError, Limits, Network, NetworkError};

/// The namespace of both.
const NAMESPACE: &str = "openshift-monitoring";
/// The ConfigMap with the authority that signed their certificates, and its key.
const AUTHORITY: (&str, &str) = ("serving-certs-ca-bundle", "service-ca.crt");
/// The name of the port on both services.
const PORT: &str = "web";
/// Where a pod finds the token of its ServiceAccount.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Where Prometheus and Alertmanager are.
#[derive(Clone, Debug, Default)]
pub enum EndpointConfig {
    /// Behind the Services of OpenShift: `prometheus-k8s` and `alertmanager-main` in `openshift-monitoring`.
    #[default]
    Services,
    /// At these addresses.
    At {
        /// Prometheus, without `/api/v1`.
        prometheus: String,
        /// Alertmanager, without `/api/v2`.
        alertmanager: String,
        /// The file of the authority that signed their certificates; else those of the machine.
        authority: Option<PathBuf>,
        /// The file of the bearer token.
        token: Option<PathBuf>,
    },
}

/// Why monitoring cannot be queried.
#[derive(Debug, Error)]
pub(crate) enum MonitoringError {
    /// There is no such thing on the cluster, or it may not be read.
    #[error("{what} cannot be read: {source}")]
    Missing {
        /// Which object.
        what: String,
        /// Why not.
        source: Box<kube::Error>,
    },
    /// The object is there, and has not what is needed.
    #[error("{0}")]
    Incomplete(String),
    /// A file cannot be read.
    #[error("reading {path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// No connection can be prepared.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// No good answer.
    #[error(transparent)]
    Http(#[from] HttpError),
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Prometheus,
    Alertmanager,
}

impl Part {
    fn service(self) -> &'static str {
        match self {
            Self::Prometheus => "prometheus-k8s",
            Self::Alertmanager => "alertmanager-main",
        }
    }
}

/// How one of the two is reached.
#[derive(Clone)]
struct Endpoint {
    base: String,
    exchange: Exchange,
}

/// Queries both. The endpoint that was found for one of them is used until a request fails.
pub(crate) struct Monitoring {
    client: Client,
    network: Network,
    config: EndpointConfig,
    endpoints: Mutex<BTreeMap<Part, Endpoint>>,
}

impl Monitoring {
    pub fn new(client: Client, network: Network, config: EndpointConfig) -> Self {
        Self {
            client,
            network,
            config,
            endpoints: Mutex::default(),
        }
    }

    /// Sends a request to `path` (with its query) of one of the two.
    async fn ask(
        &self,
        part: Part,
        path: &str,
        request: http::request::Builder,
        body: Bytes,
    ) -> Result<Answer, MonitoringError> {
        let Endpoint { base, exchange } = self.endpoint(part).await?;
        let uri = format!("{}{path}", base.trim_end_matches('/'));
        let mut request: Request<Bytes> = request
            .uri(&uri)
            .body(body)
            .map_err(|error| MonitoringError::Incomplete(format!("{uri} is not a valid URL: {error}")))?;
        if let Some(token) = self.token().await? {
            if !may_carry_secrets(request.uri()) {
                return Err(MonitoringError::Incomplete(format!(
                    "the token is not sent to {base}: it must begin with https://"
                )));
            }
            request.headers_mut().insert(AUTHORIZATION, token);
        }
        let answered = bounded::send(&exchange, request, Limits::default()).await;
        if answered.is_err() {
            self.endpoints().remove(&part);
        }
        Ok(answered?)
    }

    fn endpoints(&self) -> MutexGuard<'_, BTreeMap<Part, Endpoint>> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoint of one of the two, which is found out if it is not known.
    async fn endpoint(&self, part: Part) -> Result<Endpoint, MonitoringError> {
        let known = self.endpoints().get(&part).cloned();
        if let Some(endpoint) = known {
            return Ok(endpoint);
        }
        let endpoint = Endpoint {
            base: self.base(part).await?,
            exchange: self.network.exchange(self.authority().await?.as_deref())?,
        };
        self.endpoints().insert(part, endpoint.clone());
        Ok(endpoint)
    }

    async fn base(&self, part: Part) -> Result<String, MonitoringError> {
        match (&self.config, part) {
            (EndpointConfig::At { prometheus, .. }, Part::Prometheus) => Ok(prometheus.clone()),
            (EndpointConfig::At { alertmanager, .. }, Part::Alertmanager) => Ok(alertmanager.clone()),
            (EndpointConfig::Services, part) => {
                let name = part.service();
                let api: Api<Service> = Api::namespaced(self.client.clone(), NAMESPACE);
                let service = api.get(name).await.map_err(|error| MonitoringError::Missing {
                    what: format!("Service {NAMESPACE}/{name}"),
                    source: Box::new(error),
                })?;
                let ports = service.spec.and_then(|spec| spec.ports).unwrap_or_default();
                let port = ports.iter().find(|port| port.name.as_deref() == Some(PORT));
                let port = port.ok_or_else(|| {
                    MonitoringError::Incomplete(format!("Service {NAMESPACE}/{name} has no port {PORT}"))
                })?;
                Ok(format!("https://{name}.{NAMESPACE}.svc:{}", port.port))
            }
        }
    }

    async fn authority(&self) -> Result<Option<Vec<u8>>, MonitoringError> {
        match &self.config {
            EndpointConfig::At { authority: None, .. } => Ok(None),
            EndpointConfig::At {
                authority: Some(path),
                ..
            } => read(path).await.map(Some),
            EndpointConfig::Services => {
                let (name, key) = AUTHORITY;
                let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), NAMESPACE);
                let map = api.get(name).await.map_err(|error| MonitoringError::Missing {
                    what: format!("ConfigMap {NAMESPACE}/{name}"),
                    source: Box::new(error),
                })?;
                let bundle = map.data.and_then(|mut data| data.remove(key));
                let bundle = bundle.ok_or_else(|| {
                    MonitoringError::Incomplete(format!("ConfigMap {NAMESPACE}/{name} has no key {key}"))
                })?;
                Ok(Some(bundle.into_bytes()))
            }
        }
    }

    async fn token(&self) -> Result<Option<HeaderValue>, MonitoringError> {
        let path = match &self.config {
            EndpointConfig::At { token, .. } => token.clone(),
            EndpointConfig::Services => Some(PathBuf::from(TOKEN)),
        };
        // Within the process there is nobody to prove anything to.
        let (Some(path), Network::Machine(_)) = (path, &self.network) else {
            return Ok(None);
        };
        let bytes = read(&path).await?;
        let text = String::from_utf8_lossy(&bytes);
        let mut value = HeaderValue::try_from(format!("Bearer {}", text.trim()))
            .map_err(|_| MonitoringError::Incomplete(format!("{} holds no token", path.display())))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

async fn read(path: &std::path::Path) -> Result<Vec<u8>, MonitoringError> {
    tokio::fs::read(path)
        .await
        .map_err(|source| MonitoringError::File {
            path: path.to_owned(),
            source,
        })
}
