//! `oc`'s estimate: which part of the time has passed when a part of the operators is updated. It covers the control plane only.

use jiff::SignedDuration;

use crate::times::round_by_length;

/// Progress that is younger than that says nothing yet.
const TOO_EARLY: SignedDuration = SignedDuration::from_mins(5);
/// Estimates are rather too long than too short.
const OVERESTIMATE: f64 = 1.2;

/// The part of the time that has passed when this part of the operators is updated: three polynomials, fitted to updates of a real cluster.
/// Slightly negative at the very beginning, and not monotone between 0.36 and 0.5.
pub fn timewise(updated: f64) -> f64 {
    let x = updated;
    let [x2, x3, x4] = [x.powi(2), x.powi(3), x.powi(4)];
    if x < 0.25 {
        -0.030_787_88 + 2.628_86 * x - 3.823_954 * x2
    } else if x < 0.9 {
        0.185_121_5 + 1.649_94 * x - 4.676_898 * x2 + 5.451_824 * x3 - 2.125_286 * x4
    } else {
        25_053.32 - 107_394.3 * x + 172_527.2 * x2 - 123_107.0 * x3 + 32_921.81 * x4
    }
}

/// How much longer the control plane takes: negative if it should be done already.
///
/// `baseline` is how long an update takes, `to_last_progress` the time from the start to the last progress of an operator, `updating_for`
/// the time from the start until now, and `updated` the part of the operators that is updated.
pub fn remaining(
    baseline: SignedDuration,
    to_last_progress: SignedDuration,
    updating_for: SignedDuration,
    updated: f64,
) -> SignedDuration {
    if updated >= 1.0 {
        return SignedDuration::ZERO;
    }
    let passed = timewise(updated);
    let total = if updated > 0.0 && passed > 0.0 && to_last_progress > TOO_EARLY {
        to_last_progress.as_secs_f64() / passed
    } else {
        baseline.as_secs_f64()
    };
    let remaining = total - updating_for.as_secs_f64();
    let factor = if remaining < 0.0 {
        1.0 / OVERESTIMATE
    } else {
        OVERESTIMATE
    };
    round_by_length(SignedDuration::from_secs((remaining * factor) as i64))
}
