//! How much slower or faster a whole rollout is than what is known of others: a release, a season or a network is slow for all clusters.
//! What the rollout has shown so far narrows it down.

use std::collections::BTreeMap;

use drydock_rollout::Uid;
use jiff::Timestamp;
use statrs::distribution::{ContinuousCDF, Normal};

use super::durations::ENOUGH;
use super::past::{PastUpgrade, Stream};
use super::published;

/// How far a cluster of the rollout is, beside what the model expects of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Progress {
    /// Seconds that it took, or has taken so far.
    pub seconds: f64,
    /// Whether it is done.
    pub done: bool,
    /// Mean and deviation of the logarithm that the model expects.
    pub log_mean: f64,
    pub log_deviation: f64,
}

/// The factor by which durations of a rollout differ from those that are known, with how sure that is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpeedFactor {
    /// The logarithm of the factor by how sure it is that it is not more.
    curve: [f64; POINTS],
}

const POINTS: usize = 65;
/// Factors are looked at up to this many deviations from one.
const REACH: f64 = 3.5;

impl SpeedFactor {
    /// That of a rollout that differs from others by `deviation`, and has shown this much.
    pub fn of(deviation: f64, shown: &[Progress]) -> Self {
        let normal = Normal::standard();
        let place = |index: usize| REACH * deviation * (2.0 * index as f64 / (POINTS - 1) as f64 - 1.0);
        let likelihood: [f64; POINTS] = std::array::from_fn(|index| {
            let factor = place(index);
            let prior = -0.5 * (factor / deviation).powi(2);
            let seen = shown.iter().map(|progress| {
                let off =
                    (progress.seconds.max(1.0).ln() - progress.log_mean - factor) / progress.log_deviation;
                if progress.done {
                    // One that is far off says that it is odd, not that the rollout is.
                    -0.5 * (off * off).min(16.0)
                } else {
                    // It may hang as well.
                    (1.0 - normal.cdf(off) + 0.02).ln()
                }
            });
            prior + seen.sum::<f64>()
        });
        let most = likelihood.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = likelihood.map(|likelihood| (likelihood - most).exp());
        let all: f64 = weights.iter().sum();
        Self {
            curve: std::array::from_fn(|index| {
                quantile(&weights, all * (index as f64 + 0.5) / POINTS as f64, place)
            }),
        }
    }

    /// The factor that is not exceeded with this sureness.
    pub fn factor(&self, sureness: f64) -> f64 {
        let place = (sureness * POINTS as f64 - 0.5).clamp(0.0, (POINTS - 1) as f64);
        let below = (place as usize).min(POINTS - 2);
        let within = place - below as f64;
        (self.curve[below] + (self.curve[below + 1] - self.curve[below]) * within).exp()
    }
}

/// Where the weights, each spread around its place, add up to a sum.
fn quantile(weights: &[f64; POINTS], sum: f64, place: impl Fn(usize) -> f64) -> f64 {
    let step = place(1) - place(0);
    let mut before = 0.0;
    for (index, weight) in weights.iter().enumerate() {
        if before + weight >= sum && *weight > 0.0 {
            return place(index) + step * ((sum - before) / weight - 0.5);
        }
        before += weight;
    }
    place(POINTS - 1)
}

/// How the rollouts on record differ from each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RolloutEffects {
    /// By how much the next one may be slower or faster than what is on record, as the deviation of the logarithm: by how much earlier
    /// ones were so, and by how little of them is known.
    pub deviation: f64,
    /// By how much each was slower than the others, as a logarithm, as far as its clusters show it.
    effects: BTreeMap<(Uid, Timestamp), f64>,
}

