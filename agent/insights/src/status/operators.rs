//! The operators of an update.

use drydock_api::conditions::{AnyCondition, ForeignCondition, find};
use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::ClusterOperator;
use jiff::Timestamp;
use kube::ResourceExt;
use serde::Serialize;

use crate::insight::{Insight, Resource, Scope};
use crate::thresholds::Thresholds;
use crate::times::transition;

/// What marks the operators that are part of a release.
const PLATFORM: [&str; 2] = ["include.release.openshift.io/", "exclude.release.openshift.io/"];
/// The operator that updates nodes.
pub const MACHINE_CONFIG: &str = "machine-config";
/// Where to read what to do.
const DOWN: &str = "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDown.md";
/// Where to read what to do.
pub const DEGRADED: &str = "https://github.com/openshift/runbooks/blob/master/alerts/cluster-monitoring-operator/ClusterOperatorDegraded.md";
/// What is said of a condition without a message.
const NO_MESSAGE: &str = "<no message>";

/// How many operators there are, and how they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorCounts {
    /// All that are part of the release.
    pub total: usize,
    /// Those that are not available.
    pub unavailable: usize,
    /// Those that are available, but degraded.
    pub degraded: usize,
    /// Those that have the new version.
    pub updated: usize,
    /// Those that have not, and do not progress.
    pub waiting: usize,
}

impl OperatorCounts {
    /// Whether all have the new version.
    pub fn are_updated(self) -> bool {
        self.updated == self.total
    }

    /// The part of them that has the new version; one if there are none.
    pub fn share_updated(self) -> f64 {
        if self.total == 0 {
            return 1.0;
        }
        self.updated as f64 / self.total as f64
    }
}

/// An operator that is being updated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdatingOperator {
    /// Its name.
    pub name: String,
    /// Since when; nothing if it does not say.
    pub since: Option<Timestamp>,
    /// Why, as one word.
    pub reason: String,
    /// Why, in full.
    pub message: String,
}

/// What the operators say together.
#[derive(Clone, Debug, Default)]
pub struct Operators {
    /// How many there are.
    pub counts: OperatorCounts,
    /// Those that are being updated.
    pub updating: Vec<UpdatingOperator>,
    /// When one of them last began or ended to progress.
    pub last_progress: Option<Timestamp>,
    /// What matters.
    pub insights: Vec<Insight>,
}

/// Looks at all operators.
pub fn assess(
    operators: &[ClusterOperator],
    target: &str,
    operator_image: &Fact<Option<String>>,
    now: Timestamp,
) -> Operators {
    let mut found = Operators::default();
    let mut nodes_since = None;
    for operator in operators.iter().filter(|operator| is_platform(operator)) {
        let name = operator.name_any();
        let conditions = operator
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.conditions);
        let is_updated = is_updated(operator, &name, target, operator_image);
        found.counts.total += 1;
        found.counts.updated += usize::from(is_updated);
        if let Some(progressing) = find(conditions, super::PROGRESSING) {
            let since = transition(progressing);
            found.last_progress = found.last_progress.max(since);
            found.count_progress(&name, progressing, is_updated);
            if name == MACHINE_CONFIG && progressing.is_true() && !is_updated {
                nodes_since = since;
            }
        }
        let (available, degraded) = (find(conditions, "Available"), find(conditions, "Degraded"));
        if !available.is_some_and(AnyCondition::is_true) {
            found.counts.unavailable += 1;
        } else if degraded.is_some_and(AnyCondition::is_true) {
            found.counts.degraded += 1;
        }
        found.insights.extend(
            [
                unavailable(&name, available, now),
                is_degraded(&name, degraded, now),
            ]
            .into_iter()
            .flatten(),
        );
    }
    // While nodes reboot, operators of DaemonSets begin and end to progress: that is no progress of the update.
    let only_nodes_left = found.counts.total - found.counts.updated == 1;
    found.last_progress = nodes_since.filter(|_| only_nodes_left).or(found.last_progress);
    found
}

/// How many operators of the release have a version, whatever else they say.
pub fn counts(operators: &[ClusterOperator], target: &str) -> OperatorCounts {
    let unread = Err(Unread::NotAsked);
    let mut counts = OperatorCounts::default();
    for operator in operators.iter().filter(|operator| is_platform(operator)) {
        counts.total += 1;
        counts.updated += usize::from(is_updated(operator, &operator.name_any(), target, &unread));
    }
    counts
}

impl Operators {
    fn count_progress(&mut self, name: &str, progressing: &ForeignCondition, is_updated: bool) {
        if is_updated {
            return;
        }
        if progressing.is_false() {
            self.counts.waiting += 1;
        } else if progressing.is_true() {
            self.updating.push(UpdatingOperator {
                name: name.to_owned(),
                since: transition(progressing),
                reason: progressing.reason().to_owned(),
                message: progressing.message().to_owned(),
            });
        }
    }
}

fn is_platform(operator: &ClusterOperator) -> bool {
    let mut annotations = operator.annotations().keys();
    annotations.any(|key| PLATFORM.iter().any(|prefix| key.starts_with(prefix)))
}

/// Whether an operator has the new version. A change of the architecture keeps the version, so the operator of nodes must also run the image
/// of its Deployment, if it says which one it runs; without a Deployment it does not. If that could not be read, the version decides.
pub(super) fn is_updated(
    operator: &ClusterOperator,
    name: &str,
    target: &str,
    operator_image: &Fact<Option<String>>,
) -> bool {
    let versions = operator
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.versions);
    if let (MACHINE_CONFIG, Ok(image)) = (name, operator_image) {
        let image = image.as_deref().unwrap_or_default();
        let mut images = versions.iter().filter(|version| version.name == "operator-image");
        if images.any(|version| version.version != image) {
            return false;
        }
    }
    versions
        .iter()
        .any(|version| version.name == "operator" && version.version == target)
}

fn unavailable(name: &str, available: Option<&ForeignCondition>, now: Timestamp) -> Option<Insight> {
    let condition = available.filter(|available| available.is_false())?;
    let level = Thresholds::UNAVAILABLE.level(condition, now)?;
    Some(insight(name, "unavailable", condition, level, DOWN))
}

fn is_degraded(name: &str, degraded: Option<&ForeignCondition>, now: Timestamp) -> Option<Insight> {
    let condition = degraded.filter(|degraded| degraded.is_true())?;
    let level = Thresholds::DEGRADED.level(condition, now)?;
    Some(insight(name, "degraded", condition, level, DEGRADED))
}

fn insight(
    name: &str,
    state: &str,
    condition: &ForeignCondition,
    level: Level,
    reference: &'static str,
) -> Insight {
    let message = condition.message();
    Insight {
        started_at: transition(condition),
        scope: Scope::ControlPlane,
        resources: vec![Resource::config("ClusterOperator", name)],
        level,
        impact: ImpactType::ApiAvailability,
        summary: format!("Cluster Operator {name} is {state} ({})", condition.reason()),
        description: if message.is_empty() { NO_MESSAGE } else { message }.to_owned(),
        reference: reference.to_owned(),
    }
}
