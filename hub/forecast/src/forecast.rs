//! Many runs of one rollout, and what they have in common.

use std::collections::BTreeMap;

use drydock_rollout::ForecastInput;
use jiff::{SignedDuration, Timestamp};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::model::{Basis, Model};
use crate::run::{RunOutcome, Simulation, StopCause, Wait};

/// The times of clusters are kept of so many runs: more would take more memory than all else together.
const RUNS_WITH_CLUSTERS: u32 = 200;

/// How many runs are made, and from which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulationSettings {
    /// How many; at least one is made.
    pub count: u32,
    /// The same seed gives the same forecast.
    pub seed: u64,
    /// When each cluster starts and ends is wanted as well.
    pub with_clusters: bool,
}

/// A moment by how probable it is that it is not later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// One in ten is not later.
    pub p10: Timestamp,
    /// Half are not later.
    pub p50: Timestamp,
    /// Nine in ten are not later.
    pub p90: Timestamp,
}

/// When a cluster starts and ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClusterForecast {
    /// When it starts, in the runs in which it does; when it did, if it has.
    pub starts: Option<Percentiles>,
    /// When it is done or fails, in the runs in which it starts.
    pub ends: Option<Percentiles>,
    /// The share of the runs in which it does not start, from 0 to 1.
    pub left: f64,
    /// The share of the runs in which it fails, from 0 to 1.
    pub fails: f64,
}

/// What may come of a rollout.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The moment at which it was made.
    pub now: Timestamp,
    /// How many runs it is of.
    pub runs: usize,
    /// When the rollout ends, in the runs in which it does; nothing if it does in none.
    pub ends: Option<Percentiles>,
    /// The ends of all runs in which it does, the earliest first.
    pub all_ends: Vec<Timestamp>,
    /// The share of the runs that stop, by cause, from 0 to 1.
    pub stops: BTreeMap<StopCause, f64>,
    /// What the next cluster waits for: the share of the time in which one waits, from 0 to 1.
    pub waits: BTreeMap<Wait, f64>,
    /// Clusters that fail: in half of the runs no more than this, and in nine of ten.
    pub failed: (usize, usize),
    /// The most clusters in flight at once, in half of the runs, and in any.
    pub most_in_flight: (usize, usize),
    /// What it is based on.
    pub basis: Basis,
    /// Clusters in the order of the forecast's input, if they were asked for.
    pub clusters: Vec<ClusterForecast>,
}

impl Forecast {
    /// Forecasts a rollout from where it is. It takes all cores that `rayon` has; the result does not depend on their number.
    pub fn of(forecast_input: &ForecastInput, model: &Model, runs: SimulationSettings) -> Self {
        Self::of_with(forecast_input, model, runs, &|| {})
    }

    /// The same, and says whenever a run is over: on any core, in any order.
    pub fn of_with(
        forecast_input: &ForecastInput,
        model: &Model,
        runs: SimulationSettings,
        run_is_over: &(dyn Fn() + Sync),
    ) -> Self {
        let count = runs.count.max(1);
        let with_clusters = |run: u32| runs.with_clusters && run < RUNS_WITH_CLUSTERS;
        let outcomes: Vec<(RunOutcome, Vec<Seconds>)> = (0..count)
            .into_par_iter()
            .map_init(
                || Simulation::new(forecast_input),
                |simulation, run| {
                    let outcome = simulation.run(&model.run(runs.seed, run));
                    let times = if with_clusters(run) {
                        simulation
                            .times()
                            .map(|times| Seconds::of(times, forecast_input.now))
                            .collect()
                    } else {
                        Vec::new()
                    };
                    run_is_over();
                    (outcome, times)
                },
            )
            .collect();
        let (outcomes, times): (Vec<RunOutcome>, Vec<Vec<Seconds>>) = outcomes.into_iter().unzip();
        let mut forecast = Self::sum_up(forecast_input, &outcomes);
        forecast.basis = model.basis().clone();
        if runs.with_clusters {
            let kept = &times[..times.len().min(RUNS_WITH_CLUSTERS as usize)];
            forecast.clusters = (0..forecast_input.clusters.len())
                .into_par_iter()
                .map(|index| cluster(kept, index, forecast_input.now))
                .collect();
        }
        forecast
    }

