//! How many clusters have ended by when: the same as when the runs end.

use drydock_forecast::{EndedClusters, FailureRate, Forecast, GroupBy, Model, SimulationSettings};
use drydock_rollout::{Decider, ForecastInput, IntOrPercent, Position};
use jiff::Timestamp;
use proptest::prelude::*;

use super::fleet::{Fleet, Obstacle, edits, fleets};
use super::{cases, half_done, plain};

fn forecast(forecast_input: &ForecastInput, seed: u64) -> Forecast {
    let rate = FailureRate::Recorded;
    let model = Model::new(forecast_input, &[], &GroupBy::ProviderAndSize, rate);
    let runs = SimulationSettings {
        count: 20,
        seed,
        with_clusters: true,
        ignores_blocked: false,
    };
    Forecast::of(forecast_input, &model, runs)
}

fn of_fleet(fleet: &Fleet) -> Forecast {
    let forecast_input = Decider::of(fleet.observed()).forecast_input(fleet.now());
    forecast(&forecast_input.unwrap(), 1)
}

/// The counts of a point, the smallest first.
fn counts(point: &EndedClusters) -> [usize; 3] {
    [point.p10, point.p50, point.p90]
}

/// When each count has come to its last value.
fn full(curve: &[EndedClusters]) -> [Timestamp; 3] {
    let last = counts(curve.last().unwrap());
    [2, 1, 0].map(|count| {
        let is_full = |point: &&EndedClusters| counts(point)[count] == last[count];
        curve.iter().find(is_full).unwrap().at
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 8, ..cases() })]

    #[test]
    fn all_have_ended_when_the_runs_have(
        fleet in fleets(), steps in 0_usize..40, edits in edits(), settled in any::<bool>(), seed in any::<u64>()
    ) {
        let reference = half_done(&fleet, steps, &edits, settled);
        let Ok(forecast_input) = Decider::of(reference.observed.clone()).forecast_input(reference.now) else {
            return Ok(());
        };
        let forecast = forecast(&forecast_input, seed);
        let curve = forecast.ended_over_time();
        prop_assert!(curve.iter().all(|point| counts(point).is_sorted()), "{:?}", curve);
        prop_assert!(curve.is_sorted_by(|one, next| one.at < next.at), "{:?}", curve);
        for count in 0..3 {
            prop_assert!(curve.is_sorted_by_key(|point| counts(point)[count]), "{:?}", curve);
        }
        let Some(first) = curve.first() else {
            return Ok(());
        };
        let is_ended = |position: &Position| matches!(position, Position::Ended { .. });
        let ended = forecast_input.clusters.iter().filter(|cluster| is_ended(&cluster.position));
        prop_assert!(first.p10 >= ended.count());
        prop_assert!(counts(curve.last().unwrap())[2] <= forecast_input.clusters.len());
        if let Some(ends) = forecast.ends {
            prop_assert_eq!(full(&curve), [ends.p10, ends.p50, ends.p90]);
        }
    }
}

/// Half of the clusters have ended in half of the runs long before the last one has in as many.
#[test]
fn clusters_at_once_end_one_after_the_other() {
    let forecast = of_fleet(&Fleet {
        limit: IntOrPercent::Count(5),
        ..plain()
    });
    let curve = forecast.ended_over_time();
    let (first, last) = (curve[0], curve.last().unwrap());
    assert_eq!((counts(&first), counts(last)), ([0; 3], [5; 3]));
    let mut singly: Vec<Timestamp> = forecast
        .clusters
        .iter()
        .map(|cluster| cluster.ends.unwrap().p50)
        .collect();
    singly.sort_unstable();
    assert!(
        full(&curve)[1] > singly[4],
        "the last of five is later than each by itself"
    );
}

/// Where none ends, what ends nevertheless is of all runs; what a run does not come to is never.
#[test]
fn runs_that_stop_are_shown_where_none_ends() {
    let forecast = of_fleet(&Fleet {
        clusters: 12,
        canaries: 6,
        limit: IntOrPercent::Count(6),
        obstacles: [(0, Obstacle::Unavailable)].into(),
        ..plain()
    });
    assert_eq!(forecast.ends, None);
    let curve = forecast.ended_over_time();
    assert_eq!(counts(curve.last().unwrap())[1..], [5, 5]);
    let paused = of_fleet(&Fleet {
        paused: true,
        ..plain()
    });
    assert_eq!(paused.ended_over_time(), []);
}

/// A chart shows no more.
#[test]
fn of_many_clusters_some_numbers_are_looked_at() {
    let forecast = of_fleet(&Fleet {
        clusters: 450,
        limit: IntOrPercent::Count(450),
        ..plain()
    });
    let curve = forecast.ended_over_time();
    assert!((100..=301).contains(&curve.len()), "{}", curve.len());
    assert_eq!(counts(curve.last().unwrap()), [450; 3]);
}
