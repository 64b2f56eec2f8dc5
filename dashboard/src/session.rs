//! Who looks, and at what.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, header};
use jiff::SignedDuration;
use serde::Serialize;

use crate::assets::accepts_gzip;
use crate::error::ApiError;
use crate::server::Dashboard;

/// Who looks, and at what.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    user: String,
    read_only: bool,
    r#where: String,
    sandbox: bool,
    speed: u32,
}

/// `GET /api/session`
pub(crate) async fn session(State(dashboard): State<Dashboard>) -> Json<Session> {
    let settings = dashboard.settings();
    Json(Session {
        user: settings.user.clone(),
        read_only: settings.read_only,
        r#where: settings.place.clone(),
        sandbox: settings.sandbox,
        speed: settings.speed,
    })
}

/// `GET /api/snapshot`
pub(crate) async fn snapshot(
    State(dashboard): State<Dashboard>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    dashboard.open();
    let now = dashboard.live().clock().now();
    // Many who ask at the same moment, as after a cut, get the same bytes.
    let age = SignedDuration::try_from(dashboard.settings().keep_alive).unwrap_or_default() / 30;
    let made = dashboard.feed().snapshot(now, age);
    let made = made.map_err(|error| ApiError::unavailable(error.to_string()))?;
    let Some(bytes) = made else {
        return Err(not_ready(&dashboard));
    };
    let json = HeaderValue::from_static("application/json");
    let is_compressed = accepts_gzip(&headers);
    let mut response = if is_compressed { bytes.gzip } else { bytes.plain }.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_compressed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

/// What has not been seen yet; and why, where the API server refuses it.
fn not_ready(dashboard: &Dashboard) -> ApiError {
    let refusals = dashboard.live().refusals();
    let waiting = dashboard.live().waiting_for();
    let waiting = waiting.into_iter().map(|part| match refusals.get(part) {
        Some(why) => format!("{part} ({why})"),
        None => part.to_owned(),
    });
    let waiting: Vec<String> = waiting.collect();
    ApiError::unavailable(format!(
        "not all objects of the hub have been read yet: waiting for {}",
        waiting.join(", ")
    ))
}
