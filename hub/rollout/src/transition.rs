//! What users are told: each becomes an Event, a metric and a log line with the same words.

use drydock_api::ClusterName;
use drydock_api::conditions::{self, AnyCondition, Condition};
use drydock_api::mcu::{ManagedClustersUpgradeStatus, condition, reason};
use drydock_api::names::{EndState, WorkKind};

use crate::{Action, Observed, WorkOrder};

/// Something that happened to an upgrade, or to one of its clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The cluster it happened to; none if to the upgrade as a whole.
    pub cluster: Option<ClusterName>,
    /// Whether somebody should look.
    pub warning: bool,
    /// What happened, in CamelCase.
    pub reason: &'static str,
    /// What happened, for people.
    pub message: String,
}

/// The reasons for which a rollout stands still.
const HALTS: [&str; 6] = [
    reason::PAUSED,
    reason::CANARY_FAILED,
    reason::NO_CANARY_MATCHED,
    reason::CANARY_SOAKING,
    reason::FAILURE_BUDGET_SPENT,
    reason::AWAITING_START_WINDOW,
];

/// What an action that was carried out means for its cluster, if users want to know.
pub fn of_action(observed: &Observed, action: &Action) -> Option<Transition> {
    match action {
        Action::CreateWork(order) => Some(created(observed, order)),
        Action::FinishWork {
            cluster,
            outcome,
            message,
            ..
        } => {
            let (warning, reason) = match outcome {
                EndState::Complete => (false, "ClusterCompleted"),
                EndState::Failed => (true, "ClusterFailed"),
            };
            Some(Transition {
                cluster: Some(cluster.clone()),
                warning,
                reason,
                message: format!("{cluster}: {message}"),
            })
        }
        Action::ReopenWork { cluster, .. } => Some(Transition {
            cluster: Some(cluster.clone()),
            warning: false,
            reason: "ClusterRetried",
            message: format!("{cluster}: goes on where it failed, after the platform's upgrade"),
        }),
        Action::RemoveFinalizer => terminating(observed),
        Action::AddFinalizer
        | Action::ApplyPlacement
        | Action::DeletePlacement
        | Action::DeleteWork { .. } => None,
    }
}

fn created(observed: &Observed, order: &WorkOrder) -> Transition {
    let (cluster, goal) = (&order.cluster, &order.revision.goal);
    let works = observed.works.get(cluster).into_iter().flatten();
    let under_way = works
        .into_iter()
        .any(|(_, work)| work.owner.uid == observed.upgrade.uid && work.record.is_none());
    let (reason, what) = match (order.kind, under_way) {
        (WorkKind::Pre, _) => ("ClusterStarted", "the pre-upgrade action starts".to_owned()),
        (WorkKind::Cluster, false) => ("ClusterStarted", format!("the upgrade to {goal} starts")),
        (WorkKind::Cluster, true) => ("ClusterUpgrading", format!("the upgrade to {goal} starts")),
        (WorkKind::Operators, false) => ("ClusterStarted", "the upgrade of the operators starts".to_owned()),
        (WorkKind::Operators, true) => (
            "ClusterOperators",
            "the upgrade of the operators starts".to_owned(),
        ),
        (WorkKind::Post, _) => ("ClusterPostAction", "the post-upgrade action starts".to_owned()),
    };
    Transition {
        cluster: Some(cluster.clone()),
        warning: false,
        reason,
        message: format!("{cluster}: {what}"),
    }
}

/// The upgrade does not wait for the clusters, so it says which of them are not done with its works (hub 4).
fn terminating(observed: &Observed) -> Option<Transition> {
    let owing: Vec<String> = observed
        .works
        .iter()
        .filter(|(_, works)| works.values().any(|work| work.owner.uid == observed.upgrade.uid))
        .map(|(cluster, _)| cluster.to_string())
        .collect();
    let first = owing.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    (!owing.is_empty()).then(|| Transition {
        cluster: None,
        warning: false,
        reason: "WorksTerminating",
        message: format!(
            "the upgrade goes; works still terminate on {} clusters, the first: {first}",
            owing.len()
        ),
    })
}

/// What the change of a status means for the upgrade as a whole.
pub fn of_status(
    before: &ManagedClustersUpgradeStatus,
    after: &ManagedClustersUpgradeStatus,
) -> Vec<Transition> {
    let (old, new) = (list(before), list(after));
    let mut transitions = Vec::new();
    let mut say = |warning, reason, message: &str| {
        transitions.push(Transition {
            cluster: None,
            warning,
            reason,
            message: message.to_owned(),
        });
    };
    match (halt(old), halt(new)) {
        (was, Some((reason, message))) if was.map(|(reason, _)| reason) != Some(reason) => {
            say(true, reason, message);
        }
        (Some(_), None) => say(false, "Resumed", "clusters start again"),
        _ => {}
    }
    let became_true = |type_| conditions::is_true(new, type_) && !conditions::is_true(old, type_);
    let message = |type_| {
        conditions::find(new, type_)
            .map(AnyCondition::message)
            .unwrap_or_default()
    };
    if became_true(condition::COMPLETE) {
        say(false, reason::COMPLETE, message(condition::COMPLETE));
    }
    if let Some(what) = invalid(new).filter(|what| invalid(old) != Some(what)) {
        say(true, what, message(condition::FAILED));
    }
    if let Some(problem) = selection_problem(new).filter(|problem| selection_problem(old) != Some(problem)) {
        say(true, problem, message(condition::SELECTED));
    }
    transitions
}

fn list(status: &ManagedClustersUpgradeStatus) -> &[Condition] {
    status.conditions.as_deref().unwrap_or_default()
}

fn halt(conditions: &[Condition]) -> Option<(&'static str, &str)> {
    let found = conditions::find(conditions, condition::IN_PROGRESS)?;
    let reason = HALTS.into_iter().find(|reason| *reason == found.reason)?;
    Some((reason, &found.message))
}

/// What the user wrote that cannot be used.
fn invalid(conditions: &[Condition]) -> Option<&'static str> {
    let found = conditions::find(conditions, condition::FAILED).filter(|found| found.is_true())?;
    [reason::INVALID_SPEC, reason::INVALID_RETRY]
        .into_iter()
        .find(|reason| *reason == found.reason)
}

fn selection_problem(conditions: &[Condition]) -> Option<&'static str> {
    let found = conditions::find(conditions, condition::SELECTED).filter(|found| found.is_false())?;
    [
        reason::NO_CLUSTERS,
        reason::PLACEMENT_NOT_FOUND,
        reason::PLACEMENT_UNSATISFIED,
        reason::PLACEMENT_FORBIDDEN,
    ]
    .into_iter()
    .find(|reason| *reason == found.reason)
}
