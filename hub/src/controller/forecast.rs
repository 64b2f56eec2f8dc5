//! When upgrades are expected to end: forecast again when something has changed, at most once a minute, and compared with what became of
//! them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use drydock_api::mcu::{ForecastStatus, ManagedClustersUpgradeRecord, ManagedClustersUpgradeStatus};
use drydock_forecast::{FailureRate, Forecast, GroupBy, Model, SimulationSettings};
use drydock_objects::{
    ForecastOnRecord, Planned, RolloutStart, forecast_error, forecast_status, has_start_forecast, record,
    without_forecast,
};
use drydock_rollout::{PreChecksMode, Report, UpgradeKey};
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{Patch, PatchParams};

use super::Context;

/// A forecast is renewed at most once in this time.
const RENEWAL: SignedDuration = SignedDuration::from_mins(1);
/// A forecast that comes to an end is renewed after this time, though nothing has changed.
const TIME_PASSES: SignedDuration = SignedDuration::from_mins(10);
/// Runs of a forecast of a small fleet; of a larger one fewer, down to half of them.
const CLUSTERS_IN_ALL_RUNS: usize = 1_000_000;

/// What is known of the forecasts of this process.
#[derive(Debug, Default)]
pub(crate) struct Forecasts(Mutex<BTreeMap<UpgradeKey, Made>>);

/// A forecast that was made: from what, and when.
#[derive(Clone, Copy, Debug)]
struct Made {
    from: u64,
    at: Timestamp,
}

/// What the status is to say, and when to look again.
#[derive(Debug, Default)]
pub(super) struct Renewed {
    pub forecast: Option<ForecastStatus>,
    pub wait: Option<Duration>,
}

