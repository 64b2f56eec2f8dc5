//! The model of a cluster: how long each stage takes on it, and whether it fails, by what is on record of it, of clusters that are like
//! it, of the fleet, and by published figures where there is nothing better.

mod basis;
mod durations;
mod expected;
mod failures;
mod group;
mod past;
mod pools;
mod published;
mod speed;

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_rollout::{ClusterName, ForecastInput, Position, Stage, StageSet};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::stage_sample::{StageEnd, StageSample, StageSampler};
use durations::{ENOUGH, Mixture};
use failures::Failures;
use pools::{StreamTable, pool};
use speed::{Progress, RolloutEffects, SpeedFactor};

pub use basis::Basis;
pub use failures::FailureRate;
pub use group::GroupBy;
pub use past::{PastFailure, PastUpgrade, Stream};

/// How long stages take on the clusters of one rollout, and how often they fail.
#[derive(Clone, Debug)]
pub struct Model {
    /// Those of the platform's upgrade: clusters that nothing tells apart share one.
    platform: Vec<Mixture>,
    /// Which of them each cluster of the forecast's input has, and the row of its stream.
    clusters: Vec<(u32, u8)>,
    /// Those of the other stages.
    others: [Mixture; 4],
    failures: Failures,
    speed: SpeedFactor,
    basis: Basis,
}

impl Model {
    /// The model of the clusters of a forecast's input, by what is on record.
    pub fn new(
        forecast_input: &ForecastInput,
        past: &[PastUpgrade],
        group_by: &GroupBy,
        rate: FailureRate,
    ) -> Self {
        let target = forecast_input.spec.goal.version();
        let (present, earlier): (Vec<PastUpgrade>, Vec<PastUpgrade>) = past
            .iter()
            .cloned()
            .partition(|upgrade| Some(upgrade.rollout.1) == forecast_input.since);
        let effects = RolloutEffects::of(&earlier);
        let mut tables: [Option<StreamTable>; 3] = [None, None, None];
        let mut platform: Vec<Mixture> = Vec::new();
        let mut known: BTreeMap<(usize, Option<Arc<str>>), u32> = BTreeMap::new();
        let mut clusters = Vec::with_capacity(forecast_input.clusters.len());
        for cluster in &forecast_input.clusters {
            let stream = cluster
                .from
                .as_ref()
                .zip(target)
                .map(|(from, to)| Stream::of(from, to));
            let row = failures::row(stream);
            let table = tables[row].get_or_insert_with(|| StreamTable::of(stream, &earlier, &effects));
            let group = group_by.group(&cluster.labels);
            let has_own = table.knows(&cluster.name);
            let next = platform.len() as u32;
            let index = if has_own {
                next
            } else {
                *known.entry((row, group.clone())).or_insert(next)
            };
            if index == next {
                platform.push(table.mixture(&cluster.name, group.as_ref()));
            }
            clusters.push((index, row as u8));
        }
        let used = stages(forecast_input);
        let (others, counts) = others(past);
        let mut model = Self {
            platform,
            clusters,
            others,
            failures: Failures::of(rate, past, used),
            speed: SpeedFactor::of(published::FLEET_DEVIATION, &[]),
            basis: Basis::default(),
        };
        let of_this_rollout = present.iter().filter(|upgrade| upgrade.failure.is_none()).count();
        model.basis = Basis {
            stages: used
                .iter()
                .filter(|stage| *stage != Stage::Platform)
                .map(|stage| (stage, counts[stage as usize]))
                .collect(),
            ..Basis::default()
        };
        if used.iter().any(|stage| stage == Stage::Platform) {
            add_platform(&mut model.basis, &tables, of_this_rollout);
        }
        let shown = model.shown(forecast_input, &present);
        model.speed = SpeedFactor::of(effects.deviation, &shown);
        model
    }

    /// What it is based on.
    pub fn basis(&self) -> &Basis {
        &self.basis
    }

    /// What the clusters of the rollout itself have shown.
    fn shown(&self, forecast_input: &ForecastInput, present: &[PastUpgrade]) -> Vec<Progress> {
        let expected = |index: usize| &self.platform[self.clusters[index].0 as usize];
        let progress = |index: usize, seconds: f64, done: bool| Progress {
            seconds,
            done,
            log_mean: expected(index).log_mean,
            log_deviation: expected(index).log_deviation,
        };
        let done: BTreeMap<&ClusterName, f64> = present
            .iter()
            .filter(|upgrade| upgrade.failure.is_none())
            .filter_map(|upgrade| Some((&upgrade.cluster, upgrade.stages.upgrade? as f64)))
            .collect();
        let seen = forecast_input.clusters.iter().enumerate();
        seen.filter_map(|(index, cluster)| match &cluster.position {
            Position::UnderWay {
                stage: Stage::Platform,
                since,
                ..
            } => {
                let seconds = forecast_input.now.duration_since(*since).as_secs() as f64;
                Some(progress(index, seconds, false))
            }
            _ => Some(progress(index, *done.get(&cluster.name)?, true)),
        })
        .collect()
    }

