//! How an update proceeds (insights.md, sections 2.3 to 2.5).

mod alerts;
mod availability;
mod control_plane;
mod health;
mod history;
pub(crate) mod keys;
mod node_state;
mod nodes;
mod operators;
mod pools;
#[cfg(test)]
mod tests;

use drydock_api::conditions::{AnyCondition, find};
use drydock_api::fact::Unread;
use drydock_api::openshift::cluster_version::ClusterVersionStatus;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

pub(crate) use alerts::{description, first, of_alert, runbook};
pub(crate) use availability::Availability;
pub use control_plane::{ControlPlane, ControlPlaneAssessment};
pub use history::Versions;
pub use node_state::{NodeAssessment, NodeEstimate, NodePhase};
pub use nodes::NodeStatus;
pub(crate) use nodes::{is_being_updated, is_degraded, is_drain_wanted};
pub(crate) use operators::counts as operator_counts;
pub use operators::{OperatorCounts, UpdatingOperator};
pub(crate) use pools::sort_into_pools;
pub use pools::{NodeCounts, PoolAssessment, PoolStatus};

use crate::estimate::{Method, PoolEstimate};
use crate::facts::ClusterFacts;
use crate::insight::Insight;
use crate::times;

/// The condition that says whether a cluster updates.
const PROGRESSING: &str = "Progressing";
/// The pool of the control plane's nodes.
pub(crate) const MASTER: &str = "master";
/// The pool of all other nodes.
const WORKER: &str = "worker";

/// Why nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatusError {
    /// The operators could not be read.
    #[error("reading the cluster operators: {0}")]
    Operators(Unread),
    /// There are none.
    #[error(
        "no cluster operator information available - you must be connected to an OpenShift version 4 server"
    )]
    NoOperators,
    /// The ClusterVersion does not say whether it updates.
    #[error("no current Progressing info, see `oc describe clusterversion` for more details.")]
    NoProgressing,
}

/// How an update proceeds, and what could not be looked at.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// How it proceeds; nothing if the cluster does not update.
    pub update: Option<UpdateStatus>,
    /// What could not be read, and is missing therefore; sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How an update proceeds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStatus {
    /// The moment it is about.
    pub evaluated_at: Timestamp,
    /// The control plane.
    pub control_plane: ControlPlane,
    /// The pool of its nodes, if there is one.
    pub control_plane_nodes: Option<PoolStatus>,
    /// All other pools.
    pub worker_pools: Vec<PoolStatus>,
    /// How long these pools take; empty unless it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worker_estimates: Vec<PoolEstimate>,
    /// What matters, the worst first; nothing if the update is proceeding well.
    pub insights: Vec<Insight>,
    /// How long it takes already.
    #[serde(serialize_with = "times::serialize")]
    pub updating_for: SignedDuration,
}

/// How an update proceeds at a moment.
///
/// # Errors
/// If what is known does not say whether the cluster updates.
pub fn assess(facts: &ClusterFacts, now: Timestamp, method: Method) -> Result<StatusReport, StatusError> {
    let operators = facts
        .operators
        .as_ref()
        .map_err(|why| StatusError::Operators(why.clone()))?;
    if operators.is_empty() {
        return Err(StatusError::NoOperators);
    }
    let empty = ClusterVersionStatus::default();
    let status = facts.version.status.as_ref().unwrap_or(&empty);
    let progressing = find(&status.conditions, PROGRESSING).ok_or(StatusError::NoProgressing)?;

    let mut notes = notes(facts);
    let (pools, mut insights) = pools::assess(facts, status, progressing.is_true(), now);
    let (masters, worker_pools): (Vec<_>, Vec<_>) = pools.into_iter().partition(|pool| pool.name == MASTER);
    if !progressing.is_true() && !worker_pools.iter().any(PoolStatus::is_behind) {
        return Ok(StatusReport { update: None, notes });
    }

    let started = status.history.first().map_or_else(
        || times::transition(progressing),
        |present| times::moment(present.started_time.as_deref()),
    );
    match &facts.alerts {
        Ok(alerts) => insights.extend(alerts::insights(alerts, started)),
        Err(Unread::NotAsked) => {}
        Err(why) => notes.push(format!(
            "Unable to fetch alerts, ignoring alerts in 'Update Health': {why}"
        )),
    }
    let (control_plane, of_control_plane) = control_plane::assess(facts, status, operators, now, method);
    insights.extend(of_control_plane);
    let worker_estimates = match method {
        Method::Oc => Vec::new(),
        Method::History => worker_pools.iter().map(PoolStatus::estimate).collect(),
    };
    let updating_for = started.map_or(SignedDuration::ZERO, |started| now.duration_since(started));
    Ok(StatusReport {
        update: Some(UpdateStatus {
            evaluated_at: now,
            control_plane,
            control_plane_nodes: masters.into_iter().next_back(),
            worker_pools,
            worker_estimates,
            insights: health::sort(insights),
            updating_for: times::round(updating_for, times::SECOND),
        }),
        notes,
    })
}

/// What of pools and nodes could not be read, and what that means.
fn notes(facts: &ClusterFacts) -> Vec<String> {
    let unread = [
        (
            "the machine config pools",
            "nodes are not looked at",
            facts.pools.as_ref().err(),
        ),
        ("the nodes", "they are not looked at", facts.nodes.as_ref().err()),
        (
            "the machine configs",
            "versions of nodes are not known, and nodes are compared with the configurations of their pools",
            facts.configs.as_ref().err(),
        ),
        (
            "the Deployment of the machine config operator",
            "only its version says whether that operator is updated",
            facts.operator_image.as_ref().err(),
        ),
    ];
    let unread = unread
        .into_iter()
        .filter_map(|(what, so, why)| Some((what, so, why?)));
    let unread = unread.map(|(what, so, why)| format!("{what} could not be read, so {so}: {why}"));
    let is_empty =
        |found: bool, what: &str| found.then(|| format!("there are no {what}: they are not looked at"));
    let missing = [
        is_empty(
            facts.pools.as_ref().is_ok_and(Vec::is_empty),
            "machine config pools",
        ),
        is_empty(facts.nodes.as_ref().is_ok_and(Vec::is_empty), "nodes"),
    ];
    unread.chain(missing.into_iter().flatten()).collect()
}
