//! The status of an upgrade, rendered from the report. Never more than 64 KiB: it counts clusters and names only those that move or
//! need attention.

mod not_seen;
mod transitions;

use drydock_api::conditions::{self, AnyCondition, Condition, DesiredCondition, FALSE, TRUE, UNKNOWN};
use drydock_api::mcu::{
    self, ActionSummary, ClusterStatusEntry, ClustersSummary, ForecastStatus, ManagedClustersUpgradeStatus,
    PreChecksSummary, STATUS_LIMIT, condition, reason,
};
use drydock_rollout::{
    ActionCounts, ClusterName, ClusterState, ConditionStatus, ConditionType, Counts, PreCheckCounts,
    PreChecksMode, Report, UpgradeCondition, shortened, upgrade_conditions,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::upgrade::incomplete_since;

pub use not_seen::NotSeen;
pub use transitions::{is_over, transitions};

/// The longest message of a cluster, in bytes: the words of a webhook that refuses fit in, behind its name.
const MESSAGE: usize = 384;

/// The status of a complete upgrade stays as it is, but for what it says of records that cannot be written.
fn frozen(
    report: &Report,
    conditions: Vec<Condition>,
    before: &ManagedClustersUpgradeStatus,
) -> ManagedClustersUpgradeStatus {
    let known = before.conditions.as_deref().unwrap_or_default();
    let was_refused = conditions::find(known, condition::FAILED)
        .is_some_and(|failed| failed.reason == reason::RECORDS_REFUSED);
    let mut status = before.clone();
    if was_refused || report.records_refused.is_some() {
        let failed = conditions
            .into_iter()
            .filter(|condition| condition.type_ == condition::FAILED);
        let others = known
            .iter()
            .filter(|condition| condition.type_ != condition::FAILED)
            .cloned();
        status.conditions = Some(others.chain(failed).collect());
    }
    status
}

/// What the status of the upgrade should be.
///
/// `forecast` is what it is to say of the future; `before` is what it is: times of conditions that have not changed stay, and the status of a complete upgrade is frozen until its
/// spec changes.
pub fn render_status(
    report: &Report,
    generation: i64,
    before: &ManagedClustersUpgradeStatus,
    forecast: Option<ForecastStatus>,
    now: Timestamp,
) -> ManagedClustersUpgradeStatus {
    let known = before.conditions.as_deref().unwrap_or_default();
    let conditions = conditions_of(report, generation, known, now);
    if report.frozen {
        return frozen(report, conditions, before);
    }
    if report.deletion.is_some() {
        return ManagedClustersUpgradeStatus {
            conditions: Some(conditions),
            ..before.clone()
        };
    }
    let counts = &report.counts;
    let completion = report.complete().then(|| completion(report, before, now));
    let mut status = ManagedClustersUpgradeStatus {
        observed_generation: Some(generation),
        phase: phase(&conditions),
        progress: Some(format!("{}/{}", counts.complete, counts.total)),
        selected_clusters: Some(number(report.selected)),
        start_time: report.rollout_since.map(wire_time),
        completion_time: completion.map(wire_time),
        estimated_completion_time: forecast.as_ref().and_then(|forecast| forecast.p50.clone()),
        forecast,
        pre_upgrade_action_summary: used(report.pre_actions),
        canary_clusters_summery: Some(&report.canaries)
            .filter(|canaries| canaries.total > 0)
            .map(summary),
        clusters_summery: Some(summary(counts)),
        post_upgrade_action_summary: used(report.post_actions),
        pre_checks: found(&report.pre_checks),
        clusters: Some(named(report, &conditions)).filter(|named| !named.is_empty()),
        clusters_not_listed: Some(number(report.unnamed)).filter(|more| *more > 0),
        conditions: Some(conditions),
    };
    keep_in_bounds(&mut status);
    status
}

/// Cuts the list of clusters until the status is small enough, and counts those that are cut off.
fn keep_in_bounds(status: &mut ManagedClustersUpgradeStatus) {
    // What the API server adds to a status does not count here, so some room is left.
    const LIMIT: usize = STATUS_LIMIT - 1024;
    let size =
        |status: &ManagedClustersUpgradeStatus| serde_json::to_vec(status).map_or(0, |text| text.len());
    let mut size = size(status);
    while size > LIMIT {
        let Some(cut) = status.clusters.as_mut().and_then(Vec::pop) else {
            return;
        };
        size -= serde_json::to_vec(&cut).map_or(1, |text| text.len()).min(size);
        status.clusters_not_listed = Some(status.clusters_not_listed.unwrap_or(0) + 1);
    }
}

fn conditions_of(report: &Report, generation: i64, before: &[Condition], now: Timestamp) -> Vec<Condition> {
    let mut conditions = before.to_vec();
    if report.deletion.is_none() {
        conditions.retain(|found| found.type_ != condition::DELETING);
    }
    let wanted = upgrade_conditions(report);
    let says_of_pre_checks = |found: &UpgradeCondition| found.type_ == ConditionType::PreChecksPassed;
    if !report.frozen && !wanted.iter().any(says_of_pre_checks) {
        conditions.retain(|found| found.type_ != condition::PRE_CHECKS_PASSED);
    }
    for condition in wanted {
        let wanted = DesiredCondition {
            type_: condition.type_.as_str(),
            status: match condition.status {
                ConditionStatus::True => TRUE,
                ConditionStatus::False => FALSE,
                ConditionStatus::Unknown => UNKNOWN,
            },
            reason: condition.reason,
            message: &condition.message,
            observed_generation: Some(generation),
        };
        conditions::set(&mut conditions, &wanted, wire_time(now).0);
    }
    conditions
}

/// As the API keeps it, to the second: a status with finer times would never equal the one that was written.
pub(crate) fn wire_time(moment: Timestamp) -> Time {
    Time(Timestamp::from_second(moment.as_second()).unwrap_or(moment))
}

/// When the last outcome was committed; now, if that was before the rollout began.
fn completion(report: &Report, before: &ManagedClustersUpgradeStatus, now: Timestamp) -> Timestamp {
    report
        .last_outcome
        .or(before.completion_time.as_ref().map(|time| time.0))
        .filter(|done| {
            report
                .rollout_since
                .is_none_or(|since| *done >= wire_time(since).0)
        })
        .unwrap_or(now)
}

/// The reason of the newest true condition; of several of one moment, as after a restore, that which says most of the rollout.
fn phase(conditions: &[Condition]) -> Option<String> {
    let says_most = |type_: &str| {
        let order = [
            condition::SELECTED,
            condition::APPLIED,
            condition::IN_PROGRESS,
            condition::COMPLETE,
            condition::FAILED,
        ];
        order.iter().position(|of| *of == type_)
    };
    let newest = conditions
        .iter()
        .filter(|found| found.is_true() && found.type_ != condition::PRE_CHECKS_PASSED)
        .max_by_key(|condition| (condition.last_transition_time.0, says_most(&condition.type_)));
    let newest = newest.or_else(|| conditions.iter().find(|condition| !condition.is_true()))?;
    Some(newest.reason.clone())
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn summary(counts: &Counts) -> ClustersSummary {
    ClustersSummary {
        total: number(counts.total),
        initialized: number(counts.initialized),
        partial_upgrade: number(counts.partial),
        complete: number(counts.complete),
        failed: number(counts.failed),
        pending: number(counts.pending),
    }
}

/// What the condition PreChecksPassed is about, where there is something.
fn found(pre_checks: &PreCheckCounts) -> Option<PreChecksSummary> {
    let unanswered = match pre_checks.mode {
        PreChecksMode::Off => return None,
        PreChecksMode::Report => 0,
        PreChecksMode::Require => pre_checks.unanswered,
    };
    (pre_checks.with_findings > 0 || unanswered > 0).then(|| PreChecksSummary {
        with_findings: number(pre_checks.with_findings),
        acceptance_ended: number(pre_checks.blocked_again),
        unanswered: number(unanswered),
    })
}

fn used(counts: ActionCounts) -> Option<ActionSummary> {
    (counts != ActionCounts::default()).then(|| ActionSummary {
        total: number(counts.total),
        applied: number(counts.applied),
        available: number(counts.available),
        progressing: number(counts.progressing),
        degraded: number(counts.degraded),
    })
}

/// Failed clusters, then those in flight, then those that something keeps from starting. That the upgrade is not complete
/// may be news: then clusters wait since this moment.
fn named(report: &Report, conditions: &[Condition]) -> Vec<ClusterStatusEntry> {
    let waits_since = incomplete_since(conditions).map(wire_time);
    let entry = |(name, status): &(ClusterName, drydock_rollout::ClusterStatus)| {
        let mut entry = cluster_status(name, status);
        if status.state == ClusterState::NotStarted {
            entry.since = entry.since.max(waits_since.clone());
        }
        entry
    };
    report.attention.iter().map(entry).collect()
}

/// One cluster as the status says it, for the plugin and the page as well.
pub fn cluster_status(
    name: &ClusterName,
    status: &drydock_rollout::ClusterStatus,
) -> mcu::ClusterStatusEntry {
    mcu::ClusterStatusEntry {
        name: name.to_string(),
        canary: status.canary.then_some(true),
        state: status.state.as_str().to_owned(),
        version: status.version.clone(),
        reason: Some(status.reason.as_str().to_owned()),
        message: Some(shortened(&status.reason.to_string(), MESSAGE).into_owned()),
        since: status.since.map(wire_time),
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    #[test]
    fn of_conditions_of_one_moment_the_phase_is_that_which_says_most() {
        let now = Timestamp::UNIX_EPOCH;
        let at = |type_: &str, moment: Timestamp| Condition {
            type_: type_.to_owned(),
            status: TRUE.to_owned(),
            reason: format!("Is{type_}"),
            message: String::new(),
            last_transition_time: Time(moment),
            observed_generation: None,
        };
        let failed = at(condition::FAILED, now);
        let selected = at(condition::SELECTED, now);
        for conditions in [
            [failed.clone(), selected.clone()],
            [selected.clone(), failed.clone()],
        ] {
            assert_eq!(phase(&conditions).as_deref(), Some("IsFailed"));
        }
        let newer = at(condition::SELECTED, now + SignedDuration::from_secs(1));
        assert_eq!(phase(&[newer, failed]).as_deref(), Some("IsSelected"));
    }
}
