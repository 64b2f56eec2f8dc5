//! The kinds of which a fleet is made: which of their objects are wanted, and what each says. Watches and lists feed a fleet alike.

use drydock_api::ClusterName;
use drydock_api::mcu::{ManagedClustersUpgradeRecord, UpgradeRiskAcceptance};
use drydock_api::names::{AGENT_ADDON, FREEZE_CALENDAR_LABEL, PLACEMENT_LABEL, UPGRADE_UID_LABEL};
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use drydock_rollout::PlacementKey;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use kube::core::params::ListParams;

use super::{Change, Fleet};
use crate::{acceptance, cluster, placement, record};

/// Which objects of a kind a fleet is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindSelector {
    /// All: no label or field says which of them matter.
    All,
    /// Those with this label.
    WithLabel(&'static str),
    /// Those of this name.
    Named(&'static str),
}

impl KindSelector {
    /// As parameters of a list.
    pub fn list_params(self) -> ListParams {
        let parameters = ListParams::default();
        match self {
            Self::All => parameters,
            Self::WithLabel(label) => parameters.labels(label),
            Self::Named(name) => parameters.fields(&format!("metadata.name={name}")),
        }
    }
}

/// A kind of which a fleet is made.
pub trait FleetKind: Resource<DynamicType = ()> {
    /// Which of its objects are wanted.
    const SELECTOR: KindSelector;

    /// An object is so, or there is none of this namespace (empty if the kind has none) and name.
    fn see(fleet: &mut Fleet, namespace: &str, name: &str, object: Option<&Self>) -> Change;
}

impl FleetKind for ManagedCluster {
    // ManagedClusters have no label that says that an upgrade may concern them.
    const SELECTOR: KindSelector = KindSelector::All;

    fn see(fleet: &mut Fleet, _namespace: &str, name: &str, object: Option<&Self>) -> Change {
        fleet.set_cluster(&ClusterName::from(name), object.map(cluster::digest))
    }
}

impl FleetKind for ManagedClusterAddOn {
    const SELECTOR: KindSelector = KindSelector::Named(AGENT_ADDON);

    fn see(fleet: &mut Fleet, namespace: &str, _name: &str, object: Option<&Self>) -> Change {
        let available = object.is_some_and(Self::is_available);
        let name = ClusterName::from(namespace);
        let installed = fleet.set_agent_installed(&name, object.is_some());
        installed.and(fleet.set_agent(&name, available))
    }
}

impl FleetKind for Placement {
    // Placements, cluster sets and their bindings belong to the users, who do not label them for us.
    const SELECTOR: KindSelector = KindSelector::All;

    fn see(fleet: &mut Fleet, namespace: &str, name: &str, object: Option<&Self>) -> Change {
        fleet.set_placement(&PlacementKey::new(namespace, name), object.map(placement::digest))
    }
}

impl FleetKind for PlacementDecision {
    const SELECTOR: KindSelector = KindSelector::WithLabel(PLACEMENT_LABEL);

    fn see(fleet: &mut Fleet, namespace: &str, name: &str, object: Option<&Self>) -> Change {
        fleet.set_decision(namespace, name, object.map(placement::page))
    }
}

impl FleetKind for ManagedClusterSet {
    const SELECTOR: KindSelector = KindSelector::All;

    fn see(fleet: &mut Fleet, _namespace: &str, name: &str, object: Option<&Self>) -> Change {
        fleet.set_cluster_set(name, object.map(placement::set_members))
    }
}

impl FleetKind for ManagedClusterSetBinding {
    const SELECTOR: KindSelector = KindSelector::All;

    fn see(fleet: &mut Fleet, namespace: &str, name: &str, object: Option<&Self>) -> Change {
        fleet.set_binding(namespace, name, object.is_some())
    }
}

impl FleetKind for ConfigMap {
    const SELECTOR: KindSelector = KindSelector::WithLabel(FREEZE_CALENDAR_LABEL);

    fn see(fleet: &mut Fleet, namespace: &str, name: &str, object: Option<&Self>) -> Change {
        let texts = object.map(|map| map.data.clone().unwrap_or_default());
        fleet.set_calendar(namespace, name, texts)
    }
}

impl FleetKind for ManagedClustersUpgradeRecord {
    const SELECTOR: KindSelector = KindSelector::WithLabel(UPGRADE_UID_LABEL);

    fn see(fleet: &mut Fleet, namespace: &str, name: &str, object: Option<&Self>) -> Change {
        fleet.set_record(namespace, name, object.and_then(record::digest))
    }
}

impl FleetKind for UpgradeRiskAcceptance {
    // Acceptances belong to the users, who do not label them for us.
    const SELECTOR: KindSelector = KindSelector::All;

    fn see(fleet: &mut Fleet, namespace: &str, name: &str, object: Option<&Self>) -> Change {
        fleet.set_acceptance(namespace, name, object.map(acceptance::digest))
    }
}
