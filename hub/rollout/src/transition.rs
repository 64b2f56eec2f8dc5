//! What users are told: each becomes an Event, a metric and a log line with the same words.

use drydock_api::ClusterName;
use drydock_api::conditions::{self, AnyCondition, Condition};
use drydock_api::mcu::{ManagedClustersUpgradeStatus, condition, reason};
use drydock_api::names::{EndState, WorkKind};

use crate::{Action, Observed};

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
    let on = |cluster: &ClusterName, warning, reason, message| {
        Some(Transition { cluster: Some(cluster.clone()), warning, reason, message })
    };
    match action {
        Action::CreateWork(order) => {
            let works = observed.works.get(&order.cluster);
            let had_own = works.is_some_and(|works| {
                works.values().any(|work| work.owner.uid == observed.upgrade.uid && work.record.is_none())
            });
            let target = &order.revision.target;
            let cluster = &order.cluster;
            match order.kind {
                WorkKind::Pre => on(cluster, false, "ClusterStarted", format!("{cluster}: the pre-upgrade action starts")),
                WorkKind::Cluster if had_own => {
                    on(cluster, false, "ClusterUpgrading", format!("{cluster}: the upgrade to {target} starts"))
                }
                WorkKind::Cluster => {
                    on(cluster, false, "ClusterStarted", format!("{cluster}: the upgrade to {target} starts"))
                }
                WorkKind::Operators => None,
                WorkKind::Post => {
                    on(cluster, false, "ClusterPostAction", format!("{cluster}: the post-upgrade action starts"))
                }
            }
        }
        Action::FinishWork { cluster, outcome: EndState::Complete, message, .. } => {
            on(cluster, false, "ClusterCompleted", format!("{cluster}: {message}"))
        }
        Action::FinishWork { cluster, outcome: EndState::Failed, message, .. } => {
            on(cluster, true, "ClusterFailed", format!("{cluster}: {message}"))
        }
        Action::RemoveFinalizer => {
            let owing: Vec<String> = observed
                .works
                .iter()
                .filter(|(_, works)| works.values().any(|work| work.owner.uid == observed.upgrade.uid))
                .map(|(cluster, _)| cluster.to_string())
                .collect();
            (!owing.is_empty()).then(|| Transition {
                cluster: None,
                warning: false,
                reason: "WorksTerminating",
                message: format!(
                    "the upgrade goes; works still terminate on {} clusters, the first: {}",
                    owing.len(),
                    owing.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
                ),
            })
        }
        Action::AddFinalizer | Action::ApplyPlacement | Action::DeletePlacement | Action::DeleteWork { .. } => None,
    }
}

/// What the change of a status means for the upgrade as a whole.
pub fn of_status(before: &ManagedClustersUpgradeStatus, after: &ManagedClustersUpgradeStatus) -> Vec<Transition> {
    let (old, new) = (list(before), list(after));
    let mut transitions = Vec::new();
    let mut say = |warning, reason, message: &str| {
        transitions.push(Transition { cluster: None, warning, reason, message: message.to_owned() });
    };
    let halted = |conditions| halt(conditions);
    match (halted(old), halted(new)) {
        (was, Some((reason, message))) if was.map(|(reason, _)| reason) != Some(reason) => say(true, reason, message),
        (Some(_), None) => say(false, "Resumed", "clusters start again"),
        _ => {}
    }
    let became_true = |type_| conditions::is_true(new, type_) && !conditions::is_true(old, type_);
    let message = |type_| conditions::find(new, type_).map(AnyCondition::message).unwrap_or_default();
    if became_true(condition::COMPLETE) {
        say(false, reason::COMPLETE, message(condition::COMPLETE));
    }
    if invalid(new) && !invalid(old) {
        say(true, reason::INVALID_SPEC, message(condition::FAILED));
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

fn invalid(conditions: &[Condition]) -> bool {
    conditions::find(conditions, condition::FAILED)
        .is_some_and(|found| found.is_true() && found.reason == reason::INVALID_SPEC)
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
