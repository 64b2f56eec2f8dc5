//! How clusters ended, from the records: also of upgrades that are deleted.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::State;
use drydock_api::mcu::{ManagedClustersUpgradeRecord, RecordEntry, RecordedForecast};
use drydock_api::names::UPGRADE_UID_LABEL;
use drydock_runtime::pages::list_all;
use http::StatusCode;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde::Serialize;

use crate::access::{Right, Viewer};
use crate::error::ApiError;
use crate::server::Dashboard;

/// How many rows are sent, the newest.
const ROWS: usize = 20_000;

/// How good the forecast of a rollout was.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ForecastView {
    p10: i64,
    p50: i64,
    p90: i64,
    ended: i64,
    error_seconds: i64,
    within_band: bool,
}

/// How one attempt ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryRow {
    upgrade: String,
    cluster: String,
    target: String,
    /// When the rollout began: what a forecast is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    rollout_since: Option<i64>,
    to: String,
    canary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    outcome: String,
    reason: String,
    message: String,
    attempt: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<ForecastView>,
}

/// How clusters ended.
#[derive(Debug, Serialize)]
pub(crate) struct History {
    rows: Vec<HistoryRow>,
    /// There are more, which are older.
    truncated: bool,
}

/// `GET /api/history`
pub(crate) async fn history(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
) -> Result<Json<History>, ApiError> {
    let mut rows = dashboard.history_rows(&viewer, |_| true).await?;
    let more = rows.len().saturating_sub(ROWS);
    rows.drain(..more);
    Ok(Json(History {
        rows,
        truncated: more > 0,
    }))
}

impl Dashboard {
    /// How attempts ended on the clusters that are asked for, in the order of their ends.
    pub(crate) async fn history_rows(
        &self,
        viewer: &Viewer,
        is_asked: impl Fn(&str) -> bool,
    ) -> Result<Vec<HistoryRow>, ApiError> {
        let records = match &viewer.scope.namespaces {
            None => read(viewer, None).await?,
            Some(namespaces) => read_each(viewer, namespaces).await?,
        };
        Ok(rows(&records, is_asked))
    }
}

