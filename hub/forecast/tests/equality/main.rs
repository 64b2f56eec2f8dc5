//! A run of a forecast and the decision, asked at every event and carried out, give the same start and end of every cluster: for any
//! fleet, spec and draws, and from any moment of a rollout.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test ends by panicking"
)]

mod drawn;
mod fleet;
mod over_time;
mod reference;

use std::collections::{BTreeMap, BTreeSet};

use drydock_forecast::{Simulation, StageEnd, StageSample, StageSampler, StopCause};
use drydock_rollout::{
    ClusterName, Decider, ForecastUnavailable, IntOrPercent, Position, RequestedMethod, Stage,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use drawn::{ByIndex, TestDraws};
use fleet::{Edit, Fleet, Obstacle, WantedTimes, edits, fleets};
use reference::{Reference, Times};

/// The same cases each time, unless `PROPTEST_CASES` asks for a number of others.
fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked = asked.and_then(|cases| cases.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        cases: asked.unwrap_or(2000),
        rng_seed: asked.map_or(RngSeed::Fixed(1), |_| RngSeed::Random),
        ..ProptestConfig::default()
    }
}

/// A rollout that has been under way for a while, with edits of the user on the way.
fn half_done(fleet: &Fleet, steps: usize, edits: &[Edit], settled: bool) -> Reference {
    let mut reference = Reference::new(fleet, TestDraws { seed: fleet.seed });
    for (step, edit) in (0..steps).zip(edits.iter().map(Some).chain(std::iter::repeat(None))) {
        reference.settle();
        if let Some(edit) = edit.filter(|_| step % 2 == 1) {
            reference.edit(edit);
            reference.settle();
        }
        if !reference.advance() {
            break;
        }
    }
    for edit in edits.iter().skip(steps / 2) {
        reference.edit(edit);
    }
    reference.settle();
    if !settled {
        // What happens next is seen, and nothing is decided about it yet.
        reference.advance();
    }
    reference
}

/// What the forecast says of each cluster that has not ended yet.
fn forecast(
    reference: &Reference,
    draws: TestDraws,
) -> Result<BTreeMap<ClusterName, Times>, ForecastUnavailable> {
    let forecast_input = Decider::of(reference.observed.clone()).forecast_input(reference.now)?;
    let mut simulation = Simulation::new(&forecast_input);
    simulation.run(&ByIndex::new(draws, &forecast_input));
    let clusters = forecast_input.clusters.iter().zip(simulation.times());
    Ok(clusters
        .filter(|(cluster, _)| !matches!(cluster.position, Position::Ended { .. } | Position::Blocked(_)))
        .map(|(cluster, times)| {
            let began = match &cluster.position {
                Position::UnderWay { started, .. }
                | Position::Advances { started, .. }
                | Position::Ends { started, .. } => *started,
                Position::Waits { .. } | Position::Blocked(_) | Position::Ended { .. } => None,
            };
            let times = Times {
                started: times.started.filter(|_| times.started != began),
                ended: times.ended.map(|ended| (ended, times.failed)),
            };
            (cluster.name.clone(), times)
        })
        .filter(|(_, times)| *times != Times::default())
        .collect())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_run_is_the_decision_at_every_event(
        fleet in fleets(), steps in 0_usize..40, edits in edits(), settled in any::<bool>(), seed in any::<u64>()
    ) {
        let mut reference = half_done(&fleet, steps, &edits, settled);
        let draws = TestDraws { seed };
        let Ok(forecast) = forecast(&reference, draws) else {
            return Ok(());
        };
        reference.draw_anew(draws);
        reference.run_to_its_end();
        prop_assert_eq!(&forecast, &reference.times);
    }
}

/// Five clusters, of which nothing is special, at draws of which all succeed.
fn plain() -> Fleet {
    Fleet {
        clusters: 5,
        canaries: 0,
        limit: IntOrPercent::Count(2),
        max_failures: None,
        soak_minutes: 0,
        timeout_minutes: 260,
        times: WantedTimes::default(),
        pre: false,
        post: false,
        operators: false,
        platform: true,
        method: RequestedMethod::Auto,
        agents: BTreeSet::new(),
        unclaimed: BTreeSet::new(),
        at_target: BTreeSet::new(),
        obstacles: BTreeMap::new(),
        groups: 1,
        paused: false,
        begin: 1_767_600_000,
        seed: 1,
    }
}

