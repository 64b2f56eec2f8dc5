//! The places of forecasts: each reads and simulates the whole fleet, so there is one at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use tokio::sync::Semaphore;

use crate::error::ApiError;

/// How many forecasts a user may wait for: with more of them, others would wait for their places.
const OF_USER: usize = 4;

/// Who forecasts, and who waits for it. Clones share it.
#[derive(Clone)]
pub(crate) struct Planning {
    place: Arc<Semaphore>,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            place: Arc::new(Semaphore::new(1)),
            asked: Arc::default(),
        }
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
        let asked = self.ask(user)?;
        let place = Arc::clone(&self.place).acquire_owned().await;
        let working = tokio::spawn(async move {
            let _kept = (place, asked);
            work.await
        });
        let failed = |_| ApiError::unavailable("the forecast has failed: see the log of this server");
        working.await.map_err(failed)
    }

    fn ask(&self, user: &str) -> Result<Asked, ApiError> {
        let mut all = self.lock();
        let count = all.entry(user.to_owned()).or_default();
        if *count >= OF_USER {
            let why = format!("{user} waits for {OF_USER} forecasts already: try again when they are there");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, why));
        }
        *count += 1;
        Ok(Asked {
            planning: self.clone(),
            user: user.to_owned(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A forecast that a user waits for.
struct Asked {
    planning: Planning,
    user: String,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut all = self.planning.lock();
        if let Some(count) = all.get_mut(&self.user) {
            *count -= 1;
        }
        all.retain(|_, count| *count > 0);
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
        assert!(planning.lock().is_empty());
    }

    #[tokio::test]
    async fn one_user_does_not_fill_the_queue() {
        let planning = Planning::default();
        let mut waiting: Vec<_> = (0..OF_USER)
            .map(|_| Box::pin(planning.run("bob", std::future::pending::<()>())))
            .collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        let refused = planning.run("bob", async {}).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let other = Box::pin(planning.run("ann", async {})).now_or_never();
        assert!(other.is_none(), "it waits for its turn");
        // Who gives up waiting may ask again.
        waiting.pop();
        assert!(planning.ask("bob").is_ok());
    }

    #[tokio::test]
    async fn work_that_panics_leaves_its_place() {
        let planning = Planning::default();
        let failed: Result<(), _> = planning.run("bob", async { panic!("a forecast") }).await;
        assert!(failed.is_err());
        assert_eq!(planning.run("bob", async { 7 }).await.unwrap(), 7);
    }
}
