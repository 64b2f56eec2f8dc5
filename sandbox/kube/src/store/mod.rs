//! Objects, resource versions, and the changes that watchers read. Knows nothing of kinds, schemas or HTTP: values go in,
//! each write gets the next revision, and the last changes of a collection are kept so that a watch can resume and a
//! paged list can see one moment.

mod collection;
mod key;
mod object;
mod owners;
mod size;

pub use collection::{Change, ChangeKind, Compacted, Scope, Subscription};
pub use key::{CollectionId, Key};
pub use object::{Object, finalizers};
pub use size::fits;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::apply::ManagedFields;
use collection::Collection;
use owners::Owners;

/// All objects of one API server. Not synchronised: the server holds it behind its lock.
#[derive(Debug)]
pub struct Store {
    revision: u64,
    history: usize,
    collections: BTreeMap<CollectionId, Collection>,
    owners: Owners,
}

impl Store {
    /// An empty store at revision 1 that keeps the last `history` changes of each collection.
    pub fn new(history: usize) -> Self {
        Self {
            revision: 1,
            history,
            collections: BTreeMap::new(),
            owners: Owners::default(),
        }
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The present version of an object.
    pub fn get(&self, collection: &CollectionId, key: &Key) -> Option<&Arc<Object>> {
        self.collections.get(collection)?.get(key)
    }

    /// How many objects a collection has.
    pub fn count(&self, collection: &CollectionId) -> usize {
        self.collections.get(collection).map_or(0, Collection::len)
    }

    /// The objects in `scope`, in order, as they are now.
    pub fn objects(&self, collection: &CollectionId, scope: &Scope) -> Vec<Arc<Object>> {
        self.collections
            .get(collection)
            .map(|collection| collection.objects(scope))
            .unwrap_or_default()
    }

    /// The objects in `scope` as they were at `revision`.
    ///
    /// # Errors
    /// `Compacted` if the changes since then are no longer kept.
    pub fn objects_at(
        &self,
        collection: &CollectionId,
        scope: &Scope,
        revision: u64,
    ) -> Result<Vec<Arc<Object>>, Compacted> {
        match self.collections.get(collection) {
            Some(collection) => collection.objects_at(scope, revision),
            None => Ok(Vec::new()),
        }
    }

    /// Collections that have at least one object.
    pub fn non_empty_collections(&self) -> impl Iterator<Item = &CollectionId> {
        self.collections
            .iter()
            .filter(|(_, collection)| collection.len() > 0)
            .map(|(id, _)| id)
    }

    /// Writes a value under `key` as what the server itself changes: who manages its fields stays as it was.
    pub fn amend(&mut self, collection: &CollectionId, key: &Key, value: Value) -> Arc<Object> {
        let live = self.get(collection, key);
        let managed = live.map(|live| live.managed_fields().clone());
        self.put(collection, key, value, managed.unwrap_or_default())
    }

    /// Writes a value under `key`, stamping the next revision into its `metadata.resourceVersion`.
    pub fn put(
        &mut self,
        collection: &CollectionId,
        key: &Key,
        mut value: Value,
        managed: ManagedFields,
    ) -> Arc<Object> {
        self.revision += 1;
        stamp(&mut value, self.revision);
        let object = Arc::new(Object::managed(value, managed, self.revision));
        let history = self.history;
        let previous = self.collection(collection).put(key, &object, history);
        self.owners
            .record(collection, key, previous.as_deref(), Some(&object));
        object
    }

    /// Takes an object away and returns its last version, stamped with the revision of its removal.
    pub fn remove(&mut self, collection: &CollectionId, key: &Key) -> Option<Arc<Object>> {
        let live = self.get(collection, key)?;
        let (mut value, managed) = (live.value().clone(), live.managed_fields().clone());
        self.revision += 1;
        stamp(&mut value, self.revision);
        let object = Arc::new(Object::managed(value, managed, self.revision));
        let history = self.history;
        let previous = self.collection(collection).remove(key, &object, history);
        self.owners.record(collection, key, previous.as_deref(), None);
        Some(object)
    }

    /// Places an object that was written elsewhere, without an event: how a new server gets what every server has.
    pub fn seed(&mut self, collection: &CollectionId, key: Key, object: Arc<Object>) {
        self.revision = self.revision.max(object.revision());
        self.owners.record(collection, &key, None, Some(&object));
        self.collection(collection).seed(key, object);
    }

    /// The objects that name `uid` in an owner reference.
    pub fn dependents(&self, uid: &str) -> Vec<(CollectionId, Key)> {
        self.owners.dependents(uid)
    }

    /// Opens a queue of the changes in `scope`: first those after `since` (or none, if it is absent), then every later one.
    ///
    /// # Errors
    /// `Compacted` if changes after `since` are no longer kept.
    pub fn subscribe(
        &mut self,
        collection: &CollectionId,
        scope: Scope,
        since: Option<u64>,
        watcher: &str,
    ) -> Result<Subscription, Compacted> {
        self.collection(collection).subscribe(scope, since, watcher)
    }

    /// Ends the watches for which `matches(watcher, collection)` holds.
    pub fn cut(&mut self, matches: impl Fn(&str, &CollectionId) -> bool) {
        for (id, collection) in &mut self.collections {
            collection.cut(|watcher| matches(watcher, id));
        }
    }

    /// Forgets all kept changes: watches that resume from an earlier revision get `Compacted`.
    pub fn compact(&mut self) {
        let revision = self.revision;
        for collection in self.collections.values_mut() {
            collection.compact(revision);
        }
    }

    fn collection(&mut self, id: &CollectionId) -> &mut Collection {
        self.collections.entry(id.clone()).or_default()
    }
}

fn stamp(value: &mut Value, revision: u64) {
    value["metadata"]["resourceVersion"] = Value::String(revision.to_string());
}
