//! Server-side apply: managed fields, conflicts, merge by schema; and the strategic merge patch.
//!
//! The rules are those of `structured-merge-diff` and of `managedfields` in Kubernetes' apimachinery, over JSON values and
//! with one schema a kind (versions of a kind differ in their name only: conversion `None`).

mod error;
mod field_path;
mod managed;
mod merge;
mod reset;
mod shape;
mod steady;
mod strategic;
#[cfg(test)]
mod tests;
mod typed;

pub use error::{ApplyError, Conflict};
pub use field_path::{Path, PathSet, Step, display};
pub use reset::ResetFields;
pub use strategic::{StrategicError, strategic_merge};

use crate::schema::Node;
use managed::{Managed, Operation, Owned, Owner};
use merge::Comparison;
use serde_json::{Map, Value, json};

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

/// Applies `applied` to `live` and returns the merged object with its managed fields.
///
/// `live` is `{apiVersion, kind}` when there is no object yet. The result is not defaulted, pruned or validated, and fields
/// that the endpoint resets may differ from the live ones: that is the caller's next step, as for any write.
///
/// # Errors
/// Conflicts with other managers unless `force`; an object that does not fit the schema.
pub fn apply(
    node: &Node,
    live: &Value,
    applied: &Value,
    manager: &Manager<'_>,
    force: bool,
    reset: &ResetFields,
) -> Result<Value, ApplyError> {
    refuse_managed_fields(applied)?;
    let mut managed = Managed::decode(live).ok_or(ApplyError::Undecodable)?;
    if managed.0.is_empty() {
        managed = owned_before_first_apply(node, live, manager, reset)?;
    }
    let request = Request {
        node,
        live,
        applied,
        manager,
        reset,
    };
    let (object, managed) = match request.apply(managed.clone(), force) {
        Err(ApplyError::Conflicts(conflicts)) if manager.name == "kubectl" => {
            request.after_client_side_apply(managed, conflicts)?
        }
        other => other?,
    };
    let mut object = object;
    if manager.name == "kubectl" {
        refresh_last_applied(&mut object, applied);
    }
    managed.write_to(&mut object);
    Ok(object)
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
) -> Result<Managed, ApplyError> {
    let empty = json!({"apiVersion": live["apiVersion"], "kind": live["kind"]});
    let before = Manager {
        name: "before-first-apply",
        ..*manager
    };
    let comparison = compared(node, &empty, live, reset).map_err(ApplyError::Internal)?;
    Ok(updated(&comparison, Managed::default(), &before, reset))
}

/// Records who changed what when an object is created, updated or patched in any other way than by apply.
///
/// `live` is an empty object on creation. Owners are taken from `new` where the request may set them, else from `live`.
pub fn record_update(node: &Node, live: &Value, new: &mut Value, manager: &Manager<'_>, reset: &ResetFields) {
    let compared = compared(node, live, new, reset);
    let own_to_set = manager.subresource.is_none() && !new["metadata"]["managedFields"].is_null();
    let known = live["metadata"]["managedFields"].as_array();
    if let (Ok(comparison), Some(known)) = (&compared, known)
        && let sends_known = new["metadata"]["managedFields"] == live["metadata"]["managedFields"]
        && (sends_known || !own_to_set)
        && let Some(changed) = comparison.changed_values(reset)
        && let Some(own) = steady::writers_entry(known, &changed, manager)
    {
        if !sends_known {
            managed::set(new, known.clone());
        }
        if let Some(entries) = new["metadata"]["managedFields"].as_array_mut() {
            steady::renew(entries, own, &changed, manager);
        }
        return;
    }
    let decoded = if manager.subresource.is_some() {
        Managed::decode(live)
    } else if managed::asks_to_forget(new) {
        None
    } else {
        Managed::decode(new)
            .filter(|managed| !managed.0.is_empty())
            .or_else(|| Managed::decode(live))
    };
    let managed = decoded.unwrap_or_default();
    managed::clear(new);
    let is_creation = live["metadata"]["uid"].as_str().is_none_or(str::is_empty);
    if managed.0.is_empty() && !is_creation {
        return;
    }
    if let Ok(comparison) = compared {
        updated(&comparison, managed, manager, reset).write_to(new);
    }
}

fn typed(node: &Node, object: &Value, what: &str, duplicates_allowed: bool) -> Result<(), String> {
    typed::check(node, object, duplicates_allowed)
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
    typed(node, new, "convert new object to smd typed", true)?;
    typed(node, live, "convert live object to smd typed", true)?;
    Ok(Comparison::of(node, live, new).without(reset.paths()))
}

