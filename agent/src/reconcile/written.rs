//! Objects as this program has written them, until the watches have them, too.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use drydock_runtime::follow::version_of;
use drydock_runtime::object_key::ObjectKey;
use jiff::{SignedDuration, Timestamp};
use kube::{Resource, ResourceExt};

/// After how long it is no longer waited for a watch to report an object that was created: it may be gone again.
const FORGET_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// Objects that were changed.
#[derive(Debug)]
pub(crate) struct Changed<K>(Mutex<BTreeMap<ObjectKey, Arc<K>>>);

impl<K> Default for Changed<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Resource<DynamicType = ()>> Changed<K> {
    /// The newest known version of an object.
    pub fn newest(&self, seen: &Arc<K>) -> Arc<K> {
        let key = ObjectKey::of(seen.as_ref());
        let mut changed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match changed.get(&key) {
            Some(ours)
                if ours.uid() == seen.uid() && version_of(ours.as_ref()) > version_of(seen.as_ref()) =>
            {
                Arc::clone(ours)
            }
            _ => {
                changed.remove(&key);
                Arc::clone(seen)
            }
        }
    }

    /// Notes what the server made of a change.
    pub fn note(&self, object: K) {
        let key = ObjectKey::of(&object);
        let mut changed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        changed.insert(key, Arc::new(object));
    }
}

/// Objects that were created.
#[derive(Debug)]
pub(crate) struct Created<K>(Mutex<Vec<(Timestamp, Arc<K>)>>);

impl<K> Default for Created<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Resource<DynamicType = ()>> Created<K> {
    /// What is seen, and what was created and is not seen yet.
    pub fn with(&self, mut seen: Vec<Arc<K>>, now: Timestamp) -> Vec<Arc<K>> {
        let mut created = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        created.retain(|(at, ours)| {
            let is_new = now.duration_since(*at) < FORGET_AFTER;
            is_new && !seen.iter().any(|known| known.uid() == ours.uid())
        });
        seen.extend(created.iter().map(|(_, ours)| Arc::clone(ours)));
        seen
    }

    /// Notes what the server made of it.
    pub fn note(&self, object: K, now: Timestamp) {
        let mut created = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        created.push((now, Arc::new(object)));
    }
}
