//! The API server's clock: what is compared with the times that it writes on objects must be measured by it, not by the clock of the
//! machine that this process happens to run on.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::{HeaderMap, Request, Response, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use tower::Service;

use crate::Clock;

/// Differences up to this count as none: an answer says its time in whole seconds, and takes some time to come.
const TOLERANCE_MILLISECONDS: i64 = 2_500;

/// How far the API server's clock is ahead of ours, as its answers say. Clones share it.
#[derive(Clone, Debug)]
pub struct ServerTime {
    clock: Clock,
    ahead: Arc<AtomicI64>,
}

impl ServerTime {
    /// Nothing has been answered yet: both clocks count as right.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            ahead: Arc::default(),
        }
    }

    /// The API server's clock.
    pub fn clock(&self) -> Clock {
        self.clock.skewed(Arc::clone(&self.ahead))
    }

    /// The same transport, with the times of its answers read.
    pub fn reading<S>(&self, transport: S) -> WithServerTime<S> {
        WithServerTime {
            transport,
            time: self.clone(),
        }
    }

    fn read(&self, headers: &HeaderMap) {
        let Some(date) = headers.get(header::DATE).and_then(|date| date.to_str().ok()) else {
            return;
        };
        let Ok(date) = rfc2822::DateTimeParser::new().parse_timestamp(date) else {
            return;
        };
        self.correct(date);
    }

    fn correct(&self, date: Timestamp) {
        // Within its second the answer was made at any moment; the middle is off by half a second at most.
        let theirs = date.as_millisecond() + 500;
        let ahead = theirs - self.clock.now().as_millisecond();
        let known = self.ahead.load(Ordering::Relaxed);
        if (ahead - known).abs() > TOLERANCE_MILLISECONDS {
            let ahead = if ahead.abs() > TOLERANCE_MILLISECONDS {
                ahead
            } else {
                0
            };
            tracing::info!(
                milliseconds = ahead,
                "the API server's clock is ahead of this machine's by so much; times are measured by it"
            );
            self.ahead.store(ahead, Ordering::Relaxed);
        }
    }
}

/// A transport whose answers say what time it is.
#[derive(Clone, Debug)]
pub struct WithServerTime<S> {
    transport: S,
    time: ServerTime,
}

impl<S, B, R> Service<Request<B>> for WithServerTime<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.transport.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.transport.call(request);
        let time = self.time.clone();
        Box::pin(async move {
            let answer = answer.await?;
            time.read(answer.headers());
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_wrong_is_corrected_and_one_that_is_right_is_left_alone() {
        let now = Timestamp::from_second(1_767_600_000).unwrap();
        let time = ServerTime::new(Clock::simulated(now));
        for (seconds, ahead) in [
            (0, 0),
            (1, 0),
            (-1, 0),
            (600, 600),
            (601, 600),
            (-3600, -3600),
            (0, 0),
        ] {
            let date = now + SignedDuration::from_secs(seconds);
            let mut headers = HeaderMap::new();
            let text = rfc2822::DateTimePrinter::new()
                .timestamp_to_rfc9110_string(&date)
                .unwrap();
            headers.insert(header::DATE, text.parse().unwrap());
            time.read(&headers);
            let off = time.clock().now().duration_since(now).as_secs();
            assert!((off - ahead).abs() <= 1, "{seconds}: {off}");
        }
    }
}
