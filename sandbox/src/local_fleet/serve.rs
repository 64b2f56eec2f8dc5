//! A local fleet that listens on loopback, so that kubectl and curl can reach it.

use std::net::SocketAddr;

use kube_sandbox::server::ApiServer;
use openshift_sandbox::monitoring;
use openshift_sandbox::update_service::UpdateService;
use tokio::net::TcpListener;

use super::{LocalFleet, LocalFleetError};

/// Where the parts of a local fleet listen.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// The hub's API server.
    pub hub: SocketAddr,
    /// Each cluster's API server, by name.
    pub clusters: Vec<(String, SocketAddr)>,
    /// The update graph.
    pub update_graph: String,
    /// The clusters' Prometheus and Alertmanager, each below its name.
    pub monitoring: String,
}

/// Why a local fleet cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No port can be had.
    #[error("binding a port on loopback")]
    Bind(#[from] std::io::Error),
    /// A server is not in this process.
    #[error(transparent)]
    Fleet(#[from] LocalFleetError),
}

impl LocalFleet {
    /// Lets clients in: the hub and every cluster listen on loopback, each on a port of its own.
    ///
    /// # Errors
    /// If a port cannot be had.
    pub async fn serve(&mut self) -> Result<Addresses, ServeError> {
        let hub = self.listen(self.hub_server()?.clone()).await?;
        let mut clusters = Vec::new();
        for name in self.env.cluster_names() {
            if let Some(spoke) = self.env.spoke(&name).cloned() {
                clusters.push((name, self.listen(spoke).await?));
            }
        }
        Ok(Addresses {
            hub,
            clusters,
            update_graph: self.listen_update_graph().await?,
            monitoring: self.listen_monitoring().await?,
        })
    }

    async fn listen(&mut self, server: ApiServer) -> Result<SocketAddr, ServeError> {
        let (listener, address) = bind().await?;
        let stop = self.stop.clone();
        self.tasks
            .spawn("serve", async move { server.serve(listener, stop).await });
        Ok(address)
    }

    async fn listen_update_graph(&mut self) -> Result<String, ServeError> {
        let (listener, address) = bind().await?;
        let stop = self.stop.clone();
        self.tasks.spawn("update-graph", async move {
            UpdateService::default().serve(listener, stop).await
        });
        Ok(format!("http://{address}/api/upgrades_info/v1/graph"))
    }

    async fn listen_monitoring(&mut self) -> Result<String, ServeError> {
        let (listener, address) = bind().await?;
        let stop = self.stop.clone();
        let all = self.env.all_monitoring().clone();
        self.tasks.spawn("monitoring", async move {
            monitoring::serve(&all, listener, stop).await
        });
        Ok(format!("http://{address}"))
    }
}

async fn bind() -> Result<(TcpListener, SocketAddr), ServeError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}