/// The owners after an update.
fn updated(
    comparison: &Comparison,
    mut managed: Managed,
    manager: &Manager<'_>,
    reset: &ResetFields,
) -> Managed {
    let touched = comparison.modified.union(&comparison.added);
    let changed = reset::without_identity(&touched.recursive_difference(reset.paths()));
    let mut taken = touched;
    taken.absorb(&comparison.removed);
    let owner = manager.owner(Operation::Update);
    for owned in managed.0.values_mut() {
        if owned.fields.overlaps(&taken) {
            owned.fields = owned.fields.difference(&taken);
        }
    }
    managed.0.retain(|_, owned| !owned.fields.is_empty());
    if !changed.is_empty() {
        let owned = managed.0.entry(owner).or_insert_with(|| Owned {
            fields: PathSet::default(),
            version: String::new(),
            time: None,
        });
        if !owned.fields.covers(&changed) {
            owned.fields.absorb(&changed);
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
    fn apply(&self, mut managed: Managed, force: bool) -> Result<(Value, Managed), ApplyError> {
        typed(self.node, self.applied, "create typed patch object", false).map_err(ApplyError::Internal)?;
        typed(self.node, self.live, "create typed live object", true).map_err(ApplyError::Internal)?;
        let merged = merge::merged(self.node, self.live, self.applied);
        let owner = self.manager.owner(Operation::Apply);
        let last = managed.0.get(&owner).cloned();
        let fields = typed::paths(self.node, self.applied).recursive_difference(self.reset.paths());
        let version = self.manager.api_version.to_owned();
        let time = last.as_ref().and_then(|last| last.time.clone());
        managed.0.insert(
            owner.clone(),
            Owned {
                fields,
                version,
                time,
            },
        );
        let object = match last {
            Some(last) if !last.fields.is_empty() => self.pruned(&merged, &managed, &last.fields),
            Some(_) | None => merged,
        };
        self.settle_conflicts(&mut managed, &owner, &object, force)?;
        let changed = !merge::same(self.live, &object);
        if let Some(owned) = managed.0.get_mut(&owner) {
            owned.fields = reset::without_identity(&owned.fields);
            if owned.fields.is_empty() {
                managed.0.remove(&owner);
            } else if changed {
                owned.time = Some(self.manager.time.to_owned());
            }
        }
        Ok((object, managed))
    }

    /// Takes out what this manager applied last time, no longer applies, and nobody else owns.
    fn pruned(&self, merged: &Value, managed: &Managed, last: &PathSet) -> Value {
        let node = self.node;
        let named = |set: &PathSet| typed::with_named_fields(node, set);
        let last = named(last);
        let pruned = typed::remove(node, merged, &last);
        let owned = managed
            .0
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
        managed: &mut Managed,
        owner: &Owner,
        object: &Value,
        force: bool,
    ) -> Result<(), ApplyError> {
        let comparison = Comparison::of(self.node, self.live, object).without(self.reset.paths());
        let changed = comparison.modified.union(&comparison.added);
        let mut conflicts = Vec::new();
        for (other, owned) in managed.0.iter_mut().filter(|(other, _)| *other != owner) {
            let disputed = owned.fields.intersection(&changed);
            conflicts.extend(disputed.paths().into_iter().map(|path| Conflict {
                manager: other.display(),
                path,
            }));
            owned.fields = owned.fields.difference(&disputed).difference(&comparison.removed);
        }
        if !force && !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
        managed.0.retain(|_, owned| !owned.fields.is_empty());
        Ok(())
    }

    /// kubectl takes over without asking what it wrote itself by client-side apply.
    fn after_client_side_apply(
        &self,
        managed: Managed,
        conflicts: Vec<Conflict>,
    ) -> Result<(Value, Managed), ApplyError> {
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
        if last["apiVersion"] != self.live["apiVersion"] || typed::check(self.node, &last, true).is_err() {
            return None;
        }
        let comparison = Comparison::of(self.node, &last, self.live);
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

/// Whether two versions of an object differ in nothing but the times at which their fields were managed: then there is
/// nothing to write.
pub fn equal_but_for_times(one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
        return one == other;
    };
    same_fields(one, other, &|name, one, other| {
        if name != "metadata" {
            return one == other;
        }
        let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else {
            return one == other;
        };
        same_fields(one, other, &|name, one, other| {
            if name == "managedFields" {
                same_entries(one, other)
            } else {
                one == other
            }
        })
    })
}

fn same_fields(
    one: &Map<String, Value>,
    other: &Map<String, Value>,
    same: &dyn Fn(&str, &Value, &Value) -> bool,
) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|((name, one), (as_well, other))| name == as_well && same(name, one, other))
}

fn same_entries(one: &Value, other: &Value) -> bool {
    fn without_time(entry: &Value) -> impl Iterator<Item = (&String, &Value)> {
        entry
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| *name != "time")
    }
    match (one.as_array(), other.as_array()) {
        (Some(one), Some(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| without_time(one).eq(without_time(other)))
        }
        _ => one == other,
    }
}
