//! What the change of a status means: for whoever watches an upgrade, and whether anything happens in it any more.

use drydock_api::conditions::{self, AnyCondition, Condition, FALSE, TRUE};
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeStatus, condition, reason};
use drydock_rollout::{ConditionType, Halt, Transition};

/// Whether nothing happens any more until somebody changes something: the status is about the present spec, the upgrade is complete,
/// refused or stopped for good, and no cluster is in flight.
pub fn is_over(upgrade: &ManagedClustersUpgrade) -> bool {
    let Some(status) = &upgrade.status else {
        return false;
    };
    let counts = status.clusters_summery.unwrap_or_default();
    let in_flight = counts.total - counts.pending - counts.complete - counts.failed;
    let conditions = list(status);
    let has_reason = |type_, reasons: &[&str]| {
        conditions::find(conditions, type_).is_some_and(|found| reasons.contains(&found.reason.as_str()))
    };
    let stopped = conditions::is_false(conditions, condition::IN_PROGRESS)
        && has_reason(condition::IN_PROGRESS, STOPPED);
    status.observed_generation == upgrade.metadata.generation
        && in_flight <= 0
        && (conditions::is_true(conditions, condition::COMPLETE) || stopped || is_refused(conditions))
}

/// Reasons of the condition InProgress that stay until somebody changes something.
const STOPPED: &[&str] = &[
    reason::CANARY_FAILED,
    reason::NO_CANARY_MATCHED,
    reason::FAILURE_BUDGET_SPENT,
    reason::CLUSTER_FAILED,
    reason::FREEZE_CALENDAR_UNREADABLE,
];

/// Reasons for which no further cluster starts because somebody wants that.
const WANTED: &[&str] = &[
    reason::PAUSED,
    reason::CANARY_SOAKING,
    reason::AWAITING_START_WINDOW,
    reason::FROZEN,
];

fn is_refused(conditions: &[Condition]) -> bool {
    let failed = conditions::find(conditions, condition::FAILED);
    failed.is_some_and(|failed| failed.reason == reason::INVALID_SPEC)
}

/// What the change of a status means for the upgrade as a whole.
pub fn transitions(
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
            say(!WANTED.contains(&reason), reason, message);
        }
        // What an invalid spec says is not known: whoever has paused it has not resumed it.
        (Some(_), None) if conditions::is_true(new, condition::IN_PROGRESS) && !is_refused(new) => {
            say(false, "Resumed", "clusters start again");
        }
        _ => {}
    }
    let is_late = |status: &ManagedClustersUpgradeStatus| {
        let forecast = status.forecast.as_ref();
        forecast.is_some_and(|forecast| forecast.late == Some(true))
    };
    if is_late(after) && !is_late(before) {
        say(
            true,
            reason::LATE,
            "the rollout is expected to end after the 90th percentile (p90) of the forecast that was made when it began",
        );
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
    for (type_, problems, is_problem) in PROBLEMS {
        let find = |list| problem(list, type_.as_str(), problems, is_problem);
        if let Some(found) = find(new).filter(|found| find(old) != Some(found)) {
            say(true, found, message(type_.as_str()));
        }
    }
    let ended = |status: &ManagedClustersUpgradeStatus| {
        let found = status.pre_checks;
        found
            .map(|found| found.acceptance_ended)
            .filter(|ended| *ended > 0)
    };
    // Where the first has ended, the condition has changed, and has said so.
    if let (Some(before), Some(after)) = (ended(before), ended(after))
        && after > before
    {
        say(
            true,
            reason::ACCEPTANCE_ENDED,
            message(condition::PRE_CHECKS_PASSED),
        );
    }
    transitions
}

/// Reasons that are reported when they appear: of which condition, and in which status of it.
const PROBLEMS: &[(ConditionType, &[&str], &str)] = &[
    (
        ConditionType::PreChecksPassed,
        &[
            reason::RISKS_NOT_ACCEPTED,
            reason::ACCEPTANCE_ENDED,
            reason::PRE_CHECKS_UNANSWERED,
        ],
        FALSE,
    ),
    (
        ConditionType::Failed,
        &[reason::INVALID_SPEC, reason::RECORDS_REFUSED],
        TRUE,
    ),
    // The rollout has ended, and not well.
    (ConditionType::InProgress, &[reason::CLUSTER_FAILED], FALSE),
    (
        ConditionType::Selected,
        &[
            reason::NO_CLUSTERS,
            reason::PLACEMENT_NOT_FOUND,
            reason::PLACEMENT_UNSATISFIED,
            reason::PLACEMENT_FORBIDDEN,
        ],
        FALSE,
    ),
    (
        ConditionType::Deleting,
        &[reason::DELETION_REFUSED, reason::RECORDS_REFUSED],
        TRUE,
    ),
];

