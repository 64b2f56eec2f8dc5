//! The places of forecasts: each reads and simulates the whole fleet, so there is one at a time.

use crate::error::ApiError;
use crate::places::{Limits, Places};

/// A user may wait for some: with more of them, others would wait for their places.
const LIMITS: Limits = Limits {
    in_all: 1,
    of_user: 1,
    asked: 4,
    what: "forecasts",
};

/// Who forecasts, and who waits for it. Clones share it.
#[derive(Clone)]
pub(crate) struct Planning(Places);

impl Default for Planning {
    fn default() -> Self {
        Self(Places::new(LIMITS))
    }
}

impl Planning {
    /// Does the work for a user when it is its turn. Work that has begun keeps its place to its end, also when nobody waits for it any more.
    ///
    /// # Errors
    /// If the user waits for many already, or the work panics.
    pub async fn run<T: Send + 'static>(
        &self,
        user: &str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, ApiError> {
        let place = self.0.enter(user).await?;
        let working = tokio::spawn(async move {
            let _kept = place;
            work.await
        });
        let failed = |_| ApiError::unavailable("the forecast has failed: see the log of this server");
        working.await.map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn who_has_gone_leaves_the_place_when_the_work_is_done() {
        let planning = Planning::default();
        let (done, is_done) = oneshot::channel::<()>();
        let mut first = Box::pin(planning.run("bob", is_done));
        assert!((&mut first).now_or_never().is_none());
        tokio::task::yield_now().await;
        drop(first);
        let mut second = Box::pin(planning.run("ann", async { 7 }));
        assert!(
            (&mut second).now_or_never().is_none(),
            "the first still simulates"
        );
        done.send(()).unwrap();
        assert_eq!(second.await.unwrap(), 7);
        assert!(planning.0.are_free());
    }

    #[tokio::test]
    async fn work_that_panics_leaves_its_place() {
        let planning = Planning::default();
        let failed: Result<(), _> = planning.run("bob", async { panic!("a forecast") }).await;
        assert!(failed.is_err());
        assert_eq!(planning.run("bob", async { 7 }).await.unwrap(), 7);
    }
}
