//! Is there room for the pods of nodes that are drained? Requests of pods against what nodes have, as the scheduler counts (insights.md,
//! section 5, pre-check CapacityReservation).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

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

const CPU: &str = "cpu";
const MEMORY: &str = "memory";
/// How many pods a node takes.
const PODS: &str = "pods";

/// Amounts of resources by name, in thousandths: processors, memory, pods, and what nodes have beside (`nvidia.com/gpu`, `hugepages-2Mi`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources(BTreeMap<Box<str>, u128>);

impl Resources {
    /// What a node has to give; nothing if it does not say.
    fn of_node(node: &Node) -> Option<Self> {
        let has = Self::listed(node.status.as_ref()?.allocatable.as_ref());
        let is_known = [CPU, MEMORY].iter().all(|name| has.0.contains_key(*name));
        is_known.then_some(has)
    }

    fn requested(of: Option<&ResourceRequirements>) -> Self {
        Self::listed(of.and_then(|of| of.requests.as_ref()))
    }

    fn listed(quantities: Option<&BTreeMap<String, Quantity>>) -> Self {
        let listed = quantities.into_iter().flatten();
        let read = listed.filter_map(|(name, quantity)| {
            let amount = quantity::thousandths(&quantity.0)?;
            Some((Box::from(name.as_str()), amount))
        });
        Self(read.collect())
    }

    fn amount(&self, name: &str) -> u128 {
        self.0.get(name).copied().unwrap_or_default()
    }

    fn add(&mut self, other: &Self) {
        self.change(other, u128::saturating_add);
    }

    fn at_least(&mut self, other: &Self) {
        self.change(other, u128::max);
    }

    fn change(&mut self, other: &Self, change: impl Fn(u128, u128) -> u128) {
        for (name, amount) in &other.0 {
            let changed = change(self.amount(name), *amount);
            self.0.insert(name.clone(), changed);
        }
    }
}

/// What the pods of each node ask for, added up pod by pod, so that not all of them are in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLoads(BTreeMap<String, Load>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        load.all.add(&asked);
        if !stays(pod) {
            load.moving.add(&asked);
        }
    }

    fn of(&self, node: &str) -> Load {
        self.0.get(node).cloned().unwrap_or_default()
    }
}

/// What a pod asks for, as the scheduler counts it: those that initialize run one after the other and before the others, but for sidecars, which
/// stay. What is asked for the pod as a whole counts instead; what the pod itself costs comes on top.
fn asked(spec: &PodSpec) -> Resources {
    let of = |container: &Container| Resources::requested(container.resources.as_ref());
    let mut sidecars = Resources::default();
    let mut first = Resources::default();
    for container in spec.init_containers.iter().flatten() {
        let mut at_once = sidecars.clone();
        at_once.add(&of(container));
        first.at_least(&at_once);
        if container.restart_policy.as_deref() == Some("Always") {
            sidecars = at_once;
        }
    }
    let mut asked = sidecars;
    spec.containers
        .iter()
        .for_each(|container| asked.add(&of(container)));
    asked.at_least(&first);
    asked.0.extend(Resources::requested(spec.resources.as_ref()).0);
    asked.add(&Resources::listed(spec.overhead.as_ref()));
    asked.0.insert(PODS.into(), 1000);
    asked
}

pub(super) fn findings(
    nodes: &[Node],
    pools: &[MachineConfigPool],
    loads: &NodeLoads,
    now: Timestamp,
) -> Vec<Finding> {
    let by_pool = sort_into_pools(pools, nodes);
    // In a compact cluster the control plane's nodes are the only ones, and take the pods of each other.
    let has_workers = by_pool.keys().any(|pool| pool != MASTER);
    let is_looked_at = |pool: &&MachineConfigPool| {
        let name = pool.name_any();
        name != MASTER || (!has_workers && by_pool.get(&name).is_some_and(|nodes| nodes.len() > 1))
    };
    let drafts = pools.iter().filter(is_looked_at).filter_map(|pool| {
        let nodes = by_pool.get(&pool.name_any())?;
        let at_a_time = max_unavailable(pool.spec.max_unavailable().as_ref(), nodes.len());
        short(&pool.name_any(), nodes, loads, at_a_time)
    });
    drafts.map(|draft| draft.finding(now)).collect()
}

