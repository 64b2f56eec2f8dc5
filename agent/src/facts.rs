//! What decisions look at, read once from the objects of the cluster.

use std::collections::BTreeSet;

use drydock_api::conditions::{AnyCondition, FALSE, ForeignCondition, TRUE};
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use drydock_api::upgradeconfig::{UpgradeConfigSpec, UpgradeType};
use jiff::Timestamp;
use kube::ResourceExt;
use semver::Version;

use crate::capacity::Capacity;
use crate::configuration::Configuration;
use crate::nodekeeper::{Budget, NodeSeen, PodSeen};
use crate::silences::Silence;

/// Everything that one decision depends on.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub spec: UpgradeConfigSpec,
    pub cluster: Cluster,
    /// The pool of the workers; none on a cluster without one.
    pub workers: Option<Workers>,
    /// What was read because a step asked for it.
    pub seen: Seen,
    pub configuration: Configuration,
    pub now: Timestamp,
    /// Whether the UpgradeConfig is being deleted.
    pub is_going: bool,
    /// Whether it is time to look after drains.
    pub tends: bool,
}

/// What is read only when a step needs it; `None` is what was not read. A text is why it could not be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// The operators that are ill.
    pub ill: Option<Vec<IllOperator>>,
    /// The critical alerts that fire.
    pub alerts: Option<Result<BTreeSet<String>, String>>,
    /// What is wrong with what else must be reachable.
    pub dependencies: Option<Vec<String>>,
    pub capacity: Option<Capacity>,
    /// Our silences.
    pub silences: Option<Result<Vec<Silence>, String>>,
    /// All nodes but the masters.
    pub nodes: Option<Vec<NodeSeen>>,
    /// All PodDisruptionBudgets.
    pub budgets: Option<Vec<Budget>>,
    /// The pods of nodes that are drained.
    pub pods: Option<Vec<PodSeen>>,
    /// The versions that the update graph leads to from here.
    pub graph: Option<Result<BTreeSet<String>, String>>,
    /// The version of the image that is asked for.
    pub release: Option<Result<String, String>>,
    /// What the provider's policy asks for, if there is one.
    pub policy: Option<Result<Option<UpgradeConfigSpec>, String>>,
    /// Whether the file-integrity operator has been told to start over.
    pub reinitialized: bool,
}

/// What ClusterVersion says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cluster {
    /// `spec.clusterID`.
    pub id: String,
    /// `spec.upstream`: where the update graph is.
    pub upstream: Option<String>,
    pub channel: String,
    /// `spec.desiredUpdate`: version and image.
    pub asked: Option<Release>,
    /// `status.history`, newest first.
    pub history: Vec<Past>,
    /// `status.desired.version`.
    pub desired: Option<String>,
    /// The releases that are offered.
    pub offered: Vec<Release>,
    /// Those that are offered although a risk is known, or cannot be ruled out.
    pub conditional: Vec<Release>,
    /// Reason and message of `Upgradeable=False`.
    pub not_upgradeable: Option<(String, String)>,
    /// Why the cluster refuses what it was asked for, in its own words.
    pub refusal: Option<String>,
    /// Why it makes no progress, in its own words.
    pub failure: Option<String>,
}

/// A release: what of it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Release {
    pub version: String,
    pub image: String,
}

/// An entry of ClusterVersion's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    pub version: String,
    pub completed: bool,
    pub started: Option<Timestamp>,
}

/// The pool of the workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workers {
    pub machines: i64,
    pub updated: i64,
    /// Whether nothing of it is updated for the time being.
    pub paused: bool,
    /// Why nodes of it cannot be updated, in the cluster's own words.
    pub trouble: Option<String>,
}

impl Cluster {
    /// The releases that are offered, conditionally or not.
    pub fn all_offered(&self) -> impl Iterator<Item = &Release> {
        self.offered.iter().chain(&self.conditional)
    }
}

impl Workers {
    pub fn are_updated(&self) -> bool {
        self.updated == self.machines
    }
}

/// An operator that does not serve, or not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IllOperator {
    pub name: String,
    pub why: String,
}

/// The release that an UpgradeConfig asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A version of a channel.
    Version { version: String, channel: String },
    /// An image, and its version once that is known.
    Image { image: String, version: Option<String> },
}

impl Target {
    /// The version, if it is known.
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Version { version, .. } => Some(version),
            Self::Image { version, .. } => version.as_deref(),
        }
    }
}

impl Facts {
    /// What is asked for; `None` if neither an image nor a version with its channel is.
    pub fn target(&self) -> Option<Target> {
        let given = |field: &Option<String>| field.clone().filter(|text| !text.trim().is_empty());
        let desired = &self.spec.desired;
        if let Some(image) = given(&desired.image) {
            let known = self.cluster.all_offered().find(|offered| offered.image == image);
            let version = given(&desired.version).or_else(|| known.map(|release| release.version.clone()));
            return Some(Target::Image { image, version });
        }
        Some(Target::Version {
            version: given(&desired.version)?,
            channel: given(&desired.channel)?,
        })
    }

