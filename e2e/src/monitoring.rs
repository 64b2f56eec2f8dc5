//! A real Prometheus and a real Alertmanager (Debian's packages), each behind TLS of an authority of its own and a bearer token,
//! as in OpenShift.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use drydock_agent::EndpointConfig;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use jiff::Timestamp;
use openshift_sandbox::monitoring::Monitoring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::control_plane::certificates::Certificates;
use crate::control_plane::free_port;
use crate::process::{Process, Workplace};

/// The token that both want.
const TOKEN: &str = "let-me-in";

/// The two programs.
pub struct RealMonitoring {
    /// How the agent finds them.
    pub places: EndpointConfig,
    alertmanager: String,
    workplace: Workplace,
    processes: Vec<Process>,
    stop: CancellationToken,
}

pub(crate) type Plain = Client<HttpConnector, Body>;

pub(crate) fn plain() -> Plain {
    Client::builder(TokioExecutor::new()).build_http()
}

impl RealMonitoring {
    /// Starts both, with these rules for alerts, and waits until one fires.
    ///
    /// # Errors
    /// If a program is missing (packages `prometheus` and `prometheus-alertmanager`) or does not start.
    pub async fn start(rules: &str) -> anyhow::Result<Self> {
        let workplace = Workplace::new("monitoring")?;
        let certificates = Certificates::generate()?;
        let authority = workplace.write("authority.pem", &certificates.authority)?;
        let token = workplace.write("token", TOKEN)?;
        let rules = workplace.write("rules.yaml", rules)?;
        let settings = format!(
            "global: {{evaluation_interval: 1s}}\nrule_files: [{}]\n",
            rules.display()
        );
        let settings = workplace.write("prometheus.yaml", &settings)?;
        let routes = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n";
        let routes = workplace.write("alertmanager.yaml", routes)?;
        let (one, other) = (free_port()?, free_port()?);
        let mut processes = vec![
            workplace.start(
                "prometheus",
                Command::new("prometheus")
                    .arg(format!("--config.file={}", settings.display()))
                    .arg(format!(
                        "--storage.tsdb.path={}",
                        workplace.folder().join("data").display()
                    ))
                    .arg(format!("--web.listen-address=127.0.0.1:{one}")),
            )?,
        ];
        processes.push(
            workplace.start(
                "alertmanager",
                Command::new("prometheus-alertmanager")
                    .arg(format!("--config.file={}", routes.display()))
                    .arg(format!(
                        "--storage.path={}",
                        workplace.folder().join("silences").display()
                    ))
                    .arg(format!("--web.listen-address=127.0.0.1:{other}"))
                    .arg("--cluster.listen-address="),
            )?,
        );
        let (prometheus, alertmanager) = (
            format!("http://127.0.0.1:{one}"),
            format!("http://127.0.0.1:{other}"),
        );
        for address in [&prometheus, &alertmanager] {
            until_ready(address, &processes).await?;
        }
        until_alerts_fire(&prometheus).await?;
        let stop = CancellationToken::new();
        let acceptor = acceptor(&certificates)?;
        let places = EndpointConfig::At {
            prometheus: guard(&prometheus, &acceptor, &stop).await?,
            alertmanager: guard(&alertmanager, &acceptor, &stop).await?,
            authority: Some(authority),
            token: Some(token),
        };
        Ok(Self {
            places,
            alertmanager,
            workplace,
            processes,
            stop,
        })
    }

    /// The silences, as Alertmanager's own API lists them: comments and states, sorted.
    ///
    /// # Errors
    /// If it does not answer.
    pub async fn silences(&self) -> anyhow::Result<Vec<(String, String)>> {
        comments_and_states(&self.listed().await?)
    }

    /// What Alertmanager lists.
    ///
    /// # Errors
    /// If it does not answer.
    pub async fn listed(&self) -> anyhow::Result<Bytes> {
        let uri: Uri = format!("{}/api/v2/silences", self.alertmanager).parse()?;
        Ok(plain().get(uri).await?.into_body().collect().await?.to_bytes())
    }

    /// A token file with another token.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn wrong_token(&self) -> anyhow::Result<PathBuf> {
        self.workplace.write("wrong-token", "who-are-you")
    }
}

