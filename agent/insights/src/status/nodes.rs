//! The nodes of an update (insights.md, section 2.5, the table of nodes).

use drydock_api::conditions::{AnyCondition, find};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::MachineConfigPool;
use drydock_api::openshift::machine_config_pool::PoolConfiguration;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use serde::Serialize;

use super::availability::Availability;
use super::keys::{self, annotation};
use super::node_state::{NodeAssessment, NodeEstimate, NodePhase};
use crate::facts::ConfigVersions;
use crate::insight::{Insight, Resource, Scope};
use crate::times;

/// Where to read what to do.
const REFERENCE: &str = "https://docs.openshift.com/container-platform/latest/post_installation_configuration/machine-configuration-tasks.html#understanding-the-machine-config-operator";
/// The condition of a pool all of whose nodes have its configuration.
const POOL_UPDATED: &str = "Updated";
/// Names that are shorter may be a part of other words.
const LONG_NAME: usize = 8;

/// How a node proceeds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Its name.
    pub name: String,
    /// How it is.
    pub assessment: NodeAssessment,
    /// Where it is.
    pub phase: NodePhase,
    /// The release that it has; nothing if that is not known.
    pub version: Option<String>,
    /// How much longer it takes.
    pub estimate: NodeEstimate,
    /// Why it is not well.
    pub message: String,
    /// Whether it is not available.
    pub is_unavailable: bool,
    /// Whether its daemon has failed.
    pub is_degraded: bool,
    /// Whether it is being updated.
    pub is_updating: bool,
    /// Whether it is updated.
    pub is_updated: bool,
}

/// What nodes are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The release of the present update; nothing if there was none.
    pub version: Option<&'a str>,
    /// By which release MachineConfigs were rendered; nothing if that could not be read, so that only their names tell.
    pub configs: Option<&'a ConfigVersions>,
    /// Whether the operator of pools has come to that release: before, a configuration that a pool had when the update began may be of the
    /// release before.
    pub has_pools_operator: bool,
    /// When the present update began, if that is known.
    pub started: Option<Timestamp>,
    /// Whether only the architecture changes, so that versions do not tell.
    pub is_multi_arch_migration: bool,
    /// The moment that is looked at.
    pub now: Timestamp,
}

/// How a node of a pool proceeds, and what matters of it.
pub fn assess(node: &Node, pool: &MachineConfigPool, target: Target<'_>) -> (NodeStatus, Vec<Insight>) {
    let name = node.name_any();
    let progress = Progress::of(node, pool, target);
    let availability = Availability::of(node, pool);
    let is_degraded = is_degraded(node);
    let is_stuck = availability.is_unavailable() && !progress.is_updating;
    let phase = progress.phase(node, pool);
    let (assessment, message) = if is_degraded {
        (
            NodeAssessment::Degraded,
            annotation(node, keys::REASON).to_owned(),
        )
    } else if is_stuck {
        (NodeAssessment::Unavailable, availability.reasons())
    } else {
        (phase.assessment(), String::new())
    };
    let estimate = match (is_degraded || is_stuck, progress.is_updated) {
        (true, true) => NodeEstimate::None,
        (true, false) => NodeEstimate::Unknown,
        (false, _) => phase.estimate(),
    };
    let mut insights = Vec::new();
    if is_stuck && availability.is_serious(target.now) {
        insights.push(Insight {
            started_at: availability.since(),
            level: Level::Warning,
            impact: ImpactType::UpdateSpeed,
            summary: availability.summary(&name),
            description: availability.description(),
            ..template(&name, pool)
        });
    }
    if is_degraded {
        insights.push(Insight {
            summary: format!("Node {name} is degraded"),
            description: message.clone(),
            ..template(&name, pool)
        });
    }
    let status = NodeStatus {
        assessment,
        phase,
        version: progress.version,
        estimate,
        message: without_name(&message, &name),
        is_unavailable: availability.is_unavailable(),
        is_degraded,
        is_updating: progress.is_updating,
        is_updated: progress.is_updated,
        name,
    };
    (status, insights)
}

/// How far a node is.
struct Progress {
    version: Option<String>,
    is_updated: bool,
    is_updating: bool,
}

