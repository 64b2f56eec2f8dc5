//! Of ten rollouts, eight should end within p10 to p90 of their forecast, also where durations are nothing like what the model assumes:
//! with a truth of its own for each class of fleets, rollouts are drawn, forecast at their start and half-way, and played with the
//! true draws.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a test ends by panicking, and prints its table"
)]

mod fleet;
mod truth;

use drydock_forecast::{FailureRate, Forecast, GroupBy, Model, Simulation, SimulationSettings};

use fleet::{Asked, forecast_input, half_done};
use truth::{Shape, Truth};

/// Fleets of each class; `CALIBRATION_FLEETS` for more.
const FLEETS: u64 = 100;
/// The share of ends within the band that a class must have, in percent: 80 is aimed at, and a hundred fleets show it within about 8.
const ACCEPTED: std::ops::RangeInclusive<f64> = 70.0..=90.0;
/// Runs of a forecast.
const RUNS: u32 = 60;

/// Fleets that are alike.
#[derive(Clone, Copy, Debug)]
struct Class {
    name: &'static str,
    shape: Shape,
    /// What is asked for beside a limit.
    asked: Asked,
    /// Rollouts on record, made from the same truth.
    past: usize,
    /// By how much clusters, and rollouts, differ from each other, as deviations of the logarithm.
    clusters: f64,
    rollouts: f64,
    /// The share of upgrades that fail.
    failures: f64,
    /// The share of these that come by the timeout.
    hangs: f64,
}

/// How often the end lay where.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    before: u32,
    within: u32,
    after: u32,
    /// Rollouts that come to no end, or of which no forecast run does.
    without: u32,
}

impl Counts {
    fn share(self) -> f64 {
        100.0 * f64::from(self.within) / f64::from((self.before + self.within + self.after).max(1))
    }
}

/// A class by what its numbers are, in the order of the fields.
fn class(name: &'static str, shape: Shape, asked: Asked, past: usize, numbers: [f64; 4]) -> Class {
    let [clusters, rollouts, failures, hangs] = numbers;
    Class {
        name,
        shape,
        asked,
        past,
        clusters,
        rollouts,
        failures,
        hangs,
    }
}

fn classes() -> Vec<Class> {
    use Asked::{Canaries, Nights, Nothing};
    use Shape::{Bimodal, Gamma, Lognormal, Published};
    vec![
        class(
            "published, no records",
            Published,
            Nothing,
            0,
            [0.2, 0.1, 0.02, 0.7],
        ),
        class(
            "published, canaries, no records",
            Published,
            Canaries,
            0,
            [0.2, 0.1, 0.02, 0.7],
        ),
        class(
            "lognormal, 1 rollout",
            Lognormal,
            Nothing,
            1,
            [0.2, 0.12, 0.01, 0.5],
        ),
        class(
            "lognormal, 3 rollouts",
            Lognormal,
            Nothing,
            3,
            [0.25, 0.15, 0.02, 0.8],
        ),
        class(
            "lognormal, 8 rollouts",
            Lognormal,
            Nothing,
            8,
            [0.25, 0.15, 0.05, 0.2],
        ),
        class(
            "lognormal, canaries, 8 rollouts",
            Lognormal,
            Canaries,
            8,
            [0.25, 0.15, 0.02, 0.8],
        ),
        class("gamma, 3 rollouts", Gamma, Nothing, 3, [0.1, 0.1, 0.01, 0.0]),
        class("gamma, 8 rollouts", Gamma, Nothing, 8, [0.1, 0.2, 0.0, 0.0]),
        class(
            "gamma, nights, 8 rollouts",
            Gamma,
            Nights,
            8,
            [0.1, 0.15, 0.01, 0.5],
        ),
        class("bimodal, 3 rollouts", Bimodal, Nothing, 3, [0.1, 0.1, 0.02, 0.5]),
        class("bimodal, 8 rollouts", Bimodal, Nothing, 8, [0.2, 0.05, 0.02, 0.5]),
        class(
            "bimodal, nights, 3 rollouts",
            Bimodal,
            Nights,
            3,
            [0.1, 0.1, 0.02, 0.5],
        ),
    ]
}

