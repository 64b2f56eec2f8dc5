//! What decisions look at, read from the objects of the cluster: each fact is a value, or why it could not be read.

mod cluster;
mod target;

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::insights::UpdatePlanState;
use drydock_api::lock::{self, LockKey};
use drydock_api::upgradeconfig::{UnreadyNode, UpgradeConfigSpec, UpgradeType};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use crate::capacity::Capacity;
use crate::command::Command;
use crate::configuration::Configuration;
use crate::drains::{Budget, Drain, ObservedNode, ObservedPod};
use crate::silences::Silence;

pub use cluster::{
    HistoryEntry, LockHolder, ObservedCluster, ObservedPool, PausedBy, ReleaseRef, UnhealthyOperator,
    Workers, cluster, unhealthy, workers,
};
pub use drydock_api::fact::{Fact, Unread};
pub use target::Target;

/// Something that is read only when a decision needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The cluster operators.
    Operators,
    /// The critical alerts that fire.
    Alerts,
    /// What else must be reachable.
    Dependencies,
    /// MachineSets, and the machines and nodes of our copies.
    Capacity,
    /// Our silences.
    Silences,
    /// The nodes.
    Nodes,
    /// The PodDisruptionBudgets.
    Budgets,
    /// The pods of nodes that are drained for long.
    Pods,
    /// The update graph of the channel that is asked for.
    Graph,
    /// The version of the image that is asked for.
    Release,
    /// The provider's policy.
    Policy,
    /// For which version the file-integrity operator was last reinitialized.
    FileIntegrity,
    /// Which critical alerts fired during the upgrade that has ended.
    Result,
    /// What the UpdatePlan of the version says that is asked for.
    UpdatePlan,
    /// All machine config pools.
    Pools,
}

/// What was read because a decision needed it.
#[derive(Clone, Debug)]
pub struct ReadOnDemand {
    /// The operators that are unhealthy.
    pub unhealthy: Fact<Vec<UnhealthyOperator>>,
    /// The critical alerts that fire.
    pub alerts: Fact<BTreeSet<String>>,
    /// What is wrong with what else must be reachable.
    pub dependencies: Fact<Vec<String>>,
    /// MachineSets and extra machines.
    pub capacity: Fact<Capacity>,
    /// Our silences.
    pub silences: Fact<Vec<Silence>>,
    /// All nodes.
    pub nodes: Fact<Vec<ObservedNode>>,
    /// All PodDisruptionBudgets.
    pub budgets: Fact<Vec<Budget>>,
    /// The pods of nodes that are drained for long.
    pub pods: Fact<Vec<ObservedPod>>,
    /// The versions that the update graph leads to from here.
    pub graph: Fact<BTreeSet<String>>,
    /// The version of the image that is asked for.
    pub release: Fact<String>,
    /// What the provider's policy asks for, if there is one.
    pub policy: Fact<Option<UpgradeConfigSpec>>,
    /// The version for which the file-integrity operator was last reinitialized.
    pub file_integrity: Fact<FileIntegrity>,
    /// Which critical alerts fired during the upgrade that has ended.
    pub fired: Fact<BTreeSet<String>>,
    /// What the UpdatePlan of the version says that is asked for.
    pub update_plan: Fact<UpdatePlanState>,
    /// All machine config pools.
    pub pools: Fact<Vec<ObservedPool>>,
}

impl Default for ReadOnDemand {
    fn default() -> Self {
        Self {
            unhealthy: Err(Unread::NotAsked),
            alerts: Err(Unread::NotAsked),
            dependencies: Err(Unread::NotAsked),
            capacity: Err(Unread::NotAsked),
            silences: Err(Unread::NotAsked),
            nodes: Err(Unread::NotAsked),
            budgets: Err(Unread::NotAsked),
            pods: Err(Unread::NotAsked),
            graph: Err(Unread::NotAsked),
            release: Err(Unread::NotAsked),
            policy: Err(Unread::NotAsked),
            file_integrity: Err(Unread::NotAsked),
            fired: Err(Unread::NotAsked),
            update_plan: Err(Unread::NotAsked),
            pools: Err(Unread::NotAsked),
        }
    }
}

/// What there is of the file-integrity operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileIntegrity {
    /// The cluster has none.
    Absent,
    /// It was last reinitialized for this version, if for any.
    ReinitializedFor(Option<String>),
}

