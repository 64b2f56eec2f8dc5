//! How fast virtual time goes: a paused tokio clock jumps to the next timer as soon as nothing is left to do; the
//! pacer holds it back so that a person can watch.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The speed of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Jump from timer to timer.
    AsFastAsPossible,
    /// This many virtual seconds in a second.
    Scaled(NonZeroU32),
}

/// How often the pacer lets time pass, in real time: often enough for the eye.
const TICK: Duration = Duration::from_millis(50);

impl Pace {
    /// Keeps the paused clock of the current runtime at this pace until `stop`. Returns at once if there is nothing
    /// to keep.
    ///
    /// While a blocking task runs, tokio does not advance a paused clock: everything that is due still happens, and
    /// requests over the network are served, but no timer fires early.
    pub async fn keep(self, stop: CancellationToken) {
        let Self::Scaled(speed) = self else {
            return;
        };
        let step = TICK * speed.get();
        while !stop.is_cancelled() {
            tokio::time::sleep(step).await;
            if tokio::task::spawn_blocking(wait_a_tick).await.is_err() {
                return;
            }
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pacer is where virtual time meets real time"
)]
fn wait_a_tick() {
    std::thread::sleep(TICK);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn virtual_time_passes_at_the_pace_that_was_asked_for() {
        let stop = CancellationToken::new();
        let speed = NonZeroU32::new(72_000).expect("not zero");
        let pacer = tokio::spawn(Pace::Scaled(speed).keep(stop.clone()));
        let before = tokio::time::Instant::now();
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(before.elapsed(), Duration::from_hours(1));
        stop.cancel();
        pacer.await.expect("the pacer ends");
    }
}
