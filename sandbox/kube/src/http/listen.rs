//! The server on a port, for kubectl: loopback only.

use bytes::Bytes;
use http::Request;
use http::header::USER_AGENT;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{AnswerBody, ConnectionError, handle};
use crate::server::{ApiServer, Identity};

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address can be reached from elsewhere; this server has no authentication.
    #[error("the sandbox listens on loopback only, not on {0}: give an address of 127.0.0.0/8 or ::1")]
    NotLoopback(std::net::SocketAddr),
    /// The socket failed.
    #[error("accepting connections on the sandbox's port: {0}")]
    Socket(#[from] std::io::Error),
}

impl ApiServer {
    /// Serves HTTP on `listener` until `shutdown`; then all connections are closed. There is no authentication, so it
    /// must be a loopback address.
    ///
    /// # Errors
    /// If the address is not loopback, or accepting fails.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) -> Result<(), ListenError> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() {
            return Err(ListenError::NotLoopback(address));
        }
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => {
                    let (stream, _) = accepted?;
                    connections.spawn(connection(self.clone(), stream));
                }
            }
        }
    }
}

async fn connection(server: ApiServer, stream: TcpStream) {
    let service = service_fn(move |request: Request<Incoming>| {
        let server = server.clone();
        async move { one(&server, request).await }
    });
    let served = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        // A client that goes away in the middle of a watch is the usual case.
        tracing::debug!(%error, "connection ended");
    }
}

async fn one(
    server: &ApiServer,
    request: Request<Incoming>,
) -> Result<http::Response<AnswerBody>, ConnectionError> {
    let agent = request
        .headers()
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok())
        .unwrap_or_default();
    let identity = Identity::new(agent);
    let request: Request<Bytes> = match super::read(request).await {
        Ok(request) => request,
        Err(status) => return Ok(super::answer::failure(&status)),
    };
    handle::handle(server, identity, request).await
}
