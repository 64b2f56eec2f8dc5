//! What a process has used, and which requests it says that it made.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use drydock_e2e::process;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::proxy::Proxy;

/// Reads the hub's figures.
pub struct Meter {
    pid: u32,
    address: String,
    proxy: Proxy,
    client: Client<HttpConnector, Empty<Bytes>>,
}

/// Figures of one moment, since the hub's start.
#[derive(Clone, Debug)]
pub struct Reading {
    pub cpu_seconds: f64,
    pub peak_kibibytes: u64,
    pub resident_kibibytes: u64,
    /// By verb and resource.
    pub requests: BTreeMap<String, u64>,
    pub received: u64,
    pub sent: u64,
}

impl Reading {
    pub fn total_requests(&self) -> u64 {
        self.requests.values().sum()
    }

    /// The requests that came since another reading.
    pub fn since(&self, before: &Self) -> Vec<String> {
        self.requests
            .iter()
            .filter_map(|(what, count)| {
                let more = count - before.requests.get(what).copied().unwrap_or_default();
                (more > 0).then(|| format!("{more} {what}"))
            })
            .collect()
    }
}

/// An address on loopback that nobody listens on.
pub fn free_address() -> anyhow::Result<String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").context("binding a port")?;
    Ok(listener.local_addr().context("reading the port")?.to_string())
}

impl Meter {
    pub fn new(pid: u32, address: String, proxy: Proxy) -> Self {
        Self {
            pid,
            address,
            proxy,
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    async fn get(&self, path: &str) -> anyhow::Result<(u16, String)> {
        let address = format!("http://{}{path}", self.address).parse()?;
        let answer = self.client.get(address).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    pub async fn wait_until_ready(&self, timeout: Duration) -> anyhow::Result<()> {
        let ready = async {
            while !matches!(self.get("/readyz").await, Ok((200, _))) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(timeout, ready)
            .await
            .context("the hub does not become ready")
    }

    pub async fn read(&self) -> anyhow::Result<Reading> {
        let (_, metrics) = self.get("/metrics").await.context("scraping the hub")?;
        let used = process::used(self.pid)?;
        Ok(Reading {
            cpu_seconds: used.cpu_seconds,
            peak_kibibytes: used.peak_kibibytes,
            resident_kibibytes: used.resident_kibibytes,
            requests: requests(&metrics),
            received: self.proxy.received(),
            sent: self.proxy.sent(),
        })
    }
}

/// `drydock_api_requests_total{resource="…",verb="…"} N` by `verb resource`.
fn requests(metrics: &str) -> BTreeMap<String, u64> {
    let lines = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("drydock_api_requests_total{"));
    lines
        .filter_map(|line| {
            let (labels, value) = line.split_once("} ")?;
            let label = |name: &str| {
                let (_, rest) = labels.split_once(&format!("{name}=\""))?;
                rest.split('"').next()
            };
            let what = format!("{} {}", label("verb")?, label("resource")?);
            Some((what, value.trim().parse::<f64>().ok()? as u64))
        })
        .collect()
}
