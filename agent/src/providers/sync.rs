//! The provider is the truth: its policy becomes the UpgradeConfig, and no policy removes it, but for an upgrade that has
//! commenced.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use drydock_api::names::{PROVIDER_ANNOTATION, UPGRADE_CONFIG};
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigSpec, UpgradePhase};
use drydock_runtime::Clock;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Provider, ProviderError};
use crate::metrics::Metrics;
use drydock_engine::configuration::{Configuration, PolicySource};

/// The wait before the first look, and after a failure.
const FIRST: Duration = Duration::from_mins(1);
/// The longest wait after failures.
const LONGEST: Duration = Duration::from_hours(1);
/// How long the deletion of what is replaced is waited for, and how often it is looked at.
const GONE_WITHIN: u32 = 12;
const GONE_EVERY: Duration = Duration::from_secs(5);

/// What a sync needs from the controller.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProviderInput {
    pub configuration: Option<Configuration>,
    /// `spec.clusterID`.
    pub cluster: String,
    /// The version that ClusterVersion asks for.
    pub asked: Option<String>,
}

impl ProviderInput {
    /// Whether ClusterVersion asks for what this UpgradeConfig wants, and the upgrade is under way.
    fn has_commenced(&self, upgrade: &UpgradeConfig) -> bool {
        let mut history = upgrade
            .status
            .iter()
            .flat_map(|status| status.history.iter().flatten());
        history.next().is_some_and(|entry| {
            entry.phase == UpgradePhase::Upgrading && entry.version.is_some() && entry.version == self.asked
        })
    }
}

/// Why a sync failed.
#[derive(Debug, Error)]
enum SyncError {
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error("{doing} the UpgradeConfig {UPGRADE_CONFIG}")]
    UpgradeConfig {
        doing: &'static str,
        source: Box<kube::Error>,
    },
    #[error("the old UpgradeConfig {UPGRADE_CONFIG} has not been deleted yet: check its finalizers")]
    StillThere,
}

/// What a policy wants of the cluster's UpgradeConfig.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ConfigChange {
    None,
    Create(UpgradeConfigSpec),
    Delete,
    Replace(UpgradeConfigSpec),
}

/// Decides.
pub(super) fn change(
    policy: Option<UpgradeConfigSpec>,
    present: Option<&UpgradeConfigSpec>,
    has_commenced: bool,
) -> ConfigChange {
    match (policy, present) {
        (Some(wanted), Some(present)) if wanted == *present => ConfigChange::None,
        (_, Some(_)) if has_commenced => ConfigChange::None,
        (None, None) => ConfigChange::None,
        (None, Some(_)) => ConfigChange::Delete,
        (Some(wanted), None) => ConfigChange::Create(wanted),
        (Some(wanted), Some(_)) => ConfigChange::Replace(wanted),
    }
}

/// Brings the policy to the cluster.
pub(crate) struct Synchronizer {
    pub client: Client,
    pub namespace: String,
    pub provider: Arc<Provider>,
    pub known: watch::Receiver<ProviderInput>,
    pub metrics: Metrics,
    pub clock: Clock,
}

impl Synchronizer {
    /// Runs until `shutdown`.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let (mut failures, mut round) = (0, 0_u64);
        let mut wait = FIRST;
        loop {
            round += 1;
            let spread = spread(wait, &self.known.borrow().cluster, round);
            tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                () = tokio::time::sleep(spread) => {}
                () = self.provider.outdated() => {}
            }
            let known = self.known.borrow_and_update().clone();
            let Some(configuration) = known.configuration.clone() else {
                continue;
            };
            if configuration.config_manager.source != PolicySource::Ocm {
                wait = FIRST;
                continue;
            }
            wait = match self.sync(&configuration, &known).await {
                Ok(()) => {
                    failures = 0;
                    self.metrics.synced(self.clock.now());
                    let minutes = configuration.config_manager.watch_interval.unsigned_abs();
                    Duration::from_secs(60 * minutes)
                }
                Err(error) => {
                    failures += 1;
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(
                        error,
                        failures,
                        "the upgrade policy cannot be brought to the cluster; it is tried again"
                    );
                    FIRST.saturating_mul(1 << (failures - 1).min(6)).min(LONGEST)
                }
            };
        }
    }

    async fn sync(&self, configuration: &Configuration, known: &ProviderInput) -> Result<(), SyncError> {
        let policy = self.provider.policy(configuration, &known.cluster).await?;
        let api: Api<UpgradeConfig> = Api::namespaced(self.client.clone(), &self.namespace);
        let present = api.get_opt(UPGRADE_CONFIG).await.map_err(failed("reading"))?;
        let spec = present.as_ref().map(|upgrade| &upgrade.spec);
        let has_commenced = present
            .as_ref()
            .is_some_and(|upgrade| known.has_commenced(upgrade));
        match change(policy, spec, has_commenced) {
            ConfigChange::None => Ok(()),
            ConfigChange::Create(spec) => create(&api, spec).await,
            ConfigChange::Delete => delete(&api, present.as_ref()).await,
            ConfigChange::Replace(spec) => {
                delete(&api, present.as_ref()).await?;
                create(&api, spec).await
            }
        }
    }
}

/// A wait that is up to a tenth shorter or longer, by cluster and round, so that clusters do not come at once.
fn spread(wait: Duration, cluster: &str, round: u64) -> Duration {
    let mut hasher = DefaultHasher::new();
    (cluster, round).hash(&mut hasher);
    wait.mul_f64(0.9 + (hasher.finish() % 200) as f64 / 1000.0)
}

fn failed(doing: &'static str) -> impl Fn(kube::Error) -> SyncError {
    move |error| SyncError::UpgradeConfig {
        doing,
        source: Box::new(error),
    }
}

async fn create(api: &Api<UpgradeConfig>, spec: UpgradeConfigSpec) -> Result<(), SyncError> {
    let mut upgrade = UpgradeConfig::new(UPGRADE_CONFIG, spec);
    let provider = (PROVIDER_ANNOTATION.to_owned(), "OCM".to_owned());
    upgrade.annotations_mut().extend([provider]);
    let parameters = PostParams {
        field_manager: Some(drydock_api::names::AGENT_MANAGER.to_owned()),
        ..PostParams::default()
    };
    api.create(&parameters, &upgrade)
        .await
        .map_err(failed("creating"))?;
    Ok(())
}

/// Deletes and waits until it is gone.
async fn delete(api: &Api<UpgradeConfig>, present: Option<&UpgradeConfig>) -> Result<(), SyncError> {
    let Some(present) = present else {
        return Ok(());
    };
    let parameters = DeleteParams::default().preconditions(Preconditions {
        uid: present.uid(),
        resource_version: None,
    });
    api.delete(UPGRADE_CONFIG, &parameters)
        .await
        .map_err(failed("deleting"))?;
    for _ in 0..GONE_WITHIN {
        let there = api.get_opt(UPGRADE_CONFIG).await.map_err(failed("reading"))?;
        if there.is_none_or(|there| there.uid() != present.uid()) {
            return Ok(());
        }
        tokio::time::sleep(GONE_EVERY).await;
    }
    Err(SyncError::StillThere)
}