    fn sum_up(forecast_input: &ForecastInput, outcomes: &[RunOutcome]) -> Self {
        let share = |count: usize| count as f64 / outcomes.len() as f64;
        let mut all_ends: Vec<Timestamp> = outcomes
            .iter()
            .filter(|outcome| outcome.stop.is_none())
            .map(|outcome| outcome.end)
            .collect();
        all_ends.sort_unstable();
        let mut stops = BTreeMap::new();
        for outcome in outcomes {
            if let Some(cause) = outcome.stop {
                *stops.entry(cause).or_insert(0.0) += share(1);
            }
        }
        let waited =
            |wait: Wait| -> i64 { outcomes.iter().map(|outcome| outcome.waited[wait as usize]).sum() };
        let in_all: i64 = Wait::ALL.into_iter().map(waited).sum();
        let waits = Wait::ALL.into_iter().filter(|wait| waited(*wait) > 0);
        let sorted = |number: fn(&RunOutcome) -> usize| {
            let mut numbers: Vec<usize> = outcomes.iter().map(number).collect();
            numbers.sort_unstable();
            numbers
        };
        let failed = sorted(|outcome| outcome.failed);
        let most = sorted(|outcome| outcome.most_in_flight);
        Self {
            now: forecast_input.now,
            runs: outcomes.len(),
            ends: band(&all_ends),
            all_ends,
            stops,
            waits: waits
                .map(|wait| (wait, waited(wait) as f64 / in_all as f64))
                .collect(),
            failed: (quantile(&failed, 50), quantile(&failed, 90)),
            most_in_flight: (quantile(&most, 50), most.last().copied().unwrap_or(0)),
            basis: Basis::default(),
            clusters: Vec::new(),
        }
    }

    /// The share of the runs that end by a moment, from 0 to 1.
    pub fn ends_by(&self, moment: Timestamp) -> f64 {
        self.all_ends.partition_point(|end| *end <= moment) as f64 / self.runs as f64
    }

    /// The share of the runs that stop before their end, from 0 to 1.
    pub fn stopped(&self) -> f64 {
        self.stops.values().sum()
    }

    /// The share of the runs that come to their end, from 0 to 1.
    pub fn completes(&self) -> f64 {
        self.all_ends.len() as f64 / self.runs as f64
    }

    /// The moment by which this share of all runs has ended, if so many do.
    pub fn end_at(&self, share: f64) -> Option<Timestamp> {
        let place = (share * self.runs as f64).ceil().max(1.0) as usize;
        self.all_ends.get(place - 1).copied()
    }
}

/// The number that this percentage does not exceed, of sorted ones.
fn quantile<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).copied().unwrap_or_default()
}

fn band(sorted: &[Timestamp]) -> Option<Percentiles> {
    (!sorted.is_empty()).then(|| Percentiles {
        p10: quantile(sorted, 10),
        p50: quantile(sorted, 50),
        p90: quantile(sorted, 90),
    })
}

/// When a cluster started and ended, in seconds from the moment of the forecast, small: there is one for each cluster and run.
#[derive(Clone, Copy, Debug)]
struct Seconds {
    started: i32,
    ended: i32,
    failed: bool,
}

/// Stands for no moment.
const NEVER: i32 = i32::MIN;

impl Seconds {
    fn of(times: crate::run::ClusterTimes, now: Timestamp) -> Self {
        let seconds = |moment: Option<Timestamp>| {
            moment.map_or(NEVER, |moment| {
                i32::try_from(moment.duration_since(now).as_secs()).unwrap_or(i32::MAX)
            })
        };
        Self {
            started: seconds(times.started),
            ended: seconds(times.ended),
            failed: times.failed,
        }
    }
}

fn cluster(runs: &[Vec<Seconds>], index: usize, now: Timestamp) -> ClusterForecast {
    let of_cluster = || runs.iter().filter_map(|run| run.get(index));
    let moments = |seconds: fn(&Seconds) -> i32| {
        let mut sorted: Vec<i32> = of_cluster()
            .map(seconds)
            .filter(|seconds| *seconds != NEVER)
            .collect();
        sorted.sort_unstable();
        sorted
    };
    let at = |sorted: &[i32], percent| {
        let seconds = SignedDuration::from_secs(i64::from(quantile(sorted, percent)));
        now.saturating_add(seconds).unwrap_or(Timestamp::MAX)
    };
    let band = |sorted: &[i32]| {
        (!sorted.is_empty()).then(|| Percentiles {
            p10: at(sorted, 10),
            p50: at(sorted, 50),
            p90: at(sorted, 90),
        })
    };
    let ended = moments(|seconds| seconds.ended);
    let share = |count: usize| count as f64 / runs.len().max(1) as f64;
    ClusterForecast {
        starts: band(&moments(|seconds| seconds.started)),
        ends: band(&ended),
        left: share(runs.len() - ended.len()),
        fails: share(of_cluster().filter(|seconds| seconds.failed).count()),
    }
}
