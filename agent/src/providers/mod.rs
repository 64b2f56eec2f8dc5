//! Where upgrade policies come from: the cluster itself, or OpenShift Cluster Manager.

mod ocm;
mod policy;
mod sync;
#[cfg(test)]
mod tests;

use drydock_api::upgradeconfig::UpgradeConfigSpec;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use thiserror::Error;
use tokio::sync::Notify;

use crate::http::{HttpError, Network, NetworkError};
use crate::notify::outbox::Notification;
use crate::registry::Credentials;
use drydock_engine::configuration::Configuration;
use ocm::Ocm;
pub(crate) use sync::{ProviderInput, Synchronizer};

/// Where the pull secret is.
const PULL_SECRET: (&str, &str, &str) = ("openshift-config", "pull-secret", ".dockerconfigjson");
/// The entry of the pull secret by which OCM knows the cluster.
const ENTRY: &str = "cloud.openshift.com";

/// Why a provider does not answer.
#[derive(Debug, Error)]
pub(crate) enum ProviderError {
    /// The configuration does not say where it is.
    #[error(
        "configManager.ocmBaseUrl is not set: upgrade policies cannot be read from OpenShift Cluster Manager"
    )]
    NoAddress,
    /// The pull secret cannot be read.
    #[error("reading Secret openshift-config/pull-secret: {0}")]
    Secret(String),
    /// No connection can be prepared.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// No good answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// OCM does not know the cluster.
    #[error(
        "OpenShift Cluster Manager has no cluster with the id {0}: check that openshift-config/pull-secret is this cluster's own and that its owner's account is active"
    )]
    UnknownCluster(String),
    /// A policy makes no sense.
    #[error("the upgrade policy {id} cannot be used: {reason}")]
    Policy {
        /// Which.
        id: String,
        /// What is wrong.
        reason: String,
    },
}

/// Reads policies and reports states.
pub(crate) struct Provider {
    client: Client,
    network: Network,
    /// Somebody has seen that the policy is another by now.
    outdated: Notify,
}

impl Provider {
    pub fn new(client: Client, network: Network) -> Self {
        Self {
            client,
            network,
            outdated: Notify::new(),
        }
    }

    /// The policy is another by now: it is brought to the cluster at once.
    pub fn follow(&self) {
        self.outdated.notify_one();
    }

    /// Waits until somebody has seen that the policy is another.
    pub async fn outdated(&self) {
        self.outdated.notified().await;
    }

    /// The pull secret's credentials.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn credentials(&self) -> Result<Credentials, ProviderError> {
        let (namespace, name, key) = PULL_SECRET;
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api
            .get(name)
            .await
            .map_err(|error| ProviderError::Secret(error.to_string()))?;
        let data = secret.data.and_then(|mut data| data.remove(key));
        let data = data.ok_or_else(|| ProviderError::Secret(format!("it has no key {key}")))?;
        // What exactly is wrong could quote the secret.
        Credentials::parse(&data.0)
            .map_err(|_| ProviderError::Secret(format!("its key {key} is not valid JSON")))
    }

    async fn ocm(&self, configuration: &Configuration, cluster: &str) -> Result<Ocm, ProviderError> {
        let base = configuration.config_manager.ocm_base_url.clone();
        let base = base
            .filter(|base| !base.is_empty())
            .ok_or(ProviderError::NoAddress)?;
        let credentials = self.credentials().await?;
        let token = credentials
            .entry(ENTRY)
            .ok_or_else(|| ProviderError::Secret(format!("it has no entry {ENTRY}")))?;
        Ok(Ocm::new(self.network.exchange(None)?, &base, cluster, token))
    }

    /// What the policy asks for; none if no policy counts.
    ///
    /// # Errors
    /// If OCM does not say, or the policy makes no sense.
    pub async fn policy(
        &self,
        configuration: &Configuration,
        cluster: &str,
    ) -> Result<Option<UpgradeConfigSpec>, ProviderError> {
        let ocm = self.ocm(configuration, cluster).await?;
        let found = ocm.cluster(cluster).await?;
        let mut policies = ocm.policies(&found.id).await?;
        policies.sort_by(|one, other| one.next_run.cmp(&other.next_run));
        for policy in policies {
            let state = ocm.state(&found.id, &policy.id).await?;
            if state.counts() && !policy.version.is_empty() {
                return policy::spec(&policy, &found, configuration.upgrade_type).map(Some);
            }
        }
        Ok(None)
    }

    /// Reports a state to the policy that the upgrade was made for.
    ///
    /// # Errors
    /// If OCM does not take it.
    pub async fn notify(
        &self,
        configuration: &Configuration,
        notification: &Notification,
    ) -> Result<(), ProviderError> {
        let ocm = self.ocm(configuration, &notification.cluster).await?;
        let cluster = ocm.cluster(&notification.cluster).await?;
        if notification.event.is_service_log() {
            if configuration.feature_gate.service_log_notification() {
                ocm.log(&notification.cluster, &notification.description).await?;
            }
            return Ok(());
        }
        let policies = ocm.policies(&cluster.id).await?;
        let ours = policies.iter().find(|policy| {
            policy.version == notification.version
                && policy::same_time(&policy.next_run, &notification.upgrade_at)
        });
        // A policy that is gone has nobody who waits for its state.
        let (Some(policy), Some(value)) = (ours, policy::state_of(notification.event)) else {
            return Ok(());
        };
        let state = ocm.state(&cluster.id, &policy.id).await?;
        if state.may_become(value) {
            ocm.set_state(&cluster.id, &policy.id, value, &notification.description)
                .await?;
        }
        Ok(())
    }
}
