//! What was forecast beside what is on record.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use drydock_api::mcu::RecordEntry;
use drydock_forecast::StopCause;
use jiff::Timestamp;

use super::{Summary, Times, seconds};

/// The hub sees that a window opens, or a soak ends, at most this many seconds later than it does, whatever came before.
const LOOK: i64 = 2;

/// What one simulation says of the clusters that had not ended yet.
pub(super) struct Prediction {
    pub stop: Option<StopCause>,
    pub end: Timestamp,
    pub clusters: Vec<Times>,
}

/// What two simulations say, between which the hub is.
pub(super) struct Predictions {
    pub now: Timestamp,
    pub quick: Prediction,
    pub slow: Prediction,
}

impl Predictions {
    /// Those of a rollout that is over.
    pub fn over(now: Timestamp) -> Self {
        let nothing = || Prediction {
            stop: None,
            end: now,
            clusters: Vec::new(),
        };
        Self {
            now,
            quick: nothing(),
            slow: nothing(),
        }
    }

    /// By when everything has happened.
    pub fn end(&self) -> Timestamp {
        self.quick.end.max(self.slow.end)
    }

    /// Whether they differ in nothing but seconds: not in what starts and fails, and not by a start window.
    pub fn is_sure(&self) -> bool {
        let pairs = || self.quick.clusters.iter().zip(&self.slow.clusters);
        let alike = pairs().all(|((_, quick), (_, slow))| {
            let apart = |one: Option<Timestamp>, other: Option<Timestamp>| match (one, other) {
                (Some(one), Some(other)) => (seconds(one) - seconds(other)).abs() < 30 * 60,
                (one, other) => one == other,
            };
            quick.failed == slow.failed
                && apart(quick.started, slow.started)
                && apart(quick.ended, slow.ended)
        });
        alike && self.quick.stop == self.slow.stop
    }
}

/// Compares the forecast of a rollout with what is on record of it.
///
/// # Errors
/// If they differ.
pub(super) fn compare(
    predictions: &Predictions,
    entries: &[(String, RecordEntry)],
    summary: &mut Summary,
) -> anyhow::Result<()> {
    let entries: BTreeMap<&str, &RecordEntry> = entries
        .iter()
        .map(|(_, entry)| (entry.cluster.as_str(), entry))
        .collect();
    let mut starts = Vec::new();
    let clusters = predictions.quick.clusters.iter().zip(&predictions.slow.clusters);
    for ((name, quick), (_, slow)) in clusters {
        let entry = entries.get(name.as_ref()).copied();
        let real_start = entry.and_then(|entry| entry.started.as_ref());
        ensure!(
            real_start.is_some() == quick.started.is_some(),
            "{name}: it is forecast to start at {:?}, and is on record as {entry:?}",
            quick.started
        );
        let (Some(entry), Some(real_start)) = (entry, real_start) else {
            continue;
        };
        let failed = entry.outcome == "Failed";
        ensure!(
            failed == quick.failed,
            "{name}: {quick:?}, on record is {entry:?}"
        );
        let real_start: Timestamp = real_start.parse().context("a start")?;
        let real_end: Timestamp = entry.completed.parse().context("an end")?;
        for (what, real, quick, slow) in [
            ("starts", real_start, quick.started, slow.started),
            ("ends", real_end, quick.ended, slow.ended),
        ] {
            let (quick, slow) = quick.zip(slow).with_context(|| format!("{name} never {what}"))?;
            let (real, quick, slow) = (seconds(real), seconds(quick), seconds(slow));
            ensure!(
                (quick - 1..=slow + LOOK).contains(&real),
                "{name} {what} {} s later than the quickest hub does, and {} s later than the slowest: {entry:?}",
                real - quick,
                real - slow
            );
            summary.latest = summary.latest.max(real - quick);
        }
        starts.push((quick.started, slow.started, real_start, name));
        summary.clusters += 1;
        summary.failed += usize::from(failed);
    }
    for one in &starts {
        for other in &starts {
            // What starts within one look counts as together.
            let is_before = one.0 < other.0 && one.1 < other.1;
            ensure!(
                !is_before || seconds(one.2) <= seconds(other.2) + LOOK,
                "{} starts before {} in the forecast, and after it on record",
                one.3,
                other.3
            );
        }
    }
    summary.compared += 1;
    summary.stopped += usize::from(predictions.quick.stop.is_some());
    Ok(())
}
