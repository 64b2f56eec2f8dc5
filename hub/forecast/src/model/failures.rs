//! How often upgrades fail, in which stage, and how.

use drydock_rollout::{Stage, StageSet};
use statrs::distribution::{Beta, ContinuousCDF};

use super::past::{PastUpgrade, Stream};
use super::published;

/// Where the share of upgrades that fail comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum FailureRate {
    /// From the records.
    #[default]
    Recorded,
    /// It is this share, from 0 to 1.
    Fixed(f64),
}

/// How often upgrades fail.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failures {
    /// For each stream, and for where that is not known: how sure which share is.
    shares: [ShareCurve; 3],
    /// The weight of each stage among those in which upgrades fail.
    stages: [f64; 4],
    /// The share of failures in each stage that are a timeout.
    hung: [f64; 4],
}

/// The share that fails, by how sure it is that it is not more. It is kept at so many points.
type ShareCurve = [f64; POINTS];
const POINTS: usize = 33;

/// The place of a stream in tables.
pub(super) fn row(stream: Option<Stream>) -> usize {
    stream.map_or(2, |stream| stream as usize)
}

impl Failures {
    /// By the records of past upgrades; a rollout goes through these stages.
    pub fn of(rate: FailureRate, past: &[PastUpgrade], used: StageSet) -> Self {
        let counted = |stream: Option<Stream>| {
            let alike = past
                .iter()
                .filter(|upgrade| stream.is_none() || upgrade.stream == stream);
            alike.fold((0.0, 0.0), |(failed, done), upgrade| match upgrade.failure {
                Some(failure) if used.iter().any(|stage| stage == failure.stage) => (failed + 1.0, done),
                // It failed in a stage that this rollout does not have: of those that it has, it says nothing bad.
                Some(_) | None => (failed, done + 1.0),
            })
        };
        let curve = |stream| match rate {
            FailureRate::Fixed(share) => [share; POINTS],
            FailureRate::Recorded => {
                let (failed, done) = counted(stream);
                curve(failed + published::FAILURES.0, done + published::FAILURES.1)
            }
        };
        let mut stages = Stage::ALL.map(|stage| {
            let failed = past
                .iter()
                .filter(|upgrade| upgrade.failure.is_some_and(|failure| failure.stage == stage));
            let assumed = f64::from(u8::from(stage == Stage::Platform));
            failed.count() as f64 + assumed
        });
        for stage in Stage::ALL {
            if !used.iter().any(|used| used == stage) {
                stages[stage as usize] = 0.0;
            }
        }
        let all: f64 = stages.iter().sum();
        if all > 0.0 {
            stages = stages.map(|weight| weight / all);
        } else if let Some(first) = used.first() {
            stages[first as usize] = 1.0;
        }
        Self {
            shares: [curve(Some(Stream::Z)), curve(Some(Stream::Y)), curve(None)],
            stages,
            hung: Stage::ALL.map(|stage| {
                let of_stage = || past.iter().filter_map(|upgrade| upgrade.failure);
                let failed = of_stage().filter(|failure| failure.stage == stage).count() as f64;
                let hung = of_stage()
                    .filter(|failure| failure.stage == stage && failure.hung)
                    .count();
                // Most of what fails does so by taking too long.
                (hung as f64 + 1.5) / (failed + 2.0)
            }),
        }
    }

    /// The shares that fail in a run: of each stream, and where that is not known.
    pub fn shares(&self, sureness: f64) -> [f64; 3] {
        let place = sureness * (POINTS - 1) as f64;
        let below = (place as usize).min(POINTS - 2);
        let within = place - below as f64;
        self.shares
            .each_ref()
            .map(|curve| curve[below] + (curve[below + 1] - curve[below]) * within)
    }

    /// The chance that a cluster fails in a stage that it has come to, if this share of upgrades fails.
    pub fn chance(&self, stage: Stage, share: f64) -> f64 {
        let before: f64 = self.stages[..stage as usize].iter().sum();
        let left = 1.0 - share * before;
        if left <= 0.0 {
            return 0.0;
        }
        (share * self.stages[stage as usize] / left).clamp(0.0, 1.0)
    }

    /// The share of failures in a stage that are a timeout.
    pub fn hung(&self, stage: Stage) -> f64 {
        self.hung[stage as usize]
    }
}

fn curve(failed: f64, done: f64) -> ShareCurve {
    let Ok(beta) = Beta::new(failed, done) else {
        return [0.0; POINTS];
    };
    let mut below = 0.0;
    std::array::from_fn(|index| {
        below = quantile(&beta, (index as f64 + 0.5) / POINTS as f64, below);
        below
    })
}

/// The share that is not exceeded with this sureness, and is not less than `least`. By bisection: the inverse that statrs has does not
/// come to an end for some counts, such as 0.5 and 26.5.
fn quantile(beta: &Beta, sureness: f64, least: f64) -> f64 {
    let (mut below, mut above) = (least, 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (below + above);
        if beta.cdf(middle) < sureness {
            below = middle;
        } else {
            above = middle;
        }
    }
    0.5 * (below + above)
}

/// A share is known to less than a millionth then.
const BISECTIONS: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chances_of_the_stages_make_up_the_share_that_fails() {
        let used: StageSet = Stage::ALL.into_iter().collect();
        let failures = Failures::of(FailureRate::Fixed(0.3), &[], used);
        let survives: f64 = Stage::ALL
            .into_iter()
            .map(|stage| 1.0 - failures.chance(stage, 0.3))
            .product();
        assert!((survives - 0.7).abs() < 1e-9, "{survives}");
    }

    #[test]
    fn a_rollout_that_leaves_the_platform_alone_fails_in_its_own_stages() {
        let used = StageSet::default().with(Stage::Operators);
        let failures = Failures::of(FailureRate::Fixed(0.5), &[], used);
        assert!((failures.chance(Stage::Operators, 0.5) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn without_records_one_in_fifty_fails_and_nothing_is_sure() {
        let failures = Failures::of(
            FailureRate::Recorded,
            &[],
            StageSet::default().with(Stage::Platform),
        );
        let runs = 1000;
        let mean = (0..runs)
            .map(|run| failures.shares(f64::from(run) / f64::from(runs))[0])
            .sum::<f64>()
            / f64::from(runs);
        assert!((0.015..0.025).contains(&mean), "{mean}");
        assert!(failures.shares(0.95)[0] > 3.0 * failures.shares(0.5)[0]);
    }

    #[test]
    fn any_counts_give_shares_that_rise_and_have_the_mean_of_the_counts() {
        for failed in 0..12 {
            for done in (0..120).chain([500, 2_000, 20_000]) {
                let (failed, done) = (f64::from(failed) + 0.5, f64::from(done) + 24.5);
                let curve = curve(failed, done);
                assert!(curve.is_sorted() && curve[0] >= 0.0 && curve[POINTS - 1] <= 1.0);
                let mean = curve.iter().sum::<f64>() / POINTS as f64;
                let expected = failed / (failed + done);
                assert!(
                    (mean - expected).abs() < 0.1 * expected,
                    "{failed} {done}: {mean}"
                );
            }
        }
    }
}
