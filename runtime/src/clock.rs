//! Time as a dependency: the wall clock in production, tokio's clock in the sandbox.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Says what time it is. Cheap to clone; waiting is `tokio::time`.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Simulated { epoch: Timestamp, started: Instant },
}

impl Clock {
    /// The wall clock of the machine.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that starts at `epoch` and follows `tokio::time`: under a paused runtime it is virtual, and every
    /// clone of it agrees. Must be called inside a tokio runtime.
    pub fn simulated(epoch: Timestamp) -> Self {
        Self(Source::Simulated {
            epoch,
            started: Instant::now(),
        })
    }

    /// The present moment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the wall clock"
    )]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Simulated { epoch, started } => {
                let elapsed = SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX);
                epoch.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
            }
        }
    }
}
