//! The rights that are asked for.

use k8s_openapi::api::authorization::v1::ResourceAttributes;

const OCM: &str = "cluster.open-cluster-management.io";

/// A right of RBAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    /// The verb.
    pub verb: &'static str,
    group: &'static str,
    /// The kind, as RBAC names it.
    pub resource: &'static str,
}

impl Right {
    pub const LIST_UPGRADES: Self = Self::new("list", OCM, "managedclustersupgrades");
    pub const LIST_CLUSTERS: Self = Self::new("list", OCM, "managedclusters");
    pub const LIST_RECORDS: Self = Self::new("list", OCM, "managedclustersupgraderecords");
    pub const LIST_ACCEPTANCES: Self = Self::new("list", OCM, "upgraderiskacceptances");
    pub const LIST_PLACEMENTS: Self = Self::new("list", OCM, "placements");
    pub const LIST_DECISIONS: Self = Self::new("list", OCM, "placementdecisions");
    pub const LIST_EVENTS: Self = Self::new("list", "", "events");
    pub const PATCH_UPGRADES: Self = Self::new("patch", OCM, "managedclustersupgrades");
    pub const CREATE_ACCEPTANCES: Self = Self::new("create", OCM, "upgraderiskacceptances");

    /// What pages read when somebody looks at it. The others are in the scope of a user, or asked when something is written.
    pub const READ_ON_DEMAND: [Self; 3] = [Self::LIST_RECORDS, Self::LIST_ACCEPTANCES, Self::LIST_EVENTS];

    const fn new(verb: &'static str, group: &'static str, resource: &'static str) -> Self {
        Self {
            verb,
            group,
            resource,
        }
    }

    /// In a namespace, or in all of them.
    pub fn attributes(self, namespace: Option<&str>) -> ResourceAttributes {
        ResourceAttributes {
            verb: Some(self.verb.to_owned()),
            group: Some(self.group.to_owned()),
            resource: Some(self.resource.to_owned()),
            namespace: namespace.map(str::to_owned),
            ..ResourceAttributes::default()
        }
    }
}