impl RolloutEffects {
    /// Those of what is on record.
    pub fn of(past: &[PastUpgrade]) -> Self {
        let by_rollout = deviations_by_rollout(past);
        let count: usize = by_rollout.values().map(Vec::len).sum();
        let within: f64 = by_rollout
            .values()
            .map(|logs| {
                let mean = mean(logs);
                logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
            })
            .sum();
        let within = within / count.saturating_sub(by_rollout.len()).max(1) as f64;
        // A rollout of one cluster says nothing about rollouts.
        let rollouts: Vec<&Vec<f64>> = by_rollout.values().filter(|logs| logs.len() >= 3).collect();
        let degrees = rollouts.len().saturating_sub(1) as f64;
        let squares: f64 = rollouts.iter().map(|logs| mean(logs).powi(2)).sum();
        let sampling: f64 = rollouts.iter().map(|logs| within / logs.len() as f64).sum();
        let seen = (squares / degrees.max(1.0) - sampling / rollouts.len().max(1) as f64).max(0.0);
        let assumed = published::ROLLOUT_DEVIATION.powi(2);
        let of_rollouts = (degrees * seen + ASSUMED_WEIGHT * assumed) / (degrees + ASSUMED_WEIGHT);
        // The mean of few rollouts is uncertain by itself.
        let of_mean = of_rollouts / rollouts.len().max(1) as f64 + within / count.max(1) as f64;
        let known = (count as f64 / ENOUGH as f64).min(1.0);
        let variance = known * (of_rollouts + of_mean) + (1.0 - known) * published::FLEET_DEVIATION.powi(2);
        let effects = by_rollout.into_iter().map(|(rollout, logs)| {
            // What a few clusters show may be theirs: it counts by how sure it is.
            let sureness = of_rollouts / (of_rollouts + within / logs.len() as f64);
            (rollout.clone(), sureness * mean(&logs))
        });
        Self {
            deviation: variance.sqrt(),
            effects: effects.collect(),
        }
    }

    /// How long the upgrade would have taken in a rollout like the others.
    pub fn without(&self, upgrade: &PastUpgrade, seconds: f64) -> f64 {
        seconds
            / self
                .effects
                .get(&upgrade.rollout)
                .map_or(1.0, |effect| effect.exp())
    }
}

/// So many rollouts weigh as much as what is assumed of how they differ.
const ASSUMED_WEIGHT: f64 = 2.0;

fn mean(logs: &[f64]) -> f64 {
    logs.iter().sum::<f64>() / logs.len().max(1) as f64
}

/// By how much each upgrade took longer than those of its stream do, as logarithms.
fn deviations_by_rollout(past: &[PastUpgrade]) -> BTreeMap<&(Uid, Timestamp), Vec<f64>> {
    let done = || {
        past.iter()
            .filter(|upgrade| upgrade.failure.is_none())
            .filter_map(|upgrade| Some((upgrade, (upgrade.stages.upgrade?.max(1) as f64).ln())))
    };
    let mut by_stream: BTreeMap<Option<Stream>, Vec<f64>> = BTreeMap::new();
    for (upgrade, log) in done() {
        by_stream.entry(upgrade.stream).or_default().push(log);
    }
    let means: BTreeMap<_, f64> = by_stream
        .iter()
        .map(|(stream, logs)| (*stream, mean(logs)))
        .collect();
    let mut by_rollout: BTreeMap<&(Uid, Timestamp), Vec<f64>> = BTreeMap::new();
    for (upgrade, log) in done() {
        let expected = means.get(&upgrade.stream).copied().unwrap_or(log);
        by_rollout
            .entry(&upgrade.rollout)
            .or_default()
            .push(log - expected);
    }
    by_rollout
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(seconds: f64, done: bool) -> Progress {
        Progress {
            seconds,
            done,
            log_mean: 4000_f64.ln(),
            log_deviation: 0.4,
        }
    }

    #[test]
    fn a_rollout_that_has_shown_nothing_is_as_others_are() {
        let speed = SpeedFactor::of(0.3, &[]);
        assert!((speed.factor(0.5) - 1.0).abs() < 0.01, "{}", speed.factor(0.5));
        assert!((speed.factor(0.9).ln() / 0.3 - 1.28).abs() < 0.1);
    }

    #[test]
    fn what_it_has_shown_narrows_it_down() {
        let speed = SpeedFactor::of(0.35, &[progress(6000.0, true); 50]);
        assert!((1.4..1.6).contains(&speed.factor(0.5)), "{}", speed.factor(0.5));
        assert!(speed.factor(0.9) / speed.factor(0.1) < 1.25);
    }

    #[test]
    fn the_first_that_are_done_do_not_make_it_fast_while_others_still_run() {
        let fast = vec![progress(2500.0, true); 5];
        let with_others: Vec<Progress> = fast
            .iter()
            .copied()
            .chain([progress(2600.0, false); 20])
            .collect();
        let (alone, together) = (SpeedFactor::of(0.35, &fast), SpeedFactor::of(0.35, &with_others));
        assert!(together.factor(0.5) > 1.15 * alone.factor(0.5));
    }
}
