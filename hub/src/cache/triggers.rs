//! Which upgrades have to be looked at again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_objects::Change;
use drydock_rollout::UpgradeKey;
use futures::Stream;
use futures::stream::unfold;
use kube::runtime::reflector::ObjectRef;
use tokio::sync::Notify;

use crate::Pace;

/// Changes that wait to be acted on: upgrades, each once, however many of its works have changed. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReconcileTriggers {
    upgrades: Arc<Waiting<BTreeSet<UpgradeKey>>>,
    all: Arc<Waiting<bool>>,
    clusters: Arc<Waiting<bool>>,
    pace: Pace,
}

#[derive(Debug, Default)]
struct Waiting<T> {
    content: Mutex<T>,
    changed: Notify,
}

impl<T: Default> Waiting<T> {
    fn add(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.content.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    /// What has changed in the time of `pace` since the first change. A debounce would starve an upgrade of a fleet that never rests.
    async fn gathered(&self, pace: Pace) -> T {
        self.changed.notified().await;
        tokio::time::sleep(pace.0).await;
        std::mem::take(&mut *self.content.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ReconcileTriggers {
    /// Nothing waits; changes are gathered for as long as `pace` says.
    pub fn new(pace: Pace) -> Self {
        Self {
            pace,
            ..Self::default()
        }
    }

    /// What has changed says which upgrades have to be looked at.
    pub fn trigger(&self, change: Change) {
        match change {
            Change::Nothing => {}
            Change::Upgrades(keys) => self.upgrades.add(|upgrades| upgrades.extend(keys)),
            Change::All => self.all.add(|all| *all = true),
        }
    }

    /// A ManagedCluster has changed, whether or not an upgrade concerns it.
    pub fn trigger_clusters(&self) {
        self.clusters.add(|clusters| *clusters = true);
    }

    /// An item each time that a ManagedCluster has changed, at most once in the time of the pace.
    pub fn clusters(&self) -> impl Stream<Item = ()> + Send + use<> {
        let pace = self.pace;
        unfold(Arc::clone(&self.clusters), move |clusters| async move {
            clusters.gathered(pace).await;
            Some(((), clusters))
        })
    }

    /// The upgrades that have to be looked at, each at most once in the time of the pace.
    pub fn upgrades(&self) -> impl Stream<Item = ObjectRef<ManagedClustersUpgrade>> + Send + use<> {
        let (upgrades, pace) = (Arc::clone(&self.upgrades), self.pace);
        let batches = unfold(upgrades, move |upgrades| async move {
            let batch: Vec<ObjectRef<_>> = upgrades.gathered(pace).await.iter().map(object).collect();
            Some((futures::stream::iter(batch), upgrades))
        });
        futures::StreamExt::flatten(batches)
    }

    /// An item each time that all upgrades have to be looked at, at most once in the time of the pace.
    pub fn all(&self) -> impl Stream<Item = ()> + Send + use<> {
        let pace = self.pace;
        unfold(Arc::clone(&self.all), move |all| async move {
            all.gathered(pace).await;
            Some(((), all))
        })
    }
}

fn object(key: &UpgradeKey) -> ObjectRef<ManagedClustersUpgrade> {
    ObjectRef::new(&key.name).within(&key.namespace)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use futures::StreamExt;

    #[tokio::test(start_paused = true)]
    async fn an_upgrade_whose_works_change_all_the_time_is_looked_at_once_in_its_pace() {
        for pace in [Pace::default(), Pace(Duration::from_mins(1))] {
            let triggers = ReconcileTriggers::new(pace);
            let mut upgrades = Box::pin(triggers.upgrades());
            let busy = triggers.clone();
            tokio::spawn(async move {
                loop {
                    busy.trigger(Change::Upgrades([UpgradeKey::new("hub", "fleet")].into()));
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            });
            let start = tokio::time::Instant::now();
            for _ in 0..3 {
                let object = upgrades.next().await.expect("the stream does not end");
                assert_eq!(
                    (object.namespace.as_deref(), object.name.as_str()),
                    (Some("hub"), "fleet")
                );
            }
            let looks = start.elapsed().div_duration_f64(pace.0);
            assert!(
                (2.9..=3.1).contains(&looks),
                "three looks in {looks} times {pace:?}"
            );
        }
    }
}
