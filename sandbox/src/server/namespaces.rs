//! Namespaces: those every cluster has, and what happens to the content of one that is deleted.

use std::sync::Arc;

use serde_json::{Value, json};

use super::state::State;
use super::{KindType, definitions, metadata};
use crate::store::{CollectionId, Key, Object, Scope};

/// The namespaces of every cluster.
const SEEDED: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

fn collection() -> CollectionId {
    CollectionId::new("", "namespaces")
}

impl State {
    /// Makes the namespaces that every cluster has.
    pub(super) fn seed_namespaces(&mut self) {
        let now = self.now();
        for name in SEEDED {
            let mut namespace = json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            let uid = self.new_uid();
            metadata::stamp_new(&mut namespace, &uid, &now, false);
            self.store.put(&collection(), &Key::cluster(name), namespace);
        }
    }

    /// Deletes everything in a namespace that is ending; when nothing is left, nothing keeps it any longer.
    pub(super) fn empty_namespace(&mut self, key: &Key) {
        let scope = Scope::Namespace(key.name.clone());
        let mut left = false;
        for kind in self.stored_kinds().into_iter().filter(|kind| kind.namespaced) {
            for object in self.store.objects(&kind.collection, &scope) {
                let key = object.key();
                if !object.is_deleting() {
                    self.begin_deletion(&kind, &key, None, Some(0));
                }
            }
            left |= !self.store.objects(&kind.collection, &scope).is_empty();
        }
        if left {
            return;
        }
        if let Some(live) = self.store.get(&collection(), key)
            && live["spec"]["finalizers"]
                .as_array()
                .is_some_and(|kept| !kept.is_empty())
        {
            let mut value = live.value().clone();
            value["spec"]["finalizers"]
                .as_array_mut()
                .into_iter()
                .for_each(|kept| kept.retain(|finalizer| finalizer != "kubernetes"));
            if value["spec"]["finalizers"] == json!([]) {
                value["spec"] = json!({});
            }
            self.store.put(&collection(), key, value);
        }
    }

    /// Deletes the objects of a definition that is being deleted; when none is left it may go.
    pub(super) fn empty_definition(&mut self, definition: &Object) {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let resource = CollectionId::new(&text(&spec["group"]), &text(&spec["names"]["plural"]));
        if let Some(kind) = self.registry.storage_of(&resource).map(Arc::clone) {
            for object in self.store.objects(&resource, &Scope::Everything) {
                self.begin_deletion(&kind, &object.key(), None, None);
            }
        }
        if self.store.count(&resource) == 0
            && let Ok(kind) = self.definition_kind()
        {
            self.drop_finalizer(&kind, &definition.key(), definitions::CLEANUP);
        }
    }

    /// Goes on with what waited for the removal of an object: its namespace, its definition, its owners.
    pub(super) fn after_removal(&mut self, kind: &KindType, key: &Key, last: &Object) {
        self.go_on_with_owners(last);
        if let Some(namespace) = &key.namespace {
            let namespace = Key::cluster(namespace.as_str());
            let is_ending = self
                .store
                .get(&collection(), &namespace)
                .is_some_and(|namespace| namespace.is_deleting());
            if is_ending && let Ok(kind) = self.registry.find("", "v1", "namespaces").map(Arc::clone) {
                self.go_on_deleting(&kind, &namespace);
            }
        }
        if kind.origin == super::Origin::Custom && self.store.count(&kind.collection) == 0 {
            let definition = Key::cluster(kind.resource.as_str());
            if let Ok(kind) = self.definition_kind() {
                self.go_on_deleting(&kind, &definition);
            }
        }
    }

    fn definition_kind(&self) -> Result<Arc<KindType>, super::Status> {
        self.registry
            .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            .map(Arc::clone)
    }

    /// The kinds that have objects, each in the version in which they are stored.
    fn stored_kinds(&self) -> Vec<Arc<KindType>> {
        let inhabited: Vec<CollectionId> = self.store.inhabited().cloned().collect();
        inhabited
            .iter()
            .filter_map(|collection| self.registry.storage_of(collection).map(Arc::clone))
            .collect()
    }
}
