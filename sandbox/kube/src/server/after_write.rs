//! What a real cluster's controllers do a moment after a write, done at once: definitions are served, objects whose last
//! finalizer went are removed, dependents of what is gone are collected, and namespaces end.

use std::sync::Arc;

use super::definitions::TakenNames;
use super::state::State;
use super::{ServedKind, definitions};
use crate::apply::{self, Live, Manager, ResetFields};
use crate::schema::builtin;
use crate::store::{Key, Object, Scope};

impl State {
    /// Follows up the write of one object.
    pub(super) fn after_write(&mut self, kind: &ServedKind, key: &Key) {
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

    /// Gives a definition its names and serves its kinds, and says so in its status.
    pub(super) fn serve_definition(&mut self, kind: &ServedKind, key: &Key, object: &Object) {
        let mut definition = object.value().clone();
        let now = self.now();
        let is_served = definitions::establish(&mut definition, &self.taken_names(object), &now);
        if is_served && definitions::register(Arc::make_mut(&mut self.registry), &definition).is_err() {
            return;
        }
        if definition == *object.value() {
            return;
        }
        let mut managed = object.managed_fields().clone();
        if let Some(schema) = kind.schema() {
            let before = builtin::complete_empty(&kind.group_version_kind(), object);
            let manager = Manager {
                name: "kube-apiserver",
                api_version: &kind.api_version(),
                subresource: Some("status"),
                time: &now,
            };
            let reset = ResetFields::built_in_status();
            let live = Live {
                object: &before,
                managed: object.managed_fields(),
            };
            managed = apply::record_update(schema.node(), live, &definition, None, &manager, &reset);
        }
        self.store.put(&kind.collection, key, definition, managed);
    }

    /// The names that the other definitions of the group have.
    fn taken_names(&self, definition: &Object) -> TakenNames {
        let mut taken = TakenNames::default();
        for other in self.store.objects(&definitions::collection(), &Scope::Everything) {
            if other.name() != definition.name() && other["spec"]["group"] == definition["spec"]["group"] {
                taken.add(&other);
            }
        }
        taken
    }

    /// Looks again at the definitions of a group of which one is gone: another may have its names now.
    pub(super) fn accept_names_again(&mut self, group: &str) {
        let collection = definitions::collection();
        let Ok(kind) = self
            .registry
            .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            .map(Arc::clone)
        else {
            return;
        };
        for other in self.store.objects(&collection, &Scope::Everything) {
            if other["spec"]["group"] == group && !other.is_deleting() {
                self.serve_definition(&kind, &other.key(), &other);
            }
        }
    }
}
