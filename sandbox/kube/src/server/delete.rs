//! Deleting: preconditions, finalizers, grace periods and propagation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::state::State;
use super::{
    Call, DeleteOptions, Deletion, List, ListOptions, Propagation, ServedKind, Status, conversion,
    definitions, metadata,
};
use crate::store::{Key, Object};

/// Keeps an owner until its dependents are gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Keeps an owner until its dependents have forgotten it.
pub(super) const ORPHAN: &str = "orphan";

impl State {
    pub(super) fn delete(&mut self, call: &Call, options: &DeleteOptions) -> Result<Deletion, Status> {
        if call.subresource.is_some() {
            return Err(Status::method_not_allowed());
        }
        let live = Arc::clone(self.live(call)?);
        check_preconditions(call, &live, options)?;
        if call.kind.is("", "Namespace")
            && matches!(call.name.as_str(), "default" | "kube-system" | "kube-public")
        {
            let why = "this namespace may not be deleted";
            return Err(Status::forbidden(&call.kind, &call.name, why));
        }
        if options.dry_run {
            return Ok(self.dry_run(call, &live, options));
        }
        let leaves_dependents = call.kind.is("batch", "Job");
        let propagation = options
            .propagation
            .or(leaves_dependents.then_some(Propagation::Orphan));
        let begun = self.begin_deletion(&call.kind, &call.key(), propagation, options.grace_period);
        Ok(match begun {
            Some(Deletion::Pending(waiting)) => {
                Deletion::Pending(conversion::presented(&call.kind, &waiting))
            }
            Some(Deletion::Gone(last)) if call.kind.is("", "Pod") => {
                let mut value = last.value().clone();
                if !last.is_deleting() {
                    metadata::count_generation(&mut value);
                }
                let fields = metadata::of(&mut value);
                fields.insert("deletionTimestamp".to_owned(), self.now().into());
                fields.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
                let managed = last.managed_fields().clone();
                Deletion::Gone(Arc::new(Object::managed(value, managed, last.revision())))
            }
            Some(Deletion::Gone(last)) => Deletion::Gone(self.presented(&call.kind, &last)),
            None => Deletion::Gone(self.presented(&call.kind, &live)),
        })
    }

    /// What a deletion would answer.
    fn dry_run(&self, call: &Call, live: &Arc<Object>, options: &DeleteOptions) -> Deletion {
        let mut value = live.value().clone();
        let grace = grace_of(&call.kind, live, options.grace_period);
        keep_for(&mut value, options.propagation);
        if !waits(&call.kind, &value, grace) {
            return Deletion::Gone(self.presented(&call.kind, live));
        }
        self.mark(&call.kind, &mut value, grace);
        let managed = live.managed_fields().clone();
        let marked = Arc::new(Object::managed(value, managed, live.revision()));
        Deletion::Pending(self.presented(&call.kind, &marked))
    }

