//! The fleet as somebody reads it from the API server once.

use std::fmt::Debug;
use std::sync::Arc;

use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord};
use drydock_api::names::KIND_LABEL;
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use drydock_objects::works::{self, PartialManifestWork};
use drydock_objects::{Fleet, FleetKind};
use drydock_runtime::follow::version_of;
use drydock_runtime::pages::list_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use kube_sandbox::server::ApiServer;
use serde::de::DeserializeOwned;

use crate::local_fleet::program_client;

/// Reads everything that upgrades depend on.
///
/// # Errors
/// If something cannot be read.
pub(super) async fn read(server: &ApiServer, now: Timestamp) -> anyhow::Result<Fleet> {
    let client = program_client(server, "planner")?;
    let mut fleet = Fleet::new(false);
    for upgrade in list::<ManagedClustersUpgrade>(&client, ListParams::default()).await? {
        let _no_one_waits = fleet.set_upgrade(&Arc::new(upgrade));
    }
    take::<ManagedCluster>(&client, &mut fleet).await?;
    take::<ManagedClusterAddOn>(&client, &mut fleet).await?;
    take::<ManagedClusterSet>(&client, &mut fleet).await?;
    take::<ManagedClusterSetBinding>(&client, &mut fleet).await?;
    take::<Placement>(&client, &mut fleet).await?;
    take::<PlacementDecision>(&client, &mut fleet).await?;
    take::<ConfigMap>(&client, &mut fleet).await?;
    take::<ManagedClustersUpgradeRecord>(&client, &mut fleet).await?;
    let own = ListParams::default().labels(KIND_LABEL);
    for work in list::<PartialManifestWork>(&client, own).await? {
        if let Some(digest) = works::digest(&work, now) {
            let version = version_of(&work);
            let _no_one_waits = fleet.set_work(&digest.cluster, digest.kind, digest.work, version);
        }
    }
    Ok(fleet)
}

async fn take<K>(client: &Client, fleet: &mut Fleet) -> anyhow::Result<()>
where
    K: FleetKind + Clone + DeserializeOwned + Debug,
{
    for object in &list::<K>(client, K::SELECTOR.list_params()).await? {
        let namespace = object.namespace().unwrap_or_default();
        let _no_one_waits = K::see(fleet, &namespace, &object.name_any(), Some(object));
    }
    Ok(())
}

async fn list<K>(client: &Client, parameters: ListParams) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    Ok(list_all(&Api::<K>::all(client.clone()), parameters).await?)
}