/// The records of those namespaces that one may read.
///
/// # Errors
/// If none may be read, or they cannot be.
async fn read_each(
    viewer: &Viewer,
    namespaces: &BTreeSet<String>,
) -> Result<Vec<ManagedClustersUpgradeRecord>, ApiError> {
    let (mut records, mut refused) = (None, None);
    for namespace in namespaces {
        match read(viewer, Some(namespace)).await {
            Ok(more) => records.get_or_insert_with(Vec::new).extend(more),
            Err(error) if error.status() == StatusCode::FORBIDDEN => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    match (records, refused) {
        (None, Some(refused)) => Err(refused),
        (records, _) => Ok(records.unwrap_or_default()),
    }
}

async fn read(
    viewer: &Viewer,
    namespace: Option<&str>,
) -> Result<Vec<ManagedClustersUpgradeRecord>, ApiError> {
    let client = viewer.reader(Right::LIST_RECORDS, namespace).await?;
    let api: Api<ManagedClustersUpgradeRecord> = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let found = list_all(&api, ListParams::default().labels(UPGRADE_UID_LABEL)).await;
    found.map_err(|error| ApiError::of_server("listing the ManagedClustersUpgradeRecords", &error))
}

fn rows(records: &[ManagedClustersUpgradeRecord], is_asked: impl Fn(&str) -> bool) -> Vec<HistoryRow> {
    // Of the pages of a rollout one has the forecast.
    let rollout = |record: &ManagedClustersUpgradeRecord| {
        let upgrade = &record.spec.upgrade;
        (
            upgrade.uid.clone(),
            upgrade.rollout_since.clone(),
            upgrade.target.clone(),
        )
    };
    let forecasts: BTreeMap<_, ForecastView> = records
        .iter()
        .filter_map(|record| {
            let forecast = forecast(record.spec.upgrade.forecast.as_ref()?)?;
            Some((rollout(record), forecast))
        })
        .collect();
    let mut entries: Vec<_> = records
        .iter()
        .flat_map(|record| record.spec.entries.iter().map(move |entry| (record, entry)))
        .filter(|(_, entry)| is_asked(&entry.cluster))
        .collect();
    entries.sort_by_cached_key(|(_, entry)| (seconds(&entry.completed), entry.cluster.clone()));
    let mut attempts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let numbered = entries.into_iter().map(|(record, entry)| {
        let attempt = attempts
            .entry((record.spec.upgrade.uid.as_str(), entry.cluster.as_str()))
            .or_default();
        *attempt += 1;
        row(record, entry, *attempt, forecasts.get(&rollout(record)))
    });
    numbered.collect()
}

fn row(
    record: &ManagedClustersUpgradeRecord,
    entry: &RecordEntry,
    attempt: usize,
    forecast: Option<&ForecastView>,
) -> HistoryRow {
    let upgrade = &record.spec.upgrade;
    let started_at = entry.started.as_deref().and_then(seconds);
    let ended_at = seconds(&entry.completed);
    HistoryRow {
        upgrade: format!("{}/{}", record.namespace().unwrap_or_default(), upgrade.name),
        cluster: entry.cluster.clone(),
        target: upgrade.target.clone(),
        rollout_since: seconds(&upgrade.rollout_since),
        to: entry.to.clone(),
        canary: entry.canary.unwrap_or(false),
        from: entry.from.clone(),
        started_at,
        ended_at,
        outcome: entry.outcome.clone(),
        reason: entry.reason.clone(),
        message: entry.message.clone(),
        attempt,
        actual_seconds: ended_at.zip(started_at).map(|(ended, started)| ended - started),
        by: upgrade.started_by.clone().filter(|name| !name.is_empty()),
        forecast: forecast.cloned(),
    }
}

fn forecast(recorded: &RecordedForecast) -> Option<ForecastView> {
    Some(ForecastView {
        p10: seconds(&recorded.p10)?,
        p50: seconds(&recorded.p50)?,
        p90: seconds(&recorded.p90)?,
        ended: seconds(&recorded.ended)?,
        error_seconds: recorded.error_seconds,
        within_band: recorded.within_band,
    })
}

fn seconds(text: &str) -> Option<i64> {
    let moment: Option<Timestamp> = text.parse().ok();
    moment.map(Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use drydock_api::mcu::RecordedUpgrade;

    use super::*;

    fn page(
        rollout: &str,
        cluster: &str,
        forecast: Option<RecordedForecast>,
    ) -> ManagedClustersUpgradeRecord {
        let mut record = ManagedClustersUpgradeRecord::default();
        record.metadata.namespace = Some("default".to_owned());
        record.spec.upgrade = RecordedUpgrade {
            name: "spring".to_owned(),
            rollout_since: rollout.to_owned(),
            forecast,
            ..RecordedUpgrade::default()
        };
        record.spec.entries = vec![RecordEntry {
            cluster: cluster.to_owned(),
            completed: "2026-03-01T12:00:00Z".to_owned(),
            ..RecordEntry::default()
        }];
        record
    }

    /// One page of a rollout has the forecast, for all of its attempts and for no other rollout's.
    #[test]
    fn an_attempt_says_of_which_rollout_it_is_and_how_good_its_forecast_was() {
        let moment = || "2026-03-01T11:00:00Z".to_owned();
        let forecast = RecordedForecast {
            p10: moment(),
            p50: moment(),
            p90: moment(),
            ended: "2026-03-01T12:00:00Z".to_owned(),
            error_seconds: 3600,
            within_band: false,
        };
        let (first, second) = ("2026-03-01T10:00:00Z", "2026-03-01T10:30:00Z");
        let records = [
            page(first, "dev1", Some(forecast)),
            page(first, "dev2", None),
            page(second, "dev3", None),
        ];
        let rows = rows(&records, |_| true);
        let said = rows.iter().map(|row| {
            let error = row.forecast.as_ref().map(|forecast| forecast.error_seconds);
            (row.cluster.as_str(), row.rollout_since, error)
        });
        assert_eq!(
            said.collect::<Vec<_>>(),
            [
                ("dev1", seconds(first), Some(3600)),
                ("dev2", seconds(first), Some(3600)),
                ("dev3", seconds(second), None)
            ]
        );
    }
}
