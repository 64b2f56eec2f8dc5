//! What a test environment consists of.

use std::collections::{BTreeMap, BTreeSet};

use semver::Version;

use openshift_sandbox::cluster::{Fault, Programs, Shape};

/// One simulated cluster of a test environment.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// The ManagedCluster's name, which is also the name of its namespace on the hub and its label `name`.
    pub name: String,
    /// The release that the cluster runs at the start.
    pub version: Version,
    /// The update channel that its ClusterVersion names at the start.
    pub channel: String,
    /// Further labels of the ManagedCluster.
    pub labels: BTreeMap<String, String>,
    /// Whether the add-on `drydock-agent` is Available: the hub then upgrades through an UpgradeConfig. Somebody has to
    /// run `drydock_agent::run` on the spoke; the test environment only prepares it.
    pub agent: bool,
    /// What goes wrong; it lies in wait until an update comes to the point where it shows.
    pub faults: BTreeSet<Fault>,
    /// How many nodes the control plane has.
    pub masters: usize,
    /// How many nodes the worker pool has.
    pub workers: usize,
}

impl ClusterSettings {
    /// A healthy cluster of three masters and three workers without the agent.
    pub fn new(name: impl Into<String>, version: Version, channel: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version,
            channel: channel.into(),
            labels: BTreeMap::new(),
            agent: false,
            faults: BTreeSet::new(),
            masters: 3,
            workers: 3,
        }
    }

    /// What the cluster is installed as.
    pub(super) fn shape(&self, seed: u64) -> Shape {
        Shape {
            name: self.name.clone(),
            seed,
            version: self.version.clone(),
            channel: self.channel.clone(),
            masters: self.masters,
            workers: self.workers,
            faults: self.faults.clone(),
        }
    }
}

/// A test environment: one hub and its clusters.
#[derive(Clone, Debug)]
pub struct TestEnvSettings {
    /// From which every duration, uid and choice comes.
    pub seed: u64,
    /// The clusters, whose names must differ.
    pub clusters: Vec<ClusterSettings>,
    /// The ManagedClusterSet of all clusters.
    pub cluster_set: String,
    /// The namespace in which the set is bound, for the user's ManagedClustersUpgrade and its own placements.
    pub namespace: String,
    /// The Placement that selects the whole set: its namespace and name; the set is bound there, too.
    pub placement: Option<(String, String)>,
    /// Programs that the clusters' pods really run.
    pub programs: Programs,
}

impl TestEnvSettings {
    /// The demo's test environment: clusters `dev1` to `dev<count>` in set `dev` on 4.14.9, bound in namespace `default`, and the
    /// Placement `dev/dev-clusters`; every third cluster has the agent.
    pub fn demo(count: usize, seed: u64) -> Self {
        let cluster = |number: usize| ClusterSettings {
            agent: number.is_multiple_of(3),
            ..ClusterSettings::new(format!("dev{number}"), Version::new(4, 14, 9), "stable-4.14")
        };
        Self {
            seed,
            clusters: (1..=count).map(cluster).collect(),
            cluster_set: "dev".to_owned(),
            namespace: "default".to_owned(),
            placement: Some(("dev".to_owned(), "dev-clusters".to_owned())),
            programs: Programs::default(),
        }
    }
}