fn number() -> u64 {
    let given = std::env::var("CALIBRATION_FLEETS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(FLEETS)
}

/// Plays one fleet of a class: where its end lay in the forecast of its start, and in that of its middle.
fn play(class: Class, seed: u64, counts: &mut [Counts; 2]) {
    let truth = Truth::draw(&class, seed);
    let start = forecast_input(&truth, class.asked);
    let past = truth.past(class.past);
    let rollout = truth.rollout(class.past);
    let mut simulation = Simulation::new(&start);
    let whole = simulation.run(&rollout);
    if whole.stop.is_some() {
        return;
    }
    let times: Vec<_> = simulation.times().collect();
    let middle = half_done(&start, &times, &rollout);
    for (counts, (forecast_input, shown)) in counts.iter_mut().zip([(start, Vec::new()), middle]) {
        let known = [past.clone(), shown].concat();
        let model = Model::new(
            &forecast_input,
            &known,
            &GroupBy::ProviderAndSize,
            FailureRate::Recorded,
        );
        let runs = SimulationSettings {
            count: RUNS,
            seed,
            with_clusters: false,
            ignores_blocked: false,
        };
        match Forecast::of(&forecast_input, &model, runs).ends {
            None => counts.without += 1,
            Some(band) if whole.end < band.p10 => counts.before += 1,
            Some(band) if whole.end > band.p90 => counts.after += 1,
            Some(_) => counts.within += 1,
        }
    }
}

#[test]
fn eight_of_ten_rollouts_end_within_the_band() {
    let mut off = Vec::new();
    println!("| fleets | forecast | before p10 | within | after p90 |\n|---|---|---|---|---|");
    for class in classes() {
        let mut counts = [Counts::default(); 2];
        for seed in 0..number() {
            play(class, seed, &mut counts);
        }
        for (when, counts) in ["at the start", "half-way"].into_iter().zip(counts) {
            let share = counts.share();
            println!(
                "| {} | {when} | {} | {} ({share:.0} %) | {} |",
                class.name, counts.before, counts.within, counts.after
            );
            if !ACCEPTED.contains(&share) {
                off.push(format!("{}, {when}: {share:.0} %: {counts:?}", class.name));
            }
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}

/// A cluster should take no longer than is expected of it in nine of ten rollouts. With little on record, it is expected to take longer than it
/// does; so many a class may lack, in percent: clusters of one fleet, and of one rollout, are not independent.
const EXPECTED_AT_LEAST: f64 = 84.0;

#[test]
fn nine_of_ten_clusters_take_no_longer_than_is_expected_of_them() {
    let mut off = Vec::new();
    println!("| fleets | within what is expected |\n|---|---|");
    for class in classes() {
        let (mut within, mut all) = (0_u32, 0_u32);
        for seed in 0..number() {
            let truth = Truth::draw(&class, seed);
            let start = forecast_input(&truth, class.asked);
            let model = Model::new(
                &start,
                &truth.past(class.past),
                &GroupBy::ProviderAndSize,
                FailureRate::Recorded,
            );
            let expected = model.expected(&start);
            let rollout = truth.rollout(class.past);
            for (cluster, drawn) in start.clusters.iter().zip(&rollout.0) {
                all += 1;
                within += u32::from(drawn.seconds <= expected[&cluster.name].duration().as_secs());
            }
        }
        let share = 100.0 * f64::from(within) / f64::from(all);
        println!("| {} | {share:.0} % |", class.name);
        if share < EXPECTED_AT_LEAST {
            off.push(format!("{}: {share:.0} %", class.name));
        }
    }
    assert!(off.is_empty(), "{off:#?}");
}
