//! Answers that are no graph.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why there is no graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Parameters are missing.
    #[error("mandatory client parameters missing: {}", .0.join(", "))]
    MissingParams(Vec<String>),
    /// Parameters cannot be used.
    #[error("invalid client parameters: {0}")]
    InvalidParams(String),
    /// There is no such path.
    #[error("the requested resource does not exist")]
    DoesNotExist,
    /// The client wants something that is no graph.
    #[error("invalid Content-Type requested")]
    InvalidContentType,
    /// The service cannot reach what it takes its graph from.
    #[error("failed to fetch upstream graph")]
    FailedUpstreamFetch,
}

impl GraphError {
    fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            Self::MissingParams(_) => (StatusCode::BAD_REQUEST, "missing_params"),
            Self::InvalidParams(_) => (StatusCode::BAD_REQUEST, "invalid_params"),
            Self::DoesNotExist => (StatusCode::NOT_FOUND, "does_not_exist"),
            Self::InvalidContentType => (StatusCode::NOT_ACCEPTABLE, "invalid_content_type"),
            Self::FailedUpstreamFetch => (StatusCode::INTERNAL_SERVER_ERROR, "failed_upstream_fetch"),
        }
    }
}

impl IntoResponse for GraphError {
    fn into_response(self) -> Response {
        let (status, kind) = self.kind();
        let body = json!({"kind": kind, "value": self.to_string()}).to_string();
        (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
    }
}
