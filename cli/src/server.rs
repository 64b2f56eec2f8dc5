//! The API server that a command talks to, found as kubectl does.

use anyhow::Context;
use drydock_api::fact::Unread;
use drydock_runtime::Clock;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::server_time::ServerTime;
use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::cluster::print;
use crate::upgrades::arguments::Connection;

/// Who writes.
pub use drydock_edits::MANAGER;

/// An API server, and the namespace that is meant.
pub struct Server {
    /// A client of it.
    pub client: Client,
    /// The namespace.
    pub namespace: String,
    /// The one that is meant where none is given.
    pub default_namespace: String,
    /// Its clock.
    pub time: ServerTime,
    config: Config,
}

impl Server {
    /// Finds the server as kubectl does.
    ///
    /// # Errors
    /// If there is no kubeconfig, or it cannot be used.
    pub async fn connect(connection: &Connection) -> anyhow::Result<Self> {
        let file = match &connection.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let file = file.context("reading the kubeconfig: give --kubeconfig or set KUBECONFIG")?;
        let options = KubeConfigOptions {
            context: connection.context.clone(),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(file, &options)
            .await
            .context("using the kubeconfig: check its contexts with kubectl config get-contexts")?;
        let namespace = connection
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let metrics =
            RequestMetrics::register(&prometheus::Registry::new()).context("registering request metrics")?;
        let time = ServerTime::new(&Clock::system());
        let client = client::from_config_with_server_time(config.clone(), &metrics, &time)?;
        Ok(Self {
            client,
            namespace,
            default_namespace: config.default_namespace.clone(),
            time,
            config,
        })
    }

    /// A client of another server of the cluster, such as one behind a route: it gets the same token, and is trusted by the same authorities,
    /// but gets no client certificate.
    ///
    /// # Errors
    /// If the host is none, or the credentials of the kubeconfig cannot be used.
    pub fn client_of_host(&self, host: &str) -> anyhow::Result<Client> {
        let mut config = self.config.clone();
        config.cluster_url = format!("https://{host}").parse().context("reading a host")?;
        config.tls_server_name = None;
        config.auth_info.client_certificate = None;
        config.auth_info.client_certificate_data = None;
        config.auth_info.client_key = None;
        config.auth_info.client_key_data = None;
        let metrics =
            RequestMetrics::register(&prometheus::Registry::new()).context("registering request metrics")?;
        Ok(client::from_config(config, &metrics)?)
    }

    /// Where it is.
    pub fn url(&self) -> String {
        self.config.cluster_url.to_string()
    }

    /// What time it is there.
    pub fn now(&self) -> Timestamp {
        self.time.clock().now()
    }
}

/// Why something could not be read: the server's own words where it says why.
pub fn unread(error: &kube::Error) -> Unread {
    Unread::Failed(match error {
        kube::Error::Api(status) => status.message.clone(),
        error => error.to_string(),
    })
}

/// Who the user is, to the API server, as what is accepted names it; the plugin, with a note, where that is not said. Another name is refused where
/// the policy of `manifests/risk-acceptance` is.
pub async fn user(client: &Client) -> String {
    drydock_edits::user_name(client).await.unwrap_or_else(|| {
        print::note("the API server does not say who you are: the acceptance names the plugin\n");
        MANAGER.to_owned()
    })
}
