//! The conditions of an upgrade (hub 3), rendered from the report.

use drydock_api::conditions::{self, Condition, FALSE, TRUE, UNKNOWN, Wanted};
use drydock_api::mcu::{condition, reason};
use jiff::Timestamp;

use crate::{ClusterState, Counts, Halt, Report, SelectionProblem};

/// How many names a message holds.
const NAMES: usize = 5;

struct Verdict {
    status: &'static str,
    reason: &'static str,
    message: String,
}

fn verdict(status: &'static str, reason: &'static str, message: impl Into<String>) -> Verdict {
    Verdict {
        status,
        reason,
        message: message.into(),
    }
}

/// Sets all five conditions.
pub(crate) fn render(
    report: &Report,
    generation: i64,
    before: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let in_progress = in_progress(report);
    let complete = complete(report, &in_progress);
    let all = [
        (condition::SELECTED, selected(report)),
        (condition::APPLIED, applied(report)),
        (condition::IN_PROGRESS, in_progress),
        (condition::COMPLETE, complete),
        (condition::FAILED, failed(report)),
    ];
    let mut conditions = before.to_vec();
    for (type_, verdict) in all {
        let wanted = Wanted {
            type_,
            status: verdict.status,
            reason: verdict.reason,
            message: &verdict.message,
            observed_generation: Some(generation),
        };
        conditions::set(&mut conditions, &wanted, now);
    }
    conditions
}

fn selected(report: &Report) -> Verdict {
    let Some((placement, problem)) = &report.selection.problem else {
        return match report.selection.selected {
            0 => verdict(
                FALSE,
                reason::NO_CLUSTERS,
                "no cluster is selected: check the placements' predicates, the cluster sets bound to their namespaces, \
                 and the labels of the clusters",
            ),
            selected => verdict(TRUE, reason::SELECTED, format!("{} selected", clusters(selected))),
        };
    };
    match problem {
        SelectionProblem::NotFound => verdict(
            FALSE,
            reason::PLACEMENT_NOT_FOUND,
            format!("there is no Placement {placement}: create it or correct spec.placement"),
        ),
        SelectionProblem::Forbidden => verdict(
            FALSE,
            reason::PLACEMENT_FORBIDDEN,
            format!("Placement {placement} is in another namespace than the upgrade: this hub refuses that"),
        ),
        SelectionProblem::Unsatisfied(why) => verdict(
            FALSE,
            reason::PLACEMENT_UNSATISFIED,
            format!("Placement {placement} finds no clusters: {why}"),
        ),
        SelectionProblem::Pending => verdict(
            UNKNOWN,
            reason::NO_CLUSTERS,
            format!("waiting until Placement {placement} is decided"),
        ),
    }
}

fn applied(report: &Report) -> Verdict {
    let applied = report
        .clusters
        .values()
        .filter(|standing| standing.applied || standing.initialized)
        .count();
    match applied {
        0 => verdict(FALSE, reason::NOT_STARTED, "no work is applied yet"),
        applied => verdict(
            TRUE,
            reason::APPLIED,
            format!("works are applied on {}", clusters(applied)),
        ),
    }
}

fn in_progress(report: &Report) -> Verdict {
    let counts = report.counts();
    let moving = counts.in_flight + report.starting;
    let halted = report.halt.as_ref().map(|halt| halt_words(halt, report));
    let so_far = format!(
        "{moving} in flight, {} of {} complete",
        counts.complete, counts.total
    );
    match halted {
        // What runs goes on without a valid spec or a selection; otherwise the halt is the news.
        Some((reason::NOT_STARTED, _)) | None if moving > 0 => {
            return verdict(TRUE, reason::IN_PROGRESS, so_far);
        }
        Some((reason, why)) if moving > 0 => return verdict(FALSE, reason, format!("{why}; {so_far}")),
        Some((reason, why)) => return verdict(FALSE, reason, why),
        None => {}
    }
    if report.complete() {
        return verdict(
            FALSE,
            reason::COMPLETE,
            format!("{} upgraded to {}", clusters(counts.complete), report.target),
        );
    }
    if counts.total == 0 {
        return verdict(FALSE, reason::NOT_STARTED, "no cluster is selected");
    }
    if counts.pending == 0 {
        let message = format!(
            "{} of {} complete, {} failed",
            counts.complete, counts.total, counts.failed
        );
        return verdict(FALSE, reason::CLUSTER_FAILED, message);
    }
    let message = format!("{} waiting: {}", clusters(counts.pending), first_wait(report));
    match report.rollout_since {
        None => verdict(FALSE, reason::NOT_STARTED, message),
        Some(_) => verdict(TRUE, reason::IN_PROGRESS, message),
    }
}

