//! The estimate by how long this cluster's own updates took.

use drydock_api::openshift::cluster_version::UpdateHistory;
use jiff::SignedDuration;

use super::operators::timewise;
use crate::times::{moment, round_by_length};

/// How long an update takes as long as nothing better is known.
const USUAL: SignedDuration = SignedDuration::from_hours(1);
/// Into how many parts the curve of progress is cut to make it monotone.
const STEPS: u32 = 1_000;

/// How long the last completed update took; an hour if there is none. The first entry is the present update, the last one the installation.
pub fn baseline(history: &[UpdateHistory]) -> SignedDuration {
    own_durations(history).first().copied().unwrap_or(USUAL)
}

/// How long the completed updates before the present one took, the last one first.
pub fn own_durations(history: &[UpdateHistory]) -> Vec<SignedDuration> {
    let Some([_, earlier @ .., _]) = history.get(..) else {
        return Vec::new();
    };
    let completed = earlier.iter().filter(|entry| entry.is_completed());
    completed.filter_map(duration).collect()
}

fn duration(entry: &UpdateHistory) -> Option<SignedDuration> {
    let started = moment(entry.started_time.as_deref())?;
    let ended = moment(entry.completion_time.value().map(String::as_str))?;
    Some(ended.duration_since(started))
}

/// How much longer the control plane takes by this cluster's own updates: what is left of the curve of progress, as a part of the median of
/// what they took, from the last progress on. Nothing if it has completed none.
pub fn remaining_by_history(
    history: &[UpdateHistory],
    to_last_progress: SignedDuration,
    updating_for: SignedDuration,
    updated: f64,
) -> Option<SignedDuration> {
    if updated >= 1.0 {
        return Some(SignedDuration::ZERO);
    }
    let usual = median(own_durations(history))?;
    let left = usual.as_secs_f64() * (1.0 - monotone(updated));
    let remaining = to_last_progress.as_secs_f64() + left - updating_for.as_secs_f64();
    Some(round_by_length(SignedDuration::from_secs(remaining as i64)))
}

fn median(mut durations: Vec<SignedDuration>) -> Option<SignedDuration> {
    durations.sort_unstable();
    let upper = *durations.get(durations.len() / 2)?;
    let lower = *durations.get((durations.len() - 1) / 2)?;
    Some(lower.saturating_add(upper) / 2)
}

/// The curve of progress without its steps back.
fn monotone(updated: f64) -> f64 {
    let below = (0..=STEPS)
        .map(|step| f64::from(step) / f64::from(STEPS))
        .take_while(|x| *x <= updated);
    below.chain([updated]).map(timewise).fold(0.0, f64::max).min(1.0)
}
