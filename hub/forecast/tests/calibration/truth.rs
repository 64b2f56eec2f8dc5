//! How long clusters really take: nothing that the model knows.

use drydock_forecast::{PastFailure, PastUpgrade, StageEnd, StageSample, StageSampler, Stream};
use drydock_rollout::{ClusterName, Stage, StageSeconds, Uid};
use jiff::Timestamp;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::Class;

/// What durations are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As in the published figures, but of another fleet.
    Published,
    /// Lognormal, quicker than published.
    Lognormal,
    /// The sum of four exponential parts.
    Gamma,
    /// Four in five are quick, one in five takes nearly three times as long.
    Bimodal,
}

/// The truth of one fleet.
#[derive(Clone, Debug)]
pub struct Truth {
    shape: Shape,
    seed: u64,
    /// The factor of the whole fleet, and of each cluster.
    fleet: f64,
    clusters: Vec<f64>,
    rollouts: f64,
    failures: f64,
    /// The share of failures that come by the timeout.
    hangs: f64,
    pub limit: u32,
}

/// One rollout: how long each cluster takes in it, and whether it fails.
#[derive(Clone, Debug)]
pub struct TrueRollout(pub Vec<StageSample>);

/// A number of the standard normal distribution.
fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (one, other): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - one).ln()).sqrt() * (std::f64::consts::TAU * other).cos()
}

impl Truth {
    pub fn draw(class: &Class, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let count = random.random_range(15..60);
        Self {
            shape: class.shape,
            seed,
            fleet: (0.3 * normal(&mut random)).exp(),
            clusters: (0..count)
                .map(|_| (class.clusters * normal(&mut random)).exp())
                .collect(),
            rollouts: class.rollouts,
            failures: class.failures,
            hangs: class.hangs,
            limit: random.random_range(3..12),
        }
    }

    pub fn count(&self) -> usize {
        self.clusters.len()
    }

    /// The rollout of this number: past ones come first.
    pub fn rollout(&self, number: usize) -> TrueRollout {
        let seed = self.seed << 8 | number as u64;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ 0x4D);
        let rollout = self.fleet * (self.rollouts * normal(&mut random)).exp();
        let draw = |own: &f64| {
            let minutes = rollout * own * self.minutes(&mut random);
            let fails = random.random::<f64>() < self.failures;
            StageSample {
                seconds: ((60.0 * minutes) as i64).max(60),
                end: match fails {
                    false => StageEnd::Succeeds,
                    true if random.random::<f64>() < self.hangs => StageEnd::Hangs,
                    true => StageEnd::Fails,
                },
            }
        };
        TrueRollout(self.clusters.iter().map(draw).collect())
    }

    fn minutes(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        match self.shape {
            Shape::Published => (4.19 + 0.45 * normal(random)).exp(),
            Shape::Lognormal => (3.6 + 0.35 * normal(random)).exp(),
            Shape::Gamma => (0..4).map(|_| -12.0 * (1.0 - random.random::<f64>()).ln()).sum(),
            Shape::Bimodal => {
                let typical = if random.random::<f64>() < 0.8 { 35.0 } else { 95.0 };
                typical * (0.12 * normal(random)).exp()
            }
        }
    }

    /// So many rollouts, as records have them.
    pub fn past(&self, rollouts: usize) -> Vec<PastUpgrade> {
        let numbers = (0..rollouts).zip(1..);
        let upgrades = numbers.flat_map(|(number, day)| {
            let since = Timestamp::from_second(1_700_000_000 + 86_400 * day).unwrap();
            let draws = self.rollout(number).0;
            let upgrades = draws.into_iter().enumerate();
            upgrades.map(move |(cluster, draw)| past(cluster, draw, since))
        });
        upgrades.collect()
    }
}

/// One upgrade as a record has it.
pub fn past(cluster: usize, draw: StageSample, since: Timestamp) -> PastUpgrade {
    PastUpgrade {
        cluster: name(cluster),
        group: None,
        stream: Some(Stream::Z),
        rollout: (Uid::new("u"), since),
        stages: StageSeconds {
            upgrade: Some(draw.seconds),
            ..StageSeconds::default()
        },
        failure: (draw.end != StageEnd::Succeeds).then_some(PastFailure {
            stage: Stage::Platform,
            hung: draw.end == StageEnd::Hangs,
        }),
    }
}

pub fn name(number: usize) -> ClusterName {
    ClusterName::from(format!("c{number:04}"))
}

impl StageSampler for TrueRollout {
    fn stage(&self, cluster: usize, _stage: Stage, elapsed: i64) -> StageSample {
        let draw = self.0[cluster];
        StageSample {
            seconds: draw.seconds.max(elapsed + 1),
            ..draw
        }
    }
}
