//! What a request brings.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The JSON of a request; what is wrong with it is said as any other error is.
pub(crate) struct Given<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Given<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let Json(given) = Json::from_request(request, state)
            .await
            .map_err(|rejection| refused(&rejection))?;
        Ok(Self(given))
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
