//! How long the whole upgrade of a cluster takes, as the model has it.

use std::collections::BTreeMap;

use drydock_rollout::{ClusterName, ExpectedDuration, ForecastInput, Stage, StageSet};
use jiff::SignedDuration;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::Model;
use super::durations::ENOUGH;

/// So many upgrades are drawn of each cluster. Of those that nothing tells apart, one is enough.
const DRAWS: usize = 400;

impl Model {
    /// How long the upgrade of each cluster takes that does not fail, from its first stage to its last: in nine of ten cases, it takes no
    /// longer.
    pub fn expected(&self, forecast_input: &ForecastInput) -> BTreeMap<ClusterName, ExpectedDuration> {
        let mut known: BTreeMap<(u32, StageSet), ExpectedDuration> = BTreeMap::new();
        let clusters = forecast_input.clusters.iter().zip(&self.clusters);
        clusters
            .map(|(cluster, (mixture, _))| {
                let stages = cluster.from_start;
                let expected = known
                    .entry((*mixture, stages))
                    .or_insert_with(|| self.expected_of(*mixture, stages));
                (cluster.name.clone(), *expected)
            })
            .collect()
    }

    fn expected_of(&self, platform: u32, stages: StageSet) -> ExpectedDuration {
        // All are drawn by the same numbers: what is alike comes to the same.
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
        let mut drawn: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let speed = self.speed.factor(random.random());
                Stage::ALL
                    .into_iter()
                    .map(|stage| {
                        let (pool, place) = (random.random(), random.random());
                        if !stages.iter().any(|ahead| ahead == stage) {
                            return 0.0;
                        }
                        match stage {
                            Stage::Platform => {
                                speed * self.platform[platform as usize].draw(pool, place, 0.0)
                            }
                            other => self.others[other as usize].draw(pool, place, 0.0),
                        }
                    })
                    .sum()
            })
            .collect();
        drawn.sort_unstable_by(f64::total_cmp);
        let seconds = drawn[DRAWS * 9 / 10].ceil() as i64;
        ExpectedDuration::new(SignedDuration::from_secs(seconds), self.is_assumed(stages))
    }

    /// Whether too little is on record of a stage to say how long it takes.
    fn is_assumed(&self, stages: StageSet) -> bool {
        let has = |stage: Stage| stages.iter().any(|ahead| ahead == stage);
        let mut others = self.basis.stages.iter();
        has(Stage::Platform) && self.basis.published
            || others.any(|(stage, count)| has(*stage) && *count < ENOUGH)
    }
}
