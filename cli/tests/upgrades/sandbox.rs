//! A sandbox, and the plugin run against it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// A sandbox that runs.
pub struct Sandbox {
    program: Child,
    kubeconfig: PathBuf,
}

impl Sandbox {
    /// Starts one with these arguments.
    pub fn start(arguments: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .arg("sandbox")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut path = String::new();
        BufReader::new(program.stdout.take().unwrap())
            .read_line(&mut path)
            .unwrap();
        Self {
            program,
            kubeconfig: PathBuf::from(path.trim()),
        }
    }

    /// Runs the plugin.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap()
    }

    /// What a command prints that succeeds.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that fails.
    pub fn refuses(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// A client of the hub, or of a cluster, by the name of its context.
    pub async fn client(&self, context: &str) -> Client {
        let file = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = KubeConfigOptions {
            context: Some(context.to_owned()),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(file, &options).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// The upgrades of the hub.
    pub async fn upgrades(&self) -> Api<ManagedClustersUpgrade> {
        Api::namespaced(self.client("hub").await, "default")
    }

    /// Applies an upgrade.
    pub async fn create(&self, upgrade: Value) {
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(upgrade).unwrap();
        let api = self.upgrades().await;
        api.create(&PostParams::default(), &upgrade).await.unwrap();
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

/// An upgrade of all clusters.
pub fn spring(paused: bool) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "spring", "namespace": "default"},
        "spec": {
            "placement": [{"name": "dev-clusters", "namespace": "dev"}],
            "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            "upgradeStrategy": {"maxConcurrency": 3, "upgradeVia": "ClusterVersion"},
            "paused": paused,
        },
    })
}
