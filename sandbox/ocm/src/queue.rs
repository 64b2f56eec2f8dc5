//! Which objects a stand-in has to look at, now or at some time, and the events that say so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{FutureExt, Stream, StreamExt};
use tokio::time::Instant;

use kube_sandbox::object::NamespacedName;
use kube_sandbox::sleep::sleep_until_some;

/// All events that have come by now, so that nothing is decided before what is there already is read; none if it is time
/// to wake before one comes.
pub async fn batch<E>(events: &mut (impl Stream<Item = E> + Unpin), wake: Option<Instant>) -> Vec<E> {
    let mut batch = Vec::new();
    tokio::select! {
        biased;
        Some(event) = events.next() => batch.push(event),
        () = sleep_until_some(wake) => return batch,
    }
    while let Some(Some(event)) = events.next().now_or_never() {
        batch.push(event);
    }
    batch
}

/// Objects to look at, each once however often it was marked.
#[derive(Debug, Default)]
pub struct Queue {
    dirty: BTreeSet<NamespacedName>,
    wakes: BTreeMap<NamespacedName, Instant>,
}

impl Queue {
    /// An object is to be looked at.
    pub fn mark(&mut self, id: NamespacedName) {
        self.dirty.insert(id);
    }

    /// An object is to be looked at again after a while, unless it is marked before; only the last wait counts.
    pub fn wake_after(&mut self, id: NamespacedName, wait: Duration) {
        self.wakes.insert(id, Instant::now() + wait);
    }

    /// An object waits no longer.
    pub fn forget(&mut self, id: &NamespacedName) {
        self.wakes.remove(id);
    }

    /// When the next wait is over.
    pub fn wake(&self) -> Option<Instant> {
        self.wakes.values().min().copied()
    }

    /// Marks the objects whose wait is over.
    pub fn wake_up(&mut self) {
        let now = Instant::now();
        let due = self.wakes.extract_if(.., |_, wake| *wake <= now);
        self.dirty.extend(due.map(|(id, _)| id));
    }

    /// The next object to look at; it waits no longer.
    pub fn pop(&mut self) -> Option<NamespacedName> {
        let next = self.dirty.pop_first();
        next.inspect(|id| self.forget(id))
    }
}
