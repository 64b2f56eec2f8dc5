//! Time as a dependency: the wall clock in production, tokio's clock in the sandbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Says what time it is. Cheap to clone; waiting is `tokio::time`.
#[derive(Clone, Debug)]
pub struct Clock(TimeSource);

#[derive(Clone, Debug)]
enum TimeSource {
    System,
    Simulated {
        epoch: Timestamp,
        started: Instant,
    },
    Skewed {
        right: Box<Clock>,
        milliseconds: Arc<AtomicI64>,
    },
}

impl Clock {
    /// The wall clock of the machine.
    pub fn system() -> Self {
        Self(TimeSource::System)
    }

    /// A clock that starts at `epoch` and follows `tokio::time`: under a paused runtime it is virtual, and every
    /// clone of it agrees. Must be called inside a tokio runtime.
    pub fn simulated(epoch: Timestamp) -> Self {
        Self(TimeSource::Simulated {
            epoch,
            started: Instant::now(),
        })
    }

    /// What this clock says now, and from then on the time that passes: it does not jump where somebody sets this one.
    pub fn steady(&self) -> Self {
        Self::simulated(self.now())
    }

    /// A clock that is ahead of this one by this many milliseconds, as those of machines may be; it jumps when they change.
    pub fn skewed(&self, milliseconds: Arc<AtomicI64>) -> Self {
        Self(TimeSource::Skewed {
            right: Box::new(self.clone()),
            milliseconds,
        })
    }

    /// The present moment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock"
    )]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            TimeSource::System => Timestamp::now(),
            TimeSource::Simulated { epoch, started } => {
                let elapsed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
                epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
            }
            TimeSource::Skewed { right, milliseconds } => {
                let ahead = SignedDuration::from_millis(milliseconds.load(Ordering::Relaxed));
                right.now().saturating_add(ahead).unwrap_or(Timestamp::MAX)
            }
        }
    }
}
