//! What is read of a cluster. A list that could not be read takes nothing else with it.

use std::collections::BTreeMap;

use drydock_api::fact::Fact;
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfig, MachineConfigPool};
use drydock_api::prometheus::Alert;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use crate::times;

/// Says by which release a MachineConfig was rendered.
const RELEASE_VERSION: &str = "machineconfiguration.openshift.io/release-image-version";
/// The container of the machine config operator, in the Deployment of the same name.
const MACHINE_CONFIG_OPERATOR: &str = "machine-config-operator";

/// What is read of a cluster.
#[derive(Clone, Debug)]
pub struct ClusterFacts {
    /// Its ClusterVersion.
    pub version: ClusterVersion,
    /// Its ClusterOperators.
    pub operators: Fact<Vec<ClusterOperator>>,
    /// Its MachineConfigPools.
    pub pools: Fact<Vec<MachineConfigPool>>,
    /// Its nodes.
    pub nodes: Fact<Vec<Node>>,
    /// By which release its MachineConfigs were rendered.
    pub configs: Fact<ConfigVersions>,
    /// The image that the machine config operator runs; nothing if there is no Deployment of it.
    pub operator_image: Fact<Option<String>>,
    /// Its alerts.
    pub alerts: Fact<Vec<Alert>>,
}

impl ClusterFacts {
    /// When something last happened, by the conditions of the ClusterVersion and the ClusterOperators: the present moment of objects that
    /// were read earlier.
    pub fn last_transition(&self) -> Option<Timestamp> {
        let version = self.version.status.iter().flat_map(|status| &status.conditions);
        let operators = self.operators.iter().flatten();
        let operators = operators
            .filter_map(|operator| operator.status.as_ref())
            .flat_map(|status| &status.conditions);
        version.chain(operators).filter_map(times::transition).max()
    }
}

/// By which release each MachineConfig was rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigVersions(BTreeMap<String, String>);

impl ConfigVersions {
    /// The version of a release by which a MachineConfig was rendered; nothing if that is not known.
    pub fn of(&self, config: &str) -> Option<&str> {
        self.0.get(config).map(String::as_str)
    }
}

impl FromIterator<(String, String)> for ConfigVersions {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(versions: I) -> Self {
        Self(
            versions
                .into_iter()
                .filter(|(_, version)| !version.is_empty())
                .collect(),
        )
    }
}

impl<'a> FromIterator<&'a MachineConfig> for ConfigVersions {
    fn from_iter<I: IntoIterator<Item = &'a MachineConfig>>(configs: I) -> Self {
        let versions = configs
            .into_iter()
            .filter_map(|config| config_version(config.name_any(), config.annotations()));
        versions.collect()
    }
}

/// The name of a MachineConfig and the release by which it was rendered, of its metadata.
pub fn config_version(name: String, annotations: &BTreeMap<String, String>) -> Option<(String, String)> {
    Some((name, annotations.get(RELEASE_VERSION)?.clone()))
}

/// The image that the machine config operator runs, of its Deployment.
pub fn operator_image(deployment: &Deployment) -> Option<String> {
    let template = &deployment.spec.as_ref()?.template;
    let containers = &template.spec.as_ref()?.containers;
    containers
        .iter()
        .find(|container| container.name == MACHINE_CONFIG_OPERATOR)
        .and_then(|container| container.image.clone())
}
