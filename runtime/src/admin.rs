//! The admin server: `/metrics`, `/healthz`, `/readyz`. A program adds its own pages to the router.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus::{Encoder, Registry, TextEncoder};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The admin server failed.
#[derive(Debug, Error)]
#[error("serving probes and metrics: is the port free?")]
pub struct AdminError(#[source] std::io::Error);

/// What must have happened before the process is ready: each part says so once.
#[derive(Clone, Debug, Default)]
pub struct Readiness {
    parts: Arc<Mutex<BTreeMap<&'static str, bool>>>,
}

impl Readiness {
    /// Adds a part that is not ready yet.
    pub fn expect(&self, part: &'static str) {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(part)
            .or_insert(false);
    }

    /// The part is ready.
    pub fn ready(&self, part: &'static str) {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(part, true);
    }

    /// The part is not ready any more.
    pub fn lost(&self, part: &'static str) {
        self.parts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(part, false);
    }

    /// Whether all parts are ready.
    pub fn is_ready(&self) -> bool {
        self.waiting_for().is_empty()
    }

    /// The parts that are not ready.
    pub fn waiting_for(&self) -> Vec<&'static str> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts
            .iter()
            .filter(|(_, ready)| !**ready)
            .map(|(part, _)| *part)
            .collect()
    }
}

#[derive(Clone)]
struct Admin {
    registry: Registry,
    readiness: Readiness,
}

/// The router with the three pages.
pub fn router(registry: Registry, readiness: Readiness) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready))
        .with_state(Admin { registry, readiness })
}

/// Serves `router` until `shutdown`.
///
/// # Errors
/// If the listener fails.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> Result<(), AdminError> {
    axum::serve(listener, router)
        .with_graceful_shutdown(async move { shutdown.cancelled().await })
        .await
        .map_err(AdminError)
}

async fn metrics(State(admin): State<Admin>) -> Response {
    let mut text = Vec::new();
    match TextEncoder::new().encode(&admin.registry.gather(), &mut text) {
        Ok(()) => (
            [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
            text,
        )
            .into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn ready(State(admin): State<Admin>) -> Response {
    let waiting = admin.readiness.waiting_for();
    if waiting.is_empty() {
        "ok".into_response()
    } else {
        (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("waiting for: {}", waiting.join(", ")),
        )
            .into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use prometheus::IntCounter;
    use tower::ServiceExt;

    async fn get_page(router: &Router, path: &str) -> (StatusCode, String) {
        let request = http::Request::get(path)
            .body(axum::body::Body::empty())
            .expect("a request");
        let response = router.clone().oneshot(request).await.expect("an answer");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (status, String::from_utf8(body.to_vec()).expect("text"))
    }

    #[tokio::test]
    async fn the_process_is_ready_when_every_part_is() {
        let readiness = Readiness::default();
        readiness.expect("works");
        readiness.expect("clusters");
        let router = router(Registry::new(), readiness.clone());
        readiness.ready("clusters");
        let (status, text) = get_page(&router, "/readyz").await;
        assert_eq!(
            (status, text.as_str()),
            (StatusCode::SERVICE_UNAVAILABLE, "waiting for: works")
        );
        assert_eq!(
            get_page(&router, "/healthz").await.0,
            StatusCode::OK,
            "alive before it is ready"
        );
        readiness.ready("works");
        assert_eq!(get_page(&router, "/readyz").await.0, StatusCode::OK);
        readiness.lost("clusters");
        assert_eq!(
            get_page(&router, "/readyz").await,
            (
                StatusCode::SERVICE_UNAVAILABLE,
                "waiting for: clusters".to_owned()
            )
        );
    }

    #[tokio::test]
    async fn metrics_are_those_of_the_registry_that_was_passed_in() {
        let registry = Registry::new();
        let counter = IntCounter::new("drydock_test_total", "A test.").expect("a counter");
        registry.register(Box::new(counter.clone())).expect("registered");
        counter.inc();
        let (status, text) = get_page(&router(registry, Readiness::default()), "/metrics").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.contains("drydock_test_total 1"), "{text}");
    }
}
