//! NodeForceDrain: pods are deleted from nodes whose drains take too long (Maintenance schedules, section 4).
//!
//! A drain is known by what the machine-config operator wants of the node, and is forgotten when it is over: one that is abandoned and
//! begun again has its whole time again. The status is written before a pod is deleted, and says since when each drain is observed.

mod drains;
pub mod jq;
pub mod metrics;
mod pods;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use drydock_api::GoDuration;
use drydock_api::conditions::{self, DesiredCondition, FALSE, TRUE};
use drydock_api::fact::{Fact, Unread};
use drydock_api::schedule::{NodeForceDrain, NodeForceDrainSpec, NodeForceDrainStatus};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};

pub use drains::{DRAIN_ANNOTATIONS, is_drained};
pub use pods::{Deletion, PodDeletion};

use crate::instants::{later, whole_seconds};
use crate::selector::Selection;

/// How often the drains are looked at while a node is drained, if nothing else is said.
pub const DEFAULT_RECHECK: SignedDuration = SignedDuration::from_mins(3);
/// When what could not be read is read again.
const RETRY: SignedDuration = SignedDuration::from_mins(1);

/// What a pass has seen.
#[derive(Clone, Debug)]
pub struct DrainObservation {
    /// The NodeForceDrain.
    pub object: NodeForceDrain,
    /// All nodes.
    pub nodes: Fact<Vec<Node>>,
    /// The pods of the nodes that were asked for.
    pub pods: Fact<Vec<Pod>>,
    /// All namespaces.
    pub namespaces: Fact<Vec<Namespace>>,
    /// The UIDs of all DaemonSets.
    pub daemon_sets: Fact<BTreeSet<String>>,
    /// How often the drains are looked at while a node is drained; never, if nothing else is due.
    pub recheck: Option<SignedDuration>,
    /// The time of the pass.
    pub now: Timestamp,
}

impl DrainObservation {
    /// An observation of which nothing but the NodeForceDrain has been read.
    pub fn new(object: NodeForceDrain, now: Timestamp) -> Self {
        Self {
            object,
            nodes: Err(Unread::NotAsked),
            pods: Err(Unread::NotAsked),
            namespaces: Err(Unread::NotAsked),
            daemon_sets: Err(Unread::NotAsked),
            recheck: Some(DEFAULT_RECHECK),
            now,
        }
    }
}

/// Something that is read only when a decision needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DrainNeed {
    /// The nodes.
    Nodes,
    /// The pods of these nodes.
    Pods(BTreeSet<String>),
    /// The namespaces.
    Namespaces,
    /// The UIDs of the DaemonSets.
    DaemonSets,
}

/// What is to be done. The status is written before anything else is.
#[derive(Clone, Debug, PartialEq)]
pub struct DrainDecision {
    /// The status as it should be.
    pub status: NodeForceDrainStatus,
    /// What must be read before the decision counts.
    pub needs: BTreeSet<DrainNeed>,
    /// The pods that are deleted, or killed.
    pub deletions: Vec<PodDeletion>,
    /// When to look again, if nothing changes before. None if no node is drained.
    pub wake: Option<Timestamp>,
}

/// The spec, read.
struct DrainSettings {
    nodes: Selection,
    namespaces: Option<Selection>,
    program: Option<jq::Program>,
    /// After how long pods are deleted; never if it is zero.
    node_grace: SignedDuration,
    /// After how long pods whose deletion hangs are killed; never if it is zero.
    pod_grace: SignedDuration,
}

impl DrainSettings {
    fn read(spec: &NodeForceDrainSpec) -> Result<Self, String> {
        let duration = |path: &str, text: &str| {
            let duration = text.parse::<GoDuration>();
            let duration = duration
                .map_err(|error| format!("spec.{path}: {error}"))?
                .signed();
            if duration.is_negative() {
                return Err(format!("spec.{path}: {text} is negative"));
            }
            Ok(duration)
        };
        let namespaces = spec.namespace_selector.as_ref();
        let namespaces = namespaces.map(Selection::of);
        let program = spec.pod_jq_selector.as_deref();
        let program = program
            .filter(|program| !program.trim().is_empty())
            .map(jq::Program::compile);
        Ok(Self {
            nodes: Selection::of(&spec.node_selector)
                .map_err(|error| format!("spec.nodeSelector: {error}"))?,
            namespaces: namespaces
                .transpose()
                .map_err(|error| format!("spec.namespaceSelector: {error}"))?,
            program: program
                .transpose()
                .map_err(|error| format!("spec.podJQSelector: {error}"))?,
            node_grace: duration("nodeDrainGracePeriod", &spec.node_drain_grace_period)?,
            pod_grace: duration("podForceDeleteGracePeriod", &spec.pod_force_delete_grace_period)?,
        })
    }
}