fn first_wait(report: &Report) -> String {
    report
        .clusters
        .iter()
        .find(|(_, standing)| standing.state == ClusterState::NotStarted)
        .map(|(name, standing)| format!("{name}: {}", standing.reason))
        .unwrap_or_default()
}

/// The reason and the words for why nothing new starts.
fn halt_words(halt: &Halt, report: &Report) -> (&'static str, String) {
    match halt {
        Halt::InvalidSpec => (reason::NOT_STARTED, "the spec is invalid: see the condition Failed".to_owned()),
        Halt::Selection => (reason::NOT_STARTED, selected(report).message),
        Halt::Paused => (reason::PAUSED, "spec.paused is true: what runs goes on, nothing new starts".to_owned()),
        Halt::NoCanaryMatched => (
            reason::NO_CANARY_MATCHED,
            "spec.upgradeStrategy.canaryClusters matches no selected cluster: correct the selector, or remove it to go \
             without canaries"
                .to_owned(),
        ),
        Halt::CanaryFailed(names) => {
            let names = some_names(names.iter().map(ToString::to_string), names.len());
            (reason::CANARY_FAILED, format!("a canary failed, no other cluster starts: {names}"))
        }
        Halt::CanarySoaking { until: Some(until), .. } => (
            reason::CANARY_SOAKING,
            format!("the canaries are complete and must stay healthy until {until} before any other cluster starts"),
        ),
        Halt::CanarySoaking { until: None, unhealthy } => {
            let names = some_names(unhealthy.iter().map(ToString::to_string), unhealthy.len());
            (
                reason::CANARY_SOAKING,
                format!("the canaries must stay healthy before any other cluster starts, and are not: {names}"),
            )
        }
        Halt::FailureBudgetSpent { failed, budget } => (
            reason::FAILURE_BUDGET_SPENT,
            format!(
                "{} failed and spec.upgradeStrategy.maxFailures is {budget}: nothing new starts until they are retried or \
                 more are allowed",
                clusters(*failed)
            ),
        ),
        Halt::AwaitingStartWindow { opens: Some(opens) } => (
            reason::AWAITING_START_WINDOW,
            format!("no start window is open, the next one opens at {opens}"),
        ),
        Halt::AwaitingStartWindow { opens: None } => (
            reason::AWAITING_START_WINDOW,
            "no start window is open, and none opens any more: correct spec.upgradeStrategy.startWindows".to_owned(),
        ),
    }
}

fn complete(report: &Report, in_progress: &Verdict) -> Verdict {
    let counts = report.counts();
    if report.complete() {
        return verdict(
            TRUE,
            reason::COMPLETE,
            format!("all {} upgraded to {}", clusters(counts.total), report.target),
        );
    }
    verdict(
        FALSE,
        in_progress.reason,
        format!("{} of {} complete", counts.complete, counts.total),
    )
}

fn failed(report: &Report) -> Verdict {
    if let Some(invalid) = &report.invalid {
        return verdict(TRUE, reason::INVALID_SPEC, invalid.to_string());
    }
    let clusters = failed_clusters(report);
    match &report.retry {
        Some(Err(invalid)) => verdict(
            TRUE,
            reason::INVALID_RETRY,
            format!("{invalid}; {}", clusters.message),
        ),
        Some(Ok(_)) | None => clusters,
    }
}

fn failed_clusters(report: &Report) -> Verdict {
    let Counts { failed, .. } = report.counts();
    if failed == 0 {
        return verdict(FALSE, "NoClusterFailed", "no cluster has failed");
    }
    let names = report
        .clusters
        .iter()
        .filter(|(_, standing)| standing.state == ClusterState::Failed)
        .map(|(name, standing)| format!("{name} ({})", standing.reason));
    verdict(
        TRUE,
        reason::CLUSTER_FAILED,
        format!("{} failed: {}", clusters(failed), some_names(names, failed)),
    )
}

fn clusters(count: usize) -> String {
    if count == 1 {
        "1 cluster".to_owned()
    } else {
        format!("{count} clusters")
    }
}

fn some_names(names: impl Iterator<Item = String>, all: usize) -> String {
    let mut text = names.take(NAMES).collect::<Vec<_>>().join(", ");
    if all > NAMES {
        text = format!("{text} and {} more", all - NAMES);
    }
    text
}