/// Is there no room for the pods of the fullest nodes on the others of the pool? Where no node says what it has, nothing is known; one that does
/// not has nothing to give. Each resource is looked at by itself: nodes that are full of one may not be of another.
fn short(pool: &str, nodes: &[&Node], loads: &NodeLoads, at_a_time: usize) -> Option<Draft> {
    let nodes: Vec<Fullness> = nodes.iter().map(|node| Fullness::of(node, loads)).collect();
    let names: BTreeSet<&str> = nodes
        .iter()
        .flat_map(|node| node.has.0.keys())
        .map(|name| &**name)
        .collect();
    let drained = at_a_time.min(nodes.len());
    let rooms = names.into_iter().map(|name| Room::of(name, &nodes, drained));
    let (of_all, mut of_some): (Vec<_>, Vec<_>) =
        rooms.partition(|room| [CPU, MEMORY].contains(&room.resource));
    of_some.retain(Room::is_short);
    let rooms = [of_all, of_some].concat();
    rooms
        .iter()
        .any(Room::is_short)
        .then(|| draft(pool, &rooms, drained))
}

/// What a node has, and what of it is taken.
struct Fullness {
    /// Nothing, if it does not say.
    has: Resources,
    load: Load,
    is_open: bool,
}

impl Fullness {
    fn of(node: &Node, loads: &NodeLoads) -> Self {
        let spec = node.spec.as_ref();
        Self {
            has: Resources::of_node(node).unwrap_or_default(),
            load: loads.of(&node.name_any()),
            is_open: spec.is_none_or(|spec| spec.unschedulable != Some(true)),
        }
    }
}

/// How much of a resource the pods of drained nodes ask for, and how much the other nodes have free.
#[derive(Clone, Copy)]
struct Room<'a> {
    resource: &'a str,
    moving: u128,
    free: u128,
}

impl<'a> Room<'a> {
    /// The room if those nodes are drained that are fullest of the resource.
    fn of(resource: &'a str, nodes: &[Fullness], drained: usize) -> Self {
        let mut nodes: Vec<&Fullness> = nodes.iter().collect();
        nodes.sort_by_key(|node| Reverse(node.load.moving.amount(resource)));
        let (drained, others) = nodes.split_at(drained);
        let moving = drained.iter().map(|node| node.load.moving.amount(resource));
        let open = others.iter().filter(|node| node.is_open);
        let free = open.map(|node| {
            let taken = node.load.all.amount(resource);
            node.has.amount(resource).saturating_sub(taken)
        });
        Self {
            resource,
            moving: moving.fold(0, u128::saturating_add),
            free: free.fold(0, u128::saturating_add),
        }
    }

    fn is_short(&self) -> bool {
        self.moving > self.free
    }

    fn words(&self, amount: u128) -> String {
        const MEBIBYTE: u128 = 1000 << 20;
        match self.resource {
            CPU => format!("{amount}m CPU"),
            MEMORY => format!("{}Mi memory", amount / MEBIBYTE),
            other => format!("{} {other}", amount / 1000),
        }
    }
}

fn draft(pool: &str, rooms: &[Room<'_>], drained: usize) -> Draft {
    let words = |amount: fn(&Room<'_>) -> u128| {
        let words: Vec<_> = rooms.iter().map(|room| room.words(amount(room))).collect();
        match words.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => words.concat(),
        }
    };
    Draft {
        uid: "capacity-short",
        level: Level::Warning,
        impact_type: ImpactType::ClusterCapacity,
        summary: format!("Pool {pool} has no room for the pods of nodes that are drained"),
        description: format!(
            "Nodes drained at a time: {drained}. Their pods ask for {}; the other nodes of the pool have {} free.",
            words(|room| room.moving),
            words(|room| room.free)
        ),
        action: format!("Add a node to pool {pool}, or remove pods, before the update"),
        verify: "kubectl get nodes -o custom-columns=NAME:.metadata.name,CPU:.status.allocatable.cpu,MEMORY:.status.allocatable.memory".to_owned(),
        reference: None,
        resources: vec![object("machineconfiguration.openshift.io", "MachineConfigPool", pool)],
    }
}