impl Progress {
    fn of(node: &Node, pool: &MachineConfigPool, target: Target<'_>) -> Self {
        let current = annotation(node, keys::CURRENT_CONFIG);
        let desired = annotation(node, keys::DESIRED_CONFIG);
        let has_desired = current == desired;
        let is_latest = desired == pool_config(pool);
        let Some(configs) = target.configs else {
            let is_of_update = target.has_pools_operator || has_new_config(pool, target.started);
            return Self {
                version: None,
                is_updated: is_of_update && has_desired && is_latest,
                is_updating: is_of_update && !has_desired && is_latest,
            };
        };
        let current_version = configs.of(current);
        let is_of_update = |version: Option<&str>| version.is_some() && version == target.version;
        let tells_by_config =
            target.is_multi_arch_migration && node.annotations().contains_key(keys::DESIRED_CONFIG);
        let is_updated = is_of_update(current_version) && (!tells_by_config || (has_desired && is_latest));
        let is_updating = !is_updated
            && current_version.is_some()
            && is_of_update(configs.of(desired))
            && !has_desired
            && is_latest;
        Self {
            version: current_version.map(str::to_owned),
            is_updated,
            is_updating,
        }
    }

    fn phase(&self, node: &Node, pool: &MachineConfigPool) -> NodePhase {
        if self.is_updating {
            return match annotation(node, keys::STATE) {
                _ if is_draining(node) => NodePhase::Draining,
                keys::REBOOTING => NodePhase::Rebooting,
                keys::DONE => NodePhase::Updated,
                _ => NodePhase::Updating,
            };
        }
        if self.is_updated {
            NodePhase::Updated
        } else if pool.spec.paused == Some(true) {
            NodePhase::Paused
        } else {
            NodePhase::Pending
        }
    }
}

/// The MachineConfig that the nodes of a pool should have.
fn pool_config(pool: &MachineConfigPool) -> &str {
    config_name(pool.spec.configuration.as_ref())
}

fn config_name(config: Option<&PoolConfiguration>) -> &str {
    config
        .and_then(|config| config.name.as_deref())
        .unwrap_or_default()
}

/// Whether a pool's configuration is newer than the update, as far as the pool tells: its nodes have not all come to it yet, or have since. The
/// operator comes to the release only when the pool of the control plane has. A pool that was made since the update began has come to its first
/// configuration, which may be of the release before.
fn has_new_config(pool: &MachineConfigPool, started: Option<Timestamp>) -> bool {
    let Some(status) = &pool.status else {
        return false;
    };
    let before = config_name(status.configuration.as_ref());
    let is_under_way = !before.is_empty() && before != pool_config(pool);
    let updated = find(&status.conditions, POOL_UPDATED).filter(|updated| updated.is_true());
    let updated = updated.and_then(times::transition);
    let is_older = |started| {
        pool.creation_timestamp()
            .is_none_or(|created| created.0 <= started)
    };
    is_under_way
        || started
            .is_some_and(|started| is_older(started) && updated.is_some_and(|updated| updated > started))
}

/// Whether a node has not got yet what it is to get: then it is not available for a while.
pub fn is_being_updated(node: &Node) -> bool {
    annotation(node, keys::CURRENT_CONFIG) != annotation(node, keys::DESIRED_CONFIG) || is_drain_wanted(node)
}

/// Whether a node is drained, whatever for.
pub fn is_drain_wanted(node: &Node) -> bool {
    let (desired, last) = (
        annotation(node, keys::DESIRED_DRAIN),
        annotation(node, keys::LAST_DRAIN),
    );
    desired != last && desired.split('-').next() == Some(keys::DRAIN)
}

/// Whether a node that is being updated is drained. While its daemon has not noticed yet that it has something to do, it is about to be.
fn is_draining(node: &Node) -> bool {
    let (desired, last) = (
        annotation(node, keys::DESIRED_DRAIN),
        annotation(node, keys::LAST_DRAIN),
    );
    if desired.is_empty() || last.is_empty() {
        return false;
    }
    let is_wanted = desired != last && desired.split('-').next() == Some(keys::DRAIN);
    is_wanted || annotation(node, keys::STATE) == keys::DONE
}

/// Whether the daemon of a node has failed.
pub fn is_degraded(node: &Node) -> bool {
    let state = annotation(node, keys::STATE);
    !annotation(node, keys::DESIRED_CONFIG).is_empty()
        && [keys::DEGRADED, keys::UNRECONCILABLE].contains(&state)
}

fn without_name(message: &str, name: &str) -> String {
    if name.len() < LONG_NAME {
        return message.to_owned();
    }
    message.replace(name, "<node>")
}

/// What insights of nodes have in common.
fn template(name: &str, pool: &MachineConfigPool) -> Insight {
    let is_master = pool.name_any() == super::MASTER;
    Insight {
        started_at: None,
        scope: if is_master {
            Scope::ControlPlane
        } else {
            Scope::WorkerPool
        },
        resources: vec![Resource::node(name)],
        level: Level::Error,
        impact: ImpactType::UpdateStalled,
        summary: String::new(),
        description: String::new(),
        reference: REFERENCE.to_owned(),
    }
}