    /// The draws of one run.
    pub fn run(&self, seed: u64, run: u32) -> RunDraws<'_> {
        let seed = seed
            .wrapping_mul(0xD134_2543_DE82_EF95)
            .wrapping_add(u64::from(run).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        RunDraws {
            model: self,
            seed,
            speed: self.speed.factor(random.random()),
            shares: self.failures.shares(random.random()),
        }
    }
}

/// The stages that clusters of a rollout go through.
fn stages(forecast_input: &ForecastInput) -> StageSet {
    let spec = &forecast_input.spec;
    let used = Stage::ALL.into_iter().filter(|stage| spec.has_stage(*stage));
    used.collect()
}

/// The durations of the stages beside the platform's, and how many of each are on record.
fn others(past: &[PastUpgrade]) -> ([Mixture; 4], [usize; 4]) {
    let samples = Stage::ALL.map(|stage| {
        let seconds = |upgrade: &PastUpgrade| match stage {
            Stage::PreAction => upgrade.stages.pre_action,
            Stage::Platform => None,
            Stage::Operators => upgrade.stages.operators,
            Stage::PostAction => upgrade.stages.post_action,
        };
        let done = past
            .iter()
            .filter(|upgrade| upgrade.failure.is_none_or(|failure| failure.stage > stage));
        let seconds = done.filter_map(seconds).map(|seconds| seconds as f64);
        seconds.collect::<Vec<f64>>()
    });
    let counts = samples.each_ref().map(Vec::len);
    let mixture = |stage: Stage| {
        let assumed = match stage {
            Stage::Operators => published::operators(),
            Stage::PreAction | Stage::Platform | Stage::PostAction => published::action(),
        };
        let pools = Some(pool(&samples[stage as usize])).filter(|(count, _)| *count > 0);
        Mixture::of(pools, &Arc::new(assumed))
    };
    (Stage::ALL.map(mixture), counts)
}

fn add_platform(basis: &mut Basis, tables: &[Option<StreamTable>; 3], of_this_rollout: usize) {
    let count = |row: usize| tables[row].as_ref().map(StreamTable::count);
    basis.recorded = Stream::ALL
        .into_iter()
        .filter_map(|stream| Some((stream, count(stream as usize)?)))
        .collect();
    let unknown = count(failures::row(None));
    let mut counts = basis.recorded.iter().map(|(_, count)| *count).chain(unknown);
    basis.published = counts.any(|count| count < ENOUGH);
    basis.unknown = unknown.unwrap_or(0);
    basis.of_this_rollout = of_this_rollout;
}

/// The draws of one run. Those of a cluster do not depend on the order in which they are asked for.
#[derive(Clone, Debug)]
pub struct RunDraws<'a> {
    model: &'a Model,
    seed: u64,
    speed: f64,
    shares: [f64; 3],
}

impl StageSampler for RunDraws<'_> {
    fn stage(&self, cluster: usize, stage: Stage, elapsed: i64) -> StageSample {
        let model = self.model;
        let (mixture, row) = model.clusters[cluster];
        let (mixture, speed) = match stage {
            Stage::Platform => (&model.platform[mixture as usize], self.speed),
            other => (&model.others[other as usize], 1.0),
        };
        let place = (cluster as u64) << 2 | stage as u64;
        let mut random =
            Xoshiro256PlusPlus::seed_from_u64(self.seed ^ place.wrapping_mul(0xBF58_476D_1CE4_E5B9));
        let lasted = elapsed as f64 / speed;
        let mut fails = model.failures.chance(stage, self.shares[row as usize]);
        if elapsed > 0 && fails > 0.0 {
            // The longer it lasts, the more probable is it that it hangs. That all else is over by now is never sure.
            fails /= fails + (1.0 - fails) * mixture.share_beyond(lasted).max(0.02);
        }
        let end = if random.random::<f64>() >= fails {
            StageEnd::Succeeds
        } else if random.random::<f64>() < model.failures.hung(stage) {
            StageEnd::Hangs
        } else {
            StageEnd::Fails
        };
        let seconds = speed * mixture.draw(random.random(), random.random(), lasted);
        StageSample {
            seconds: (seconds.round() as i64).max(elapsed + 1),
            end,
        }
    }
}
