//! How clusters ended, from the records: also of upgrades that are deleted.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use drydock_api::mcu::ManagedClustersUpgradeRecord;
use drydock_api::names::UPGRADE_UID_LABEL;
use drydock_runtime::pages::each_page;
use http::StatusCode;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::access::{Right, Viewer};
use crate::attempts::{Attempts, Gathered};
use crate::error::ApiError;
use crate::server::Dashboard;

/// How many rows are sent, the newest.
const ROWS: usize = 20_000;
/// How many records are read at a time: each has up to 500 attempts.
const RECORDS_AT_A_TIME: u32 = 5;

/// `GET /api/history`
pub(crate) async fn history(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
) -> Result<Response, ApiError> {
    // Who may see nothing keeps nobody else waiting.
    if viewer.scope.is_without_upgrades() {
        return Ok(Json(json!({"rows": [], "truncated": false})).into_response());
    }
    let place = dashboard.reading().enter(&viewer.user).await?;
    let attempts = dashboard.attempts(&viewer, |_| true).await?;
    Ok(place.answer(attempts.into_pieces(), dashboard.settings().speed))
}

impl Dashboard {
    /// How attempts ended on the clusters that are asked for, in the order of their ends, the newest. Who asks has a place.
    ///
    /// # Errors
    /// If no records may be read, or they cannot be.
    pub(crate) async fn attempts(
        &self,
        viewer: &Viewer,
        is_asked: impl Fn(&str) -> bool,
    ) -> Result<Attempts, ApiError> {
        let mut gathered = Gathered::of(ROWS);
        match &viewer.scope.namespaces {
            None => read(viewer, None, &is_asked, &mut gathered).await?,
            Some(namespaces) => read_each(viewer, namespaces, &is_asked, &mut gathered).await?,
        }
        Ok(gathered.finish())
    }
}

/// The records of those namespaces that one may read.
///
/// # Errors
/// If none may be read, or they cannot be.
async fn read_each(
    viewer: &Viewer,
    namespaces: &BTreeSet<String>,
    is_asked: &impl Fn(&str) -> bool,
    gathered: &mut Gathered,
) -> Result<(), ApiError> {
    let (mut is_any_read, mut refused) = (false, None);
    for namespace in namespaces {
        match read(viewer, Some(namespace), is_asked, gathered).await {
            Ok(()) => is_any_read = true,
            Err(error) if error.status() == StatusCode::FORBIDDEN => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    match refused {
        Some(refused) if !is_any_read => Err(refused),
        _ => Ok(()),
    }
}

/// Gathers what the records say, of which only a page is in memory.
async fn read(
    viewer: &Viewer,
    namespace: Option<&str>,
    is_asked: &impl Fn(&str) -> bool,
    gathered: &mut Gathered,
) -> Result<(), ApiError> {
    let client = viewer.reader(Right::LIST_RECORDS, namespace).await?;
    let api: Api<ManagedClustersUpgradeRecord> = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let labelled = ListParams::default().labels(UPGRADE_UID_LABEL);
    let seen = |records: Vec<ManagedClustersUpgradeRecord>| {
        records.iter().for_each(|record| gathered.add(record, is_asked));
    };
    let read = each_page(&api, labelled, RECORDS_AT_A_TIME, seen).await;
    read.map_err(|error| ApiError::of_server("listing the ManagedClustersUpgradeRecords", &error))
}
