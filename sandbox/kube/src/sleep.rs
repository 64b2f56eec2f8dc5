//! Waiting for a moment that there may not be, and how long it is to one.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep_until};

/// Sleeps until `moment`; for ever without one.
pub async fn sleep_until_some(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// How long it is from `now` to `at`; nothing if that is past.
pub fn duration_until(now: Timestamp, at: Timestamp) -> Duration {
    at.duration_since(now).max(SignedDuration::ZERO).unsigned_abs()
}
