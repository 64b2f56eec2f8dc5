//! The fleet as the hub has it, read once: the clusters of an upgrade in the hub's own words.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use anyhow::Context;
use drydock_api::ClusterName;
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord, UpgradeRiskAcceptance};
use drydock_api::names::KIND_LABEL;
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use drydock_objects::works::{self, PartialManifestWork};
use drydock_objects::{ClusterDetails, Fleet, FleetKind, upgrade};
use drydock_runtime::follow::version_of;
use drydock_runtime::pages::list_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;

use super::hub::Hub;

/// Every cluster that takes part in an upgrade, with where it is.
///
/// # Errors
/// If the hub cannot be read.
pub async fn clusters(hub: &Hub, upgrade: &ManagedClustersUpgrade) -> anyhow::Result<Vec<ClusterDetails>> {
    let mut fleet = read(hub).await?;
    // The one that was asked for may have changed since.
    let _no_one_waits = fleet.set_upgrade(&Arc::new(upgrade.clone()));
    let looked = fleet.look(&upgrade::key(upgrade), hub.now());
    let (_, mut clusters) = looked.context("the upgrade was just read, and is not there")?;
    sort_by_name(&mut clusters);
    Ok(clusters)
}

/// As people read: dev2 before dev10.
pub fn sort_by_name(clusters: &mut [ClusterDetails]) {
    clusters.sort_by_cached_key(|details| ClusterName::from(details.name.as_str()));
}

/// All that is seen of the fleet of a hub, as lists have it.
///
/// # Errors
/// If the hub cannot be read.
pub async fn read(hub: &Hub) -> anyhow::Result<Fleet> {
    let mut fleet = Fleet::new(false);
    let upgrades: Vec<ManagedClustersUpgrade> = list(&everywhere(hub), ListParams::default()).await?;
    take_calendars(hub, &mut fleet, &upgrades).await?;
    for upgrade in upgrades {
        let _no_one_waits = fleet.set_upgrade(&Arc::new(upgrade));
    }
    take::<ManagedCluster>(hub, &mut fleet).await?;
    take::<ManagedClusterAddOn>(hub, &mut fleet).await?;
    take::<ManagedClusterSet>(hub, &mut fleet).await?;
    take::<ManagedClusterSetBinding>(hub, &mut fleet).await?;
    take::<Placement>(hub, &mut fleet).await?;
    take::<PlacementDecision>(hub, &mut fleet).await?;
    take::<ManagedClustersUpgradeRecord>(hub, &mut fleet).await?;
    match take::<UpgradeRiskAcceptance>(hub, &mut fleet).await {
        // Who may not read what is accepted sees all else; a hub of before does not have the kind.
        Err(error) if is_code(&error, 403) || is_code(&error, 404) => {}
        taken => taken?,
    }
    let found: Vec<PartialManifestWork> =
        list(&everywhere(hub), ListParams::default().labels(KIND_LABEL)).await?;
    for work in found {
        if let Some(asked) = works::pre_checks::digest(&work) {
            let version = Some(version_of(&work));
            let _no_one_waits = fleet.set_pre_checks(&asked.cluster, &asked.name, Some(asked.work), version);
        } else if let Some(digest) = works::digest(&work, hub.now()) {
            let version = version_of(&work);
            let _no_one_waits = fleet.set_work(&digest.cluster, digest.kind, digest.work, version);
        }
    }
    Ok(fleet)
}

/// Who may not read the ConfigMaps of all namespaces may read those of the namespaces whose upgrades name one. Where not even that is so, the
/// calendar cannot be read, and that is why.
async fn take_calendars(
    hub: &Hub,
    fleet: &mut Fleet,
    upgrades: &[ManagedClustersUpgrade],
) -> anyhow::Result<()> {
    match take::<ConfigMap>(hub, fleet).await {
        Err(error) if is_forbidden(&error) => {}
        taken => return taken,
    }
    let names_calendar = |upgrade: &&ManagedClustersUpgrade| {
        let strategy = upgrade.spec.upgrade_strategy.as_ref();
        strategy.is_some_and(|strategy| strategy.freeze_calendar.is_some())
    };
    let named = upgrades.iter().filter(names_calendar);
    let namespaces: BTreeSet<String> = named.filter_map(ResourceExt::namespace).collect();
    for namespace in namespaces {
        let api: Api<ConfigMap> = Api::namespaced(hub.client.clone(), &namespace);
        match take_from(&api, fleet).await {
            Err(error) if is_forbidden(&error) => fleet.forbid_calendars(&namespace),
            taken => taken?,
        }
    }
    Ok(())
}

fn is_forbidden(error: &anyhow::Error) -> bool {
    is_code(error, 403)
}

fn is_code(error: &anyhow::Error, code: u16) -> bool {
    let refusal = error.downcast_ref::<kube::Error>();
    matches!(refusal, Some(kube::Error::Api(refusal)) if refusal.code == code)
}

async fn take<K>(hub: &Hub, fleet: &mut Fleet) -> anyhow::Result<()>
where
    K: FleetKind + Clone + DeserializeOwned + Debug,
{
    take_from(&everywhere::<K>(hub), fleet).await
}

fn everywhere<K: kube::Resource<DynamicType = ()>>(hub: &Hub) -> Api<K> {
    Api::all(hub.client.clone())
}

async fn take_from<K>(api: &Api<K>, fleet: &mut Fleet) -> anyhow::Result<()>
where
    K: FleetKind + Clone + DeserializeOwned + Debug,
{
    let found: Vec<K> = list(api, K::SELECTOR.list_params()).await?;
    for object in &found {
        let namespace = object.namespace().unwrap_or_default();
        let _no_one_waits = K::see(fleet, &namespace, &object.name_any(), Some(object));
    }
    Ok(())
}

async fn list<K>(api: &Api<K>, parameters: ListParams) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let found = list_all(api, parameters).await;
    found.with_context(|| format!("listing the {} of the hub", K::plural(&())))
}
