//! The machine API operator's work: sets keep this many machines, machines become nodes, and nodes go with their machines.

mod machine;
mod machine_set;

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::kinds::MACHINE_API_NAMESPACE;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::agenda::Event;
use super::duration::{Durations, Spread};
use super::node::{Node, NodePlan, Stage, worker_drain};
use super::pool::Pool;
use super::release::digest;
use super::{Change, Kind, Model, ObjectRef, Write};

pub use machine::MachineSpec;
pub(super) use machine::provider_id;
use machine::{Machine, MachineStage};
pub use machine_set::{FAILS, MachineSetSpec};

/// Sets, machines, and what is to be written of them.
#[derive(Debug, Default)]
pub(super) struct MachineApi {
    /// What names of machines begin with.
    infrastructure: String,
    sets: BTreeMap<String, MachineSetSpec>,
    machines: BTreeMap<String, Machine>,
    /// Machines of the installation that their set has not made yet: by set, the machine's name and its node.
    unclaimed: BTreeMap<String, Vec<(String, usize)>>,
    made: u64,
    changed: BTreeSet<String>,
    sets_changed: bool,
    writes: Vec<Write>,
}

impl MachineApi {
    /// The machines behind the nodes of an installation; they get to know their machines.
    pub(super) fn installed(cluster: &str, nodes: &mut [Node], durations: Durations, now: Timestamp) -> Self {
        let suffix = &digest("infrastructure", cluster)[..5];
        let mut api = Self {
            infrastructure: format!("{cluster}-{suffix}"),
            ..Self::default()
        };
        let mut masters = 0;
        for (index, node) in nodes.iter_mut().enumerate() {
            let name = if node.is_master {
                masters += 1;
                format!("{}-master-{}", api.infrastructure, masters - 1)
            } else {
                let set = api.worker_set(&node.zone);
                let name = api.new_name(&set, durations);
                api.unclaimed.entry(set).or_default().push((name.clone(), index));
                name
            };
            if node.is_master {
                let machine = Machine::of_master(&node.zone, index, now);
                api.machines.insert(name.clone(), machine);
                api.changed.insert(name.clone());
            }
            node.machine = Some(name);
        }
        api
    }

    fn worker_set(&self, zone: &str) -> String {
        format!("{}-worker-{zone}", self.infrastructure)
    }

    /// The objects of the installation: the sets, and the masters' machines.
    pub(super) fn objects(&self, nodes: &[Node]) -> Vec<Value> {
        let sets = self.unclaimed.iter().map(|(set, machines)| {
            let zone = machines
                .first()
                .map_or("", |(_, node)| nodes[*node].zone.as_str());
            machine_set::object(&self.infrastructure, set, zone, machines.len())
        });
        let masters = self
            .machines
            .iter()
            .map(|(name, machine)| machine.object(name, &self.infrastructure, None));
        sets.chain(masters).collect()
    }

    fn new_name(&mut self, set: &str, durations: Durations) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        self.made += 1;
        let mut number = durations.number(set, self.made);
        let suffix = (0..5).map(|_| {
            let letter = LETTERS[(number % LETTERS.len() as u64) as usize];
            number /= LETTERS.len() as u64;
            char::from(letter)
        });
        format!("{set}-{}", suffix.collect::<String>())
    }

    fn write(&mut self, kind: Kind, name: &str, change: Change) {
        let object = object_ref(kind, name);
        self.writes.push(Write { object, change });
    }
}

