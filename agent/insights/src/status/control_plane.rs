//! The control plane: its operators, how long it takes, what its ClusterVersion says.

use drydock_api::conditions::{AnyCondition, UNKNOWN, find};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::ClusterOperator;
use drydock_api::openshift::cluster_version::{ClusterVersionStatus, UpdateHistory};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use serde::Serialize;

use super::history::{self, Versions};
use super::operators::{self, DEGRADED, OperatorCounts, Operators, UpdatingOperator};
use crate::estimate::{self, Method};
use crate::facts::ClusterFacts;
use crate::insight::{Insight, Resource, Scope};
use crate::times;

/// Beyond that, an update that should be done is stalled.
const STALLED: SignedDuration = SignedDuration::from_mins(-10);

/// How the control plane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ControlPlaneAssessment {
    /// It is updated.
    Completed,
    /// It is being updated.
    Progressing,
    /// It takes longer than expected.
    #[serde(rename = "Progressing - Slow")]
    Slow,
    /// It takes much longer than expected.
    Stalled,
}

impl ControlPlaneAssessment {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "Completed",
            Self::Progressing => "Progressing",
            Self::Slow => "Progressing - Slow",
            Self::Stalled => "Stalled",
        }
    }

    fn of(counts: OperatorCounts, remaining: SignedDuration) -> Self {
        if counts.are_updated() {
            Self::Completed
        } else if remaining < STALLED {
            Self::Stalled
        } else if remaining.is_negative() {
            Self::Slow
        } else {
            Self::Progressing
        }
    }
}

/// How the control plane proceeds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlane {
    /// How it is.
    pub assessment: ControlPlaneAssessment,
    /// From which release it updates to which.
    pub versions: Versions,
    /// The part of its operators that is updated, from 0 to 100.
    pub completion_percent: f64,
    /// How many operators there are.
    pub operators: OperatorCounts,
    /// Those that are being updated.
    pub updating: Vec<UpdatingOperator>,
    /// When it was completed, if it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// How long it took until then, or has taken; whole minutes if that are more than ten.
    #[serde(serialize_with = "times::serialize")]
    pub duration: SignedDuration,
    /// How much longer; negative if it should be done already, zero if it is.
    #[serde(serialize_with = "times::serialize")]
    pub remaining: SignedDuration,
    /// How long it was expected to take.
    #[serde(serialize_with = "times::serialize")]
    pub estimated_duration: SignedDuration,
}

/// Looks at the control plane.
pub fn assess(
    facts: &ClusterFacts,
    status: &ClusterVersionStatus,
    operators: &[ClusterOperator],
    now: Timestamp,
    method: Method,
) -> (ControlPlane, Vec<Insight>) {
    let target = status
        .desired
        .as_ref()
        .and_then(|desired| desired.version.as_deref());
    let found = operators::assess(operators, target.unwrap_or_default(), &facts.operator_image, now);
    let course = Course::of(&status.history, found.last_progress, now);
    let remaining = course.remaining(&status.history, &found, method);
    let Operators {
        counts,
        updating,
        insights: of_operators,
        ..
    } = found;
    let versions = Versions::read(&status.history);
    let name = facts.version.name_any();
    let mut insights: Vec<_> = failing(status, &name, now).into_iter().collect();
    insights.extend(of_operators);
    if !counts.are_updated() {
        insights.extend(history::incomplete_before(&status.history, &versions, &name));
    }
    let control_plane = ControlPlane {
        assessment: ControlPlaneAssessment::of(counts, remaining),
        versions,
        completion_percent: counts.share_updated() * 100.0,
        operators: counts,
        updating,
        completed_at: counts.are_updated().then_some(course.until),
        duration: times::round_by_length(course.updating_for),
        remaining,
        estimated_duration: times::truncate(course.updating_for.saturating_add(remaining), times::MINUTE),
    };
    (control_plane, insights)
}

/// The times of an update.
struct Course {
    /// When it ended, or now.
    until: Timestamp,
    /// From its start until then.
    updating_for: SignedDuration,
    /// From its start to the last progress of an operator.
    to_last_progress: SignedDuration,
}

impl Course {
    fn of(history: &[UpdateHistory], last_progress: Option<Timestamp>, now: Timestamp) -> Self {
        let completed = history.first().filter(|present| present.is_completed());
        let completed = completed.and_then(|present| present.completion_time.value());
        let until = times::moment(completed.map(String::as_str)).unwrap_or(now);
        let Some(started) = history::started(history) else {
            return Self {
                until,
                updating_for: SignedDuration::ZERO,
                to_last_progress: SignedDuration::ZERO,
            };
        };
        let last_progress = last_progress.filter(|last| *last > started).unwrap_or(now);
        Self {
            until,
            updating_for: until.duration_since(started),
            to_last_progress: last_progress.duration_since(started),
        }
    }

    fn remaining(&self, history: &[UpdateHistory], operators: &Operators, method: Method) -> SignedDuration {
        let updated = operators.counts.share_updated();
        let by_history = match method {
            Method::Oc => None,
            Method::History => {
                estimate::remaining_by_history(history, self.to_last_progress, self.updating_for, updated)
            }
        };
        by_history.unwrap_or_else(|| {
            let baseline = estimate::baseline(history);
            estimate::remaining(baseline, self.to_last_progress, self.updating_for, updated)
        })
    }
}

/// That the update fails, or that nobody knows.
fn failing(status: &ClusterVersionStatus, name: &str, now: Timestamp) -> Option<Insight> {
    let (started_at, summary, description) = match find(&status.conditions, "Failing") {
        None => (
            Some(now),
            format!("Cluster Version {name} has no Failing condition"),
            "Current status of Cluster Version reconciliation is unclear.  See 'oc -n openshift-cluster-version logs -l k8s-app=cluster-version-operator --tail -1' to debug.".to_owned(),
        ),
        Some(failing) if failing.is_false() => return None,
        Some(failing) => {
            let is = if failing.status == UNKNOWN { "may be" } else { "is" };
            let reason = failing.reason();
            (
                times::transition(failing),
                format!("Cluster Version {name} {is} failing to proceed with the update ({reason})"),
                failing.message().to_owned(),
            )
        }
    };
    Some(Insight {
        started_at,
        scope: Scope::ControlPlane,
        resources: vec![Resource::config("ClusterVersion", name)],
        level: Level::Warning,
        impact: ImpactType::UpdateStalled,
        summary,
        description,
        reference: DEGRADED.to_owned(),
    })
}
