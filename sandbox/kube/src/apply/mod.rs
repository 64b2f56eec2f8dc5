//! Server-side apply: managed fields, conflicts, merge by schema; and the strategic merge patch.
//!
//! The rules are those of `structured-merge-diff` and of `managedfields` in Kubernetes' apimachinery, over JSON values and
//! with one schema a kind (versions of a kind differ in their name only: conversion `None`).

mod error;
mod field_path;
mod managed;
mod merge;
mod path_set;
mod reset;
mod shape;
mod strategic;
#[cfg(test)]
mod tests;
mod typed;

pub use error::{ApplyError, Conflict};
pub use field_path::display;
pub use managed::{ManagedFields, take_managed_fields};
pub use path_set::PathSet;
pub use reset::ResetFields;
pub use strategic::strategic_merge;

use crate::schema::Node;
use managed::{Operation, Owned, Owner};
use merge::Comparison;
use serde_json::{Value, json};
use std::sync::Arc;
use typed::Scope;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who writes, through which version and endpoint, and when.
#[derive(Clone, Copy, Debug)]
pub struct Manager<'a> {
    /// The field manager's name.
    pub name: &'a str,
    /// The group and version of the request, as `apps/v1`.
    pub api_version: &'a str,
    /// The endpoint, as `status`; none for the object itself.
    pub subresource: Option<&'a str>,
    /// Now, in RFC 3339 to the second.
    pub time: &'a str,
}

impl Manager<'_> {
    fn owner(&self, operation: Operation) -> Owner {
        Owner {
            manager: self.name.to_owned(),
            operation,
            version: (operation == Operation::Update).then(|| self.api_version.to_owned()),
            subresource: self.subresource.unwrap_or_default().to_owned(),
        }
    }
}

/// An object as it is without `metadata.managedFields`, and those.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// The object; `{apiVersion, kind}` when there is none yet.
    pub object: &'a Value,
    /// Who manages which of its fields.
    pub managed: &'a ManagedFields,
}

/// Applies `applied` to `live` and returns the merged object and who manages its fields.
///
/// The result is not defaulted, pruned or validated, and fields that the endpoint resets may differ from the live ones: that is
/// the caller's next step, as for any write.
///
/// # Errors
/// Conflicts with other managers unless `force`; an object that does not fit the schema.
pub fn apply(
    node: &Node,
    live: Live<'_>,
    applied: &Value,
    manager: &Manager<'_>,
    force: bool,
    reset: &ResetFields,
) -> Result<(Value, ManagedFields), ApplyError> {
    refuse_managed_fields(applied)?;
    let managed = if live.managed.is_empty() {
        owned_before_first_apply(node, live.object, manager, reset)?
    } else {
        live.managed.clone()
    };
    let request = Request {
        node,
        live: live.object,
        applied,
        manager,
        reset,
    };
    let (mut object, managed) = match request.apply(managed.clone(), force) {
        Err(ApplyError::Conflicts(conflicts)) if manager.name == "kubectl" => {
            request.after_client_side_apply(managed, conflicts)?
        }
        other => other?,
    };
    if manager.name == "kubectl" {
        refresh_last_applied(&mut object, applied);
    }
    Ok((object, managed))
}

fn refuse_managed_fields(applied: &Value) -> Result<(), ApplyError> {
    if applied["metadata"]["managedFields"].is_null() {
        return Ok(());
    }
    Err(ApplyError::BadRequest(
        "metadata.managedFields must be nil".to_owned(),
    ))
}

fn owned_before_first_apply(
    node: &Node,
    live: &Value,
    manager: &Manager<'_>,
    reset: &ResetFields,
) -> Result<ManagedFields, ApplyError> {
    let empty = json!({"apiVersion": live["apiVersion"], "kind": live["kind"]});
    let before = Manager {
        name: "before-first-apply",
        ..*manager
    };
    let comparison = compared(node, &empty, live, reset).map_err(ApplyError::Internal)?;
    Ok(updated(&comparison, ManagedFields::default(), &before))
}

/// Who manages what once an object is created, updated or patched in any other way than by apply.
///
/// `live` has no uid on creation. `sent` is what the request says of `metadata.managedFields`: it counts where the request may
/// set them.
pub fn record_update(
    node: &Node,
    live: Live<'_>,
    new: &Value,
    sent: Option<&Value>,
    manager: &Manager<'_>,
    reset: &ResetFields,
) -> ManagedFields {
    let managed = match sent.filter(|_| manager.subresource.is_none()) {
        Some(sent) if managed::asks_to_forget(sent) => ManagedFields::default(),
        Some(sent) => ManagedFields::decode(sent)
            .filter(|managed| !managed.is_empty())
            .unwrap_or_else(|| live.managed.clone()),
        None => live.managed.clone(),
    };
    let is_creation = live.object["metadata"]["uid"].as_str().is_none_or(str::is_empty);
    if managed.is_empty() && !is_creation {
        return managed;
    }
    match compared(node, live.object, new, reset) {
        Ok(comparison) => updated(&comparison, managed, manager),
        Err(_) => ManagedFields::default(),
    }
}

