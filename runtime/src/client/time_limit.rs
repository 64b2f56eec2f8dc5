//! A limit on how long an attempt may take until its answer begins. Watches are answered at once and then continue; they
//! are left alone.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Request;
use tower::{BoxError, Layer, Service};

use super::request::{RequestKind, Verb};

#[derive(Clone, Copy, Debug)]
pub(super) struct TimeLimitLayer(Duration);

impl TimeLimitLayer {
    pub(super) fn new(limit: Duration) -> Self {
        Self(limit)
    }
}

impl<S> Layer<S> for TimeLimitLayer {
    type Service = TimeLimit<S>;

    fn layer(&self, inner: S) -> Self::Service {
        TimeLimit { inner, limit: self.0 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct TimeLimit<S> {
    inner: S,
    limit: Duration,
}

/// An attempt took too long.
#[derive(Debug, thiserror::Error)]
#[error("{} {}: no answer from the API server within {} s", .kind.verb.as_str(), .kind.resource, .limit.as_secs())]
struct NoAnswer {
    kind: RequestKind,
    limit: Duration,
}

impl<S, B> Service<Request<B>> for TimeLimit<S>
where
    S: Service<Request<B>, Error = BoxError>,
    S::Future: Send + 'static,
    S::Response: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let kind = RequestKind::of(&request);
        let answer = self.inner.call(request);
        if kind.verb == Verb::Watch {
            return Box::pin(answer);
        }
        let limit = self.limit;
        Box::pin(async move {
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer,
                Err(_) => Err(NoAnswer { kind, limit }.into()),
            }
        })
    }
}
