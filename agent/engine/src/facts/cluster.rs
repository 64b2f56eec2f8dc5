//! The cluster as decisions see it: ClusterVersion, the pool of the workers, the cluster operators.

use drydock_api::conditions::{AnyCondition, FALSE, ForeignCondition, TRUE};
use drydock_api::is_same_image;
use drydock_api::lock;
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use jiff::Timestamp;
use kube::ResourceExt;

/// What ClusterVersion says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedCluster {
    /// `spec.clusterID`.
    pub id: String,
    /// `spec.upstream`: where the update graph is.
    pub upstream: Option<String>,
    /// `spec.channel`.
    pub channel: String,
    /// `spec.desiredUpdate`: version and image.
    pub asked: Option<ReleaseRef>,
    /// `status.history`, newest first.
    pub history: Vec<HistoryEntry>,
    /// `status.desired.version`.
    pub desired: Option<String>,
    /// The releases that are offered.
    pub offered: Vec<ReleaseRef>,
    /// Those that are offered although a risk is known, or cannot be ruled out.
    pub conditional: Vec<ReleaseRef>,
    /// Reason and message of `Upgradeable=False`.
    pub not_upgradeable: Option<(String, String)>,
    /// Why the cluster refuses what it was asked for, in its own words.
    pub refusal: Option<String>,
    /// Why it makes no progress, in its own words.
    pub failure: Option<String>,
    /// Who has the lock of the cluster, and by which UID as far as that is known.
    pub lock: Option<LockHolder>,
}

/// Who has the lock of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Who.
    pub holder: String,
    /// The UID of the object.
    pub uid: Option<String>,
}

/// A release: what of it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseRef {
    /// Its version.
    pub version: String,
    /// Its image.
    pub image: String,
}

impl ReleaseRef {
    /// What it is called: its version, or its image where that is all that is known.
    pub fn name(&self) -> &str {
        if self.version.is_empty() {
            &self.image
        } else {
            &self.version
        }
    }
}

/// An entry of ClusterVersion's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The release.
    pub version: String,
    /// Its image.
    pub image: String,
    /// Whether it was applied completely.
    pub completed: bool,
    /// When it was begun.
    pub started: Option<Timestamp>,
}

impl HistoryEntry {
    /// Which release it is.
    pub fn release(&self) -> ReleaseRef {
        ReleaseRef {
            version: self.version.clone(),
            image: self.image.clone(),
        }
    }

    /// Whether the release is this one, as far as that is known of it. An image may have been mirrored: where the version is known, that counts.
    pub fn is(&self, release: &ReleaseRef) -> bool {
        if release.version.is_empty() {
            release.image.is_empty() || is_same_image(&release.image, &self.image)
        } else {
            release.version == self.version
        }
    }
}

/// The pool of the workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workers {
    /// How many there are.
    pub machines: i64,
    /// How many of them are updated.
    pub updated: i64,
    /// Who has seen to it that nothing of it is updated for the time being.
    pub paused: Option<PausedBy>,
    /// Why nodes of it cannot be updated, in the cluster's own words.
    pub degraded: Option<String>,
}

/// A machine config pool, as far as an upgrade of somebody else is known by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedPool {
    /// Its name.
    pub name: String,
    /// Whether nodes of it are being updated.
    pub is_being_updated: bool,
    /// The UpgradeJob that has paused it, as `NAMESPACE/NAME`, if that has not ended.
    pub kept_by: Option<String>,
}

/// Who has paused a machine config pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PausedBy {
    /// An UpgradeJob, as `NAMESPACE/NAME`.
    UpgradeJob(String),
    /// Somebody who has left no mark.
    SomebodyElse,
}

impl ObservedCluster {
    /// The releases that are offered, conditionally or not.
    pub fn all_offered(&self) -> impl Iterator<Item = &ReleaseRef> {
        self.offered.iter().chain(&self.conditional)
    }
}

impl Workers {
    /// Whether nodes of it are being updated: some are left, and nothing is known that keeps them from it.
    pub fn are_being_updated(&self) -> bool {
        !self.are_updated() && self.paused.is_none() && self.degraded.is_none()
    }

    /// Whether all of them are updated.
    pub fn are_updated(&self) -> bool {
        self.updated == self.machines
    }
}

/// An operator that does not serve, or not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnhealthyOperator {
    /// Its name.
    pub name: String,
    /// What is wrong, for people.
    pub why: String,
}

/// The conditions of ClusterVersion by which it refuses an update: nothing of it has begun.
const REFUSALS: [(&str, &str); 2] = [("Invalid", TRUE), ("ReleaseAccepted", FALSE)];
/// Those by which it says that an update does not make progress, or takes longer than it should.
const FAILURES: [(&str, &str); 2] = [("Failing", TRUE), ("Failing", "Unknown")];

fn first_message(conditions: &[ForeignCondition], kinds: &[(&str, &str)]) -> Option<String> {
    let found = kinds.iter().find_map(|(type_, status)| {
        conditions
            .iter()
            .find(|condition| condition.type_() == *type_ && condition.status() == *status)
    })?;
    Some(format!("{}: {}", found.reason(), found.message()))
}

/// Reads ClusterVersion.
pub fn cluster(version: &ClusterVersion) -> ObservedCluster {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let release = |version: &Option<String>, image: &Option<String>| ReleaseRef {
        version: text(version),
        image: text(image),
    };
    let status = version.status.clone().unwrap_or_default();
    let available = status.available_updates.iter();
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    // A status about an earlier spec says nothing of what is asked for now.
    let is_current = status.observed_generation == version.metadata.generation;
    let annotations = version.annotations();
    let lock = lock::holder(annotations).map(|holder| LockHolder {
        holder: holder.to_owned(),
        uid: lock::holder_uid(annotations).map(str::to_owned),
    });
    ObservedCluster {
        lock,
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
            .map(|entry| HistoryEntry {
                version: text(&entry.version),
                image: text(&entry.image),
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
        refusal: first_message(&status.conditions, &REFUSALS).filter(|_| is_current),
        failure: first_message(&status.conditions, &FAILURES),
    }
}

/// Reads the pool of the workers.
pub fn workers(pool: &MachineConfigPool) -> Workers {
    let status = pool.status.clone().unwrap_or_default();
    let degraded = status
        .conditions
        .iter()
        .find(|condition| condition.type_() == "NodeDegraded" && condition.is_true());
    Workers {
        degraded: degraded.map(|condition| condition.message().to_owned()),
        machines: status.machine_count.unwrap_or_default(),
        updated: status.updated_machine_count.unwrap_or_default(),
        paused: (pool.spec.paused == Some(true)).then(|| paused_by(pool)),
    }
}

fn paused_by(pool: &MachineConfigPool) -> PausedBy {
    let mark = pool.annotations().get(UPGRADE_LOCK_ANNOTATION);
    mark.filter(|mark| !mark.is_empty())
        .map_or(PausedBy::SomebodyElse, |mark| PausedBy::UpgradeJob(mark.clone()))
}

/// The operators that are unhealthy: degraded, or not available.
pub fn unhealthy(operators: &[ClusterOperator]) -> Vec<UnhealthyOperator> {
    let mut unhealthy: Vec<UnhealthyOperator> = operators
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
            Some(UnhealthyOperator {
                name: operator.name_any(),
                why: format!("{state}: {}", bad.message()),
            })
        })
        .collect();
    unhealthy.sort_by(|one, other| one.name.cmp(&other.name));
    unhealthy
}
