//! Alertmanager's HTTP API, version 2: silences and alerts.

use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, body::Bytes};
use jiff::SignedDuration;
use promql_parser::label::Matcher;
use promql_parser::parser::{Expr, parse};
use serde_json::{Value, json};

use super::alert::Alert;
use super::silence::{SilenceError, Wanted, millis};
use super::{Monitoring, ResponseMode};
use kube_sandbox::fingerprint::fingerprint;

/// After how long without an update an alert counts as resolved.
const RESOLVE_AFTER: SignedDuration = SignedDuration::from_mins(5);

pub(super) fn router(monitoring: Monitoring) -> Router {
    Router::new()
        .route("/-/healthy", get(|| async { "OK" }))
        .route("/-/ready", get(|| async { "OK" }))
        .route("/api/v2/status", get(status))
        .route("/api/v2/alerts", get(list_alerts))
        .route("/api/v2/silences", get(list_silences).post(set_silence))
        .route("/api/v2/silence/{id}", get(get_silence).delete(expire_silence))
        .with_state(monitoring)
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

fn failure_response(monitoring: &Monitoring) -> Option<Response> {
    match monitoring.response_mode() {
        ResponseMode::Whole => None,
        ResponseMode::Failing(status) => Some(answer(status, &json!("the service fails"))),
        ResponseMode::Garbled => Some("<html>".into_response()),
    }
}

fn refused(error: &SilenceError) -> Response {
    match error {
        SilenceError::Invalid(_) => answer(StatusCode::BAD_REQUEST, &json!(error.to_string())),
        SilenceError::NotFound(_) => StatusCode::NOT_FOUND.into_response(),
        SilenceError::Expired(_) => answer(StatusCode::INTERNAL_SERVER_ERROR, &json!(error.to_string())),
    }
}

async fn status(State(monitoring): State<Monitoring>) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    let body = json!({
        "cluster": {"name": "sandbox", "peers": [], "status": "ready"},
        "config": {"original": ""},
        "uptime": millis(monitoring.clock.now()),
        "versionInfo": {
            "branch": "", "buildDate": "", "buildUser": "", "goVersion": "", "revision": "",
            "version": env!("CARGO_PKG_VERSION"),
        },
    });
    answer(StatusCode::OK, &body)
}

/// The matchers of the parameters `filter`.
fn filters(query: Option<&str>) -> Result<Vec<Matcher>, String> {
    let parameters = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let mut matchers = Vec::new();
    for (_, filter) in parameters.filter(|(name, _)| name == "filter") {
        match parse(&format!("{{{filter}}}"))? {
            Expr::VectorSelector(selector) => matchers.extend(selector.matchers.matchers),
            _ => return Err(format!("bad matcher format: {filter}")),
        }
    }
    Ok(matchers)
}

async fn list_silences(State(monitoring): State<Monitoring>, RawQuery(query): RawQuery) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    match filters(query.as_deref()) {
        Ok(filters) => {
            let found = monitoring.silences().list(&filters, monitoring.clock.now());
            answer(StatusCode::OK, &Value::Array(found))
        }
        Err(error) => answer(StatusCode::BAD_REQUEST, &Value::from(error)),
    }
}

async fn set_silence(State(monitoring): State<Monitoring>, body: Bytes) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    let wanted: Wanted = match serde_json::from_slice(&body) {
        Ok(wanted) => wanted,
        Err(error) => {
            let body = json!({"code": 602, "message": error.to_string()});
            return answer(StatusCode::UNPROCESSABLE_ENTITY, &body);
        }
    };
    match monitoring.silences().set(wanted, monitoring.clock.now()) {
        Ok(id) => answer(StatusCode::OK, &json!({"silenceID": id})),
        Err(error) => refused(&error),
    }
}

async fn get_silence(State(monitoring): State<Monitoring>, Path(id): Path<String>) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    let found = monitoring
        .silences()
        .get(&id)
        .map(|silence| silence.wire(monitoring.clock.now()));
    found.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |silence| answer(StatusCode::OK, &silence),
    )
}

async fn expire_silence(State(monitoring): State<Monitoring>, Path(id): Path<String>) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    match monitoring.silences().expire(&id, monitoring.clock.now()) {
        Ok(()) => StatusCode::OK.into_response(),
        Err(error) => refused(&error),
    }
}

async fn list_alerts(State(monitoring): State<Monitoring>, RawQuery(query): RawQuery) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    let filters = match filters(query.as_deref()) {
        Ok(filters) => filters,
        Err(error) => return answer(StatusCode::BAD_REQUEST, &Value::from(error)),
    };
    let alerts = match monitoring.alerts().await {
        Ok(alerts) => alerts,
        Err(error) => return answer(StatusCode::SERVICE_UNAVAILABLE, &Value::from(error.to_string())),
    };
    let now = monitoring.clock.now();
    let firing = alerts
        .iter()
        .filter(|alert| alert.is_firing(now) && super::matcher::all_match(&filters, &alert.labels));
    let listed = firing.map(|alert| wire(&monitoring, alert)).collect();
    answer(StatusCode::OK, &Value::Array(listed))
}

fn wire(monitoring: &Monitoring, alert: &Alert) -> Value {
    let now = monitoring.clock.now();
    let silenced_by = monitoring.silences().covering(&alert.labels, now);
    let state = if silenced_by.is_empty() {
        "active"
    } else {
        "suppressed"
    };
    let labels = alert.labels.iter();
    let bytes = labels.flat_map(|(name, value)| name.bytes().chain([0]).chain(value.bytes()).chain([0]));
    json!({
        "annotations": alert.annotations,
        "labels": alert.labels,
        "startsAt": millis(alert.active_at + alert.pending_for),
        "updatedAt": millis(now),
        "endsAt": millis(now + RESOLVE_AFTER),
        "fingerprint": format!("{:016x}", fingerprint(bytes)),
        "generatorURL": "",
        "receivers": [{"name": "Default"}],
        "status": {"inhibitedBy": [], "silencedBy": silenced_by, "state": state, "mutedBy": []},
    })
}
