//! Counts requests to the API server: they are a cost.

use std::task::{Context, Poll};

use http::Request;
use prometheus::core::Collector;
use prometheus::{IntCounterVec, Opts, Registry};
use tower::{Layer, Service};

use super::request::RequestKind;
use crate::metrics::MetricGroup;

/// `drydock_api_requests_total{verb,resource}`.
#[derive(Clone, Debug)]
pub struct RequestMetrics {
    total: IntCounterVec,
}

impl RequestMetrics {
    /// Registers the metric.
    ///
    /// # Errors
    /// If `registry` has it already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let total = IntCounterVec::new(
            Opts::new(
                "drydock_api_requests_total",
                "Requests sent to the API server, attempts included.",
            ),
            &["verb", "resource"],
        )?;
        let metrics = Self { total };
        metrics.register_in(registry)?;
        Ok(metrics)
    }

    /// Requests sent so far, by verb and resource.
    pub fn count(&self, verb: super::Verb, resource: &str) -> u64 {
        self.total.with_label_values(&[verb.as_str(), resource]).get()
    }
}

impl MetricGroup for RequestMetrics {
    fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Self { total } = self;
        vec![Box::new(total.clone())]
    }
}

#[derive(Clone, Debug)]
pub(super) struct MetricsLayer(RequestMetrics);

impl MetricsLayer {
    pub(super) fn new(metrics: RequestMetrics) -> Self {
        Self(metrics)
    }
}

impl<S> Layer<S> for MetricsLayer {
    type Service = CountRequests<S>;

    fn layer(&self, inner: S) -> Self::Service {
        CountRequests {
            inner,
            metrics: self.0.clone(),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct CountRequests<S> {
    inner: S,
    metrics: RequestMetrics,
}

impl<S, B> Service<Request<B>> for CountRequests<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let kind = RequestKind::of(&request);
        self.metrics
            .total
            .with_label_values(&[kind.verb.as_str(), kind.resource.as_str()])
            .inc();
        self.inner.call(request)
    }
}
