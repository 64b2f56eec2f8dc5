//! A cluster as it is installed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::agenda::Agenda;
use super::blocker::Blocker;
use super::duration::Durations;
use super::job::Jobs;
use super::machine_api::MachineApi;
use super::node::Node;
use super::operator::Operator;
use super::operators::OPERATORS;
use super::pool::{Pool, rendered};
use super::release::{Release, digest};
use super::version_operator::VersionOperator;
use super::{Fault, Model};

/// What a cluster is installed as.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its name, from which with the seed all its durations come.
    pub name: String,
    /// The seed of the test environment.
    pub seed: u64,
    /// Its release.
    pub version: Version,
    /// Its update channel.
    pub channel: String,
    /// Nodes of the control plane.
    pub masters: usize,
    /// Nodes of the worker pool; without any, the masters are workers, too.
    pub workers: usize,
    /// What goes wrong.
    pub faults: BTreeSet<Fault>,
}

impl Model {
    /// A cluster that was installed half an hour before `now`.
    pub fn installed(shape: &Shape, now: Timestamp) -> Self {
        let durations = Durations::new(shape.seed, &shape.name);
        let release = Release::of(shape.version.clone());
        let born = now - SignedDuration::from_mins(30);
        let kubelet = format!("v{}", release.kubernetes());
        let node = |is_master: bool, index: usize| {
            let pool = if is_master { "master" } else { "worker" };
            let config = rendered(pool, &release);
            let also_worker = is_master && shape.workers == 0;
            Node::installed(is_master, also_worker, index, &config, &kubelet, born, durations)
        };
        let mut nodes: Vec<Node> = (0..shape.masters)
            .map(|index| node(true, index))
            .chain((0..shape.workers).map(|index| node(false, index)))
            .collect();
        let mut pools = ["master", "worker"].map(|name| Pool::installed(name, &release, &nodes, born));
        pools[1].paused = shape.faults.contains(&Fault::PausedPool);
        let machine_api = MachineApi::installed(&shape.name, &mut nodes, durations, born);
        let mut model = Self {
            version: VersionOperator::installed(release.clone(), &shape.channel, cluster_id(shape), born),
            operators: OPERATORS
                .iter()
                .map(|facts| Operator::installed(facts, &release, born))
                .collect(),
            durations,
            faults: shape.faults.clone(),
            agenda: Agenda::default(),
            nodes,
            pools,
            jobs: Jobs::default(),
            machine_api,
            blocker: Blocker::default(),
            reachable: true,
            written: BTreeMap::new(),
            held_nodes: BTreeSet::new(),
            changed_nodes: BTreeSet::new(),
            changed_operators: BTreeSet::new(),
            pools_changed: false,
        };
        model.query_updates(born);
        model
    }
}

/// A UUID of the cluster, the same for each run with the same seed.
fn cluster_id(shape: &Shape) -> String {
    let digits = digest(&format!("cluster {}", shape.seed), &shape.name);
    format!(
        "{}-{}-4{}-8{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..32]
    )
}