/// Which configuration is in force, and whether it is the one that the ConfigMap has.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActiveConfiguration {
    /// The configuration; the defaults where none is known.
    pub configuration: Configuration,
    /// Why it is not what the ConfigMap says.
    pub problem: Option<ConfigurationProblem>,
    /// There is no ConfigMap, and nothing is kept of an earlier one: the defaults are what was meant.
    pub is_absent: bool,
}

/// Why the ConfigMap is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationProblem {
    /// The reason of the condition, in CamelCase.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Whether no good configuration is known at all: nothing may commence then.
    pub is_unknown: bool,
}

/// Who made the UpgradeConfig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// A user, or the hub.
    #[default]
    User,
    /// A policy of OpenShift Cluster Manager.
    Ocm,
}

/// What a pass has seen. What is read on demand is empty at first.
#[derive(Clone, Debug)]
pub struct Observation {
    /// The UpgradeConfig's spec.
    pub spec: UpgradeConfigSpec,
    /// The image for which `spec.desired.version` was found, if it was found for one.
    pub version_of: Option<String>,
    /// Who made the UpgradeConfig.
    pub origin: Origin,
    /// The upgrade of the hub that made it, if one did.
    pub of_upgrade: Option<String>,
    /// The key with which it takes the lock of the cluster.
    pub key: LockKey,
    /// Since when the UpgradeConfig is being deleted, if it is.
    pub deleting_since: Option<Timestamp>,
    /// ClusterVersion.
    pub cluster: Fact<ObservedCluster>,
    /// The pool of the workers; none on a cluster without one.
    pub workers: Fact<Option<Workers>>,
    /// The configuration.
    pub in_force: ActiveConfiguration,
    /// What was read on demand.
    pub seen: ReadOnDemand,
    /// Whether it is time to check the drains.
    pub drain_check_due: bool,
    /// The writes that were refused when they were last tried, and in which words.
    pub refusals: BTreeMap<Write, String>,
    /// The time of the pass.
    pub now: Timestamp,
}

/// A write, as far as its refusal is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Write {
    /// Of the lock of the cluster.
    Lock,
    /// Of ClusterVersion.
    ClusterVersion,
    /// Of the UpgradeConfig's spec or finalizers.
    UpgradeConfig,
    /// Of silences.
    Silence,
    /// Of MachineSets.
    MachineSet,
    /// Of FileIntegrity.
    FileIntegrity,
    /// Of pods.
    Pod,
    /// Of UpdatePlans.
    UpdatePlan,
}

/// What is known of the request to the cluster beside what ClusterVersion asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UpdateRequest {
    /// Nothing: what ClusterVersion asks for is what counts.
    #[default]
    AsSpecified,
    /// The upgrade under way to this version has commenced, by the status, and has begun, by the cluster's history: what ClusterVersion
    /// asks for may have been cleared or changed by somebody since.
    Commenced(String),
    /// ClusterVersion still asks for what an earlier UpgradeConfig asked for, and the cluster refuses it: this one has asked for
    /// nothing.
    RefusedBefore,
}

/// Everything that one decision depends on, once ClusterVersion is known.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The spec that is in force.
    pub spec: UpgradeConfigSpec,
    /// The image for which `spec.desired.version` was found, if it was found for one.
    pub version_of: Option<String>,
    /// Who made the UpgradeConfig.
    pub origin: Origin,
    /// The upgrade of the hub that made it, if one did.
    pub of_upgrade: Option<String>,
    /// The key with which it takes the lock of the cluster.
    pub key: LockKey,
    /// ClusterVersion.
    pub cluster: ObservedCluster,
    /// The pool of the workers; none on a cluster without one.
    pub workers: Fact<Option<Workers>>,
    /// What was read on demand.
    pub seen: ReadOnDemand,
    /// The configuration in force.
    pub configuration: Configuration,
    /// Why that is not what the ConfigMap says.
    pub configuration_problem: Option<ConfigurationProblem>,
    /// There is no ConfigMap, and the defaults are in force.
    pub is_configuration_absent: bool,
    /// The writes that were refused when they were last tried.
    pub refusals: BTreeMap<Write, String>,
    /// The time of the pass.
    pub now: Timestamp,
    /// Since when the UpgradeConfig is being deleted, if it is.
    pub deleting_since: Option<Timestamp>,
    /// Whether it is time to check the drains.
    pub drain_check_due: bool,
    /// What the status and the cluster's history say of what ClusterVersion asks for.
    pub request: UpdateRequest,
    /// When the upgrade under way began, by its status; now, if none is.
    pub upgrade_began: Timestamp,
    /// The drains that were under way when the status was written.
    pub drains: Vec<Drain>,
    /// The worker that had not been ready for too long when the status was written.
    pub unready: Option<UnreadyNode>,
}

