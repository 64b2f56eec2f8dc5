//! The hub that the commands talk to.

use anyhow::{Context, bail};
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord};
use drydock_api::names::UPGRADE_UID_LABEL;
use drydock_objects::hint;
use drydock_runtime::Clock;
use drydock_runtime::pages::list_all;
use drydock_runtime::server_time::ServerTime;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::arguments::Connection;
use crate::server::Server;

/// A hub and the namespace that is meant.
pub struct Hub {
    /// Its API server.
    pub client: Client,
    /// The namespace.
    pub namespace: String,
    default_namespace: String,
    time: ServerTime,
}

impl Hub {
    /// Finds the hub as kubectl does.
    ///
    /// # Errors
    /// If there is no kubeconfig, or it cannot be used.
    pub async fn connect(connection: &Connection) -> anyhow::Result<Self> {
        let Server {
            client,
            namespace,
            default_namespace,
            time,
            ..
        } = Server::connect(connection).await?;
        Ok(Self {
            client,
            namespace,
            default_namespace,
            time,
        })
    }

    /// A hub that is known already.
    pub fn new(client: Client, namespace: String, clock: &Clock) -> Self {
        Self {
            client,
            namespace,
            default_namespace: hint::DEFAULT_NAMESPACE.to_owned(),
            time: ServerTime::new(clock),
        }
    }

    /// How a command that a reader copies names an upgrade: with its namespace, unless the kubeconfig means that one.
    pub fn named(&self, namespace: &str, upgrade: &str) -> String {
        hint::named(namespace, upgrade, &self.default_namespace)
    }

    /// The upgrades of the namespace.
    pub fn upgrades(&self) -> Api<ManagedClustersUpgrade> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// One upgrade.
    ///
    /// # Errors
    /// If there is none of this name, with the names that there are.
    pub async fn upgrade(&self, name: &str) -> anyhow::Result<ManagedClustersUpgrade> {
        let found = self.upgrades().get_opt(name).await;
        let found =
            found.with_context(|| format!("reading the ManagedClustersUpgrade {}/{name}", self.namespace))?;
        if let Some(found) = found {
            return Ok(found);
        }
        let all = list_all(&self.upgrades(), ListParams::default()).await;
        let names: Vec<String> = all
            .map(|all| all.iter().map(ResourceExt::name_any).collect())
            .unwrap_or_default();
        if names.is_empty() {
            bail!(
                "there is no ManagedClustersUpgrade in namespace {}: choose another with -n",
                self.namespace
            );
        }
        bail!(
            "there is no ManagedClustersUpgrade {name} in namespace {}; there are: {}",
            self.namespace,
            names.join(", ")
        )
    }

    /// The records of the namespace.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn records(&self) -> anyhow::Result<Vec<ManagedClustersUpgradeRecord>> {
        let api = Api::namespaced(self.client.clone(), &self.namespace);
        list_all(&api, ListParams::default().labels(UPGRADE_UID_LABEL))
            .await
            .with_context(|| format!("listing the ManagedClustersUpgradeRecords of {}", self.namespace))
    }

    /// What time it is on the hub.
    pub fn now(&self) -> Timestamp {
        self.time.clock().now()
    }
}
