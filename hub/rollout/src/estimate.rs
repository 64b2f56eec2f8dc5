//! When the rollout will be done, by the pace so far.

use jiff::{SignedDuration, Timestamp};

use crate::{ClusterState, Report};

/// The mean of the completed clusters' durations, once for those in flight and once for each batch that has to follow.
/// Nothing before the first is complete, or while nothing moves. It does not follow the clock, so that a status without
/// news stays as it is.
pub(crate) fn completion(report: &Report, now: Timestamp) -> Option<Timestamp> {
    let counts = report.counts();
    let durations: Vec<i64> = report
        .clusters
        .values()
        .filter(|standing| standing.state == ClusterState::Complete)
        .filter_map(|standing| Some(standing.finished?.duration_since(standing.started?).as_secs()))
        .collect();
    let samples = i64::try_from(durations.len())
        .ok()
        .filter(|samples| *samples > 0)?;
    let mean = durations.iter().sum::<i64>() / samples;
    let latest = report
        .clusters
        .values()
        .filter(|standing| standing.state.in_flight())
        .filter_map(|standing| standing.started)
        .max()?;
    let batches = counts.pending.div_ceil(report.limit.max(1));
    let remaining = mean.saturating_mul(1 + i64::try_from(batches).ok()?);
    let end = latest.saturating_add(SignedDuration::from_secs(remaining)).ok()?;
    (end > now).then_some(end)
}
