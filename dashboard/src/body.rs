//! What a request brings.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::{BytesRejection, JsonRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::StatusCode;
use http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The longest body of a request, in bytes: a ManagedClustersUpgrade with its strategy fits in many times.
pub(crate) const LONGEST_BODY: usize = 1 << 20;

/// The JSON of a request; what is wrong with it is said as any other error is.
pub(crate) struct Given<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Given<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        // Also of a request that is refused for its headers the body is read, up to the limit of the server: a stream of HTTP/2 whose request
        // was not read to its end is reset after the answer (RFC 9113, section 8.1), and some clients then drop the answer, too.
        let (parts, body) = request.into_parts();
        let body = read(Request::from_parts(parts.clone(), body), state).await?;
        let request = Request::from_parts(parts, Body::from(body));
        let Json(given) = Json::from_request(request, state)
            .await
            .map_err(|rejection| refused(&rejection))?;
        Ok(Self(given))
    }
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    let body = Bytes::from_request(request, state).await;
    body.map_err(|rejection: BytesRejection| match rejection.status() {
        status @ StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(
            status,
            format!(
                "it is larger than a server reads here: {} KiB at most",
                LONGEST_BODY >> 10
            ),
        ),
        status => ApiError::new(status, rejection.body_text()),
    })
}

/// What a path names; what is wrong with it is said as any other error is.
pub(crate) struct Named<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let named = Path::from_request_parts(parts, state).await;
        let Path(named) =
            named.map_err(|rejection| ApiError::new(rejection.status(), rejection.body_text()))?;
        Ok(Self(named))
    }
}

/// A page sends what its server expects, unless one of them is older: it stays open while the server is replaced.
fn refused(rejection: &JsonRejection) -> ApiError {
    let hint = match rejection {
        JsonRejection::JsonDataError(_) => {
            "this page and its server are of different versions, load it again: "
        }
        _ => "",
    };
    ApiError::new(rejection.status(), format!("{hint}{}", rejection.body_text()))
}
