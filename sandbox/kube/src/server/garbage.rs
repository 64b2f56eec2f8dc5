//! Garbage collection by owner references, as the controller manager does it.

use std::sync::Arc;

use serde_json::Value;

use super::metadata;
use super::state::State;
use super::{Propagation, ServedKind};
use crate::store::{CollectionId, Key, Object};

impl State {
    /// Deletes what has lost its last owner by the removal of `owner`; others forget it.
    pub(super) fn collect_dependents(&mut self, owner: &Object) {
        for (collection, key) in self.store.dependents(owner.uid()) {
            let Some((kind, dependent)) = self.stored(&collection, &key) else {
                continue;
            };
            if self.has_only_lost_owners(&dependent) {
                self.begin_deletion(&kind, &key, None, None);
            } else {
                self.forget_owner(&kind, &key, owner.uid());
            }
        }
    }

    /// Makes all dependents of `owner` forget it.
    pub(super) fn release_dependents(&mut self, owner: &Object) {
        for (collection, key) in self.store.dependents(owner.uid()) {
            if let Some((kind, _)) = self.stored(&collection, &key) {
                self.forget_owner(&kind, &key, owner.uid());
            }
        }
    }

    /// Begins to delete the dependents that block the deletion of `owner`. Returns whether any is left.
    pub(super) fn delete_blocking_dependents(&mut self, owner: &Object) -> bool {
        for (collection, key) in self.store.dependents(owner.uid()) {
            let Some((kind, dependent)) = self.stored(&collection, &key) else {
                continue;
            };
            if !dependent.is_deleting() {
                self.begin_deletion(&kind, &key, Some(Propagation::Foreground), None);
            }
        }
        let left = self.store.dependents(owner.uid());
        left.iter().any(|(collection, key)| {
            self.store
                .get(collection, key)
                .is_some_and(|dependent| blocks(dependent, owner.uid()))
        })
    }

    /// Whether an object names owners, and none of them is there.
    pub(super) fn has_only_lost_owners(&self, object: &Object) -> bool {
        let owners = owners(object);
        !owners.is_empty() && owners.iter().all(|owner| self.is_lost(object, owner))
    }

    fn is_lost(&self, object: &Object, owner: &Value) -> bool {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        let Some(kind) = self.registry.find_kind(text("apiVersion"), text("kind")) else {
            // A kind that is not served says nothing about its objects.
            return false;
        };
        let key = Key {
            namespace: object.namespace().filter(|_| kind.namespaced).map(str::to_owned),
            name: text("name").to_owned(),
        };
        self.store
            .get(&kind.collection, &key)
            .is_none_or(|live| live.uid() != text("uid"))
    }

    fn forget_owner(&mut self, kind: &ServedKind, key: &Key, uid: &str) {
        let Some(live) = self.store.get(&kind.collection, key) else {
            return;
        };
        let mut value = live.value().clone();
        if let Some(owners) = value["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|owner| owner["uid"] != uid);
            if owners.is_empty() {
                metadata::of(&mut value).remove("ownerReferences");
            }
            self.store.amend(&kind.collection, key, value);
        }
    }

    /// An object of a collection, with its kind in the version it is stored in.
    pub(super) fn stored(
        &self,
        collection: &CollectionId,
        key: &Key,
    ) -> Option<(Arc<ServedKind>, Arc<Object>)> {
        let kind = self.registry.storage_of(collection)?;
        let object = self.store.get(collection, key)?;
        Some((Arc::clone(kind), Arc::clone(object)))
    }

    /// Continues with owners that waited for an object that is gone now.
    pub(super) fn go_on_with_owners(&mut self, dependent: &Object) {
        for owner in owners(dependent) {
            let text = |field: &str| owner[field].as_str().unwrap_or_default();
            let Some(kind) = self
                .registry
                .find_kind(text("apiVersion"), text("kind"))
                .map(Arc::clone)
            else {
                continue;
            };
            let key = Key {
                namespace: dependent
                    .namespace()
                    .filter(|_| kind.namespaced)
                    .map(str::to_owned),
                name: text("name").to_owned(),
            };
            self.go_on_deleting(&kind, &key);
        }
    }
}

fn owners(object: &Object) -> &[Value] {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("ownerReferences"))
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn blocks(dependent: &Object, uid: &str) -> bool {
    owners(dependent)
        .iter()
        .any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
}
