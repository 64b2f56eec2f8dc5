//! The objects of one kind, its last changes, and the queues of those who watch it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::{Key, Object};

/// Which objects of a collection a list or a watch is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Everything,
    /// Those of one namespace.
    Namespace(String),
    /// One object.
    One(Key),
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object came into being.
    Added,
    /// A new version replaced the previous one.
    Modified,
    /// The object is gone.
    Deleted,
}

/// One write, as it is kept and as watchers get it.
#[derive(Debug)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The version that was written; for a deletion the last version, stamped with the revision of the deletion.
    pub object: Arc<Object>,
    /// The version before, if there was one.
    pub previous: Option<Arc<Object>>,
}

impl Change {
    /// The revision of the write.
    pub fn revision(&self) -> u64 {
        self.object.revision()
    }
}

/// The changes asked for are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the changes before revision {oldest} are no longer kept")]
pub struct Compacted {
    /// The last revision that was forgotten.
    pub oldest: u64,
}

/// A watcher's queue. Ends when the server cuts it.
#[derive(Debug)]
pub struct Subscription {
    queue: mpsc::UnboundedReceiver<Arc<Change>>,
}

impl Subscription {
    /// The next change, or `None` once the server has cut the watch.
    pub async fn next(&mut self) -> Option<Arc<Change>> {
        self.queue.recv().await
    }

    /// The next change if one is already there.
    pub fn try_next(&mut self) -> Option<Arc<Change>> {
        self.queue.try_recv().ok()
    }
}

#[derive(Debug)]
struct Subscriber {
    watcher: String,
    queue: mpsc::UnboundedSender<Arc<Change>>,
}

#[derive(Debug, Default)]
pub(super) struct Collection {
    objects: BTreeMap<Key, Arc<Object>>,
    changes: VecDeque<Arc<Change>>,
    compacted: u64,
    // Kept by scope so that a write wakes only those whom it concerns.
    everything: Vec<Subscriber>,
    by_namespace: BTreeMap<String, Vec<Subscriber>>,
    by_object: BTreeMap<Key, Vec<Subscriber>>,
}

impl Collection {
    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn seed(&mut self, key: Key, object: Arc<Object>) {
        self.objects.insert(key, object);
    }

    pub(super) fn objects(&self, scope: &Scope) -> Vec<Arc<Object>> {
        in_scope(&self.objects, scope)
    }

    pub(super) fn objects_at(&self, scope: &Scope, revision: u64) -> Result<Vec<Arc<Object>>, Compacted> {
        if revision < self.compacted {
            return Err(Compacted {
                oldest: self.compacted,
            });
        }
        let later: Vec<_> = self
            .changes
            .iter()
            .rev()
            .take_while(|change| change.revision() > revision)
            .collect();
        if later.is_empty() {
            return Ok(self.objects(scope));
        }
        let mut then = self.objects.clone();
        for change in later {
            match &change.previous {
                Some(previous) => then.insert(change.object.key(), Arc::clone(previous)),
                None => then.remove(&change.object.key()),
            };
        }
        Ok(in_scope(&then, scope))
    }

    pub(super) fn put(&mut self, key: &Key, object: &Arc<Object>, history: usize) -> Option<Arc<Object>> {
        let previous = self.objects.insert(key.clone(), Arc::clone(object));
        let kind = if previous.is_some() {
            ChangeKind::Modified
        } else {
            ChangeKind::Added
        };
        let change = Change {
            kind,
            object: Arc::clone(object),
            previous: previous.clone(),
        };
        self.publish(key, Arc::new(change), history);
        previous
    }

    pub(super) fn remove(&mut self, key: &Key, last: &Arc<Object>, history: usize) -> Option<Arc<Object>> {
        let previous = self.objects.remove(key);
        let change = Change {
            kind: ChangeKind::Deleted,
            object: Arc::clone(last),
            previous: previous.clone(),
        };
        self.publish(key, Arc::new(change), history);
        previous
    }

    pub(super) fn subscribe(
        &mut self,
        scope: Scope,
        since: Option<u64>,
        watcher: &str,
    ) -> Result<Subscription, Compacted> {
        let (sender, queue) = mpsc::unbounded_channel();
        if let Some(since) = since {
            if since < self.compacted {
                return Err(Compacted {
                    oldest: self.compacted,
                });
            }
            let first = self.changes.partition_point(|change| change.revision() <= since);
            for change in self.changes.range(first..) {
                if concerns(&scope, &change.object) {
                    // The receiver is at hand, so the queue is open.
                    let _ = sender.send(Arc::clone(change));
                }
            }
        }
        let subscriber = Subscriber {
            watcher: watcher.to_owned(),
            queue: sender,
        };
        let queues = match scope {
            Scope::Everything => &mut self.everything,
            Scope::Namespace(namespace) => self.by_namespace.entry(namespace).or_default(),
            Scope::One(key) => self.by_object.entry(key).or_default(),
        };
        queues.retain(|known| !known.queue.is_closed());
        queues.push(subscriber);
        Ok(Subscription { queue })
    }

    pub(super) fn cut(&mut self, matches: impl Fn(&str) -> bool) {
        let keep = |subscriber: &Subscriber| !matches(&subscriber.watcher);
        self.everything.retain(keep);
        for queues in self.by_namespace.values_mut().chain(self.by_object.values_mut()) {
            queues.retain(keep);
        }
    }

    pub(super) fn compact(&mut self, revision: u64) {
        self.changes.clear();
        self.compacted = revision;
    }

    fn publish(&mut self, key: &Key, change: Arc<Change>, history: usize) {
        deliver(&mut self.everything, &change);
        if let Some(namespace) = &key.namespace
            && let Some(queues) = self.by_namespace.get_mut(namespace)
        {
            deliver(queues, &change);
        }
        if let Some(queues) = self.by_object.get_mut(key) {
            deliver(queues, &change);
        }
        self.changes.push_back(change);
        while self.changes.len() > history {
            if let Some(forgotten) = self.changes.pop_front() {
                self.compacted = forgotten.revision();
            }
        }
    }
}

fn deliver(queues: &mut Vec<Subscriber>, change: &Arc<Change>) {
    queues.retain(|subscriber| subscriber.queue.send(Arc::clone(change)).is_ok());
}

fn concerns(scope: &Scope, object: &Object) -> bool {
    match scope {
        Scope::Everything => true,
        Scope::Namespace(namespace) => object.namespace() == Some(namespace),
        Scope::One(key) => {
            object.name() == key.name
                && (key.namespace.is_none() || object.namespace() == key.namespace.as_deref())
        }
    }
}

fn in_scope(objects: &BTreeMap<Key, Arc<Object>>, scope: &Scope) -> Vec<Arc<Object>> {
    match scope {
        Scope::Everything => objects.values().cloned().collect(),
        Scope::Namespace(namespace) => objects
            .range(Key::namespaced(namespace.as_str(), "")..)
            .take_while(|(key, _)| key.namespace.as_ref() == Some(namespace))
            .map(|(_, object)| Arc::clone(object))
            .collect(),
        Scope::One(key) => objects.get(key).cloned().into_iter().collect(),
    }
}