fn typed(node: &Node, object: &Value, what: &str, scope: &Scope) -> Result<(), String> {
    typed::check(node, object, scope)
        .map_err(|error| format!("failed to {what} ({}): {error}", identity(object)))
}

fn identity(object: &Value) -> String {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group_is_empty = !api_version.contains('/');
    let slash = if group_is_empty { "/" } else { "" };
    let kind = object["kind"].as_str().unwrap_or_default();
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    format!(
        "{namespace}/{}; {slash}{api_version}, Kind={kind}",
        metadata["name"].as_str().unwrap_or_default()
    )
}

/// How an update that turned `live` into `new` changed it, but for what the endpoint resets.
fn compared(node: &Node, live: &Value, new: &Value, reset: &ResetFields) -> Result<Comparison, String> {
    let scope = Scope {
        duplicates_allowed: true,
        reset: *reset,
    };
    typed(node, new, "convert new object to smd typed", &scope)?;
    typed(node, live, "convert live object to smd typed", &scope)?;
    Ok(Comparison::of(node, live, new, reset))
}

/// The owners after an update.
fn updated(comparison: &Comparison, mut managed: ManagedFields, manager: &Manager<'_>) -> ManagedFields {
    let touched = comparison.modified.union(&comparison.added);
    let changed = reset::without_identity(&touched);
    let own = manager.owner(Operation::Update);
    // A controller's next status changes values of fields that it has already: it keeps them all.
    let only_values = comparison.removed.is_empty() && changed == touched;
    let mut taken = touched;
    taken.absorb(&comparison.removed);
    let loses = |owner: &Owner, owned: &Owned| {
        let keeps = only_values && *owner == own && owned.fields.covers(&changed);
        !keeps && owned.fields.overlaps(&taken)
    };
    if managed.entries().iter().any(|(owner, owned)| loses(owner, owned)) {
        let entries = managed.entries_mut();
        for (_, owned) in entries.iter_mut().filter(|(owner, owned)| loses(owner, owned)) {
            owned.fields = Arc::new(owned.fields.difference(&taken));
        }
        entries.retain(|_, owned| !owned.fields.is_empty());
    }
    if !changed.is_empty() {
        let owned = managed.entries_mut().entry(own).or_insert_with(|| Owned {
            fields: Arc::default(),
            version: String::new(),
            time: None,
        });
        if !owned.fields.covers(&changed) {
            Arc::make_mut(&mut owned.fields).absorb(&changed);
        }
        manager.api_version.clone_into(&mut owned.version);
        owned.time = Some(manager.time.to_owned());
    }
    managed.cap_updaters();
    managed
}

/// One apply.
struct Request<'r> {
    node: &'r Node,
    live: &'r Value,
    applied: &'r Value,
    manager: &'r Manager<'r>,
    reset: &'r ResetFields,
}

