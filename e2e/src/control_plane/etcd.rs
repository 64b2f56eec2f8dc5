//! The store that the API servers of one test share.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use super::{binaries, free_port};
use crate::process::{Process, Workplace};

/// A running etcd. API servers share it, each below a prefix of its own.
#[derive(Debug)]
pub struct Etcd {
    url: String,
    // Declared before the workplace, so that it is gone before its folder is.
    process: Process,
    workplace: Workplace,
}

impl Etcd {
    /// Starts one that keeps nothing on disk for long: it does not wait for the disk.
    pub fn start() -> anyhow::Result<Arc<Self>> {
        let workplace = Workplace::new("etcd")?;
        let url = format!("http://127.0.0.1:{}", free_port()?);
        let peers = format!("http://127.0.0.1:{}", free_port()?);
        let process = workplace.start(
            "etcd",
            Command::new(binaries::find("etcd")?)
                .args(["--name=e2e", "--log-level=warn", "--unsafe-no-fsync"])
                .arg("--data-dir=data")
                .arg(format!("--listen-client-urls={url}"))
                .arg(format!("--advertise-client-urls={url}"))
                .arg(format!("--listen-peer-urls={peers}"))
                .arg(format!("--initial-advertise-peer-urls={peers}"))
                .arg(format!("--initial-cluster=e2e={peers}")),
        )?;
        Ok(Arc::new(Self {
            url,
            process,
            workplace,
        }))
    }

    /// Where clients reach it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The end of its log.
    pub fn log_end(&self) -> String {
        format!(
            "{}:\n{}",
            self.workplace.folder().display(),
            self.process.log_end()
        )
    }
}

/// Waits until `ready` says yes.
pub(super) async fn until_ready<F>(what: &str, mut ready: impl FnMut() -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<bool>>,
{
    let waiting = async {
        while !ready().await? {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    tokio::time::timeout(Duration::from_mins(2), waiting)
        .await
        .with_context(|| format!("{what} was not ready within 2 minutes"))?
}