    pub(super) fn delete_collection(
        &mut self,
        call: &Call,
        list: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<List, Status> {
        let selected = self.list(call, list)?;
        for object in &selected.items {
            let one = Call::on_object(call.identity.clone(), Arc::clone(&call.kind), &object.key());
            match self.delete(&one, options) {
                Ok(_) => {}
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        Ok(selected)
    }

    /// Marks an object for deletion, or removes it if nothing keeps it. Returns it as it was marked, even if what kept it
    /// is over at once, or its last version.
    pub(super) fn begin_deletion(
        &mut self,
        kind: &ServedKind,
        key: &Key,
        propagation: Option<Propagation>,
        grace_period: Option<i64>,
    ) -> Option<Deletion> {
        let live = self.store.get(&kind.collection, key).map(Arc::clone)?;
        let mut value = live.value().clone();
        let grace = grace_of(kind, &live, grace_period);
        keep_for(&mut value, propagation);
        if !waits(kind, &value, grace) {
            return self.remove(kind, key).map(Deletion::Gone);
        }
        self.mark(kind, &mut value, grace);
        let marked = if value == *live.value() {
            live
        } else {
            self.store.amend(&kind.collection, key, value)
        };
        self.go_on_deleting(kind, key);
        Some(Deletion::Pending(marked))
    }

    /// Sets the time of the deletion; a shorter grace period than before counts.
    fn mark(&self, kind: &ServedKind, value: &mut Value, grace: i64) {
        let before = value["metadata"]["deletionGracePeriodSeconds"].as_i64();
        if value["metadata"]["deletionTimestamp"].is_string() && before.is_none_or(|before| before <= grace) {
            return;
        }
        let first = value["metadata"]["deletionTimestamp"].is_null();
        let at = self.timestamp() + jiff::SignedDuration::from_secs(grace);
        let fields = metadata::of(value);
        fields.insert("deletionTimestamp".to_owned(), metadata::time(at).into());
        let is_definition = kind.collection == definitions::collection();
        if !is_definition && !kind.is("", "Namespace") {
            fields.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
        }
        if is_definition {
            let kept = fields.entry("finalizers").or_insert_with(|| json!([]));
            if let Some(kept) = kept.as_array_mut()
                && !kept.iter().any(|known| known == definitions::CLEANUP)
            {
                kept.push(definitions::CLEANUP.into());
            }
        }
        if is_definition && let Some(conditions) = value["status"]["conditions"].as_array_mut() {
            conditions.push(json!({
                "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending",
                "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
                "lastTransitionTime": self.now(),
            }));
        }
        if kind.generation && first && kind.collection != definitions::collection() {
            metadata::count_generation(value);
        }
        if kind.is("", "Namespace") {
            value["status"]["phase"] = json!("Terminating");
        }
    }

    /// Does what the finalizers of the server itself wait for, and removes the object when nothing keeps it any longer.
    pub(super) fn go_on_deleting(&mut self, kind: &ServedKind, key: &Key) {
        let Some(live) = self.store.get(&kind.collection, key).map(Arc::clone) else {
            return;
        };
        if !live.is_deleting() {
            return;
        }
        if kind.is("", "Namespace") {
            self.empty_namespace(key);
        }
        if live.has_finalizer(definitions::CLEANUP) {
            self.empty_definition(&live);
        }
        if live.has_finalizer(ORPHAN) {
            self.release_dependents(&live);
            self.drop_finalizer(kind, key, ORPHAN);
        }
        if live.has_finalizer(FOREGROUND) && !self.delete_blocking_dependents(&live) {
            self.drop_finalizer(kind, key, FOREGROUND);
        }
        let Some(live) = self.store.get(&kind.collection, key).map(Arc::clone) else {
            return;
        };
        let grace = live["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(0);
        let namespace_is_kept = kind.is("", "Namespace")
            && live["spec"]["finalizers"]
                .as_array()
                .is_some_and(|kept| !kept.is_empty());
        if crate::store::finalizers(&live).next().is_none() && grace == 0 && !namespace_is_kept {
            self.remove(kind, key);
        }
    }

    /// Takes an object out of the store, and whatever depends on that.
    pub(super) fn remove(&mut self, kind: &ServedKind, key: &Key) -> Option<Arc<Object>> {
        let last = self.store.remove(&kind.collection, key)?;
        if kind.collection == definitions::collection() {
            let names = &last["spec"];
            let resource = crate::store::CollectionId::new(
                names["group"].as_str().unwrap_or_default(),
                names["names"]["plural"].as_str().unwrap_or_default(),
            );
            Arc::make_mut(&mut self.registry).remove_resource(&resource);
            self.accept_names_again(names["group"].as_str().unwrap_or_default());
        }
        self.collect_dependents(&last);
        self.after_removal(kind, key, &last);
        Some(last)
    }

    pub(super) fn drop_finalizer(&mut self, kind: &ServedKind, key: &Key, finalizer: &str) {
        let Some(live) = self.store.get(&kind.collection, key) else {
            return;
        };
        let mut value = live.value().clone();
        if let Some(finalizers) = value["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|known| known != finalizer);
            if finalizers.is_empty() {
                let grace = value["metadata"]["deletionGracePeriodSeconds"].as_i64();
                if value["metadata"]["deletionTimestamp"].is_string() && grace.unwrap_or(0) == 0 {
                    self.remove(kind, key);
                    return;
                }
                metadata::of(&mut value).remove("finalizers");
            }
            self.store.amend(&kind.collection, key, value);
        }
    }
}

/// Whether an object is marked first, and goes later.
fn waits(kind: &ServedKind, value: &Value, grace: i64) -> bool {
    grace > 0
        || crate::store::finalizers(value).next().is_some()
        || kind.is("", "Namespace")
        || kind.collection == definitions::collection()
}

/// Seconds that an object gets to end: only pods that run somewhere have any.
fn grace_of(kind: &ServedKind, live: &Object, asked: Option<i64>) -> i64 {
    if !kind.is("", "Pod") || live["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() {
        return 0;
    }
    if matches!(live["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return 0;
    }
    let own = live["spec"]["terminationGracePeriodSeconds"]
        .as_i64()
        .unwrap_or(30);
    asked.unwrap_or(own).max(0)
}

fn keep_for(value: &mut Value, propagation: Option<Propagation>) {
    let finalizer = match propagation {
        Some(Propagation::Orphan) => ORPHAN,
        Some(Propagation::Foreground) => FOREGROUND,
        Some(Propagation::Background) | None => return,
    };
    let finalizers = metadata::of(value)
        .entry("finalizers")
        .or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|known| known == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}

fn check_preconditions(call: &Call, live: &Object, options: &DeleteOptions) -> Result<(), Status> {
    // Here the real server names the kind, not the resource.
    let refused = |what: &str, asked: &str, present: &str, perhaps: &str| {
        let why = format!(
            "Operation cannot be fulfilled on {} \"{}\": the {what} in the precondition ({asked}) does not match the {what} \
             in record ({present}). The object might have been {perhaps}",
            call.kind.kind, call.name
        );
        let mut status = Status::conflict(&call.kind, &call.name, "");
        status.message = why;
        if let Some(details) = &mut status.details {
            details.kind.clone_from(&call.kind.kind);
        }
        Err(status)
    };
    match (&options.uid, &options.resource_version) {
        (Some(uid), _) if uid != live.uid() => refused("UID", uid, live.uid(), "deleted and then recreated"),
        (_, Some(version)) if version != live.resource_version() => {
            refused("ResourceVersion", version, live.resource_version(), "modified")
        }
        _ => Ok(()),
    }
}