impl Observation {
    /// The facts for a decision.
    ///
    /// # Errors
    /// Why ClusterVersion is not known.
    pub fn facts(&self) -> Result<Facts, Unread> {
        Ok(Facts {
            spec: self.spec.clone(),
            version_of: self.version_of.clone(),
            origin: self.origin,
            of_upgrade: self.of_upgrade.clone(),
            key: self.key.clone(),
            cluster: self.cluster.clone()?,
            workers: self.workers.clone(),
            seen: self.seen.clone(),
            configuration: self.in_force.configuration.clone(),
            configuration_problem: self.in_force.problem.clone(),
            is_configuration_absent: self.in_force.is_absent,
            refusals: self.refusals.clone(),
            now: self.now,
            deleting_since: self.deleting_since,
            drain_check_due: self.drain_check_due,
            request: UpdateRequest::default(),
            upgrade_began: self.now,
            drains: Vec::new(),
            unready: None,
        })
    }
}

/// Whose the lock of the cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpgradeLock {
    /// Nobody's, or that of an UpgradeConfig of the same name that is gone.
    Free,
    /// This UpgradeConfig's.
    Ours,
    /// Somebody else's, in words.
    Held(String),
}

impl Facts {
    /// Whose the lock of the cluster is.
    pub fn lock(&self) -> UpgradeLock {
        let Some(LockHolder { holder, uid }) = &self.cluster.lock else {
            return UpgradeLock::Free;
        };
        if *holder == self.key.holder {
            if uid.as_ref() == Some(&self.key.uid) {
                return UpgradeLock::Ours;
            }
            return UpgradeLock::Free;
        }
        UpgradeLock::Held(lock::describe(holder))
    }

    /// What of the cluster's history is of the upgrade: from what the cluster ran when it began, the newest first. The cluster may have had the
    /// target before that, and have been brought back.
    pub fn own_history(&self) -> &[HistoryEntry] {
        let history = &self.cluster.history;
        let is_before =
            |past: &HistoryEntry| past.started.is_some_and(|started| started < self.upgrade_began);
        let base = history.iter().position(|past| past.completed && is_before(past));
        base.map_or(history, |base| &history[..=base])
    }

    /// The release that has been applied completely since `version` was begun.
    pub fn applied_since(&self, version: &str) -> Option<&str> {
        let history = self.own_history();
        let begun = history.iter().position(|past| past.version == version)?;
        let later = history.iter().take(begun).find(|past| past.completed)?;
        Some(&later.version)
    }

    /// The newest release that was applied completely.
    pub fn current(&self) -> Option<&str> {
        let newest = self.cluster.history.iter().find(|past| past.completed);
        newest.map(|past| past.version.as_str())
    }

    /// The current release, if it is a version.
    pub fn current_version(&self) -> Option<Version> {
        Version::parse(self.current()?).ok()
    }

    /// When the steps of the upgrade start.
    pub fn upgrade_at(&self) -> Option<Timestamp> {
        self.spec.upgrade_at.parse().ok()
    }

    /// Whether the UpgradeConfig is being deleted for longer than this.
    pub fn is_gone_for(&self, time: SignedDuration) -> bool {
        self.deleting_since
            .is_some_and(|since| self.now.duration_since(since) > time)
    }

    /// The workers, if they are known and there are any.
    pub fn known_workers(&self) -> Option<&Workers> {
        self.workers.as_ref().ok().and_then(Option::as_ref)
    }

    /// Why the last write that a command asked for was refused.
    pub fn refusal(&self, command: &Command) -> Option<&str> {
        self.refusals.get(&command.write()).map(String::as_str)
    }

    /// Whether it is an upgrade of OpenShift Dedicated.
    pub fn is_osd(&self) -> bool {
        self.spec.upgrade_type == UpgradeType::Osd
    }
}
