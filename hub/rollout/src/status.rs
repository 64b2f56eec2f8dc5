//! The status of an upgrade, rendered from the report (hub 1). Never more than 64 KiB: it counts clusters and names
//! only those that move or need attention.

use drydock_api::conditions::{AnyCondition, Condition};
use drydock_api::mcu::{ActionSummary, ClusterStatus, ClustersSummary, ManagedClustersUpgradeStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{ClusterState, Counts, Reason, Report, Standing, conditions};

/// The most clusters that the status names.
const NAMED_CLUSTERS: usize = 100;
/// The longest message of a cluster, in characters.
const MESSAGE: usize = 128;

/// What the status of the upgrade should be.
///
/// `before` is what it is: times of conditions that have not changed stay, and the status of a complete upgrade is
/// frozen until its spec changes.
pub fn render_status(
    report: &Report,
    generation: i64,
    before: &ManagedClustersUpgradeStatus,
    now: Timestamp,
) -> ManagedClustersUpgradeStatus {
    if report.frozen || report.owing.is_some() {
        return before.clone();
    }
    let counts = report.counts();
    let conditions = conditions::render(
        report,
        generation,
        before.conditions.as_deref().unwrap_or_default(),
        now,
    );
    let completion = report.complete().then(|| completion(report, before, now));
    ManagedClustersUpgradeStatus {
        observed_generation: Some(generation),
        phase: phase(&conditions),
        progress: Some(format!("{}/{}", counts.complete, counts.total)),
        selected_clusters: Some(number(report.selection.selected)),
        start_time: report.rollout_since.map(wire_time),
        completion_time: completion.map(wire_time),
        estimated_completion_time: report.estimated_completion.map(wire_time),
        pre_upgrade_action_summary: used(report.pre_actions),
        canary_clusters_summery: Some(report.count(|standing| standing.canary))
            .filter(|canaries| canaries.total > 0)
            .map(summary),
        clusters_summery: Some(summary(counts)),
        post_upgrade_action_summary: used(report.post_actions),
        clusters: Some(named(report)).filter(|named| !named.is_empty()),
        conditions: Some(conditions),
    }
}

/// As the API keeps it, to the second: a status with finer times would never equal the one that was written.
fn wire_time(moment: Timestamp) -> Time {
    Time(Timestamp::from_second(moment.as_second()).unwrap_or(moment))
}

/// When the last cluster was done, or the retry was asked for that found nothing to do. A cluster that needed nothing has
/// no time: then it is now.
fn completion(report: &Report, before: &ManagedClustersUpgradeStatus, now: Timestamp) -> Timestamp {
    let last = report
        .clusters
        .values()
        .filter_map(|standing| standing.finished)
        .max();
    let retried = report.retry.as_ref().and_then(|retry| retry.as_ref().ok());
    last.or(before.completion_time.as_ref().map(|time| time.0))
        .unwrap_or(now)
        .max(
            retried
                .copied()
                .filter(|asked| *asked <= now)
                .unwrap_or(Timestamp::MIN),
        )
}

/// The reason of the newest true condition; of several of one moment, the last.
fn phase(conditions: &[Condition]) -> Option<String> {
    let newest = conditions
        .iter()
        .filter(|condition| condition.is_true())
        .max_by_key(|condition| condition.last_transition_time.0);
    let newest = newest.or_else(|| conditions.iter().find(|condition| !condition.is_true()))?;
    Some(newest.reason.clone())
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn summary(counts: Counts) -> ClustersSummary {
    ClustersSummary {
        total: number(counts.total),
        initialized: number(counts.initialized),
        partial_upgrade: number(counts.partial),
        complete: number(counts.complete),
        failed: number(counts.failed),
        pending: number(counts.pending),
    }
}

fn used(summary: ActionSummary) -> Option<ActionSummary> {
    (summary != ActionSummary::default()).then_some(summary)
}

/// Failed clusters, then those in flight, then those that something keeps from starting.
fn named(report: &Report) -> Vec<ClusterStatus> {
    let mut named: Vec<_> = report
        .clusters
        .iter()
        .filter_map(|(name, standing)| Some((urgency(standing)?, name, standing)))
        .collect();
    named.sort_by_key(|(urgency, name, _)| (*urgency, *name));
    named
        .into_iter()
        .take(NAMED_CLUSTERS)
        .map(|(_, name, standing)| ClusterStatus {
            name: name.to_string(),
            canary: standing.canary.then_some(true),
            state: standing.state.as_str().to_owned(),
            version: standing.version.clone(),
            message: Some(bounded(&standing.reason.to_string())),
            since: standing.since.map(wire_time),
        })
        .collect()
}

/// How much a cluster needs attention; none at all if it is done or waits for its turn.
fn urgency(standing: &Standing) -> Option<u8> {
    let waits_its_turn = matches!(
        standing.reason,
        Reason::WaitingForSlot { .. } | Reason::WaitingForCanaries | Reason::Halted | Reason::Starting
    );
    match standing.state {
        ClusterState::Failed => Some(0),
        ClusterState::NotStarted if !waits_its_turn => Some(2),
        ClusterState::NotStarted | ClusterState::Complete => None,
        _ => Some(1),
    }
}

fn bounded(message: &str) -> String {
    if message.chars().count() <= MESSAGE {
        return message.to_owned();
    }
    let cut: String = message.chars().take(MESSAGE - 1).collect();
    format!("{cut}…")
}