impl Request<'_> {
    fn apply(&self, mut managed: ManagedFields, force: bool) -> Result<(Value, ManagedFields), ApplyError> {
        typed(self.node, self.applied, "create typed patch object", &Scope::SENT)
            .map_err(ApplyError::Internal)?;
        typed(self.node, self.live, "create typed live object", &Scope::STORED)
            .map_err(ApplyError::Internal)?;
        let merged = merge::merged(self.node, self.live, self.applied);
        let owner = self.manager.owner(Operation::Apply);
        let last = managed.entries().get(&owner).cloned();
        let fields = typed::paths(self.node, self.applied).recursive_difference(&self.reset.paths());
        let version = self.manager.api_version.to_owned();
        let time = last.as_ref().and_then(|last| last.time.clone());
        managed.entries_mut().insert(
            owner.clone(),
            Owned {
                fields: Arc::new(fields),
                version,
                time,
            },
        );
        let object = match last {
            Some(last) if !self.still_named(&managed, &owner, &last.fields) => {
                self.pruned(&merged, &managed, &last.fields)
            }
            Some(_) | None => merged,
        };
        self.settle_conflicts(&mut managed, &owner, &object, force)?;
        let changed = !merge::same(self.live, &object);
        let entries = managed.entries_mut();
        if let Some(owned) = entries.get_mut(&owner) {
            owned.fields = Arc::new(reset::without_identity(&owned.fields));
            if owned.fields.is_empty() {
                entries.remove(&owner);
            } else if changed {
                owned.time = Some(self.manager.time.to_owned());
            }
        }
        Ok((object, managed))
    }

    /// Whether this manager applies all that it applied last time: then there is nothing to take out, which is so for nearly all
    /// applies.
    fn still_named(&self, managed: &ManagedFields, owner: &Owner, last: &PathSet) -> bool {
        let named = |set: &PathSet| typed::with_named_fields(self.node, set);
        let applied = managed.entries().get(owner).map(|owned| named(&owned.fields));
        applied.is_some_and(|applied| applied.covers(&named(last)))
    }

    /// Takes out what this manager applied last time, no longer applies, and nobody else owns.
    fn pruned(&self, merged: &Value, managed: &ManagedFields, last: &PathSet) -> Value {
        let node = self.node;
        let named = |set: &PathSet| typed::with_named_fields(node, set);
        let last = named(last);
        let pruned = typed::remove(node, merged, &last);
        let owned = managed
            .entries()
            .values()
            .fold(PathSet::default(), |all, owned| all.union(&owned.fields));
        let merged_paths = named(&typed::paths(node, merged));
        let kept = named(&typed::paths(node, &pruned)).union(&named(&owned));
        let pruned = typed::remove(node, merged, &merged_paths.difference(&kept));
        let pruned_paths = named(&typed::paths(node, &pruned));
        typed::remove(
            node,
            merged,
            &merged_paths.difference(&pruned_paths).intersection(&last),
        )
    }

    fn settle_conflicts(
        &self,
        managed: &mut ManagedFields,
        owner: &Owner,
        object: &Value,
        force: bool,
    ) -> Result<(), ApplyError> {
        if managed.entries().keys().all(|other| other == owner) {
            return Ok(());
        }
        let comparison = Comparison::of(self.node, self.live, object, self.reset);
        let changed = comparison.modified.union(&comparison.added);
        let mut conflicts = Vec::new();
        let entries = managed.entries_mut();
        for (other, owned) in entries.iter_mut().filter(|(other, _)| *other != owner) {
            if !owned.fields.overlaps(&changed) && !owned.fields.overlaps(&comparison.removed) {
                continue;
            }
            let disputed = owned.fields.intersection(&changed);
            conflicts.extend(disputed.paths().into_iter().map(|path| Conflict {
                manager: other.display(),
                path,
            }));
            let left = owned.fields.difference(&disputed).difference(&comparison.removed);
            owned.fields = Arc::new(left);
        }
        if !force && !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
        entries.retain(|_, owned| !owned.fields.is_empty());
        Ok(())
    }

    /// kubectl takes over without asking what it wrote itself by client-side apply.
    fn after_client_side_apply(
        &self,
        managed: ManagedFields,
        conflicts: Vec<Conflict>,
    ) -> Result<(Value, ManagedFields), ApplyError> {
        let Some(own) = self.last_applied_paths() else {
            return Err(ApplyError::Conflicts(conflicts));
        };
        let others: Vec<Conflict> = conflicts
            .into_iter()
            .filter(|conflict| !own.has(&conflict.path))
            .collect();
        if others.is_empty() {
            return self.apply(managed, true);
        }
        Err(ApplyError::Conflicts(others))
    }

    fn last_applied_paths(&self) -> Option<PathSet> {
        let text = self.live["metadata"]["annotations"][LAST_APPLIED].as_str()?;
        let last: Value = serde_json::from_str(text).ok()?;
        if last["apiVersion"] != self.live["apiVersion"]
            || typed::check(self.node, &last, &Scope::STORED).is_err()
        {
            return None;
        }
        let comparison = Comparison::of(self.node, &last, self.live, &ResetFields::none());
        let changed = comparison
            .modified
            .union(&comparison.added)
            .union(&comparison.removed);
        Some(typed::paths(self.node, &last).difference(&changed))
    }
}

/// Keeps client-side apply's annotation up to date when kubectl applies on the server.
fn refresh_last_applied(object: &mut Value, applied: &Value) {
    let Some(annotation) = object["metadata"]["annotations"].get_mut(LAST_APPLIED) else {
        return;
    };
    if annotation.as_str().is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied["metadata"]["annotations"].as_object_mut() {
        annotations.remove(LAST_APPLIED);
    }
    *annotation = Value::String(format!("{applied}\n"));
}
