//! Seeded durations: each is a pure function of the cluster's seed and of what is timed, so that the order in
//! which things happen never changes how long another takes.

use jiff::SignedDuration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use kube_sandbox::fingerprint::fingerprint;

/// Draws durations for one cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Durations {
    seed: u64,
}

/// A log-normal distribution by its median and the standard deviation of its logarithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) median_seconds: f64,
    pub(super) sigma: f64,
}

impl Spread {
    /// The usual spread of a step, by its median in minutes.
    pub(super) const fn minutes(median: f64) -> Self {
        Self {
            median_seconds: median * 60.0,
            sigma: 0.25,
        }
    }

    /// The usual spread of a step, by its median in seconds.
    pub(super) const fn seconds(median: f64) -> Self {
        Self {
            median_seconds: median,
            sigma: 0.25,
        }
    }
}

impl Durations {
    /// The durations of the cluster `name` in a test environment with this seed.
    pub(super) fn new(seed: u64, name: &str) -> Self {
        let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
        Self {
            seed: fingerprint(bytes),
        }
    }

    fn rng(self, purpose: &str, index: u64) -> ChaCha8Rng {
        let bytes = self.seed.to_le_bytes().into_iter();
        let bytes = bytes.chain(index.to_le_bytes()).chain(purpose.bytes());
        ChaCha8Rng::seed_from_u64(fingerprint(bytes))
    }

    /// A number in `0..1` for this purpose.
    pub(super) fn fraction(self, purpose: &str, index: u64) -> f64 {
        unit(&mut self.rng(purpose, index))
    }

    /// A number of 64 bits for this purpose.
    pub(super) fn number(self, purpose: &str, index: u64) -> u64 {
        self.rng(purpose, index).next_u64()
    }

    /// A duration for this purpose, in whole milliseconds, between a third of and three times what is usual
    /// twice over.
    pub(super) fn sample(self, purpose: &str, index: u64, spread: Spread) -> SignedDuration {
        let mut rng = self.rng(purpose, index);
        // Box and Muller: two even numbers make one of the normal distribution.
        let radius = (-2.0 * (1.0 - unit(&mut rng)).ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * unit(&mut rng)).cos();
        let seconds = spread.median_seconds * (spread.sigma * normal.clamp(-3.0, 3.0)).exp();
        SignedDuration::from_millis((seconds * 1000.0) as i64)
    }
}

fn unit(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_name_and_purpose_give_the_same_duration() {
        let spread = Spread::minutes(5.0);
        let first = Durations::new(7, "dev1").sample("etcd", 1, spread);
        assert_eq!(first, Durations::new(7, "dev1").sample("etcd", 1, spread));
        assert_ne!(first, Durations::new(7, "dev2").sample("etcd", 1, spread));
        assert_ne!(first, Durations::new(8, "dev1").sample("etcd", 1, spread));
        assert_ne!(first, Durations::new(7, "dev1").sample("etcd", 2, spread));
    }

    #[test]
    fn samples_lie_around_their_median() {
        let mut seconds: Vec<f64> = (0..999)
            .map(|index| {
                Durations::new(1, "a")
                    .sample("x", index, Spread::seconds(100.0))
                    .as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        assert!((90.0..110.0).contains(&seconds[499]), "median {}", seconds[499]);
        assert!(seconds[0] > 40.0 && seconds[998] < 250.0);
    }
}
