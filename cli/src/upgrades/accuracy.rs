//! How good the forecasts were that were made when rollouts began.

use std::collections::BTreeMap;
use std::fmt;

use drydock_api::mcu::{ManagedClustersUpgradeRecord, RecordedForecast};
use jiff::Timestamp;
use serde::Serialize;

/// When a rollout was expected to end, and when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Accuracy {
    /// One in ten simulated rollouts had ended by then.
    pub p10: Timestamp,
    /// Half of them had.
    pub p50: Timestamp,
    /// Nine in ten of them had.
    pub p90: Timestamp,
    /// When the rollout ended.
    pub ended: Timestamp,
}

impl Accuracy {
    fn of(recorded: &RecordedForecast) -> Option<Self> {
        let moment = |text: &str| text.parse().ok();
        Some(Self {
            p10: moment(&recorded.p10)?,
            p50: moment(&recorded.p50)?,
            p90: moment(&recorded.p90)?,
            ended: moment(&recorded.ended)?,
        })
    }

    /// By how many seconds it ended later than p50.
    pub fn error_seconds(&self) -> i64 {
        self.ended.duration_since(self.p50).as_secs()
    }

    /// Whether it ended from p10 to p90.
    pub fn is_within_band(&self) -> bool {
        (self.p10..=self.p90).contains(&self.ended)
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.error_seconds();
        let minutes = (seconds.abs() + 30) / 60;
        let apart = match (minutes / 60, minutes % 60) {
            (0..2, _) => format!("{minutes} min"),
            (hours, minutes) => format!("{hours}h{minutes:02}m"),
        };
        let how = match (minutes, seconds) {
            (0, _) => "at that minute".to_owned(),
            (_, ..0) => format!("{apart} earlier"),
            _ => format!("{apart} later"),
        };
        let place = if self.is_within_band() {
            "within"
        } else if self.ended < self.p10 {
            "before"
        } else {
            "after"
        };
        write!(
            f,
            "forecast {}, ended {}, {how}, {place} the band (p10 to p90)",
            self.p50, self.ended
        )
    }
}

/// A rollout to one target: the uid of its upgrade, since when it is, and the target.
pub type RolloutId = (String, String, String);

/// The rollout that a record is about.
pub fn rollout(record: &ManagedClustersUpgradeRecord) -> RolloutId {
    let upgrade = &record.spec.upgrade;
    (
        upgrade.uid.clone(),
        upgrade.rollout_since.clone(),
        upgrade.target.clone(),
    )
}

/// How good the forecasts of rollouts were, as far as records have it: one page of each.
pub fn of_rollouts(records: &[ManagedClustersUpgradeRecord]) -> BTreeMap<RolloutId, Accuracy> {
    let known = records.iter().filter_map(|record| {
        let forecast = record.spec.upgrade.forecast.as_ref()?;
        Some((rollout(record), Accuracy::of(forecast)?))
    });
    known.collect()
}

/// How many of several forecasts were good.
pub fn summary<'a>(all: impl Iterator<Item = &'a Accuracy> + Clone) -> String {
    let within = all.clone().filter(|accuracy| accuracy.is_within_band()).count();
    format!(
        "{within} of {} rollouts ended within p10 to p90 of the forecast of their start; 8 in 10 should",
        all.count()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_good_a_forecast_was_is_said_in_minutes() {
        let at = |clock: &str| -> Timestamp { format!("2026-03-01T{clock}Z").parse().unwrap() };
        for (ended, said) in [
            ("12:00:20", "at that minute, within"),
            ("12:12:00", "12 min later, within"),
            ("11:40:00", "20 min earlier, within"),
            ("13:30:00", "90 min later, after"),
            ("15:05:00", "3h05m later, after"),
            ("10:30:00", "90 min earlier, before"),
        ] {
            let accuracy = Accuracy {
                p10: at("11:00:00"),
                p50: at("12:00:00"),
                p90: at("13:00:00"),
                ended: at(ended),
            };
            let text = accuracy.to_string();
            assert!(text.contains(&format!("{said} the band")), "{text}");
        }
    }

    #[test]
    fn a_forecast_is_of_the_rollout_to_its_target() {
        let record = |target: &str, forecast: Option<RecordedForecast>| {
            let mut record = ManagedClustersUpgradeRecord::default();
            record.spec.upgrade.target = target.to_owned();
            record.spec.upgrade.forecast = forecast;
            record
        };
        let moment = || "2026-03-01T12:00:00Z".to_owned();
        let forecast = RecordedForecast {
            p10: moment(),
            p50: moment(),
            p90: moment(),
            ended: moment(),
            error_seconds: 0,
            within_band: true,
        };
        let records = [record("4.15.8", Some(forecast)), record("4.15.10", None)];
        let known = of_rollouts(&records);
        assert!(known.contains_key(&rollout(&records[0])) && !known.contains_key(&rollout(&records[1])));
    }
}
