//! `--finish-by`: the least `maxConcurrency` with which a rollout ends in time, or what stands in the way.

use std::sync::Arc;

use drydock_forecast::{Forecast, Model, SimulationSettings};
use drydock_rollout::{ForecastInput, IntOrPercent, Spec, StartTimes};
use jiff::{SignedDuration, Timestamp};

use super::fleet::forecast;
use super::report::{FinishBy, Obstacle, rounded};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// When the rollout must have ended.
    pub by: Timestamp,
    /// The share of the runs that must have.
    pub confidence: f64,
    /// How many runs are made.
    pub runs: SimulationSettings,
}

impl Request {
    fn forecast(&self, forecast_input: &ForecastInput, model: &Model, slots: u32) -> Forecast {
        let with_slots = with_spec(forecast_input, |spec| {
            spec.strategy.max_concurrency = IntOrPercent::Count(slots);
        });
        forecast(&with_slots, model, self.runs)
    }

    fn is_met(&self, forecast: &Forecast) -> bool {
        forecast.completes_by(self.by) >= self.confidence
    }
}

/// What it takes to end in time. `as_it_is` is the share of the runs that do with the present spec; `never_fails` is the model of clusters
/// none of which fails.
pub fn finish_by(
    forecast_input: &ForecastInput,
    model: &Model,
    never_fails: &Model,
    as_it_is: f64,
    request: &Request,
) -> FinishBy {
    // No limit lets a cluster start that cannot: what is looked for is what the others take.
    let mut request = *request;
    request.runs.ignores_blocked = true;
    let request = &request;
    let all = u32::try_from(forecast_input.clusters.len())
        .unwrap_or(u32::MAX)
        .max(1);
    let at_once = request.forecast(forecast_input, model, all);
    let is_possible = request.is_met(&at_once);
    let least = is_possible.then(|| least(forecast_input, model, request, all));
    let in_time_with = match least {
        Some(slots) if slots < all => request
            .forecast(forecast_input, model, slots)
            .completes_by(request.by),
        _ => at_once.completes_by(request.by),
    };
    let obstacles = if is_possible {
        Vec::new()
    } else {
        obstacles(forecast_input, model, never_fails, request, all)
    };
    FinishBy {
        time: request.by,
        in_time: rounded(as_it_is),
        max_concurrency: least,
        in_time_with: rounded(in_time_with),
        earliest: at_once.completion_at(request.confidence),
        obstacles,
    }
}

/// The least number of slots that is enough, where `all` are.
fn least(forecast_input: &ForecastInput, model: &Model, request: &Request, all: u32) -> u32 {
    let (mut too_few, mut enough) = (0, all);
    while enough - too_few > 1 {
        let middle = too_few + (enough - too_few) / 2;
        if request.is_met(&request.forecast(forecast_input, model, middle)) {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    enough
}

/// What would help, each by itself, with all clusters at once.
fn obstacles(
    forecast_input: &ForecastInput,
    model: &Model,
    never_fails: &Model,
    request: &Request,
    all: u32,
) -> Vec<Obstacle> {
    let strategy = &forecast_input.spec.strategy;
    let before = request
        .forecast(forecast_input, model, all)
        .completes_by(request.by);
    let mut found = Vec::new();
    let mut check = |what: &'static str, without: &ForecastInput, model: &Model| {
        let share = request.forecast(without, model, all).completes_by(request.by);
        if share > before {
            found.push(Obstacle {
                what,
                in_time_without: rounded(share),
            });
        }
    };
    if forecast_input.spec.paused {
        let without = with_spec(forecast_input, |spec| spec.paused = false);
        check("paused", &without, model);
    }
    for (what, times) in fewer_start_times(&strategy.start_times) {
        check(what, &with_start_times(forecast_input, times), model);
    }
    if strategy.start_only_if_it_fits {
        check(
            "startOnlyIfItFits",
            &at_any_time_of_a_window(forecast_input),
            model,
        );
    }
    if !strategy.soak.is_zero() {
        let without = with_spec(forecast_input, |spec| spec.strategy.soak = SignedDuration::ZERO);
        check("soakTime", &without, model);
    }
    if strategy.canaries.is_some() {
        check("canaryClusters", &without_canaries(forecast_input), model);
    }
    check("failures", forecast_input, never_fails);
    found.sort_by(|one, other| other.in_time_without.total_cmp(&one.in_time_without));
    found
}

/// The start times without each of their parts, and which part that is.
fn fewer_start_times(times: &StartTimes) -> Vec<(&'static str, StartTimes)> {
    let (windows, freezes) = (times.windows().to_vec(), times.freezes().to_vec());
    let with_calendar = |fewer: StartTimes| match times.calendar() {
        Some(calendar) => fewer.with_calendar(calendar.clone()),
        None => fewer,
    };
    let mut fewer = Vec::new();
    if !windows.is_empty() {
        let times = StartTimes::new(Vec::new(), freezes.clone());
        fewer.push(("startWindows", with_calendar(times)));
    }
    if !freezes.is_empty() {
        let times = StartTimes::new(windows.clone(), Vec::new());
        fewer.push(("freezes", with_calendar(times)));
    }
    if times.calendar().is_some() {
        fewer.push(("freezeCalendar", StartTimes::new(windows, freezes)));
    }
    fewer
}

fn with_start_times(forecast_input: &ForecastInput, times: StartTimes) -> ForecastInput {
    let mut forecast_input = forecast_input.clone();
    for cluster in &mut forecast_input.clusters {
        let timetable = times.timetable(&cluster.labels);
        let expected = cluster.timetable.expected();
        cluster.timetable = expected.map_or(timetable, |expected| timetable.fitting(expected));
    }
    with_spec(&forecast_input, |spec| spec.strategy.start_times = times)
}

/// Clusters start though they may not end in time.
fn at_any_time_of_a_window(forecast_input: &ForecastInput) -> ForecastInput {
    let mut forecast_input = with_spec(forecast_input, |spec| spec.strategy.start_only_if_it_fits = false);
    for cluster in &mut forecast_input.clusters {
        cluster.timetable = cluster.timetable.once_started();
    }
    forecast_input
}

fn with_spec(forecast_input: &ForecastInput, change: impl FnOnce(&mut Spec)) -> ForecastInput {
    let mut forecast_input = forecast_input.clone();
    change(Arc::make_mut(&mut forecast_input.spec));
    forecast_input
}

fn without_canaries(forecast_input: &ForecastInput) -> ForecastInput {
    let mut forecast_input = with_spec(forecast_input, |spec| {
        spec.strategy.canaries = None;
        spec.strategy.soak = SignedDuration::ZERO;
    });
    for cluster in &mut forecast_input.clusters {
        cluster.canary = false;
        cluster.unhealthy = false;
    }
    let inputs = &mut forecast_input.inputs;
    inputs.awaited_canaries = 0;
    inputs.complete_canaries = 0;
    inputs.failed_canaries = 0;
    inputs.unhealthy_canaries = 0;
    forecast_input
}
