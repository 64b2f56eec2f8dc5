//! Which upgrades have to be looked at again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use futures::Stream;
use futures::stream::unfold;
use kube::runtime::reflector::ObjectRef;
use tokio::sync::Notify;

/// How long changes are gathered. A debounce would starve an upgrade of a fleet that never rests.
const GATHER: Duration = Duration::from_secs(1);

/// Changes that wait to be acted on: upgrades, each once, however many of its works have changed. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wakes {
    upgrades: Arc<Waiting<BTreeSet<String>>>,
    all: Arc<Waiting<bool>>,
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

    async fn gathered(&self) -> T {
        self.changed.notified().await;
        tokio::time::sleep(GATHER).await;
        std::mem::take(&mut *self.content.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Wakes {
    /// The upgrade `namespace/name` has to be looked at.
    pub fn wake(&self, upgrade: &str) {
        self.upgrades.add(|upgrades| {
            upgrades.insert(upgrade.to_owned());
        });
    }

    /// All upgrades have to be looked at.
    pub fn wake_all(&self) {
        self.all.add(|all| *all = true);
    }

    /// The upgrades that have to be looked at, at most once a second each.
    pub fn upgrades(&self) -> impl Stream<Item = ObjectRef<ManagedClustersUpgrade>> + Send + 'static {
        let upgrades = Arc::clone(&self.upgrades);
        let batches = unfold(upgrades, |upgrades| async move {
            let batch: Vec<ObjectRef<_>> = upgrades
                .gathered()
                .await
                .iter()
                .filter_map(|key| object(key))
                .collect();
            Some((futures::stream::iter(batch), upgrades))
        });
        futures::StreamExt::flatten(batches)
    }

    /// An item each time that all upgrades have to be looked at, at most once a second.
    pub fn all(&self) -> impl Stream<Item = ()> + Send + 'static {
        unfold(Arc::clone(&self.all), |all| async move {
            all.gathered().await;
            Some(((), all))
        })
    }
}

fn object(key: &str) -> Option<ObjectRef<ManagedClustersUpgrade>> {
    let (namespace, name) = key.split_once('/')?;
    Some(ObjectRef::new(name).within(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;

    #[tokio::test(start_paused = true)]
    async fn an_upgrade_whose_works_change_all_the_time_is_looked_at_every_second() {
        let wakes = Wakes::default();
        let mut upgrades = Box::pin(wakes.upgrades());
        let busy = wakes.clone();
        tokio::spawn(async move {
            loop {
                busy.wake("hub/fleet");
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
        let seconds = start.elapsed().as_secs();
        assert!(
            (2..=4).contains(&seconds),
            "three looks in {seconds} virtual seconds"
        );
    }
}
