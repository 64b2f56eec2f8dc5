//! Sends reads again when the server is overloaded or away for a moment. Writes never: their answer may be lost after
//! they took place, and 429 is the answer to an eviction.

use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use kube::client::Body;
use tower::retry::Policy;

use super::request::{RequestKind, Verb};

/// How often a read is sent at most.
const ATTEMPTS: u32 = 5;
const FIRST_DELAY: Duration = Duration::from_millis(200);
/// The longest that a server's `Retry-After` is followed; a reconcile should rather fail and back off.
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// Retries GET and LIST on 429, 500, 502, 503, 504 and on transport errors.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadRetry {
    sent: u32,
}

impl ReadRetry {
    fn delay(&self, retry_after: Option<Duration>) -> Duration {
        let own = FIRST_DELAY * 2_u32.saturating_pow(self.sent.saturating_sub(1));
        retry_after.unwrap_or(own).min(LONGEST_DELAY)
    }
}

impl<B, E> Policy<Request<Body>, Response<B>, E> for ReadRetry {
    type Future = tokio::time::Sleep;

    fn retry(
        &mut self,
        request: &mut Request<Body>,
        result: &mut Result<Response<B>, E>,
    ) -> Option<Self::Future> {
        if !RequestKind::of(request).verb.is_read() {
            return None;
        }
        let retry_after = match result {
            Ok(response) if is_passing(response.status()) => retry_after(response),
            Ok(_) => return None,
            Err(_) => None,
        };
        self.sent += 1;
        (self.sent < ATTEMPTS).then(|| tokio::time::sleep(self.delay(retry_after)))
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        let verb = RequestKind::of(request).verb;
        if !matches!(verb, Verb::Get | Verb::List) {
            return None;
        }
        let mut copy = Request::new(request.body().try_clone()?);
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.version_mut() = request.version();
        *copy.headers_mut() = request.headers().clone();
        *copy.extensions_mut() = request.extensions().clone();
        Some(copy)
    }
}

fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504)
}

fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let seconds = response
        .headers()
        .get(header::RETRY_AFTER)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}
