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
            .map_err(|rejection: JsonRejection| ApiError::new(rejection.status(), rejection.body_text()))?;
        Ok(Self(given))
    }
}
