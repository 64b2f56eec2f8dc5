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

/// Differences up to this count as none: an answer says its time in whole seconds.
const TOLERANCE_MILLISECONDS: i64 = 2_500;

/// How far the API server's clock is ahead of ours, as its answers say. Clones share it.
#[derive(Clone, Debug)]
pub struct ServerTime {
    clock: Clock,
    ahead: Arc<AtomicI64>,
}

impl ServerTime {
    /// Nothing has been answered yet: both clocks count as right. That somebody sets ours later makes no difference: between two answers only
    /// time passes.
    pub fn new(clock: &Clock) -> Self {
        Self {
            clock: clock.steady(),
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

    /// Reads an answer that has just come, to a request that was sent then.
    fn read(&self, headers: &HeaderMap, sent: Timestamp) {
        let Some(date) = headers.get(header::DATE).and_then(|date| date.to_str().ok()) else {
            return;
        };
        let Ok(date) = rfc2822::DateTimeParser::new().parse_timestamp(date) else {
            return;
        };
        self.correct(date, sent);
    }

    /// The answer was made at some moment since the request was sent: one that takes long says little.
    fn correct(&self, date: Timestamp, sent: Timestamp) {
        // Within its second the answer was made at any moment; the middle is off by half a second at most.
        let theirs = date.as_millisecond() + 500;
        let (sent, received) = (sent.as_millisecond(), self.clock.now().as_millisecond());
        let known = self.ahead.load(Ordering::Relaxed);
        let ahead = known.max(theirs - received).min(theirs - sent.min(received));
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
        let time = self.time.clone();
        let sent = time.clock.now();
        let answer = self.transport.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            time.read(answer.headers(), sent);
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    fn said(date: Timestamp) -> HeaderMap {
        let text = rfc2822::DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&date)
            .unwrap();
        [(header::DATE, text.parse().unwrap())].into_iter().collect()
    }

    /// However late an answer comes, and whenever in that time it was made.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_late_sets_no_clock_back() {
        let hour = SignedDuration::from_hours(1);
        for skew in [SignedDuration::ZERO, hour, -hour] {
            let time = ServerTime::new(&Clock::simulated(Timestamp::from_second(1_767_600_000).unwrap()));
            let theirs = || time.clock.now() + skew;
            time.read(&said(theirs()), time.clock.now());
            for made in [0, 6, 12] {
                let sent = time.clock.now();
                tokio::time::advance(std::time::Duration::from_secs(made)).await;
                let date = theirs();
                tokio::time::advance(std::time::Duration::from_secs(12 - made)).await;
                time.read(&said(date), sent);
                let off = time.clock().now().duration_since(theirs()).as_millis();
                assert!(off.abs() <= 1000, "{skew} {made}: {off}");
            }
        }
    }

    /// Neither before nor after it has been found wrong.
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_sets_nothing_else() {
        let right = Clock::simulated(Timestamp::from_second(1_767_600_000).unwrap());
        let machine = Arc::new(AtomicI64::new(3_600_000));
        let time = ServerTime::new(&right.skewed(Arc::clone(&machine)));
        time.read(&said(right.now()), time.clock.now());
        for milliseconds in [0, -3_600_000, 7_200_000] {
            machine.store(milliseconds, Ordering::Relaxed);
            tokio::time::advance(std::time::Duration::from_mins(1)).await;
            let off = time.clock().now().duration_since(right.now()).as_millis();
            assert!(off.abs() <= 1000, "{milliseconds}: {off}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_wrong_is_corrected_and_one_that_is_right_is_left_alone() {
        let now = Timestamp::from_second(1_767_600_000).unwrap();
        let time = ServerTime::new(&Clock::simulated(now));
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
            time.read(&said(date), now);
            let off = time.clock().now().duration_since(now).as_secs();
            assert!((off - ahead).abs() <= 1, "{seconds}: {off}");
        }
    }
}
