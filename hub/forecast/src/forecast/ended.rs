//! How many clusters have ended by when, over the runs.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::{Forecast, NEVER, quantile, seconds_after};

/// So many numbers of clusters are looked at: a chart shows no more.
const NUMBERS: usize = 100;
/// Stands for an end that a run does not come to: it is later than all others.
const LATER: i32 = i32::MAX;

/// How many clusters have ended by a moment, complete or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedClusters {
    /// The moment.
    pub at: Timestamp,
    /// So many or more in nine of ten runs.
    pub p10: usize,
    /// So many or more in half of the runs.
    pub p50: usize,
    /// So many or more in one of ten runs.
    pub p90: usize,
}

/// When so many clusters have ended in one of ten runs, in half of them, and in nine of ten.
type Reached = (usize, [i32; 3]);

impl Forecast {
    /// How many clusters have ended by when, in those runs of which [`Forecast::ends`] is; where none ends, in all. Nothing if no cluster ends
    /// any more, or no clusters were asked for. All have ended in half of the runs at the moment that the forecast gives as their p50.
    pub fn ended_over_time(&self) -> Vec<EndedClusters> {
        let runs = self.sorted_ends();
        let past = |run: &Vec<i32>| run.partition_point(|end| *end <= 0);
        let ended_now = runs.iter().map(past).min().unwrap_or_default();
        let most = runs.iter().map(Vec::len).max().unwrap_or_default();
        let reached: Vec<Reached> = numbers(ended_now, most)
            .map(|number| (number, when(&runs, number)))
            .collect();
        let times = reached.iter().flat_map(|(_, times)| times);
        let times = times.filter(|time| **time != LATER).map(|time| (*time).max(0));
        let times: BTreeSet<i32> = std::iter::once(0).chain(times).collect();
        if times.last() == Some(&0) {
            return Vec::new();
        }
        let moment = seconds_after(self.now);
        let point = |time: i32| {
            let ended = |quantile: usize| {
                let passed = reached.partition_point(|(_, times)| times[quantile] <= time);
                let of_known = passed.checked_sub(1).map_or(ended_now, |last| reached[last].0);
                self.ended_some_time + of_known
            };
            EndedClusters {
                at: moment(time),
                p10: ended(2),
                p50: ended(1),
                p90: ended(0),
            }
        };
        times.into_iter().map(point).collect()
    }

    /// The ends of clusters in each of the runs that are counted, the earliest first.
    fn sorted_ends(&self) -> Vec<Vec<i32>> {
        let all = 0..self.runs_of_clusters.len();
        let runs: Vec<usize> = all
            .clone()
            .filter(|run| self.runs_that_end.contains(run))
            .collect();
        let runs = if runs.is_empty() { all.collect() } else { runs };
        let sorted = |run: usize| {
            let ends = self.runs_of_clusters[run].iter().map(|seconds| seconds.ended);
            let mut ends: Vec<i32> = ends.filter(|end| *end != NEVER).collect();
            ends.sort_unstable();
            ends
        };
        runs.into_par_iter().map(sorted).collect()
    }
}

/// The numbers of clusters that are looked at, behind those that have ended already.
fn numbers(ended_now: usize, most: usize) -> impl Iterator<Item = usize> {
    let coming = most - ended_now;
    let looks = coming.min(NUMBERS);
    (1..=looks).map(move |look| ended_now + (coming * look).div_ceil(looks))
}

/// When so many have ended.
fn when(runs: &[Vec<i32>], number: usize) -> [i32; 3] {
    let ends = runs
        .iter()
        .map(|run| run.get(number - 1).copied().unwrap_or(LATER));
    let mut ends: Vec<i32> = ends.collect();
    ends.sort_unstable();
    [10, 50, 90].map(|percent| quantile(&ends, percent))
}
