//! What a request is answered that cannot be served.

use axum::Json;
use axum::response::{IntoResponse, Response};
use drydock_edits::EditError;
use http::StatusCode;
use serde::Serialize;

/// Why a request is not served, in words for a person.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    /// What the page does about it, where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// What was read beside what is asked for: nothing, where the user may not read it, or the hub does not have the kind. What fails else is no
/// nothing.
///
/// # Errors
/// If it cannot be read for another reason.
pub(crate) fn unless_forbidden<T: Default>(read: Result<T, ApiError>) -> Result<T, ApiError> {
    match read {
        Err(error) if matches!(error.status, StatusCode::FORBIDDEN | StatusCode::NOT_FOUND) => {
            Ok(T::default())
        }
        read => read,
    }
}

/// The same, and `unread` says what could not be read for another reason: all else is shown.
pub(crate) fn or_unread<T: Default>(read: Result<T, ApiError>, unread: &mut Vec<String>) -> T {
    unless_forbidden(read).unwrap_or_else(|error| {
        unread.push(error.message);
        T::default()
    })
}

/// The reason of an answer where the hub has given none.
const HUB_SILENT: &str = "HubSilent";

impl ApiError {
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            reason: None,
        }
    }

    /// The same, where nothing has been written yet: who acts need not look whether it was done.
    pub fn before_writing(self) -> Self {
        Self {
            reason: Some("NothingWritten"),
            ..self
        }
    }

    /// The hub has not answered.
    pub fn silent(message: impl Into<String>) -> Self {
        Self {
            reason: Some(HUB_SILENT),
            ..Self::unavailable(message)
        }
    }

    /// Whether the hub has not answered.
    pub fn is_silence(&self) -> bool {
        self.reason == Some(HUB_SILENT)
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// What the API server says, with what was asked of it.
    pub fn of_server(doing: &str, error: &kube::Error) -> Self {
        let kube::Error::Api(refusal) = error else {
            let message = format!("{doing}: the API server does not answer: {error}");
            return Self::new(StatusCode::BAD_GATEWAY, message);
        };
        // Whose credentials the API server does not know is not who has no token of the page.
        let status = match refusal.code {
            code @ (403 | 404 | 409 | 422 | 429) => StatusCode::from_u16(code).ok(),
            // What is wrong is the request, which who asks can correct.
            400 | 405 | 406 | 413 | 415 => Some(StatusCode::UNPROCESSABLE_ENTITY),
            500 if is_of_schema(&refusal.message) => Some(StatusCode::UNPROCESSABLE_ENTITY),
            _ => None,
        };
        let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
        Self::new(status, format!("{doing}: {}", without_object(&refusal.message)))
    }
}

/// What a refusal says: of a patch with a field that is not known the API server quotes the whole object before it says so.
fn without_object(message: &str) -> &str {
    message
        .rfind("strict decoding error: ")
        .map_or(message, |begin| &message[begin..])
}

/// Whether a failure is about an object that does not fit its schema: server-side apply says so with code 500
/// (<https://github.com/kubernetes/kubernetes/blob/v1.34.0/staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go>).
fn is_of_schema(message: &str) -> bool {
    [
        "failed to create typed patch object",
        "field not declared in schema",
    ]
    .iter()
    .any(|words| message.contains(words))
}

impl From<EditError> for ApiError {
    fn from(error: EditError) -> Self {
        match &error {
            EditError::Server { doing, source } => Self::of_server(doing, source),
            EditError::Contended(_)
            | EditError::ChangedSince(_)
            | EditError::ChangedSinceAsked(_)
            | EditError::BeingDeleted(_) => Self::new(StatusCode::CONFLICT, error.to_string()),
            EditError::FieldsOfOthers { .. } => Self {
                reason: Some("FieldsOfOthers"),
                ..Self::new(StatusCode::CONFLICT, error.to_string())
            },
            EditError::InvalidSpec(why) => Self::invalid(format!("{error}: {why}")),
            EditError::NothingFailed(_)
            | EditError::NotFailed { .. }
            | EditError::NoTarget
            | EditError::NothingChanged(_)
            | EditError::UnknownFinding { .. }
            | EditError::OfAnotherUpgrade { .. }
            | EditError::TooManyRisks
            | EditError::NotAllShown { .. }
            | EditError::InvalidManifest(_) => Self::invalid(error.to_string()),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = Body {
            error: &self.message,
            reason: self.reason,
        };
        (self.status, Json(body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn an_object_that_is_refused_is_not_quoted() {
        let patched = r#"patch: Invalid value: "{\"spec\":{\"pausd\":true}}": strict decoding error: unknown field "spec.pausd""#;
        assert_eq!(
            without_object(patched),
            r#"strict decoding error: unknown field "spec.pausd""#
        );
        assert_eq!(without_object("ann may not"), "ann may not");
    }

    #[test]
    fn what_is_wrong_with_a_request_is_not_that_the_api_server_fails() {
        let typed = "failed to create typed patch object (default/spring; v1beta1, Kind=ManagedClustersUpgrade): .spec.foo: field not declared in schema";
        for (code, message, expected) in [
            (400, "strict decoding error: unknown field \"spec.foo\"", 422),
            (400, typed, 422),
            (500, typed, 422),
            (415, "the media type is not supported", 422),
            (413, "Request entity too large", 422),
            (401, "Unauthorized", 502),
            (403, "ann may not", 403),
            (409, "conflict", 409),
            (500, "etcdserver: request timed out", 502),
            (503, "the server is not ready", 502),
        ] {
            let status = Status::failure(message, "").with_code(code);
            let error = ApiError::of_server("applying it", &kube::Error::Api(Box::new(status)));
            assert_eq!(error.status().as_u16(), expected, "{code} {message}");
            assert_eq!(error.to_string(), format!("applying it: {message}"), "{code}");
        }
    }
}