    /// Whether the cluster has been told to go to `target`: from then on there is no way back.
    pub fn has_commenced(&self, target: &Target) -> bool {
        let Some(asked) = &self.cluster.asked else {
            return false;
        };
        match target {
            Target::Version { version, .. } => asked.version == *version,
            Target::Image { image, .. } => asked.image == *image,
        }
    }

    /// Whether the cluster has been told to go to `version`, refuses it and is about something else: nothing of it has begun.
    pub fn refuses(&self, version: &str) -> bool {
        self.cluster.refusal.is_some() && self.cluster.desired.as_deref() != Some(version)
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

    pub fn is_osd(&self) -> bool {
        self.spec.upgrade_type == UpgradeType::Osd
    }
}

/// The conditions of ClusterVersion by which it refuses an update: nothing of it has begun.
const REFUSALS: [(&str, &str); 2] = [("Invalid", TRUE), ("ReleaseAccepted", FALSE)];
/// Those by which it says that an update does not go on, or takes longer than it should.
const FAILURES: [(&str, &str); 2] = [("Failing", TRUE), ("Failing", "Unknown")];

fn trouble(conditions: &[ForeignCondition], kinds: &[(&str, &str)]) -> Option<String> {
    let found = kinds.iter().find_map(|(type_, status)| {
        conditions
            .iter()
            .find(|condition| condition.type_() == *type_ && condition.status() == *status)
    })?;
    Some(format!("{}: {}", found.reason(), found.message()))
}

/// Reads ClusterVersion.
pub(crate) fn cluster(version: &ClusterVersion) -> Cluster {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let release = |version: &Option<String>, image: &Option<String>| Release {
        version: text(version),
        image: text(image),
    };
    let status = version.status.clone().unwrap_or_default();
    let available = status.available_updates.iter();
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    // A status about an earlier spec says nothing of what is asked for now.
    let is_current = status.observed_generation == version.metadata.generation;
    Cluster {
        id: text(&version.spec.cluster_id),
        upstream: version.spec.upstream.clone(),
        channel: text(&version.spec.channel),
        asked: version
            .spec
            .desired_update
            .as_ref()
            .map(|update| release(&update.version, &update.image)),
        history: status
            .history
            .iter()
            .map(|entry| Past {
                version: text(&entry.version),
                completed: entry.is_completed(),
                started: entry.started_time.as_ref().and_then(|time| time.parse().ok()),
            })
            .collect(),
        desired: status
            .desired
            .as_ref()
            .and_then(|desired| desired.version.clone()),
        offered: available
            .map(|offered| release(&offered.version, &offered.image))
            .collect(),
        conditional: conditional
            .map(|offered| release(&offered.version, &offered.image))
            .collect(),
        not_upgradeable: status
            .conditions
            .iter()
            .find(|condition| condition.type_() == "Upgradeable" && condition.is_false())
            .map(|condition| (condition.reason().to_owned(), condition.message().to_owned())),
        refusal: trouble(&status.conditions, &REFUSALS).filter(|_| is_current),
        failure: trouble(&status.conditions, &FAILURES),
    }
}

/// Reads the pool of the workers.
pub(crate) fn workers(pool: &MachineConfigPool) -> Workers {
    let status = pool.status.clone().unwrap_or_default();
    let degraded = status
        .conditions
        .iter()
        .find(|condition| condition.type_() == "NodeDegraded" && condition.is_true());
    Workers {
        trouble: degraded.map(|condition| condition.message().to_owned()),
        machines: status.machine_count.unwrap_or_default(),
        updated: status.updated_machine_count.unwrap_or_default(),
        paused: pool.spec.paused.unwrap_or_default(),
    }
}

/// The operators that are ill: degraded, or not available (agent 3, step 4 b).
pub(crate) fn ill(operators: &[ClusterOperator]) -> Vec<IllOperator> {
    let mut ill: Vec<IllOperator> = operators
        .iter()
        .filter_map(|operator| {
            let conditions = operator.status.as_ref().map(|status| &status.conditions)?;
            let bad = conditions.iter().find(|condition| {
                (condition.type_() == "Degraded" && condition.is_true())
                    || (condition.type_() == "Available" && condition.is_false())
            })?;
            let state = if bad.type_() == "Degraded" {
                "degraded"
            } else {
                "not available"
            };
            Some(IllOperator {
                name: operator.name_any(),
                why: format!("{state}: {}", bad.message()),
            })
        })
        .collect();
    ill.sort_by(|one, other| one.name.cmp(&other.name));
    ill
}
