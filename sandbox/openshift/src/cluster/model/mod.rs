//! The model of one OpenShift cluster, without I/O: state and seeded durations; what is read and the time go in, what is
//! to be written and the next moment of interest come out.

mod agenda;
mod blocker;
mod condition;
mod duration;
mod history;
mod injection;
mod job;
mod machine_api;
mod machines;
mod node;
mod operator;
mod operators;
mod pool;
mod precondition;
mod progress;
mod release;
mod shape;
mod task_graph;
mod update;
mod version_operator;
mod write;

pub use blocker::BLOCKS_DRAIN;
pub use job::{JobKey, JobSpec, PodKey};
pub use machine_api::{FAILS, MachineSetSpec, MachineSpec};
pub use pool::MaxUnavailable;
pub use release::{ChannelRelease, channel_releases, release_image};
pub use shape::Shape;
pub use version_operator::{DesiredUpdate, VersionSpec};
pub use write::{Change, Kind, ObjectRef, Write};
use write::{Part, Written};

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Fault;
use agenda::{Agenda, Event};
use blocker::Blocker;
use duration::Durations;
use job::{JobEvent, Jobs};
use machine_api::MachineApi;
use node::Node;
use operator::Operator;
use pool::Pool;
use version_operator::VersionOperator;

/// Something that was read from the cluster's API server.
#[derive(Clone, Debug)]
pub enum Input {
    /// ClusterVersion `version`.
    Version(VersionSpec),
    /// A MachineConfigPool: its name, its generation, and what a person may set of it.
    Pool {
        /// `metadata.name`.
        name: String,
        /// `metadata.generation`.
        generation: i64,
        /// `spec.paused`.
        paused: bool,
        /// `spec.maxUnavailable`.
        max_unavailable: MaxUnavailable,
    },
    /// A Job is there, or has changed.
    Job(JobSpec),
    /// A Job is gone.
    JobGone(JobKey),
    /// A MachineSet is there, or has changed.
    MachineSet(MachineSetSpec),
    /// The MachineSet of this name is gone.
    MachineSetGone(String),
    /// A Machine is there, or has changed.
    Machine(MachineSpec),
    /// The Machine of this name is gone.
    MachineGone(String),
    /// The pod that blocks a drain is to end at once.
    BlockerKilled,
    /// The pod that blocks a drain is gone.
    BlockerGone,
    /// The program of a pod has ended; whether it succeeded.
    ProgramEnded(PodKey, bool),
}

/// The state of a cluster.
#[derive(Debug)]
pub struct Model {
    durations: Durations,
    faults: BTreeSet<Fault>,
    agenda: Agenda,
    version: VersionOperator,
    operators: Vec<Operator>,
    nodes: Vec<Node>,
    pools: [Pool; 2],
    jobs: Jobs,
    machine_api: MachineApi,
    blocker: Blocker,
    reachable: bool,
    /// What was written last, so that only changes are written.
    written: BTreeMap<(ObjectRef, Part), Written>,
    /// Nodes that a failure mode keeps in their stage.
    held_nodes: BTreeSet<usize>,
    /// What may have another status than the one that was written.
    changed_nodes: BTreeSet<usize>,
    changed_operators: BTreeSet<usize>,
    pools_changed: bool,
}

impl Model {
    /// Takes in what was read.
    pub fn observe(&mut self, input: Input, now: Timestamp) {
        match input {
            Input::Version(spec) => self.take_spec(spec, now),
            Input::Pool {
                name,
                generation,
                paused,
                max_unavailable,
            } => {
                if let Some(pool) = self.pools.iter_mut().find(|pool| pool.name == name) {
                    pool.generation = generation;
                    pool.paused = paused;
                    pool.max_unavailable = max_unavailable;
                    self.pools_changed = true;
                    self.agenda.enter(now, Event::PoolsDue);
                }
            }
            Input::Job(spec) => self.jobs.seen(spec, now, self.durations, &mut self.agenda),
            Input::BlockerKilled => self.kill_blocker(),
            Input::BlockerGone => self.blocker_gone(now),
            Input::MachineSet(set) => self.machine_set_seen(set, now),
            Input::MachineSetGone(name) => self.machine_set_gone(&name),
            Input::Machine(machine) => self.machine_seen(&machine, now),
            Input::MachineGone(name) => self.machine_gone(&name, now),
            Input::ProgramEnded(pod, succeeded) if self.jobs.has(&pod) => {
                let event = JobEvent::PodEnds {
                    number: pod.number,
                    succeeded,
                };
                self.agenda.enter(now, Event::Job(pod.job, event));
            }
            Input::ProgramEnded(..) => {}
            Input::JobGone(key) => {
                self.jobs.gone(&key);
                self.forget(ObjectRef {
                    kind: Kind::Job,
                    namespace: key.namespace,
                    name: key.name,
                });
            }
        }
    }

    /// Pods whose programs are to be started now.
    pub fn take_to_run(&mut self) -> Vec<PodKey> {
        self.jobs.take_to_run()
    }

    /// The next moment at which something happens by itself.
    pub fn next(&self) -> Option<Timestamp> {
        self.agenda.next()
    }

    /// Whether the control plane can be reached (F15).
    pub fn is_reachable(&self) -> bool {
        self.reachable
    }

    /// Lets everything happen that is due, and says what is to be written.
    pub fn run(&mut self, now: Timestamp) -> Vec<Write> {
        while let Some((at, event)) = self.agenda.pop(now) {
            // Dated when it happened, even if it is looked at later.
            self.happen(&event, at);
        }
        self.writes(now)
    }

    fn happen(&mut self, event: &Event, now: Timestamp) {
        match event {
            Event::PayloadRetrieved { candidate } => self.payload_retrieved(*candidate, now),
            Event::SelfReplaced { sync } => self.self_replaced(*sync, now),
            Event::LevelApplied { sync, level } => self.level_applied(*sync, *level, now),
            Event::RolledOut { operator } => self.rolled_out(*operator, now),
            Event::Deadline | Event::StatusDue => {}
            Event::PoolsDue => self.select_nodes(now),
            Event::NodeMoves { node } => self.node_moves(*node, now),
            Event::DrainGivesUp { node } => self.drain_gives_up(*node, now),
            Event::MachineMoves { machine } => self.machine_moves(machine, now),
            Event::FaultShows(fault) => self.fault_shows(*fault, now),
            Event::FaultHeals(fault) => self.fault_heals(*fault, now),
            Event::Job(key, event) => self
                .jobs
                .happen(key, event, now, self.durations, &mut self.agenda),
        }
    }

    /// Whether the cluster has a failure mode.
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}
