//! The update graph over HTTP: what a cluster, or Drydock's agent, asks for the releases of a channel. The
//! graph is the one by which simulated clusters update.

mod error;
mod graph;
mod request;

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use kube_sandbox::http::ListenError;

pub use error::GraphError;
use request::GraphRequest;

/// How the service answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GraphMode {
    /// As it should.
    #[default]
    Whole,
    /// Every edge has a risk that applies to every cluster.
    Risky,
    /// Every request fails.
    Failing(GraphError),
    /// With something that is no JSON.
    Garbled,
}

/// The service. Cheap to clone; all clones answer alike.
#[derive(Clone, Debug, Default)]
pub struct UpdateService {
    mode: Arc<Mutex<GraphMode>>,
}

impl UpdateService {
    /// How it answers from now on.
    pub fn set_mode(&self, mode: GraphMode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    fn mode(&self) -> GraphMode {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves it on `listener`, which must be a loopback address, until `shutdown`.
    ///
    /// # Errors
    /// If the address is not loopback, or accepting fails.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ListenError> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            return Err(ListenError::NotLoopback(address));
        }
        axum::serve(listener, self.router())
            .with_graceful_shutdown(shutdown.cancelled_owned())
            .await?;
        Ok(())
    }

    /// Its routes, below `/api/upgrades_info`.
    pub fn router(&self) -> Router {
        let paths = ["/api/upgrades_info/graph", "/api/upgrades_info/v1/graph"];
        let router = paths
            .into_iter()
            .fold(Router::new(), |router, path| router.route(path, get(answer)));
        router
            .fallback(|| async { GraphError::DoesNotExist.into_response() })
            .with_state(self.clone())
    }
}

async fn answer(
    State(service): State<UpdateService>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    if !accepts(&headers) {
        return GraphError::InvalidContentType.into_response();
    }
    let request = match GraphRequest::parse(query.as_deref().unwrap_or_default()) {
        Ok(request) => request,
        Err(error) => return error.into_response(),
    };
    let risky = match service.mode() {
        GraphMode::Failing(error) => return error.into_response(),
        GraphMode::Garbled => return (StatusCode::OK, "<html>").into_response(),
        GraphMode::Whole => false,
        GraphMode::Risky => true,
    };
    let body = graph::of_channel(&request, risky).to_string();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// No `Accept` at all, JSON, the graph's own type, or a pattern that has one of them.
fn accepts(headers: &HeaderMap) -> bool {
    let Some(accept) = headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
    else {
        return !headers.contains_key(header::ACCEPT);
    };
    accept.split(',').any(|range| {
        let kind = range.split(';').next().unwrap_or_default().trim();
        matches!(
            kind,
            "application/json" | "application/vnd.redhat.cincinnati.v1+json" | "application/*" | "*/*"
        )
    })
}
