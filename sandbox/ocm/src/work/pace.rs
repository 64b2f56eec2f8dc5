//! Times at which something is looked at, though nobody called: an interval with seeded jitter. The times are a
//! function of the seed alone, so they need not be waited for while there is nothing to see.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::time::Instant;

/// A sequence of moments, each `interval × (1 … 1 + jitter)` after the one before.
#[derive(Debug)]
pub struct Ticks {
    random: ChaCha8Rng,
    interval: Duration,
    jitter: f64,
    next: Instant,
}

impl Ticks {
    /// Starts the sequence; the first moment is one interval after `start`.
    pub fn new(seed: u64, interval: Duration, jitter: f64, start: Instant) -> Self {
        let mut ticks = Self {
            random: ChaCha8Rng::seed_from_u64(seed),
            interval,
            jitter,
            next: start,
        };
        ticks.advance();
        ticks
    }

    fn advance(&mut self) {
        let factor = 1.0 + self.jitter * self.random.random::<f64>();
        self.next += self.interval.mul_f64(factor);
    }

    /// The first moment of the sequence after `now`. Moments that passed meanwhile are skipped.
    pub fn after(&mut self, now: Instant) -> Instant {
        while self.next <= now {
            self.advance();
        }
        self.next
    }
}

/// A seed that differs by name.
pub fn seed_of(seed: u64, name: &str) -> u64 {
    // FNV-1a: stable across builds, unlike the standard library's hashers.
    name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn moments_do_not_depend_on_when_they_are_asked_for() {
        let start = Instant::now();
        let ticks = || Ticks::new(7, Duration::from_secs(10), 0.9, start);
        let mut asked_often = ticks();
        let mut moment = start;
        for _ in 0..100 {
            let next = asked_often.after(moment);
            let gap = next - moment;
            assert!((10.0..=19.0).contains(&gap.as_secs_f64()), "{gap:?}");
            moment = next;
        }
        let before = moment - Duration::from_secs(5);
        assert_eq!(ticks().after(before), moment);
    }
}
