//! What a program on a simulated cluster reaches besides API servers: the cluster's monitoring, the update graph, and what a
//! test adds. By the host of the address; no other host exists.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use thiserror::Error;
use tower::{Service, ServiceExt};

/// The host of Prometheus.
pub const PROMETHEUS: &str = "prometheus-k8s.openshift-monitoring.svc";
/// The host of Alertmanager.
pub const ALERTMANAGER: &str = "alertmanager-main.openshift-monitoring.svc";
/// The host of the update graph.
pub const UPDATE_GRAPH: &str = "api.openshift.com";

/// There is no such host.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no such host: {0}")]
pub struct NoSuchHost(String);

/// The hosts. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Outside(BTreeMap<String, Router>);

impl Outside {
    /// The same, and what `router` serves on `host`.
    #[must_use]
    pub fn with(mut self, host: &str, router: Router) -> Self {
        self.0.insert(host.to_owned(), router);
        self
    }
}

impl Service<Request<Bytes>> for Outside {
    type Response = Response<Body>;
    type Error = NoSuchHost;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, NoSuchHost>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoSuchHost>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let router = self.0.get(&host).cloned();
        Box::pin(async move {
            let router = router.ok_or(NoSuchHost(host))?;
            let answered: Result<_, Infallible> = router.oneshot(request.map(Body::from)).await;
            match answered {
                Ok(response) => Ok(response),
                Err(never) => match never {},
            }
        })
    }
}