fn object_ref(kind: Kind, name: &str) -> ObjectRef {
    let namespace = match kind {
        Kind::Node => "",
        _ => MACHINE_API_NAMESPACE,
    };
    ObjectRef {
        kind,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl Model {
    /// A set is there, or has changed.
    pub(super) fn machine_set_seen(&mut self, set: MachineSetSpec, now: Timestamp) {
        let name = set.name.clone();
        self.machine_api.sets.insert(name.clone(), set);
        self.machine_api.sets_changed = true;
        self.claim_installed(&name, now);
        self.keep_replicas(&name, now);
    }

    pub(super) fn machine_set_gone(&mut self, name: &str) {
        self.machine_api.sets.remove(name);
        self.forget(object_ref(Kind::MachineSet, name));
    }

    /// The machines that an installed set has from the start.
    fn claim_installed(&mut self, set: &str, now: Timestamp) {
        let api = &mut self.machine_api;
        let Some(spec) = api.sets.get(set).cloned() else {
            return;
        };
        for (name, node) in api.unclaimed.remove(set).unwrap_or_default() {
            let stage = MachineStage::Running { node };
            let machine = Machine::of_set(&spec, stage, now);
            let object = machine.object(&name, &api.infrastructure, Some(&spec));
            api.write(Kind::Machine, &name, Change::Create(object));
            api.machines.insert(name.clone(), machine);
            api.changed.insert(name);
        }
    }

    /// Makes the machines that a set lacks, and deletes those that it has too many.
    fn keep_replicas(&mut self, set: &str, now: Timestamp) {
        let api = &mut self.machine_api;
        let Some(spec) = api.sets.get(set).filter(|spec| !spec.deleting).cloned() else {
            return;
        };
        let mut own: Vec<String> = api
            .machines
            .iter()
            .filter(|(_, machine)| machine.set.as_deref() == Some(set) && !machine.is_leaving())
            .map(|(name, _)| name.clone())
            .collect();
        let mut made = Vec::new();
        for _ in own.len()..spec.replicas {
            let name = api.new_name(set, self.durations);
            let machine = Machine::of_set(&spec, MachineStage::Provisioning, now);
            let object = machine.object(&name, &api.infrastructure, Some(&spec));
            api.write(Kind::Machine, &name, Change::Create(object));
            api.machines.insert(name.clone(), machine);
            api.changed.insert(name.clone());
            made.push(name);
        }
        for name in made {
            self.schedule_machine(&name, now);
        }
        // The ones without a node go first, then the youngest.
        own.sort_by_key(|name| self.machine_api.machines.get(name).map(Machine::worth));
        let surplus = own.len().saturating_sub(spec.replicas);
        for name in own.into_iter().take(surplus) {
            self.machine_api.write(Kind::Machine, &name, Change::Delete);
            self.delete_machine(&name, now);
        }
    }

    /// A machine is there, made by somebody else, or is being deleted.
    pub(super) fn machine_seen(&mut self, spec: &MachineSpec, now: Timestamp) {
        if !self.machine_api.machines.contains_key(&spec.name) {
            if spec.deleting {
                return self.machine_api.let_go(&spec.name);
            }
            let finalizers = json!({"metadata": {"finalizers": [machine::FINALIZER]}});
            let api = &mut self.machine_api;
            api.write(Kind::Machine, &spec.name, Change::Patch(finalizers));
            api.machines
                .insert(spec.name.clone(), Machine::made_by_hand(spec, now));
            api.changed.insert(spec.name.clone());
            return self.schedule_machine(&spec.name, now);
        }
        if spec.deleting {
            self.delete_machine(&spec.name, now);
        }
    }

    pub(super) fn machine_gone(&mut self, name: &str, now: Timestamp) {
        self.forget(object_ref(Kind::Machine, name));
        let Some(machine) = self.machine_api.machines.remove(name) else {
            return;
        };
        if let Some(node) = machine.node() {
            self.remove_node(node);
        }
        self.machine_api.sets_changed = true;
        if let Some(set) = machine.set {
            self.keep_replicas(&set, now);
        }
    }

    fn schedule_machine(&mut self, name: &str, now: Timestamp) {
        let Some(machine) = self.machine_api.machines.get(name) else {
            return;
        };
        let index = self.durations.number(name, 0);
        let (purpose, spread) = match machine.stage {
            MachineStage::Provisioning => ("machine-provisioning", Spread::seconds(40.0)),
            MachineStage::Provisioned => ("machine-boot", Spread::minutes(4.0)),
            MachineStage::Draining { .. } => {
                let kind = self.durations.fraction("drain-kind", index);
                ("machine-drain", worker_drain(kind))
            }
            MachineStage::Terminating => ("machine-termination", Spread::seconds(50.0)),
            MachineStage::Running { .. } | MachineStage::Failed => return,
        };
        let wait = self.durations.sample(purpose, index, spread);
        let machine = name.to_owned();
        self.agenda.enter(now + wait, Event::MachineMoves { machine });
    }

    /// A machine has come to the end of its stage.
    pub(super) fn machine_moves(&mut self, name: &str, now: Timestamp) {
        let api = &mut self.machine_api;
        let Some(machine) = api.machines.get_mut(name) else {
            return;
        };
        machine.updated = now;
        api.changed.insert(name.to_owned());
        api.sets_changed = true;
        match machine.stage {
            MachineStage::Provisioning if machine.fails => machine.stage = MachineStage::Failed,
            MachineStage::Provisioning => machine.stage = MachineStage::Provisioned,
            MachineStage::Provisioned => self.join_node(name, now),
            MachineStage::Draining { node } => {
                machine.stage = MachineStage::Terminating;
                self.remove_node(node);
            }
            MachineStage::Terminating => api.let_go(name),
            MachineStage::Running { .. } | MachineStage::Failed => {}
        }
        self.schedule_machine(name, now);
    }

    fn join_node(&mut self, name: &str, now: Timestamp) {
        let index = self.nodes.len();
        let Some(machine) = self.machine_api.machines.get_mut(name) else {
            return;
        };
        machine.stage = MachineStage::Running { node: index };
        let worker_pool: &Pool = &self.pools[1];
        let kubelet = format!("v{}", self.version.release.kubernetes());
        let node = Node::joined(
            &NodePlan {
                machine: name,
                zone: &machine.zone,
                labels: &machine.node_labels,
                config: &worker_pool.target,
                kubelet: &kubelet,
                now,
            },
            index,
            self.durations,
        );
        let object = node.object();
        self.machine_api
            .write(Kind::Node, &node.name, Change::Create(object));
        self.nodes.push(node);
        self.changed_nodes.insert(index);
        self.agenda.enter(now, Event::PoolsDue);
    }

    fn delete_machine(&mut self, name: &str, now: Timestamp) {
        let api = &mut self.machine_api;
        let Some(machine) = api.machines.get_mut(name).filter(|machine| !machine.is_leaving()) else {
            return;
        };
        machine.updated = now;
        machine.stage = match machine.stage {
            MachineStage::Running { node } => {
                self.nodes[node].cordon(now);
                self.changed_nodes.insert(node);
                MachineStage::Draining { node }
            }
            _ => MachineStage::Terminating,
        };
        api.changed.insert(name.to_owned());
        api.sets_changed = true;
        self.schedule_machine(name, now);
    }

    fn remove_node(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if node.stage == Stage::Gone {
            return;
        }
        node.stage = Stage::Gone;
        let object = object_ref(Kind::Node, &node.name);
        self.changed_nodes.insert(index);
        self.machine_api.writes.push(Write {
            object: object.clone(),
            change: Change::Delete,
        });
        self.forget(object);
    }

    /// The writes of sets, machines, and nodes that come and go.
    pub(super) fn machine_writes(&mut self) -> Vec<Write> {
        let mut writes = std::mem::take(&mut self.machine_api.writes);
        for name in std::mem::take(&mut self.machine_api.changed) {
            let Some(machine) = self.machine_api.machines.get(&name) else {
                continue;
            };
            let status = machine.status(&name, machine.node().map(|node| self.nodes[node].name.as_str()));
            writes.extend(self.changed(object_ref(Kind::Machine, &name), status));
        }
        if std::mem::take(&mut self.machine_api.sets_changed) {
            let api = &self.machine_api;
            let statuses: Vec<(String, Value)> = api
                .sets
                .values()
                .map(|set| (set.name.clone(), set.status(&api.machines, &self.nodes)))
                .collect();
            for (name, status) in statuses {
                writes.extend(self.changed(object_ref(Kind::MachineSet, &name), status));
            }
        }
        writes
    }
}

impl MachineApi {
    /// Takes the finalizer away, so that the deletion takes place.
    fn let_go(&mut self, name: &str) {
        let none = json!({"metadata": {"finalizers": null}});
        self.write(Kind::Machine, name, Change::Patch(none));
    }
}
