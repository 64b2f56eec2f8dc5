//! The loop of a controller: woken by changes and at the time that the last decision named, it goes through all objects of its
//! kind. There are few, and one for which nothing has to be written costs no request.
//!
//! kube's controller expects that the watch of its kind never ends; here a kind may go and come back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drydock_runtime::Clock;
use drydock_runtime::backoff::Backoff;
use drydock_runtime::follow::version_of;
use drydock_runtime::object_key::ObjectKey;
use drydock_runtime::panics::catch_panic;
use jiff::Timestamp;
use kube::Resource;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::error::ReconcileError;
use crate::metrics::Metrics;

/// How long a controller sleeps at least: something that is always due would keep a processor busy.
const SHORTEST_SLEEP: Duration = Duration::from_millis(20);

/// How long a controller sleeps at most: a clock may be set while it does.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

/// From this wait on it is reported that an object has changed before each write.
const OFTEN_OUTDATED: Duration = Duration::from_secs(30);

/// What a controller does about the objects of its kind.
pub(crate) trait Reconcile: Sync {
    /// The kind.
    type Object: Resource<DynamicType = ()> + Send + Sync;

    /// The objects, as they are seen; nothing as long as not everything that decisions depend on has been looked for.
    fn objects(&self) -> Vec<Arc<Self::Object>>;

    /// Brings one object further. Says when it has to be looked at again if nothing changes.
    fn reconcile(
        &self,
        object: &Arc<Self::Object>,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Timestamp>, ReconcileError>> + Send;
}

/// Objects that failed, which version of them, and when they are tried again.
type Failures = BTreeMap<ObjectKey, (u64, Timestamp)>;

/// A controller, and what wakes it.
pub(crate) struct Controller<R> {
    pub reconciler: R,
    pub changed: Arc<Notify>,
    pub clock: Clock,
    pub metrics: Metrics,
}

impl<R: Reconcile> Controller<R> {
    /// Runs until `shutdown`, then lets a reconcile under way finish.
    pub async fn run(self, shutdown: CancellationToken) {
        let backoff = Backoff::default();
        let mut failures = Failures::new();
        let mut sleep = LONGEST_SLEEP;
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                () = self.changed.notified() => {}
                () = tokio::time::sleep(sleep) => {}
            }
            sleep = self.pass(&backoff, &mut failures, &shutdown).await;
        }
    }

    /// Looks at all objects. Says for how long nothing has to be done if nothing changes.
    async fn pass(
        &self,
        backoff: &Backoff<ObjectKey>,
        failures: &mut Failures,
        shutdown: &CancellationToken,
    ) -> Duration {
        let objects = self.reconciler.objects();
        let mut wakes = Vec::new();
        let mut failed = Failures::new();
        for object in objects {
            if shutdown.is_cancelled() {
                break;
            }
            let key = ObjectKey::of(object.as_ref());
            let version = version_of(object.as_ref());
            let now = self.clock.now();
            if let Some(failure) = failures.get(&key)
                && failure.0 == version
                && now < failure.1
            {
                wakes.push(failure.1);
                failed.insert(key, *failure);
                continue;
            }
            match self.reconcile(&object, now).await {
                Ok(wake) => {
                    backoff.succeeded(&key);
                    wakes.extend(wake);
                }
                Err(error) => {
                    let again = self.failed(&key, &error, backoff.failed(&key));
                    wakes.push(again);
                    failed.insert(key, (version, again));
                }
            }
        }
        *failures = failed;
        let now = self.clock.now();
        let wake = wakes.into_iter().min().map(|wake| wake.duration_since(now));
        let sleep = wake.map(|wake| Duration::try_from(wake).unwrap_or_default());
        sleep
            .unwrap_or(LONGEST_SLEEP)
            .clamp(SHORTEST_SLEEP, LONGEST_SLEEP)
    }

    async fn reconcile(
        &self,
        object: &Arc<R::Object>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, ReconcileError> {
        catch_panic(Box::pin(self.reconciler.reconcile(object, now))).await?
    }

    fn failed(&self, key: &ObjectKey, error: &ReconcileError, wait: Duration) -> Timestamp {
        let kind = R::Object::kind(&());
        let (kind, wait_seconds) = (kind.as_ref(), wait.as_secs());
        // That an object has changed is nothing to report, unless that goes on.
        let is_outdated = matches!(error, ReconcileError::Outdated { .. }) && wait < OFTEN_OUTDATED;
        let error: &dyn std::error::Error = error;
        if is_outdated {
            tracing::debug!(kind, object = %key, error, wait_seconds, "deciding anew");
        } else {
            self.metrics.failed();
            tracing::warn!(kind, object = %key, error, wait_seconds, "reconciling failed; it is tried again");
        }
        self.clock.now().saturating_add(wait).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests;
