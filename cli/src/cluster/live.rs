//! The objects of a cluster, as its API server answers them. Lists are read in pages; of MachineConfigs, which are large, only the metadata.

use std::fmt::Debug;

use anyhow::Context;
use drydock_agent::cluster_objects::{self, KeptPods};
use drydock_api::fact::{Fact, Unread};
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfig, MachineConfigPool};
use drydock_insights::built_in::{BuiltInFacts, Question};
use drydock_insights::facts::{ClusterFacts, ConfigVersions, config_version, operator_image};
use drydock_runtime::pages::{list_all, list_all_metadata};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;

use super::alerts;
use crate::server::{Server, unread};

/// OpenShift's ClusterVersion.
const CLUSTER_VERSION: &str = "version";
/// The machine config operator, and its Deployment.
const MACHINE_CONFIG_OPERATOR: &str = "machine-config-operator";
/// Where it is.
const MACHINE_CONFIG_NAMESPACE: &str = "openshift-machine-config-operator";

/// What is read of a cluster.
///
/// # Errors
/// If there is no ClusterVersion.
pub async fn read(server: &Server) -> anyhow::Result<ClusterFacts> {
    let client = &server.client;
    let (version, operators, pools, nodes, configs, operator_image, alerts) = futures::join!(
        cluster_version(client),
        listed::<ClusterOperator>(client),
        listed::<MachineConfigPool>(client),
        listed::<Node>(client),
        config_versions(client),
        image(client),
        alerts::read(server),
    );
    Ok(ClusterFacts {
        version: version?,
        operators,
        pools,
        nodes,
        configs,
        operator_image,
        alerts,
    })
}

/// The ClusterVersion, and the alerts: all that recommendations need.
///
/// # Errors
/// If there is no ClusterVersion.
pub async fn read_version(server: &Server) -> anyhow::Result<ClusterFacts> {
    let (version, alerts) = futures::join!(cluster_version(&server.client), alerts::read(server));
    Ok(ClusterFacts {
        version: version?,
        operators: Err(Unread::NotAsked),
        pools: Err(Unread::NotAsked),
        nodes: Err(Unread::NotAsked),
        configs: Err(Unread::NotAsked),
        operator_image: Err(Unread::NotAsked),
        alerts,
    })
}

/// What the agent's own informers look at for an update to `target`.
///
/// # Errors
/// If there is no ClusterVersion.
pub async fn built_in_facts(server: &Server, target: &str) -> anyhow::Result<BuiltInFacts> {
    let client = &server.client;
    let (version, pools) = futures::join!(cluster_version(client), pools_if_served(client));
    let monitoring = alerts::Monitoring(server);
    let kept = KeptPods::default();
    Ok(cluster_objects::read(
        client,
        Ok(version?),
        pools,
        &monitoring,
        &kept,
        Question::of_version(target),
        server.now(),
    )
    .await)
}

/// The ClusterVersion.
///
/// # Errors
/// If there is none.
pub async fn cluster_version(client: &Client) -> anyhow::Result<ClusterVersion> {
    let api: Api<ClusterVersion> = Api::all(client.clone());
    let found = api.get_opt(CLUSTER_VERSION).await;
    found
        .context("reading the ClusterVersion")?
        .context("no cluster version information available - you must be connected to an OpenShift version 4 server to fetch the current version")
}

async fn listed<K>(client: &Client) -> Fact<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let listed = list_all(&Api::<K>::all(client.clone()), ListParams::default()).await;
    listed.map_err(|error| unread(&error))
}

/// The pools; none where the cluster does not have the kind, as on a hosted control plane: to the agent that is the same.
async fn pools_if_served(client: &Client) -> Fact<Vec<MachineConfigPool>> {
    let api: Api<MachineConfigPool> = Api::all(client.clone());
    match list_all(&api, ListParams::default()).await {
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(Vec::new()),
        listed => listed.map_err(|error| unread(&error)),
    }
}

async fn config_versions(client: &Client) -> Fact<ConfigVersions> {
    let api: Api<MachineConfig> = Api::all(client.clone());
    let found = list_all_metadata(&api, ListParams::default()).await;
    let found = found.map_err(|error| unread(&error))?;
    let versions = found
        .iter()
        .filter_map(|config| config_version(config.name_any(), config.annotations()));
    Ok(versions.collect())
}

async fn image(client: &Client) -> Fact<Option<String>> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), MACHINE_CONFIG_NAMESPACE);
    let deployment = api.get_opt(MACHINE_CONFIG_OPERATOR).await;
    let deployment = deployment.map_err(|error| unread(&error))?;
    Ok(deployment.as_ref().and_then(operator_image))
}
