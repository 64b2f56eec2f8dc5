//! The server of the fleet page, with browsers that follow the fleet.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use drydock_e2e::control_plane::{ADMIN, ControlPlane};
use drydock_e2e::manifests::{self, in_repository};
use drydock_e2e::process::{self, Process, Workplace};
use drydock_e2e::program;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::Client as KubeClient;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::meter::free_address;

/// By when there is something to show.
const TIMEOUT: Duration = Duration::from_mins(5);

/// A browser, as far as the server knows.
#[derive(Clone)]
struct Browser {
    client: Client<HttpConnector, Empty<Bytes>>,
    address: String,
    token: String,
    got: Arc<AtomicU64>,
}

/// The server and its browsers.
pub struct Page {
    process: Process,
    browsers: JoinSet<anyhow::Result<()>>,
    got: Arc<AtomicU64>,
    viewers: usize,
}

/// How many pages one user has open: the server takes no more.
const PAGES_OF_A_USER: usize = 16;

fn token_in(kubeconfig: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(kubeconfig).context("reading a kubeconfig")?;
    let kubeconfig: Value = serde_saphyr::from_str(&text).context("parsing a kubeconfig")?;
    let token = kubeconfig.pointer("/users/0/user/token").and_then(Value::as_str);
    Ok(token.context("the kubeconfig has no token")?.to_owned())
}

/// The token of a user who sees all.
async fn user(control_plane: &ControlPlane, admin: &KubeClient, number: usize) -> anyhow::Result<String> {
    let name = format!("viewer-{number}");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "drydock"}});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "drydock"}],
    });
    for object in [account, binding] {
        let object: DynamicObject = serde_json::from_value(object).context("writing down a user")?;
        manifests::apply(admin, &object).await?;
    }
    token_in(&control_plane.service_account_kubeconfig("drydock", &name).await?)
}

impl Page {
    /// Starts the server with the rights of `manifests/dashboard`, and opens the page so many times.
    pub async fn start(
        control_plane: &ControlPlane,
        admin: &KubeClient,
        workplace: &Workplace,
        viewers: usize,
    ) -> anyhow::Result<Self> {
        manifests::apply_file(admin, &in_repository("manifests/dashboard/rbac.yaml")).await?;
        let kubeconfig = control_plane
            .service_account_kubeconfig("drydock", "drydock-dashboard")
            .await?;
        let [address, admin_address] = [free_address()?, free_address()?];
        let process = workplace.start(
            "page",
            Command::new(program::path("drydock-dashboard")?)
                .env("KUBECONFIG", kubeconfig)
                // As manifests/dashboard has it.
                .env("MIMALLOC_ALLOW_THP", "0")
                .env("MIMALLOC_PURGE_DELAY", "0")
                .args(["--listen", &address, "--admin-address", &admin_address]),
        )?;
        let browser = Browser {
            client: Client::builder(TokioExecutor::new()).build_http(),
            address,
            token: token_in(&control_plane.kubeconfig(ADMIN)?)?,
            got: Arc::default(),
        };
        let ready = async {
            while browser.snapshot().await.is_err() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, ready)
            .await
            .context("the page does not come to be")?;
        let mut browsers = JoinSet::new();
        let mut left = viewers;
        for number in 0..viewers.div_ceil(PAGES_OF_A_USER) {
            let mut of_user = browser.clone();
            of_user.token = user(control_plane, admin, number).await?;
            for _ in 0..left.min(PAGES_OF_A_USER) {
                browsers.spawn(of_user.clone().follow());
            }
            left = left.saturating_sub(PAGES_OF_A_USER);
        }
        Ok(Self {
            process,
            browsers,
            got: browser.got,
            viewers,
        })
    }

    /// What it took up to now.
    pub fn print(&mut self, size: usize) -> anyhow::Result<()> {
        while let Some(ended) = self.browsers.try_join_next() {
            ended.context("a browser panicked")??;
        }
        let used = process::used(self.process.id())?;
        println!(
            "{size:>8} page, {} viewers: {:.2} CPU s, {} MB resident, {} MB at the highest, {:.1} MB sent",
            self.viewers,
            used.cpu_seconds,
            used.resident_kibibytes / 1024,
            used.peak_kibibytes / 1024,
            self.got.load(Ordering::Relaxed) as f64 / 1e6,
        );
        Ok(())
    }
}

impl Browser {
    async fn get(&self, path: &str) -> anyhow::Result<http::Response<hyper::body::Incoming>> {
        let request = http::Request::get(format!("http://{}{path}", self.address))
            .header("authorization", format!("Bearer {}", self.token))
            .body(Empty::new())?;
        let answer = self.client.request(request).await?;
        anyhow::ensure!(answer.status().is_success(), "{path}: {}", answer.status());
        Ok(answer)
    }

    /// The revision of a snapshot.
    async fn snapshot(&self) -> anyhow::Result<u64> {
        let body = self
            .get("/api/snapshot")
            .await?
            .into_body()
            .collect()
            .await?
            .to_bytes();
        self.got.fetch_add(body.len() as u64, Ordering::Relaxed);
        let snapshot: Value = serde_json::from_slice(&body)?;
        snapshot["revision"]
            .as_u64()
            .context("a snapshot has no revision")
    }

    /// Takes a snapshot, and all changes after it; again where the server says so.
    async fn follow(self) -> anyhow::Result<()> {
        loop {
            let since = self.snapshot().await?;
            let mut changes = self
                .get(&format!("/api/changes?since={since}"))
                .await?
                .into_body();
            while let Some(frame) = changes.frame().await {
                let Some(bytes) = frame?.into_data().ok() else {
                    continue;
                };
                self.got.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                if bytes.starts_with(b"event: reset") {
                    break;
                }
            }
        }
    }
}