fn problem<'a>(
    conditions: &[Condition],
    type_: &str,
    problems: &'a [&'static str],
    status: &str,
) -> Option<&'a &'static str> {
    let found = conditions::find(conditions, type_).filter(|found| found.status == status)?;
    problems.iter().find(|reason| **reason == found.reason)
}

fn list(status: &ManagedClustersUpgradeStatus) -> &[Condition] {
    status.conditions.as_deref().unwrap_or_default()
}

fn halt(conditions: &[Condition]) -> Option<(&'static str, &str)> {
    let found = conditions::find(conditions, condition::IN_PROGRESS)?;
    let reason = Halt::ALL.into_iter().find(|reason| *reason == found.reason)?;
    Some((reason, &found.message))
}

#[cfg(test)]
mod tests {
    use drydock_api::mcu::PreChecksSummary;
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn in_progress(status: &str, reason: &str) -> ManagedClustersUpgradeStatus {
        ManagedClustersUpgradeStatus {
            conditions: Some(vec![Condition {
                type_: condition::IN_PROGRESS.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message: "so it is".to_owned(),
                last_transition_time: Time(Timestamp::UNIX_EPOCH),
                observed_generation: None,
            }]),
            ..ManagedClustersUpgradeStatus::default()
        }
    }

    /// In flight, with a spec that is invalid by now.
    fn refused() -> ManagedClustersUpgradeStatus {
        let mut status = in_progress(TRUE, reason::IN_PROGRESS);
        let failed = Condition {
            type_: condition::FAILED.to_owned(),
            ..in_progress(TRUE, reason::INVALID_SPEC)
                .conditions
                .unwrap()
                .remove(0)
        };
        status.conditions.as_mut().unwrap().push(failed);
        status
    }

    /// What somebody wants is no warning, clusters start again only when they do, and a rollout that has ended with failures says so.
    #[test]
    fn a_halt_warns_if_nobody_wants_it_and_ends_when_clusters_start() {
        let going = in_progress(TRUE, reason::IN_PROGRESS);
        let off = |reason| in_progress(FALSE, reason);
        for (before, after, said) in [
            (&going, &off(reason::PAUSED), Some((reason::PAUSED, false))),
            (
                &going,
                &off(reason::CANARY_SOAKING),
                Some((reason::CANARY_SOAKING, false)),
            ),
            (
                &going,
                &off(reason::CANARY_FAILED),
                Some((reason::CANARY_FAILED, true)),
            ),
            (&off(reason::PAUSED), &going, Some(("Resumed", false))),
            (&off(reason::PAUSED), &off(reason::NOT_STARTED), None),
            (
                &off(reason::PAUSED),
                &off(reason::CLUSTER_FAILED),
                Some((reason::CLUSTER_FAILED, true)),
            ),
            (&off(reason::CLUSTER_FAILED), &off(reason::CLUSTER_FAILED), None),
            // What an invalid spec says of a pause is not known.
            (
                &off(reason::PAUSED),
                &refused(),
                Some((reason::INVALID_SPEC, true)),
            ),
        ] {
            let transitions = transitions(before, after);
            let all: Vec<_> = transitions.iter().map(|one| (one.reason, one.warning)).collect();
            assert_eq!(all, said.into_iter().collect::<Vec<_>>());
        }
    }

    /// The condition says the same of one cluster as of two; somebody has to look at the second one as well.
    #[test]
    fn each_cluster_whose_acceptance_ends_is_reported() {
        let held = |ended: i64| ManagedClustersUpgradeStatus {
            conditions: Some(vec![Condition {
                type_: condition::PRE_CHECKS_PASSED.to_owned(),
                status: FALSE.to_owned(),
                reason: match ended {
                    0 => reason::RISKS_NOT_ACCEPTED,
                    _ => reason::ACCEPTANCE_ENDED,
                }
                .to_owned(),
                message: format!("on {ended} of 3"),
                last_transition_time: Time(Timestamp::UNIX_EPOCH),
                observed_generation: None,
            }]),
            pre_checks: Some(PreChecksSummary {
                with_findings: 3,
                acceptance_ended: ended,
                unanswered: 0,
            }),
            ..ManagedClustersUpgradeStatus::default()
        };
        for (before, after, events) in [(0, 1, 1), (1, 1, 0), (1, 2, 1), (2, 1, 0), (1, 0, 1)] {
            let said = transitions(&held(before), &held(after));
            assert_eq!(said.len(), events, "{before} to {after}: {said:?}");
            assert!(said.iter().all(|said| said.message == format!("on {after} of 3")));
        }
    }
}
