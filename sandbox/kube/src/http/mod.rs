//! The API server over HTTP: as a `tower::Service` that a `kube::Client` uses directly, and on a loopback port for
//! kubectl. A thin translation of the server's typed operations.

mod answer;
mod body;
mod discovery;
mod handle;
mod json;
mod listen;
mod media;
mod query;
mod route;
mod watch;

use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Limited};

use crate::server::{ApiServer, Identity, MAX_BODY, Status};

pub use body::AnswerBody;
pub use listen::ListenError;

/// The connection to the server broke, or could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// Nobody answers.
    #[error("connection refused: the API server cannot be reached")]
    Refused,
    /// It was cut before the answer.
    #[error("connection reset: the request may or may not have been served")]
    Reset,
}

/// The API server as a service of HTTP requests, without a network between.
#[derive(Clone, Debug)]
pub struct Transport {
    server: ApiServer,
    identity: Identity,
}

impl ApiServer {
    /// The server as a `tower::Service`, for the client that calls itself `user_agent`.
    pub fn service(&self, user_agent: impl Into<String>) -> Transport {
        Transport {
            server: self.clone(),
            identity: Identity::new(user_agent),
        }
    }

    /// A client of this server that calls itself `user_agent`, without any retry or limit. Must be called inside a tokio
    /// runtime.
    pub fn client(&self, user_agent: impl Into<String>) -> kube::Client {
        kube::Client::new(self.service(user_agent), "default")
    }
}

impl<B> tower::Service<Request<B>> for Transport
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<tower::BoxError>,
{
    type Response = Response<AnswerBody>;
    type Error = ConnectionError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectionError>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.server.clone();
        let identity = self.identity.clone();
        Box::pin(async move {
            match read(request).await {
                Ok(request) => handle::handle(&server, identity, request).await,
                Err(status) => Ok(answer::failure(&status)),
            }
        })
    }
}

/// Reads the whole body of a request, up to the limit.
async fn read<B>(request: Request<B>) -> Result<Request<Bytes>, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<tower::BoxError>,
{
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MAX_BODY)
        .collect()
        .await
        .map_err(|_| Status::too_large(MAX_BODY))?;
    Ok(Request::from_parts(head, body.to_bytes()))
}
