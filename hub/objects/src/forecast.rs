//! A forecast as the status of an upgrade says it, and how good the one was that was made at its start.

use drydock_api::mcu::{ForecastBand, ForecastStatus, ManagedClustersUpgradeStatus, RecordedForecast};
use drydock_forecast::{Forecast, Percentiles};
use drydock_rollout::{Report, Upgrade, bounded};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sha2::{Digest, Sha256};

use crate::status::wire_time;

/// A forecast that is made later than this after the beginning of a rollout is not the one of its start.
const START: SignedDuration = SignedDuration::from_mins(10);
/// By how much a rollout must be later than that one said: what OCM itself takes is not simulated.
const LATE: SignedDuration = SignedDuration::from_mins(2);
/// The longest description of what it is based on, in bytes.
const BASIS: usize = 256;

/// What a forecast of the start of a rollout is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutStart {
    /// When the rollout began, if it has.
    pub since: Option<Timestamp>,
    /// Changes with the spec, the retries and the number of clusters: a forecast that was made before is about something else.
    pub fingerprint: String,
}

impl RolloutStart {
    /// That of a rollout as it is now.
    pub fn of(upgrade: &Upgrade, report: &Report) -> Self {
        let retries = &upgrade.retries;
        let about = format!(
            "{} {:?} {:?} {}",
            upgrade.generation, retries.all, retries.clusters, report.counts.total
        );
        let digest = Sha256::digest(about.as_bytes());
        Self {
            since: report.rollout_since,
            fingerprint: digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// What the status says of a new forecast. `before` is what the status says now.
pub fn forecast_status(
    forecast: &Forecast,
    start: &RolloutStart,
    before: Option<&ForecastStatus>,
) -> ForecastStatus {
    let ends = forecast.ends;
    let at = |moment: fn(Percentiles) -> Timestamp| ends.map(|band| wire_time(moment(band)));
    let computed_at = Some(wire_time(forecast.now));
    let at_start = at_start(forecast, start, before);
    let latest = at_start
        .as_ref()
        .and_then(|start| start.p90.as_ref())
        .map(|latest| latest.0);
    let percent = (forecast.stopped() * 100.0).round() as i32;
    let cause = forecast
        .stops
        .iter()
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    ForecastStatus {
        p10: at(|band| band.p10),
        p50: at(|band| band.p50),
        p90: at(|band| band.p90),
        computed_at,
        basis: Some(bounded(&forecast.basis.to_string(), BASIS).to_owned()),
        stop_percent: Some(percent).filter(|percent| *percent > 0),
        stop_reason: cause
            .filter(|_| percent > 0)
            .map(|(cause, _)| cause.reason().to_owned()),
        late: match (latest, ends) {
            (Some(latest), Some(band)) => Some(band.p50.duration_since(latest) > LATE).filter(|late| *late),
            // One that has stopped stays as late as it was.
            (Some(_), None) => before.and_then(|before| before.late),
            (None, _) => None,
        },
        at_start,
    }
}

fn at_start(
    forecast: &Forecast,
    start: &RolloutStart,
    before: Option<&ForecastStatus>,
) -> Option<ForecastBand> {
    let since = start.since?;
    let known = before
        .filter(|_| has_start_forecast(before, since))
        .and_then(|before| before.at_start.clone());
    if let Some(known) = known
        && known.fingerprint.as_ref() == Some(&start.fingerprint)
    {
        return Some(known);
    }
    // One of something else, as before clusters turned out to be another upgrade's, is replaced while it is still the start.
    let ends = forecast
        .ends
        .filter(|_| forecast.now.duration_since(since) < START)?;
    Some(ForecastBand {
        p10: Some(wire_time(ends.p10)),
        p50: Some(wire_time(ends.p50)),
        p90: Some(wire_time(ends.p90)),
        computed_at: Some(wire_time(forecast.now)),
        rollout_since: Some(wire_time(since)),
        fingerprint: Some(start.fingerprint.clone()),
    })
}

/// Whether a status has the forecast of the start of the rollout that began at `since`.
pub fn has_start_forecast(status: Option<&ForecastStatus>, since: Timestamp) -> bool {
    let about = status
        .and_then(|status| status.at_start.as_ref())
        .and_then(|start| start.rollout_since.as_ref());
    about.is_some_and(|about| *about == wire_time(since))
}

/// What is left of a forecast where there is nothing to forecast: that of the start.
pub fn without_forecast(before: Option<&ForecastStatus>) -> Option<ForecastStatus> {
    let at_start = before?.at_start.clone()?;
    Some(ForecastStatus {
        at_start: Some(at_start),
        ..ForecastStatus::default()
    })
}

/// How good the forecast of the start was of a rollout that began at `since` and ended at `ended`; nothing if there is none.
pub fn forecast_error(
    status: &ManagedClustersUpgradeStatus,
    since: Timestamp,
    ended: Timestamp,
) -> Option<RecordedForecast> {
    let forecast = status.forecast.as_ref();
    let start = forecast?
        .at_start
        .as_ref()
        .filter(|_| has_start_forecast(forecast, since))?;
    let moment = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let (p10, p50, p90) = (moment(&start.p10)?, moment(&start.p50)?, moment(&start.p90)?);
    // What is said of the times goes by how they are shown.
    let ended = wire_time(ended).0;
    Some(RecordedForecast {
        p10: p10.to_string(),
        p50: p50.to_string(),
        p90: p90.to_string(),
        ended: ended.to_string(),
        error_seconds: ended.as_second() - p50.as_second(),
        within_band: p10 <= ended && ended <= p90,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times on record are whole seconds, and who reads them must come to the same.
    #[test]
    fn whether_a_rollout_ended_within_its_band_goes_by_the_times_on_record() {
        let since: Timestamp = "2026-03-01T09:00:00Z".parse().unwrap();
        let status: ManagedClustersUpgradeStatus = serde_json::from_value(serde_json::json!({
            "forecast": {"atStart": {
                "rolloutSince": since, "computedAt": since,
                "p10": "2026-03-01T09:06:28Z", "p50": "2026-03-01T09:06:28Z", "p90": "2026-03-01T09:06:28Z",
            }},
        }))
        .unwrap();
        for (ended, within) in [("09:06:28.249", true), ("09:06:29", false), ("09:06:27.9", false)] {
            let ended = format!("2026-03-01T{ended}Z").parse().unwrap();
            let recorded = forecast_error(&status, since, ended).unwrap();
            assert_eq!(recorded.within_band, within, "{recorded:?}");
        }
    }
}
