//! The last question before a write: do we still lead?

use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{Method, Request};
use thiserror::Error;
use tower::{BoxError, Service};

use super::Leadership;

/// A write was refused because this replica does not lead.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("this replica does not lead any more: the write is left to the one that does")]
pub struct NotLeading;

/// A transport whose writes need leadership.
#[derive(Clone, Debug)]
pub struct LeaderOnlyWrites<S> {
    transport: S,
    leadership: Leadership,
}

/// Lets writes through `transport` only while `leadership` is held; reads always.
pub fn leader_only_writes<S>(transport: S, leadership: Leadership) -> LeaderOnlyWrites<S> {
    LeaderOnlyWrites {
        transport,
        leadership,
    }
}

impl<S, B> Service<Request<B>> for LeaderOnlyWrites<S>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.transport.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        if !reads && !self.leadership.holds() {
            return Box::pin(async { Err(NotLeading.into()) });
        }
        let answer = self.transport.call(request);
        Box::pin(async move { answer.await.map_err(Into::into) })
    }
}
