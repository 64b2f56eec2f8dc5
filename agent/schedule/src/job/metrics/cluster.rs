//! The series of OpenShift's ClusterVersion and the machine config pools.

use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use kube::ResourceExt;

use crate::job::{pools, update};
use crate::metrics::{Family, FamilyKind, Sample, number};

/// 1 while the cluster is being upgraded.
pub const CLUSTER_UPGRADING: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_cluster_upgrading",
    help: "1 while the desired update is not completed, or nodes of pools that are not paused are not updated.",
    labels: &[],
};
/// 1 while a pool is being upgraded.
pub const POOLS_UPGRADING: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_machine_config_pools_upgrading",
    help: "1 while nodes of the pool are not updated and it is not paused.",
    labels: &["pool"],
};
/// 1 while a pool is paused.
pub const POOLS_PAUSED: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_machine_config_pools_paused",
    help: "1 while the pool is paused.",
    labels: &["pool"],
};
/// How many machines a pool has.
pub const POOL_MACHINES: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_machine_config_pools_machines",
    help: "How many machines the pool has.",
    labels: &["pool"],
};
/// How many machines of a pool are updated.
pub const POOL_UPDATED_MACHINES: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_machine_config_pools_updated_machines",
    help: "How many machines of the pool are updated.",
    labels: &["pool"],
};

/// The samples of the cluster and its pools.
pub fn of_cluster<'a>(
    cluster: Option<&ClusterVersion>,
    all: impl IntoIterator<Item = &'a MachineConfigPool> + Clone,
) -> Vec<Sample> {
    let mut samples = Vec::new();
    if let Some(cluster) = cluster {
        let upgrading = !update::is_settled(cluster) || all.clone().into_iter().any(is_updating);
        samples.push(Sample::new(&CLUSTER_UPGRADING, &[], number(upgrading)));
    }
    samples.extend(all.into_iter().flat_map(of_pool));
    samples
}

fn is_updating(pool: &MachineConfigPool) -> bool {
    pools::is_outdated(pool) && !pools::is_paused(pool)
}

fn of_pool(pool: &MachineConfigPool) -> Vec<Sample> {
    let name = pool.name_any();
    let of = |family, value| Sample::new(family, &[&name], value);
    let mut samples = vec![
        of(&POOLS_UPGRADING, number(is_updating(pool))),
        of(&POOLS_PAUSED, number(pools::is_paused(pool))),
    ];
    if let Some(status) = &pool.status {
        let count = |count: Option<i64>| count.unwrap_or_default() as f64;
        samples.push(of(&POOL_MACHINES, count(status.machine_count)));
        samples.push(of(&POOL_UPDATED_MACHINES, count(status.updated_machine_count)));
    }
    samples
}
