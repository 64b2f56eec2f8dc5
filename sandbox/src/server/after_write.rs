//! What a real cluster's controllers do a moment after a write, done at once: definitions are served, objects whose last
//! finalizer went are removed, dependents of what is gone are collected, and namespaces end.

use std::sync::Arc;

use super::state::State;
use super::{KindType, definitions};
use crate::store::{Key, Object};

impl State {
    /// Follows up the write of one object.
    pub(super) fn after_write(&mut self, kind: &KindType, key: &Key) {
        let Some(object) = self.store.get(&kind.collection, key).map(Arc::clone) else {
            return;
        };
        if kind.collection == definitions::collection() {
            self.serve_definition(kind, key, &object);
        }
        if object.is_deleting() {
            self.go_on_deleting(kind, key);
            return;
        }
        if self.has_only_lost_owners(&object) {
            self.begin_deletion(kind, key, None, None);
        }
    }

    fn serve_definition(&mut self, kind: &KindType, key: &Key, object: &Object) {
        let mut definition = object.value().clone();
        if definitions::register(Arc::make_mut(&mut self.registry), &definition).is_err() {
            return;
        }
        let now = self.now();
        if definitions::establish(&mut definition, &now) {
            self.store.put(&kind.collection, key, definition);
        }
    }
}