impl Drop for RealMonitoring {
    fn drop(&mut self) {
        self.stop.cancel();
        self.processes.iter_mut().for_each(Process::kill);
    }
}

/// What the sandbox's Alertmanager lists.
///
/// # Errors
/// If it does not answer.
pub async fn listed_by_sandbox(monitoring: &Monitoring) -> anyhow::Result<Bytes> {
    let request = http::Request::get("/api/v2/silences").body(Body::empty())?;
    let answer = monitoring.alertmanager().oneshot(request).await?;
    Ok(answer.into_body().collect().await?.to_bytes())
}

/// What Alertmanager lists, as comments and states, sorted.
///
/// # Errors
/// If it is no list of silences.
pub fn comments_and_states(listed: &[u8]) -> anyhow::Result<Vec<(String, String)>> {
    let silences: Vec<Value> = serde_json::from_slice(listed)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut silences: Vec<(String, String)> = silences
        .iter()
        .map(|silence| (text(&silence["comment"]), text(&silence["status"]["state"])))
        .collect();
    silences.sort();
    Ok(silences)
}

/// When the silence ends that lasts longest.
///
/// # Errors
/// If there is none.
pub fn last_end(listed: &[u8]) -> anyhow::Result<Timestamp> {
    let silences: Vec<Value> = serde_json::from_slice(listed)?;
    let ends = silences
        .iter()
        .filter_map(|silence| silence["endsAt"].as_str()?.parse().ok());
    ends.max().context("there is no silence")
}

pub(crate) async fn until_ready(address: &str, processes: &[Process]) -> anyhow::Result<()> {
    let uri: Uri = format!("{address}/-/ready").parse()?;
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..300 {
        looks.tick().await;
        if let Ok(answer) = plain().get(uri.clone()).await
            && answer.status() == StatusCode::OK
        {
            return Ok(());
        }
    }
    let logs: Vec<String> = processes.iter().map(Process::log_end).collect();
    bail!(
        "{address} is not ready within half a minute:\n{}",
        logs.join("\n")
    )
}

async fn until_alerts_fire(prometheus: &str) -> anyhow::Result<()> {
    let uri: Uri = format!("{prometheus}/api/v1/query?query=ALERTS").parse()?;
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..300 {
        looks.tick().await;
        let body = plain()
            .get(uri.clone())
            .await?
            .into_body()
            .collect()
            .await?
            .to_bytes();
        let answer: Value = serde_json::from_slice(&body)?;
        if answer["data"]["result"]
            .as_array()
            .is_some_and(|result| !result.is_empty())
        {
            return Ok(());
        }
    }
    bail!("no alert fires within half a minute")
}

fn acceptor(certificates: &Certificates) -> anyhow::Result<TlsAcceptor> {
    let chain = vec![CertificateDer::from_pem_slice(
        certificates.certificate.as_bytes(),
    )?];
    let key = PrivateKeyDer::from_pem_slice(certificates.key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("using the certificate")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves `upstream` with TLS to who has the token. Returns where.
async fn guard(upstream: &str, acceptor: &TlsAcceptor, stop: &CancellationToken) -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("https://127.0.0.1:{}", listener.local_addr()?.port());
    let router = Router::new()
        .fallback(forward)
        .with_state((plain(), upstream.to_owned()));
    let (acceptor, stop) = (acceptor.clone(), stop.clone());
    tokio::spawn(async move {
        loop {
            let connection = tokio::select! {
                () = stop.cancelled() => return,
                connection = listener.accept() => connection,
            };
            let Ok((connection, _)) = connection else {
                continue;
            };
            let (acceptor, router) = (acceptor.clone(), router.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(connection).await else {
                    return;
                };
                let service = TowerToHyperService::new(router);
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
                if let Err(error) = served {
                    tracing::debug!(%error, "a connection broke");
                }
            });
        }
    });
    Ok(address)
}

async fn forward(State((client, upstream)): State<(Plain, String)>, mut request: Request) -> Response {
    let proof = request.headers().get(header::AUTHORIZATION);
    if proof.is_none_or(|proof| proof != &format!("Bearer {TOKEN}")) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let Ok(uri) = format!("{upstream}{path}").parse() else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    *request.uri_mut() = uri;
    match client.request(request).await {
        Ok(answer) => answer.map(Body::new).into_response(),
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
