//! What is assumed where nothing is on record: figures of 117 updates in public histories of OpenShift's continuous integration, from
//! the request to ClusterVersion's Completed.

use statrs::distribution::{ContinuousCDF, Normal};

use super::durations::Durations;
use super::past::Stream;

/// Below four hours the updates are lognormal, in minutes.
const LOG_MEAN: f64 = 4.19;
const LOG_DEVIATION: f64 = 0.47;
/// What takes longer is counted as a failure: it is beyond the timeout that upgrades have.
const LONGEST_MINUTES: f64 = 240.0;
/// The medians of all updates and of each stream, in minutes.
const MEDIAN: f64 = 71.0;
const MEDIAN_Z: f64 = 70.0;
const MEDIAN_Y: f64 = 88.0;
/// How finely the curve is kept.
const POINTS: u32 = 256;

/// By how much a fleet may be slower or faster than what is published, as the deviation of the logarithm.
pub(super) const FLEET_DEVIATION: f64 = 0.35;
/// By how much one rollout may be slower or faster than others of the same fleet, as long as too few are known.
pub(super) const ROLLOUT_DEVIATION: f64 = 0.12;
/// One cluster in fifty fails, as long as nothing is known, with the weight of 25 upgrades: (failures, successes).
pub(super) const FAILURES: (f64, f64) = (0.5, 24.5);

/// Durations of the platform's upgrade.
pub(super) fn platform(stream: Option<Stream>) -> Durations {
    let median = match stream {
        Some(Stream::Z) => MEDIAN_Z,
        Some(Stream::Y) => MEDIAN_Y,
        None => MEDIAN,
    };
    let normal = Normal::standard();
    let share_below = normal.cdf((LONGEST_MINUTES.ln() - LOG_MEAN) / LOG_DEVIATION);
    let point = |index: u32| {
        let share = share_below * (f64::from(index) + 0.5) / f64::from(POINTS);
        let minutes = (LOG_MEAN + LOG_DEVIATION * normal.inverse_cdf(share)).exp();
        60.0 * minutes * median / MEDIAN
    };
    Durations::of((0..POINTS).map(point))
}

/// Durations of an action, from one to ten minutes: what it does is the user's own.
pub(super) fn action() -> Durations {
    spread(60.0, 600.0)
}

/// Durations of the operators' upgrades, from two to eight minutes.
pub(super) fn operators() -> Durations {
    spread(120.0, 480.0)
}

fn spread(shortest: f64, longest: f64) -> Durations {
    let ratio = longest / shortest;
    Durations::of((0..=16).map(|index| shortest * ratio.powf(f64::from(index) / 16.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_medians_come_out() {
        for (stream, median) in [(Some(Stream::Z), 70.0), (Some(Stream::Y), 88.0), (None, 71.0)] {
            let middle = platform(stream).at(0.5) / 60.0;
            // The body below four hours has its median at e^4.19 = 66 minutes: the published one is of all updates.
            assert!((median * 0.9..median).contains(&middle), "{stream:?}: {middle}");
        }
    }
}
