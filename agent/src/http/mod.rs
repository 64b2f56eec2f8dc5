//! HTTP to what is not the cluster's API server: bounded in time and size, because no answer is trusted.

mod network;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tower::{BoxError, Service, ServiceExt};

pub use network::{Body, Exchange, Network, NetworkError};

/// What an answer may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// From the first byte sent to the last one read.
    pub time: Duration,
    /// Bytes of the body.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            bytes: 4 << 20,
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum HttpError {
    /// It takes too long.
    #[error("{target} has not answered within {} s", time.as_secs())]
    TooSlow {
        /// Method and address.
        target: String,
        /// What was allowed.
        time: Duration,
    },
    /// It is too large.
    #[error("the answer of {target} is larger than {bytes} bytes")]
    TooLarge {
        /// Method and address.
        target: String,
        /// What was allowed.
        bytes: usize,
    },
    /// It cannot be reached.
    #[error("{target} cannot be reached: {reason}")]
    Unreachable {
        /// Method and address.
        target: String,
        /// The innermost reason.
        reason: String,
    },
    /// Its certificate is not trusted, or is for another name.
    #[error("{target} cannot be trusted: {reason}")]
    Untrusted {
        /// Method and address.
        target: String,
        /// What is wrong with the certificate.
        reason: String,
    },
    /// It answers with another status than it should.
    #[error("{target} answers {status}")]
    Refused {
        /// Method and address.
        target: String,
        /// The status.
        status: StatusCode,
    },
    /// It answers with something else than it should.
    #[error("the answer of {target} cannot be understood: {reason}")]
    Malformed {
        /// Method and address.
        target: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub target: String,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// The answer, if its status is one of success.
    pub fn success(self) -> Result<Self, HttpError> {
        if self.status.is_success() {
            return Ok(self);
        }
        Err(HttpError::Refused {
            target: self.target,
            status: self.status,
        })
    }

    /// The body, read as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| self.malformed(error.to_string()))
    }

    /// The body is not what it should be.
    pub fn malformed(&self, reason: impl Into<String>) -> HttpError {
        HttpError::Malformed {
            target: self.target.clone(),
            reason: reason.into(),
        }
    }
}

/// Sends a request and reads the whole answer.
///
/// # Errors
/// If there is none within the limits. Every status is an answer.
pub(crate) async fn send(
    exchange: &Exchange,
    request: Request<Bytes>,
    limits: Limits,
) -> Result<Answer, HttpError> {
    let target = target(&request);
    let answered = tokio::time::timeout(
        limits.time,
        read(exchange.clone(), request, &target, limits.bytes),
    );
    answered.await.unwrap_or(Err(HttpError::TooSlow {
        target,
        time: limits.time,
    }))
}

/// Sends a request for the status of its answer alone: whatever its body is, it is not read. Gives the target, too.
///
/// # Errors
/// If there is no answer in time.
pub(crate) async fn send_for_status(
    exchange: &Exchange,
    request: Request<Bytes>,
    time: Duration,
) -> Result<(String, StatusCode), HttpError> {
    let target = target(&request);
    let mut exchange = exchange.clone();
    let asked = async { exchange.ready().await?.call(request).await };
    match tokio::time::timeout(time, asked).await {
        Ok(Ok(answer)) => Ok((target, answer.status())),
        Ok(Err(error)) => Err(failed(&target, error.as_ref())),
        Err(_) => Err(HttpError::TooSlow { target, time }),
    }
}

async fn read(
    mut exchange: Exchange,
    request: Request<Bytes>,
    target: &str,
    limit: usize,
) -> Result<Answer, HttpError> {
    let unreachable = |error: BoxError| failed(target, error.as_ref());
    let ready = exchange.ready().await.map_err(unreachable)?;
    let (parts, mut body) = ready.call(request).await.map_err(unreachable)?.into_parts();
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(unreachable)?.into_data() {
            if bytes.len() + data.len() > limit {
                return Err(HttpError::TooLarge {
                    target: target.to_owned(),
                    bytes: limit,
                });
            }
            bytes.extend_from_slice(&data);
        }
    }
    Ok(Answer {
        target: target.to_owned(),
        status: parts.status,
        headers: parts.headers,
        body: bytes.freeze(),
    })
}

impl HttpError {
    /// Without the path, which of some addresses is a secret.
    pub fn without_path(mut self) -> Self {
        let (Self::TooSlow { target, .. }
        | Self::TooLarge { target, .. }
        | Self::Unreachable { target, .. }
        | Self::Untrusted { target, .. }
        | Self::Refused { target, .. }
        | Self::Malformed { target, .. }) = &mut self;
        let host = target.find("://").map_or(0, |at| at + 3);
        if let Some(path) = target[host..].find('/') {
            target.truncate(host + path);
            target.push_str("/…");
        }
        self
    }
}

/// Method and address without the query, which may be long and is of no help.
fn target(request: &Request<Bytes>) -> String {
    let uri = request.uri();
    let place = match (uri.scheme_str(), uri.authority()) {
        // Who is named before an @ is nobody's business.
        (Some(scheme), Some(authority)) => match authority.port() {
            Some(port) => format!("{scheme}://{}:{port}", authority.host()),
            None => format!("{scheme}://{}", authority.host()),
        },
        _ => String::new(),
    };
    format!("{} {place}{}", request.method(), uri.path())
}

/// Why a request has not been answered.
fn failed(target: &str, error: &(dyn std::error::Error + 'static)) -> HttpError {
    let (target, reason) = (target.to_owned(), innermost(error));
    if is_untrusted(error) {
        HttpError::Untrusted { target, reason }
    } else {
        HttpError::Unreachable { target, reason }
    }
}

/// Is there a bad certificate below?
fn is_untrusted(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(rustls::Error::InvalidCertificate(_)) = error.downcast_ref() {
            return true;
        }
        // What an I/O error wraps is not its source: its source is.
        let wrapped = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        if let Some(wrapped) = wrapped
            && is_untrusted(wrapped)
        {
            return true;
        }
        next = error.source();
    }
    false
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
