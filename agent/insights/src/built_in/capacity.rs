//! Is there room for the pods of nodes that are drained? Requests of pods against what nodes have, as the scheduler counts (insights.md,
//! section 5, pre-check CapacityReservation).

use std::collections::BTreeMap;
use std::ops::AddAssign;

use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::MachineConfigPool;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Node, Pod, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::ResourceExt;

use super::draft::{Draft, object};
use super::pods::{is_over, stays};
use super::quantity;
use crate::estimate::max_unavailable;
use crate::finding::Finding;
use crate::status::{MASTER, sort_into_pools};

/// Processors in thousandths, and memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resources {
    cpu: u128,
    memory: u128,
}

impl AddAssign for Resources {
    fn add_assign(&mut self, other: Self) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.memory = self.memory.saturating_add(other.memory);
    }
}

impl Resources {
    fn read(quantities: Option<&BTreeMap<String, Quantity>>) -> Option<Self> {
        let read = |name: &str| quantity::thousandths(&quantities?.get(name)?.0);
        Some(Self {
            cpu: read("cpu")?,
            memory: read("memory")? / 1000,
        })
    }

    fn requested(of: Option<&ResourceRequirements>) -> Self {
        Self::listed(of.and_then(|of| of.requests.as_ref()))
    }

    /// What is listed; nothing of what is not.
    fn listed(quantities: Option<&BTreeMap<String, Quantity>>) -> Self {
        let read = |name: &str| quantity::thousandths(&quantities?.get(name)?.0);
        Self {
            cpu: read("cpu").unwrap_or_default(),
            memory: read("memory").unwrap_or_default() / 1000,
        }
    }

    fn without(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(other.cpu),
            memory: self.memory.saturating_sub(other.memory),
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.max(other.cpu),
            memory: self.memory.max(other.memory),
        }
    }
}

/// What the pods of each node ask for, added up pod by pod, so that not all of them are in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLoads(BTreeMap<String, Load>);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Load {
    all: Resources,
    /// Those that go elsewhere when the node is drained.
    moving: Resources,
}

impl NodeLoads {
    /// Counts a pod.
    pub fn add(&mut self, pod: &Pod) {
        let Some(spec) = &pod.spec else {
            return;
        };
        let Some(node) = spec.node_name.as_ref().filter(|_| !is_over(pod)) else {
            return;
        };
        let asked = asked(spec);
        let load = self.0.entry(node.clone()).or_default();
        load.all += asked;
        if !stays(pod) {
            load.moving += asked;
        }
    }

    fn of(&self, node: &str) -> Load {
        self.0.get(node).copied().unwrap_or_default()
    }
}

/// What a pod asks for, as the scheduler counts it: those that initialize run one after the other and before the others, but for sidecars, which
/// stay; what the pod itself costs comes on top.
fn asked(spec: &PodSpec) -> Resources {
    let of = |container: &Container| Resources::requested(container.resources.as_ref());
    let mut sidecars = Resources::default();
    let mut first = Resources::default();
    for container in spec.init_containers.iter().flatten() {
        let mut at_once = sidecars;
        at_once += of(container);
        first = first.max(at_once);
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars = at_once;
        }
    }
    let mut running = sidecars;
    spec.containers
        .iter()
        .for_each(|container| running += of(container));
    let mut asked = running.max(first);
    asked += Resources::listed(spec.overhead.as_ref());
    asked
}

pub(super) fn findings(
    nodes: &[Node],
    pools: &[MachineConfigPool],
    loads: &NodeLoads,
    now: Timestamp,
) -> Vec<Finding> {
    let by_pool = sort_into_pools(pools, nodes);
    let workers = pools.iter().filter(|pool| pool.name_any() != MASTER);
    let drafts = workers.filter_map(|pool| {
        let nodes = by_pool.get(&pool.name_any())?;
        let at_a_time = max_unavailable(pool.spec.max_unavailable().as_ref(), nodes.len());
        short(&pool.name_any(), nodes, loads, at_a_time)
    });
    drafts.map(|draft| draft.finding(now)).collect()
}

/// Is there no room for the pods of the fullest nodes on the others of the pool? Where no node says what it has, nothing is known; one that does
/// not has nothing to give.
fn short(pool: &str, nodes: &[&Node], loads: &NodeLoads, at_a_time: usize) -> Option<Draft> {
    let has = |node: &Node| Resources::read(node.status.as_ref()?.allocatable.as_ref());
    if nodes.iter().all(|node| has(node).is_none()) {
        return None;
    }
    let mut known: Vec<(Load, Resources, bool)> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let has = has(node).unwrap_or_default();
        let load = loads.of(&node.name_any());
        let is_open = node
            .spec
            .as_ref()
            .is_none_or(|spec| spec.unschedulable != Some(true));
        known.push((load, has.without(load.all), is_open));
    }
    known.sort_by_key(|(load, _, _)| std::cmp::Reverse(load.moving));
    let (drained, others) = known.split_at(at_a_time.min(known.len()));
    let mut moving = Resources::default();
    drained.iter().for_each(|(load, _, _)| moving += load.moving);
    let mut free = Resources::default();
    let open = others.iter().filter(|(_, _, is_open)| *is_open);
    open.for_each(|(_, left, _)| free += *left);
    let is_short = moving.cpu > free.cpu || moving.memory > free.memory;
    is_short.then(|| draft(pool, moving, free, drained.len()))
}

fn draft(pool: &str, moving: Resources, free: Resources, drained: usize) -> Draft {
    Draft {
        uid: "capacity-short",
        level: Level::Warning,
        impact_type: ImpactType::ClusterCapacity,
        summary: format!("Pool {pool} has no room for the pods of nodes that are drained"),
        description: format!(
            "Nodes drained at a time: {drained}. Their pods ask for {}; the other nodes of the pool have {} free.",
            words(moving),
            words(free)
        ),
        action: format!("Add a node to pool {pool}, or remove pods, before the update"),
        verify: "kubectl get nodes -o custom-columns=NAME:.metadata.name,CPU:.status.allocatable.cpu,MEMORY:.status.allocatable.memory".to_owned(),
        reference: None,
        resources: vec![object("machineconfiguration.openshift.io", "MachineConfigPool", pool)],
    }
}

fn words(resources: Resources) -> String {
    const MEBIBYTE: u128 = 1 << 20;
    format!(
        "{}m CPU and {}Mi memory",
        resources.cpu,
        resources.memory / MEBIBYTE
    )
}
