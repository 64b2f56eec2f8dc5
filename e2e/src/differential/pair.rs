//! The two servers side by side.

use std::path::Path;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{Difference, Script, Target, compare, run};
use crate::control_plane::{ADMIN, ControlPlane};
use kube_sandbox::http::ListenError;
use kube_sandbox::server::ApiServer;

/// A sandbox that listens on loopback, and a real control plane.
pub struct Pair {
    /// The sandbox.
    pub sandbox: Target,
    /// The real one.
    pub real: Target,
    control_plane: ControlPlane,
    stop: CancellationToken,
    served: JoinHandle<Result<(), ListenError>>,
}

impl Pair {
    /// Serves the sandbox beside the control plane.
    ///
    /// # Errors
    /// If one of them cannot be reached.
    pub async fn start(sandbox: ApiServer, control_plane: ControlPlane) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let served = tokio::spawn({
            let stop = stop.clone();
            async move { sandbox.serve(listener, stop).await }
        });
        let config = Config::new(format!("http://{address}").parse()?);
        Ok(Self {
            sandbox: Target::new(&config)?,
            real: Target::new(&config_by(&control_plane.kubeconfig(ADMIN)?).await?)?,
            control_plane,
            stop,
            served,
        })
    }

    /// Runs a script on both, in a namespace of this name, and says where they differ.
    ///
    /// # Errors
    /// If a server cannot be reached, or what a step waits for does not come.
    pub async fn differences(&self, namespace: &str, script: &Script) -> anyhow::Result<Vec<Difference>> {
        let (sandbox, real) = tokio::join!(
            run(&self.sandbox, namespace, script),
            run(&self.real, namespace, script)
        );
        let real = real.map_err(|error| error.context("on the real server"))?;
        let sandbox = sandbox.map_err(|error| error.context("on the sandbox"))?;
        let steps = sandbox.iter().zip(&real).zip(1..);
        Ok(steps
            .flat_map(|((sandbox, real), step): ((&Value, &Value), usize)| compare(step, sandbox, real))
            .collect())
    }

    /// Stops both.
    ///
    /// # Errors
    /// If the sandbox had to stop before.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.stop.cancel();
        self.served.await??;
        drop(self.control_plane);
        Ok(())
    }
}

async fn config_by(kubeconfig: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}