/// Whether the NodeForceDrain can do its work.
enum Readiness {
    Usable,
    Invalid(String),
    Unreadable(String),
    ProgramFailed(String),
}

/// One decision while it is made.
struct DrainPass<'a> {
    seen: &'a DrainObservation,
    status: NodeForceDrainStatus,
    needs: BTreeSet<DrainNeed>,
    deletions: Vec<PodDeletion>,
    wake: Option<Timestamp>,
    readiness: Readiness,
    steps: jq::StepsLeft,
}

/// Decides.
pub fn decide(seen: &DrainObservation) -> DrainDecision {
    let mut pass = DrainPass {
        seen,
        status: seen.object.status.clone().unwrap_or_default(),
        needs: BTreeSet::new(),
        deletions: Vec::new(),
        wake: None,
        readiness: Readiness::Usable,
        steps: jq::StepsLeft::default(),
    };
    // What is being deleted asks for nothing any more.
    if seen.object.metadata.deletion_timestamp.is_none() {
        match DrainSettings::read(&seen.object.spec) {
            Ok(settings) => advance(&mut pass, &settings),
            Err(problem) => pass.readiness = Readiness::Invalid(problem),
        }
        pass.report();
    }
    DrainDecision {
        status: pass.status,
        needs: pass.needs,
        deletions: pass.deletions,
        wake: pass.wake,
    }
}

fn advance(pass: &mut DrainPass<'_>, settings: &DrainSettings) {
    let seen = pass.seen;
    let Some(nodes) = pass.read(&seen.nodes, DrainNeed::Nodes, "the nodes") else {
        return;
    };
    let overdue = drains::observe(pass, settings, nodes);
    if overdue.is_empty() {
        return;
    }
    let need = DrainNeed::Pods(overdue.clone());
    let Some(all) = pass.read(&seen.pods, need, "the pods") else {
        return;
    };
    pods::delete(pass, settings, &overdue, all);
}

impl<'a> DrainPass<'a> {
    /// A fact; if there is none, the pass asks for it, or says that it cannot be read.
    fn read<T>(&mut self, fact: &'a Fact<T>, need: DrainNeed, what: &str) -> Option<&'a T> {
        match fact {
            Ok(value) => return Some(value),
            Err(Unread::NotAsked) => {
                self.needs.insert(need);
            }
            Err(Unread::Failed(why)) => {
                self.readiness = Readiness::Unreadable(format!("cannot read {what}: {why}"));
            }
        }
        self.wake_after(RETRY);
        None
    }

    /// Is looked at again then, or earlier.
    fn wake_at(&mut self, time: Timestamp) {
        let time = time.max(self.seen.now);
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    fn wake_after(&mut self, time: SignedDuration) {
        self.wake_at(later(self.seen.now, time));
    }

    fn report(&mut self) {
        let generation = self.seen.object.metadata.generation;
        let (status, reason, message) = match &self.readiness {
            Readiness::Usable => (TRUE, "Usable", "the selectors can be used"),
            Readiness::Invalid(why) => (FALSE, "InvalidSpec", why.as_str()),
            Readiness::Unreadable(why) => (FALSE, "Unreadable", why.as_str()),
            Readiness::ProgramFailed(why) => (FALSE, "PodSelectorFailed", why.as_str()),
        };
        let wanted = DesiredCondition {
            type_: "Ready",
            status,
            reason,
            message,
            observed_generation: generation,
        };
        let now = whole_seconds(self.seen.now);
        conditions::set(self.status.conditions.get_or_insert_default(), &wanted, now);
        self.status.observed_generation = generation;
    }
}
