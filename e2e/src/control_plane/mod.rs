//! A real control plane: kube-apiserver and etcd, and kube-controller-manager where it is wanted, on free loopback
//! ports, with certificates and tokens of its own and RBAC on. Nothing of it outlives the test.

mod binaries;
pub(crate) mod certificates;
mod etcd;
mod kubeconfig;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use drydock_runtime::client::RequestMetrics;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};

pub use binaries::find as find_binary;
pub use etcd::Etcd;

use crate::process::{Process, Workplace};
use certificates::Certificates;
use kubeconfig::Access;

/// The user who may do anything.
pub const ADMIN: &str = "admin";
const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";

/// How an API server is started.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Its name in logs; also its prefix in etcd.
    pub name: String,
    /// Users besides [`ADMIN`]: the name and the groups of each.
    pub users: Vec<(String, Vec<String>)>,
    /// kube-controller-manager's controllers to be run, by the names that its flag `--controllers` takes. None of them:
    /// it is not started.
    pub controllers: Vec<String>,
}

impl Settings {
    /// An API server with an administrator and the garbage collector, which ownerReferences and propagation need.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            users: Vec::new(),
            controllers: [
                "garbage-collector-controller",
                "namespace-controller",
                "serviceaccount-controller",
            ]
            .map(str::to_owned)
            .to_vec(),
        }
    }
}

/// A running API server. Dropped, it is gone with all that belongs to it.
#[derive(Debug)]
pub struct ControlPlane {
    access: Access,
    tokens: Vec<(String, String)>,
    // Processes are declared before the workplace, so that they are gone before their folder is.
    processes: Mutex<Vec<Process>>,
    workplace: Workplace,
    etcd: Arc<Etcd>,
}

impl ControlPlane {
    /// Starts etcd and an API server with an administrator and waits until it is ready.
    ///
    /// # Errors
    /// If a binary is missing or ends; the end of its log is in the error.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(&Settings::named("alone"), Etcd::start()?).await
    }

    /// Starts an API server that keeps its objects in `etcd` and waits until it is ready.
    ///
    /// # Errors
    /// As [`ControlPlane::start`].
    pub async fn start_with(settings: &Settings, etcd: Arc<Etcd>) -> anyhow::Result<Self> {
        let workplace = Workplace::new(&settings.name)?;
        let port = free_port()?;
        let certificates = Certificates::generate()?;
        let tokens = write_tokens(&workplace, settings)?;
        let process = start_api_server(&workplace, settings, &certificates, port, &etcd)?;
        let control_plane = Self {
            access: Access {
                name: settings.name.clone(),
                server: format!("https://127.0.0.1:{port}"),
                authority: certificates.authority,
            },
            tokens,
            processes: Mutex::new(vec![process]),
            workplace,
            etcd,
        };
        control_plane.wait_until_ready().await?;
        control_plane.start_controllers(&settings.controllers)?;
        Ok(control_plane)
    }

    /// A client of one of the users of the settings.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn client(&self, user: &str) -> anyhow::Result<Client> {
        client_by(&self.kubeconfig(user)?).await
    }

    /// The kubeconfig file of one of the users of the settings.
    ///
    /// # Errors
    /// If there is no such user.
    pub fn kubeconfig(&self, user: &str) -> anyhow::Result<PathBuf> {
        let (_, token) = self
            .tokens
            .iter()
            .find(|(name, _)| name == user)
            .with_context(|| format!("{} has no user {user}", self.access.name))?;
        self.access.write_kubeconfig(&self.workplace, user, token)
    }

    /// The kubeconfig file of a service account, with a token that the API server has issued: its holder is authorized
    /// exactly as in a pod.
    ///
    /// # Errors
    /// If there is no such service account.
    pub async fn service_account_kubeconfig(&self, namespace: &str, name: &str) -> anyhow::Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client(ADMIN).await?, namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                expiration_seconds: Some(24 * 60 * 60),
                ..TokenRequestSpec::default()
            },
            ..TokenRequest::default()
        };
        let token = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("requesting a token for service account {namespace}/{name}"))?
            .status
            .context("the API server answered a token request without a token")?
            .token;
        self.access
            .write_kubeconfig(&self.workplace, &format!("{namespace}-{name}"), &token)
    }

    /// Where it is reached.
    pub fn server(&self) -> &str {
        &self.access.server
    }

    /// The folder of its processes: logs, certificates, kubeconfigs.
    pub fn folder(&self) -> &Path {
        self.workplace.folder()
    }

    async fn wait_until_ready(&self) -> anyhow::Result<()> {
        let client = self.client(ADMIN).await?;
        etcd::until_ready(&self.access.name, || async {
            if let Err(error) = self.expect_running() {
                anyhow::bail!("{error:#}\netcd: {}", self.etcd.log_end());
            }
            let request = http::Request::get("/readyz").body(Vec::new())?;
            Ok(client.request_text(request).await.is_ok())
        })
        .await
    }

    fn expect_running(&self) -> anyhow::Result<()> {
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter_mut()
            .try_for_each(Process::expect_running)
    }

    fn start_controllers(&self, controllers: &[String]) -> anyhow::Result<()> {
        if controllers.is_empty() {
            return Ok(());
        }
        let process = self.workplace.start(
            "kube-controller-manager",
            Command::new(find_binary("kube-controller-manager")?)
                .arg("--bind-address=127.0.0.1")
                .arg("--secure-port=0")
                .arg("--leader-elect=false")
                .arg(format!("--controllers={}", controllers.join(",")))
                .arg("--kubeconfig")
                .arg(self.kubeconfig(CONTROLLER_MANAGER)?),
        )?;
        self.processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(process);
        Ok(())
    }
}

