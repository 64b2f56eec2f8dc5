//! Prometheus' HTTP API: instant queries and the list of alerts.

use axum::Router;
use axum::extract::{RawForm, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use super::query::{self, QueryError};
use super::{Monitoring, ResponseMode};
use kube_sandbox::access::AccessError;

pub(super) fn router(monitoring: Monitoring) -> Router {
    Router::new()
        .route("/-/healthy", get(|| async { "Prometheus Server is Healthy.\n" }))
        .route("/-/ready", get(|| async { "Prometheus Server is Ready.\n" }))
        .route("/api/v1/query", get(instant_query).post(instant_query))
        .route("/api/v1/alerts", get(list_alerts))
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

fn success(data: &Value) -> Response {
    answer(StatusCode::OK, &json!({"status": "success", "data": data}))
}

fn failure(status: StatusCode, kind: &str, error: &str) -> Response {
    answer(
        status,
        &json!({"status": "error", "errorType": kind, "error": error}),
    )
}

/// What is said instead of an answer, if the service is not whole.
fn failure_response(monitoring: &Monitoring) -> Option<Response> {
    match monitoring.response_mode() {
        ResponseMode::Whole => None,
        ResponseMode::Failing(status) => Some(failure(status, "internal", "the service fails")),
        ResponseMode::Garbled => Some("<html>".into_response()),
    }
}

fn unavailable(error: &AccessError) -> Response {
    failure(StatusCode::SERVICE_UNAVAILABLE, "unavailable", &error.to_string())
}

async fn list_alerts(State(monitoring): State<Monitoring>) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    match monitoring.alerts().await {
        Ok(alerts) => {
            let now = monitoring.clock.now();
            let alerts: Vec<Value> = alerts.iter().map(|alert| alert.wire(now)).collect();
            success(&json!({"alerts": alerts}))
        }
        Err(error) => unavailable(&error),
    }
}

async fn instant_query(State(monitoring): State<Monitoring>, RawForm(form): RawForm) -> Response {
    if let Some(failure_response) = failure_response(&monitoring) {
        return failure_response;
    }
    let query = form_urlencoded::parse(&form)
        .find(|(name, _)| name == "query")
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default();
    let alerts = match monitoring.alerts().await {
        Ok(alerts) => alerts,
        Err(error) => return unavailable(&error),
    };
    match query::evaluate(&query, &alerts, monitoring.clock.now()) {
        Ok(data) => success(&data),
        Err(error @ QueryError::Unreadable(_)) => {
            failure(StatusCode::BAD_REQUEST, "bad_data", &error.to_string())
        }
        Err(error @ QueryError::Unsupported(_)) => {
            failure(StatusCode::UNPROCESSABLE_ENTITY, "execution", &error.to_string())
        }
    }
}
