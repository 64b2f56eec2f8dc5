//! Draws that meet: durations are whole multiples of five minutes, so that much happens at the same moment.

use drydock_forecast::{StageEnd, StageSample, StageSampler};
use drydock_rollout::{ForecastInput, Stage};

/// Draws by the number of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct TestDraws {
    pub seed: u64,
}

impl TestDraws {
    pub fn of(self, number: usize, stage: Stage, elapsed: i64) -> StageSample {
        let mut hash =
            self.seed ^ (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (stage as u64 + 1) << 40;
        hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        hash ^= hash >> 31;
        let drawn = 300 * (1 + hash as i64 % 50).abs().max(1);
        StageSample {
            // A stage that has lasted longer than that ends within the minute.
            seconds: if drawn > elapsed { drawn } else { elapsed + 60 },
            end: match hash >> 32 & 15 {
                0 => StageEnd::Fails,
                1 => StageEnd::Hangs,
                _ => StageEnd::Succeeds,
            },
        }
    }
}

/// The same by the index of a cluster in a forecast's input.
pub struct ByIndex {
    draws: TestDraws,
    numbers: Vec<usize>,
}

impl ByIndex {
    pub fn new(draws: TestDraws, forecast_input: &ForecastInput) -> Self {
        let number = |name: &str| name.trim_start_matches('c').parse().unwrap();
        Self {
            draws,
            numbers: forecast_input
                .clusters
                .iter()
                .map(|cluster| number(cluster.name.as_ref()))
                .collect(),
        }
    }
}

impl StageSampler for ByIndex {
    fn stage(&self, cluster: usize, stage: Stage, elapsed: i64) -> StageSample {
        self.draws.of(self.numbers[cluster], stage, elapsed)
    }
}