/// A client by a kubeconfig file, with the stack that the programs use.
///
/// # Errors
/// If the file cannot be used.
pub async fn client_by(kubeconfig: &Path) -> anyhow::Result<Client> {
    let metrics = RequestMetrics::register(&prometheus::Registry::new())?;
    Ok(drydock_runtime::client::from_environment(Some(kubeconfig), "drydock-e2e", &metrics).await?)
}

/// A port that nobody listens on. Somebody else may take it before it is used: a start that fails by it says so.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    Ok(listener.local_addr().context("looking for a free port")?.port())
}

fn write_tokens(workplace: &Workplace, settings: &Settings) -> anyhow::Result<Vec<(String, String)>> {
    let mut users = vec![
        (ADMIN.to_owned(), vec!["system:masters".to_owned()]),
        (CONTROLLER_MANAGER.to_owned(), vec!["system:masters".to_owned()]),
    ];
    users.extend(settings.users.iter().cloned());
    let mut tokens = Vec::new();
    let mut lines = String::new();
    for (user, groups) in users {
        let token = rcgen::KeyPair::generate()
            .with_context(|| format!("making a token for {user}"))?
            .public_key_raw()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>();
        lines = format!("{lines}{token},{user},{user},\"{}\"\n", groups.join(","));
        tokens.push((user, token));
    }
    workplace.write("tokens.csv", &lines)?;
    Ok(tokens)
}

fn start_api_server(
    workplace: &Workplace,
    settings: &Settings,
    certificates: &Certificates,
    port: u16,
    etcd: &Etcd,
) -> anyhow::Result<Process> {
    let certificate = workplace.write("server.pem", &certificates.certificate)?;
    let key = workplace.write("server-key.pem", &certificates.key)?;
    let service_account_key =
        workplace.write("service-account-key.pem", &certificates.service_account_key)?;
    let service_account_public_key = workplace.write(
        "service-account-public-key.pem",
        &certificates.service_account_public_key,
    )?;
    let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
    workplace.start(
        "kube-apiserver",
        Command::new(find_binary("kube-apiserver")?)
            .arg(format!("--etcd-servers={}", etcd.url()))
            .arg(format!("--etcd-prefix=/{}", settings.name))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            .arg(format!("--secure-port={port}"))
            .arg("--endpoint-reconciler-type=none")
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            .arg("--authorization-mode=RBAC")
            .arg("--token-auth-file=tokens.csv")
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(file("service-account-key-file", &service_account_public_key))
            .arg(file("service-account-signing-key-file", &service_account_key))
            .arg(file("tls-cert-file", &certificate))
            .arg(file("tls-private-key-file", &key))
            // Several starts in one test would else wait for the drain of the one that is killed anyway.
            .arg("--shutdown-delay-duration=0s")
            .arg("--profiling=false"),
    )
}
