//! How long something takes, as the durations that were seen: draws lie between them, so that few durations do not make few draws.

use std::sync::Arc;

/// This many durations say enough by themselves; fewer are shrunk towards those of the next larger pool.
pub(super) const ENOUGH: usize = 20;

/// Durations in seconds, the shortest first; at least one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Durations {
    sorted: Box<[f64]>,
    /// The mean of their logarithms, and of the squares of these.
    log_mean: f64,
    log_square: f64,
}

impl Durations {
    /// Those of a sample; without any, of nothing that takes a minute.
    pub fn of(seconds: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = seconds.into_iter().map(|seconds| seconds.max(1.0)).collect();
        if sorted.is_empty() {
            sorted.push(60.0);
        }
        sorted.sort_unstable_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let logarithms = || sorted.iter().map(|seconds| seconds.ln());
        Self {
            log_mean: logarithms().sum::<f64>() / count,
            log_square: logarithms().map(|log| log * log).sum::<f64>() / count,
            sorted: sorted.into(),
        }
    }

    /// The duration that this share of all does not exceed.
    pub fn at(&self, share: f64) -> f64 {
        let place = share * (self.sorted.len() - 1) as f64;
        let below = (place as usize).min(self.sorted.len() - 1);
        let above = (below + 1).min(self.sorted.len() - 1);
        self.sorted[below] + (self.sorted[above] - self.sorted[below]) * (place - below as f64)
    }

    /// The share of all that does not exceed a duration: the inverse of [`Durations::at`].
    pub fn share_up_to(&self, seconds: f64) -> f64 {
        let above = self.sorted.partition_point(|known| *known <= seconds);
        if above == 0 {
            return 0.0;
        }
        if above == self.sorted.len() {
            return 1.0;
        }
        let below = self.sorted[above - 1];
        let within = (seconds - below) / (self.sorted[above] - below);
        ((above - 1) as f64 + within) / (self.sorted.len() - 1) as f64
    }
}

/// Durations of several pools, the nearest first, each with its share of the draws.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mixture {
    parts: Vec<(f64, Arc<Durations>)>,
    /// Mean and deviation of the logarithm.
    pub log_mean: f64,
    pub log_deviation: f64,
}

impl Mixture {
    /// Pools with the number of durations that they have, the nearest first; what they leave has `otherwise`.
    pub fn of(pools: impl IntoIterator<Item = (usize, Arc<Durations>)>, otherwise: &Arc<Durations>) -> Self {
        let mut parts = Vec::new();
        let mut left = 1.0;
        for (count, durations) in pools {
            let share = left * (count as f64 / ENOUGH as f64).min(1.0);
            if share > 0.0 {
                parts.push((share, durations));
                left -= share;
            }
        }
        if left > 1e-9 {
            parts.push((left, Arc::clone(otherwise)));
        }
        let (mut mean, mut square) = (0.0, 0.0);
        for (share, durations) in &parts {
            mean += share * durations.log_mean;
            square += share * durations.log_square;
        }
        Self {
            parts,
            log_mean: mean,
            log_deviation: (square - mean * mean).max(0.0).sqrt().max(0.05),
        }
    }

    /// The share that `otherwise` has.
    #[cfg(test)]
    pub fn shares(&self) -> Vec<f64> {
        self.parts.iter().map(|(share, _)| *share).collect()
    }

    /// The share that takes longer.
    pub fn share_beyond(&self, seconds: f64) -> f64 {
        let beyond = self.parts.iter();
        beyond
            .map(|(share, durations)| share * (1.0 - durations.share_up_to(seconds)))
            .sum()
    }

    /// A duration that exceeds `elapsed`, drawn by two numbers from 0 to 1.
    pub fn draw(&self, pool: f64, place: f64, elapsed: f64) -> f64 {
        if elapsed <= 0.0 {
            let mut pool = pool;
            for (share, durations) in &self.parts {
                if pool < *share {
                    return durations.at(place);
                }
                pool -= share;
            }
            return self
                .parts
                .last()
                .map_or(60.0, |(_, durations)| durations.at(place));
        }
        let all = self.share_beyond(elapsed);
        let mut pool = pool * all;
        for (share, durations) in &self.parts {
            let shorter = durations.share_up_to(elapsed);
            let beyond = share * (1.0 - shorter);
            if pool < beyond {
                return durations.at(shorter + place * (1.0 - shorter));
            }
            pool -= beyond;
        }
        // It has lasted longer than all that is known: by up to half as long again.
        elapsed * (1.0 + 0.5 * place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn durations(seconds: &[f64]) -> Arc<Durations> {
        Arc::new(Durations::of(seconds.iter().copied()))
    }

    #[test]
    fn draws_lie_between_what_was_seen_and_shares_are_their_inverse() {
        let durations = durations(&[300.0, 100.0, 200.0]);
        let is = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(is(durations.at(0.0), 100.0) && is(durations.at(1.0), 300.0));
        for share in [0.1, 0.25, 0.5, 0.9] {
            assert!(is(durations.share_up_to(durations.at(share)), share));
        }
        assert!(is(durations.share_up_to(50.0), 0.0) && is(durations.share_up_to(400.0), 1.0));
    }

    #[test]
    fn few_durations_of_a_near_circle_count_by_their_number() {
        let near = (5, durations(&[10.0]));
        let far = (20, durations(&[1000.0]));
        let otherwise = durations(&[9999.0]);
        assert_eq!(
            Mixture::of([near.clone(), far], &otherwise).shares(),
            [0.25, 0.75]
        );
        assert_eq!(Mixture::of([near], &otherwise).shares(), [0.25, 0.75]);
        assert_eq!(Mixture::of([], &otherwise).shares(), [1.0]);
        assert_eq!(
            Mixture::of([(100, durations(&[5.0]))], &otherwise).shares(),
            [1.0]
        );
    }

    #[test]
    fn what_has_lasted_long_lasts_longer_than_that() {
        let mixture = Mixture::of([(10, durations(&[100.0, 200.0]))], &durations(&[300.0, 500.0]));
        for elapsed in [1.0, 99.0, 150.0, 250.0, 499.0, 5000.0] {
            for pool in [0.0, 0.3, 0.7, 0.999] {
                for place in [0.0, 0.5, 0.999] {
                    let drawn = mixture.draw(pool, place, elapsed);
                    assert!(drawn >= elapsed, "{drawn} after {elapsed}");
                }
            }
        }
        assert!((mixture.share_beyond(250.0) - 0.5).abs() < 1e-9);
    }
}