/// Every stage takes an hour, and clusters of these numbers fail.
struct Hours(&'static [usize]);

impl StageSampler for Hours {
    fn stage(&self, cluster: usize, _: Stage, elapsed: i64) -> StageSample {
        StageSample {
            seconds: 3600.max(elapsed + 1),
            end: if self.0.contains(&cluster) {
                StageEnd::Fails
            } else {
                StageEnd::Succeeds
            },
        }
    }
}

/// A fleet, the clusters of it that fail, and why the rollout stops.
type StopCase = (Fleet, &'static [usize], Option<StopCause>);

fn stop_cases() -> Vec<StopCase> {
    let unavailable = |number: &usize| (*number, Obstacle::Unavailable);
    let blocked = |numbers: &[usize]| numbers.iter().map(unavailable).collect();
    vec![
        (plain(), &[], None),
        (
            Fleet {
                obstacles: blocked(&[3]),
                ..plain()
            },
            &[],
            Some(StopCause::ClustersBlocked),
        ),
        (
            Fleet {
                paused: true,
                ..plain()
            },
            &[],
            Some(StopCause::Paused),
        ),
        (
            Fleet {
                canaries: 1,
                ..plain()
            },
            &[0],
            Some(StopCause::CanaryFailed),
        ),
        (
            Fleet {
                canaries: 1,
                obstacles: blocked(&[0]),
                ..plain()
            },
            &[],
            Some(StopCause::CanaryBlocked),
        ),
        (
            Fleet {
                obstacles: blocked(&[0, 1, 2, 3, 4]),
                ..plain()
            },
            &[],
            Some(StopCause::ClustersBlocked),
        ),
        (
            Fleet {
                max_failures: Some(IntOrPercent::Count(1)),
                ..plain()
            },
            &[1],
            Some(StopCause::FailureBudgetSpent),
        ),
        (
            Fleet {
                times: WantedTimes::windows(&[("0 0 29 2 *", 1, "UTC")]),
                limit: IntOrPercent::Count(1),
                ..plain()
            },
            &[],
            Some(StopCause::TooLong),
        ),
    ]
}

/// The same, by what keeps clusters from starting, and how many canaries there are.
fn stops_at_obstacles() -> impl Iterator<Item = StopCase> {
    use Obstacle::{Taken, Unavailable};
    let cases = [
        (0, vec![(3, Taken)], StopCause::OwnedByAnotherUpgrade),
        (0, vec![(2, Unavailable), (3, Taken)], StopCause::ClustersBlocked),
        (
            1,
            vec![(0, Taken), (3, Unavailable)],
            StopCause::OwnedByAnotherUpgrade,
        ),
    ];
    cases.into_iter().map(|(canaries, obstacles, stop)| {
        let fleet = Fleet {
            canaries,
            obstacles: obstacles.into_iter().collect(),
            ..plain()
        };
        (fleet, &[][..], Some(stop))
    })
}

#[test]
fn each_cause_of_a_stop_is_found() {
    for (fleet, failing, stop) in stop_cases().into_iter().chain(stops_at_obstacles()) {
        let forecast_input = Decider::of(fleet.observed()).forecast_input(fleet.now()).unwrap();
        let outcome = Simulation::new(&forecast_input).run(&Hours(failing));
        assert_eq!(outcome.stop, stop, "{fleet:?}");
    }
}

/// What the rest cannot start for is not what keeps it.
#[test]
fn a_canary_that_fails_stops_clusters_that_could_not_start_either() {
    let fleet = Fleet {
        canaries: 1,
        obstacles: (1..5).map(|number| (number, Obstacle::Unavailable)).collect(),
        ..plain()
    };
    let forecast_input = Decider::of(fleet.observed()).forecast_input(fleet.now()).unwrap();
    let outcome = Simulation::new(&forecast_input).run(&Hours(&[0]));
    assert_eq!(outcome.stop, Some(StopCause::CanaryFailed));
}

#[test]
fn what_the_next_cluster_waits_for_is_counted() {
    let fleet = Fleet {
        canaries: 1,
        soak_minutes: 90,
        times: WantedTimes::windows(&[("0 22 * * *", 120, "UTC")]),
        ..plain()
    };
    let forecast_input = Decider::of(fleet.observed()).forecast_input(fleet.now()).unwrap();
    let outcome = Simulation::new(&forecast_input).run(&Hours(&[]));
    // From 08:00 the canary waits until 22:00, takes an hour, soaks until 00:30, when the window is closed, and the other four start two
    // by two at 22:00 and 23:00 of the next day.
    let minutes = outcome.waited.map(|seconds| seconds / 60);
    assert_eq!(
        minutes,
        [60, 840 + 1290, 90, 60],
        "slots, windows, soak, canaries"
    );
    assert_eq!(outcome.most_in_flight, 2);
}
