//! Namespaces: those every cluster has, and what happens to the content of one that is deleted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::state::State;
use super::{Call, ServedKind, Status, WriteOptions, Written, definitions, metadata};
use crate::store::{CollectionId, Key, Object, Scope, finalizers};

/// The namespaces of every cluster.
const SEEDED: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

fn collection() -> CollectionId {
    CollectionId::new("", "namespaces")
}

/// What is left of the content of a namespace that ends: objects by resource and by finalizer.
#[derive(Default)]
struct Remaining {
    resources: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

impl Remaining {
    fn count(&mut self, kind: &ServedKind, object: &Object) {
        let resource = format!("{}.{}", kind.plural, kind.group);
        *self.resources.entry(resource).or_default() += 1;
        for finalizer in finalizers(object) {
            *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
    }

    fn conditions(&self, now: &str) -> Value {
        let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
            json!({
                "type": kind, "status": if holds { "True" } else { "False" }, "reason": reason,
                "message": message, "lastTransitionTime": now,
            })
        };
        let content = "All content successfully deleted, may be waiting on finalization";
        let resources = format!(
            "Some resources are remaining: {}",
            counted(&self.resources, "has")
        );
        let waiting = counted(&self.finalizers, "in");
        let waiting = format!("Some content in the namespace has finalizers remaining: {waiting}");
        json!([
            condition(
                "NamespaceDeletionDiscoveryFailure",
                false,
                "ResourcesDiscovered",
                "All resources successfully discovered"
            ),
            condition(
                "NamespaceDeletionGroupVersionParsingFailure",
                false,
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed"
            ),
            condition(
                "NamespaceDeletionContentFailure",
                false,
                "ContentDeleted",
                content
            ),
            if self.resources.is_empty() {
                let why = "All content successfully removed";
                condition("NamespaceContentRemaining", false, "ContentRemoved", why)
            } else {
                condition(
                    "NamespaceContentRemaining",
                    true,
                    "SomeResourcesRemain",
                    &resources,
                )
            },
            if self.finalizers.is_empty() {
                let why = "All content-preserving finalizers finished";
                condition(
                    "NamespaceFinalizersRemaining",
                    false,
                    "ContentHasNoFinalizers",
                    why,
                )
            } else {
                condition(
                    "NamespaceFinalizersRemaining",
                    true,
                    "SomeFinalizersRemain",
                    &waiting,
                )
            },
        ])
    }
}

fn counted(counts: &BTreeMap<String, usize>, what: &str) -> String {
    let parts: Vec<String> = counts
        .iter()
        .map(|(name, count)| format!("{name} {what} {count} resource instances"))
        .collect();
    parts.join(", ")
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
            self.store.amend(&collection(), &Key::cluster(name), namespace);
        }
    }

    /// Replaces what keeps a namespace (`/finalize`), and continues with its end if it has begun.
    pub(super) fn finalize(
        &mut self,
        call: &Call,
        live: &Arc<Object>,
        body: &Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let mut value = live.value().clone();
        value["spec"] = match body["spec"]["finalizers"].as_array() {
            Some(kept) if !kept.is_empty() => json!({"finalizers": kept}),
            _ => json!({}),
        };
        let managed = live.managed_fields().clone();
        let written = self.write(&call.kind, &call.key(), value, managed, options.dry_run)?;
        if !options.dry_run {
            self.go_on_deleting(&call.kind, &call.key());
        }
        Ok(Written {
            object: written,
            created: false,
            warnings: Vec::new(),
        })
    }

    /// Says in a namespace's status what its end waits for.
    fn tell_remaining(&mut self, key: &Key) {
        let scope = Scope::Namespace(key.name.clone());
        let mut left = Remaining::default();
        for kind in self.stored_kinds().into_iter().filter(|kind| kind.namespaced) {
            for object in self.store.objects(&kind.collection, &scope) {
                left.count(&kind, &object);
            }
        }
        let now = self.now();
        let Some(live) = self.store.get(&collection(), key) else {
            return;
        };
        let mut value = live.value().clone();
        let reported = |value: &Value| -> Vec<(Value, Value)> {
            let conditions = value["status"]["conditions"].as_array().into_iter().flatten();
            conditions
                .map(|reported| (reported["type"].clone(), reported["message"].clone()))
                .collect()
        };
        let before = reported(&value);
        value["status"]["conditions"] = left.conditions(&now);
        if reported(&value) != before {
            self.store.amend(&collection(), key, value);
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
            return self.tell_remaining(key);
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
            let is_free = value["spec"]["finalizers"] == json!([]);
            if is_free {
                value["spec"] = json!({});
            }
            self.store.amend(&collection(), key, value);
            if !is_free {
                self.tell_remaining(key);
            }
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

    /// Continues with what waited for the removal of an object: its namespace, its definition, its owners.
    pub(super) fn after_removal(&mut self, kind: &ServedKind, key: &Key, last: &Object) {
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

    fn definition_kind(&self) -> Result<Arc<ServedKind>, super::Status> {
        self.registry
            .find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            .map(Arc::clone)
    }

    /// The kinds that have objects, each in the version in which they are stored.
    fn stored_kinds(&self) -> Vec<Arc<ServedKind>> {
        let non_empty_collections: Vec<CollectionId> = self.store.non_empty_collections().cloned().collect();
        non_empty_collections
            .iter()
            .filter_map(|collection| self.registry.storage_of(collection).map(Arc::clone))
            .collect()
    }
}
