//! How much slower or faster a whole rollout is than what is known of others: a release, a season or a network is slow for all clusters.
//! What the rollout has shown so far narrows it down.

use statrs::distribution::{ContinuousCDF, Normal};

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