impl Forecasts {
    /// An upgrade does not exist any more, or its last forecast is not in its status.
    pub fn forget(&self, key: &UpgradeKey) {
        self.known().remove(key);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, BTreeMap<UpgradeKey, Made>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The forecast of an upgrade: a new one if it is time for one, else the one that the status has.
pub(super) async fn renew(context: &Context, planned: &Planned, now: Timestamp) -> Renewed {
    let report = &planned.plan.report;
    let status = planned.object.status.as_ref();
    let before = status.and_then(|status| status.forecast.as_ref());
    if report.frozen || report.deletion.is_some() {
        return Renewed {
            forecast: before.cloned(),
            wait: None,
        };
    }
    let is_over = report.counts.pending == 0 && report.counts.in_flight == 0 && report.starting == 0;
    if context.forecast_runs == 0 || report.invalid.is_some() || report.selection_problem.is_some() || is_over
    {
        return Renewed {
            forecast: without_forecast(before),
            wait: None,
        };
    }
    let mut before = before.cloned();
    if let Some(before) = &mut before
        && has_ended(report)
        && is_on_record(context, planned)
    {
        // What was forecast has happened. Clusters that could not start may yet, but are no part of that.
        (before.at_start, before.late) = (None, None);
    }
    let before = before.as_ref();
    let key = &planned.rollout.upgrade.key;
    let from = what_counts(report, planned.rollout.upgrade.generation);
    let last = context.forecasts.known().get(key).copied();
    if let Some(last) = last
        && !lacks_start(report, before)
    {
        let due = next_renewal(before, last, from);
        if due.is_none_or(|due| due > now) {
            return Renewed {
                forecast: before.cloned(),
                wait: until(due, now),
            };
        }
    }
    let forecast = match compute(context, key, now).await {
        Some(forecast) => Some(forecast_status(
            &forecast,
            &RolloutStart::of(&planned.rollout.upgrade, report),
            before,
        )),
        None => without_forecast(before),
    };
    // One that says the same is no reason to write.
    let forecast = forecast.map(|forecast| match before {
        Some(before) if is_same(before, &forecast) => before.clone(),
        _ => forecast,
    });
    let made = Made { from, at: now };
    context.forecasts.known().insert(key.clone(), made);
    let due = next_renewal(forecast.as_ref(), made, from);
    Renewed {
        forecast,
        wait: until(due, now),
    }
}

/// Whether two forecasts differ at most in when they were computed.
fn is_same(one: &ForecastStatus, other: &ForecastStatus) -> bool {
    let at = |forecast: &ForecastStatus| ForecastStatus {
        computed_at: None,
        ..forecast.clone()
    };
    at(one) == at(other)
}

fn until(due: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    Duration::try_from(due?.duration_since(now)).ok()
}

/// Nothing is under way, and nothing that is left can start, or could if somebody accepted what holds it.
fn has_ended(report: &Report) -> bool {
    let (counts, checks) = (&report.counts, &report.pre_checks);
    let is_held = checks.mode == PreChecksMode::Require && checks.with_findings > 0;
    let is_startable = report.startable > 0 || is_held;
    counts.total > 0 && counts.in_flight == 0 && report.starting == 0 && !is_startable
}

/// Whether it is on record how good the forecast of the start was.
fn is_on_record(context: &Context, planned: &Planned) -> bool {
    let Some(since) = planned.plan.report.rollout_since else {
        return false;
    };
    let key = &planned.rollout.upgrade.key;
    let known = context.cache.fleet().forecast_on_record(key, since);
    matches!(known, Some(ForecastOnRecord::Said { .. }))
}

/// A rollout has begun, and the forecast of its start is not in the status.
fn lacks_start(report: &Report, before: Option<&ForecastStatus>) -> bool {
    let begins = report.starting > 0 && report.counts.initialized == 0;
    begins
        && report
            .rollout_since
            .is_some_and(|since| !has_start_forecast(before, since))
}

/// When the forecast is to be renewed if nothing else happens: a minute after the last one if something has changed since, or when the
/// rollout should have ended. Never, as long as nothing changes, where nothing is under way, or no end is in sight.
fn next_renewal(forecast: Option<&ForecastStatus>, last: Made, from: u64) -> Option<Timestamp> {
    let earliest = last.at.saturating_add(RENEWAL).ok()?;
    if last.from != from {
        return Some(earliest);
    }
    // Where an end is in sight, the time that passes is news by itself.
    let expected = forecast?.p50.as_ref()?.0;
    let passed = last.at.saturating_add(TIME_PASSES).ok()?;
    Some(earliest.max(expected.min(passed)))
}

/// What a forecast depends on beside the time.
fn what_counts(report: &Report, generation: i64) -> u64 {
    let mut hasher = DefaultHasher::new();
    let counts = &report.counts;
    let numbers = [
        counts.total,
        counts.initialized,
        counts.partial,
        counts.complete,
        counts.failed,
        counts.pending,
        counts.in_flight,
        report.starting,
        report.limit,
        report.canaries.complete,
        report.canaries.failed,
        report.startable,
    ];
    let checks = &report.pre_checks;
    // Of clusters that cannot start now, these may yet by themselves.
    let waiting = [
        checks.with_findings,
        checks.awaited,
        checks.unasked,
        checks.unanswered,
    ];
    (
        numbers,
        waiting,
        generation,
        report.halt.as_ref().map(drydock_rollout::Halt::as_str),
    )
        .hash(&mut hasher);
    hasher.finish()
}

async fn compute(context: &Context, key: &UpgradeKey, now: Timestamp) -> Option<Forecast> {
    let (forecast_input, past) = {
        let mut fleet = context.cache.fleet();
        let forecast_input = fleet.forecast_input(key, now)?.ok()?;
        (forecast_input, fleet.past_upgrades(&GroupBy::ProviderAndSize))
    };
    let most = context.forecast_runs;
    let count = CLUSTERS_IN_ALL_RUNS / forecast_input.clusters.len().max(1);
    let count = u32::try_from(count)
        .unwrap_or(u32::MAX)
        .clamp(most.div_ceil(2), most);
    let runs = SimulationSettings {
        count,
        seed: 0,
        with_clusters: false,
        ignores_blocked: false,
    };
    // It takes longer than others should wait.
    let computed = tokio::task::spawn_blocking(move || {
        let model = Model::new(
            &forecast_input,
            &past,
            &GroupBy::ProviderAndSize,
            FailureRate::Recorded,
        );
        Forecast::of(&forecast_input, &model, runs)
    });
    match computed.await {
        Ok(forecast) => Some(forecast),
        Err(error) => {
            tracing::error!(upgrade = %key, %error, "the forecast of an upgrade ended early; it has none");
            None
        }
    }
}

/// Puts on record how good the forecast of the start was, once a rollout has ended.
///
/// # Errors
/// If the API server refuses; it is tried again with the next look.
pub(super) async fn put_on_record(
    context: &Context,
    planned: &Planned,
    status: &ManagedClustersUpgradeStatus,
) -> Result<(), kube::Error> {
    let report = &planned.plan.report;
    let since = status.start_time.as_ref().map(|time| time.0);
    let (Some(since), Some(ended)) = (since, report.last_finished) else {
        return Ok(());
    };
    let key = &planned.rollout.upgrade.key;
    let known = context.cache.fleet().forecast_on_record(key, since);
    let page = match known.filter(|_| has_ended(report)) {
        Some(ForecastOnRecord::Missing(page)) => page,
        Some(ForecastOnRecord::Said { error_seconds }) => {
            context.metrics.forecast_error(key, error_seconds);
            return Ok(());
        }
        None => return Ok(()),
    };
    let Some(error) = forecast_error(status, since, ended) else {
        return Ok(());
    };
    let api: Api<ManagedClustersUpgradeRecord> = Api::namespaced(context.client.clone(), &key.namespace);
    let patch = record::forecast(&page.resource_version, &error);
    api.patch(&page.name, &PatchParams::default(), &Patch::Merge(patch))
        .await?;
    context.metrics.forecast_ended(key, &error);
    tracing::info!(
        upgrade = %key,
        error_seconds = error.error_seconds,
        within_band = error.within_band,
        "the rollout has ended; its forecast is on record"
    );
    Ok(())
}
