//! Many runs of one rollout, and what they have in common.

mod ended;

use std::collections::{BTreeMap, BTreeSet};

use drydock_rollout::{ForecastInput, Position};
use jiff::{SignedDuration, Timestamp};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::model::{Basis, Model};
use crate::run::{RunOutcome, Simulation, StopCause, Wait};

pub use ended::EndedClusters;

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
    /// A rollout is complete when all clusters are that can start, whether others are left that cannot or not.
    pub ignores_blocked: bool,
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
    /// When all clusters have ended that can start, in the runs that come so far; nothing if none does.
    pub ends: Option<Percentiles>,
    /// The ends of the runs in which the rollout completes: no cluster is left, and no more have failed than the spec allows. The
    /// earliest first.
    pub completions: Vec<Timestamp>,
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
    /// When they start and end in each run.
    runs_of_clusters: Vec<Vec<Seconds>>,
    /// The numbers of the runs of which `ends` is.
    runs_that_end: BTreeSet<usize>,
    /// How many clusters have ended nobody knows when.
    ended_some_time: usize,
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
        let (outcomes, mut times): (Vec<RunOutcome>, Vec<Vec<Seconds>>) = outcomes.into_iter().unzip();
        let mut forecast = Self::sum_up(forecast_input, &outcomes, runs.ignores_blocked);
        forecast.basis = model.basis().clone();
        if runs.with_clusters {
            times.truncate(RUNS_WITH_CLUSTERS as usize);
            let kept = &times;
            forecast.clusters = (0..forecast_input.clusters.len())
                .into_par_iter()
                .map(|index| {
                    let mut expected = cluster(kept, index, forecast_input.now);
                    if let Position::Ended { .. } = forecast_input.clusters[index].position {
                        expected.left = 0.0;
                    }
                    expected
                })
                .collect();
            forecast.runs_of_clusters = times;
        }
        forecast
    }

    fn sum_up(forecast_input: &ForecastInput, outcomes: &[RunOutcome], ignores_blocked: bool) -> Self {
        let share = |count: usize| count as f64 / outcomes.len() as f64;
        let is_left = |outcome: &RunOutcome| match outcome.stop {
            Some(StopCause::ClustersBlocked | StopCause::OwnedByAnotherUpgrade) => {
                !(ignores_blocked && outcome.is_over)
            }
            stop => stop.is_some(),
        };
        let sorted_ends = |counts: &dyn Fn(&&RunOutcome) -> bool| {
            let mut ends: Vec<Timestamp> = outcomes
                .iter()
                .filter(counts)
                .map(|outcome| outcome.end)
                .collect();
            ends.sort_unstable();
            ends
        };
        let has_end = |outcome: &RunOutcome| outcome.is_over || outcome.stop.is_none();
        let all_ends = sorted_ends(&|outcome| has_end(outcome));
        let completions = sorted_ends(&|outcome| !is_left(outcome) && !outcome.fails);
        let mut stops = BTreeMap::new();
        for outcome in outcomes {
            if let Some(cause) = outcome.stop.filter(|_| is_left(outcome)) {
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
            ends: percentiles(&all_ends, |end| end),
            completions,
            stops,
            waits: waits
                .map(|wait| (wait, waited(wait) as f64 / in_all as f64))
                .collect(),
            failed: (quantile(&failed, 50), quantile(&failed, 90)),
            most_in_flight: (quantile(&most, 50), most.last().copied().unwrap_or(0)),
            basis: Basis::default(),
            clusters: Vec::new(),
            runs_of_clusters: Vec::new(),
            runs_that_end: (0..outcomes.len())
                .filter(|run| has_end(&outcomes[*run]))
                .collect(),
            ended_some_time: forecast_input
                .clusters
                .iter()
                .filter(|cluster| matches!(cluster.position, Position::Ended { finished: None, .. }))
                .count(),
        }
    }

    /// When the first of several clusters starts and the last one ends, in the runs in which any of them starts; they are given by their
    /// indexes in the forecast's input. Nothing if none does in any, or no clusters were asked for.
    pub fn of_clusters(&self, indexes: &[usize]) -> (Option<Percentiles>, Option<Percentiles>) {
        let moments = |in_run: &dyn Fn(&[Seconds]) -> Option<i32>| {
            let mut sorted: Vec<i32> = self
                .runs_of_clusters
                .iter()
                .filter_map(|run| in_run(run))
                .collect();
            sorted.sort_unstable();
            percentiles(&sorted, seconds_after(self.now))
        };
        let known = |run: &[Seconds], seconds: fn(&Seconds) -> i32| {
            let of_clusters = indexes.iter().filter_map(|index| run.get(*index));
            let known: Vec<i32> = of_clusters
                .map(seconds)
                .filter(|seconds| *seconds != NEVER)
                .collect();
            known
        };
        (
            moments(&|run| known(run, |seconds| seconds.started).into_iter().min()),
            moments(&|run| known(run, |seconds| seconds.ended).into_iter().max()),
        )
    }

    /// The share of the runs in which the rollout is complete by a moment, from 0 to 1.
    pub fn completes_by(&self, moment: Timestamp) -> f64 {
        self.completions.partition_point(|end| *end <= moment) as f64 / self.runs as f64
    }

    /// The share of the runs that stop before their end, from 0 to 1.
    pub fn stopped(&self) -> f64 {
        self.stops.values().sum()
    }

    /// The share of the runs in which the rollout completes, from 0 to 1.
    pub fn completes(&self) -> f64 {
        self.completions.len() as f64 / self.runs as f64
    }

    /// The moment by which the rollout is complete in this share of all runs, if it is in so many.
    pub fn completion_at(&self, share: f64) -> Option<Timestamp> {
        let place = (share * self.runs as f64).ceil().max(1.0) as usize;
        self.completions.get(place - 1).copied()
    }
}

/// The number that this percentage does not exceed, of sorted ones.
fn quantile<T: Copy + Default>(sorted: &[T], percent: usize) -> T {
    let place = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(place).copied().unwrap_or_default()
}

/// Those of sorted values that stand for moments; nothing if there are none.
fn percentiles<T: Copy + Default>(sorted: &[T], moment: impl Fn(T) -> Timestamp) -> Option<Percentiles> {
    let at = |percent| moment(quantile(sorted, percent));
    (!sorted.is_empty()).then(|| Percentiles {
        p10: at(10),
        p50: at(50),
        p90: at(90),
    })
}

/// When a cluster started and ended, in seconds from the moment of the forecast, small: there is one for each cluster and run.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// The moment that is so many seconds after `now`.
fn seconds_after(now: Timestamp) -> impl Fn(i32) -> Timestamp {
    move |seconds| {
        let seconds = SignedDuration::from_secs(i64::from(seconds));
        now.saturating_add(seconds).unwrap_or(Timestamp::MAX)
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
    let ended = moments(|seconds| seconds.ended);
    let share = |count: usize| count as f64 / runs.len().max(1) as f64;
    ClusterForecast {
        starts: percentiles(&moments(|seconds| seconds.started), seconds_after(now)),
        ends: percentiles(&ended, seconds_after(now)),
        left: share(runs.len() - ended.len()),
        fails: share(of_cluster().filter(|seconds| seconds.failed).count()),
    }
}
