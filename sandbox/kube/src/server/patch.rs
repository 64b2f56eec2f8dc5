//! Patches: each turns the live object into a body, which then goes the way of an update.

use std::sync::Arc;

use json_patch::{AddOperation, PatchOperation};
use serde_json::Value;

use super::admission::{Change, Writer};
use super::state::State;
use super::{Call, Cause, Origin, Patch, Status, Subresource, WriteOptions, Written, scale};
use crate::apply::ManagedFields;
use crate::store::Object;

impl State {
    pub(super) fn patch(
        &mut self,
        call: &Call,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        check_options(patch, options)?;
        if call.subresource == Some(Subresource::Finalize) {
            return Err(Status::method_not_allowed());
        }
        if matches!(patch, Patch::Strategic(_)) && call.kind.origin == Origin::Custom {
            return Err(Status::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ]));
        }
        if let Patch::Apply(applied) = patch {
            return self.apply(call, applied, options);
        }
        let live = Arc::clone(self.live(call)?);
        if call.subresource == Some(Subresource::Scale) {
            let seen = scale::read(&call.kind, &live)?;
            let body = patched(call, patch, seen.value())?;
            let changed = scale::replaced(&call.kind, &live, &body)?;
            return self.replace_scaled(call, changed, options);
        }
        let before = self.presented(&call.kind, &live);
        let mut body = if names_managers(patch) {
            patched(call, patch, &before.complete())?
        } else {
            patched(call, patch, before.value())?
        };
        super::metadata::check_place(call, &mut body)?;
        super::metadata::check_name(call, &body)?;
        self.replace(call, &live, body, options, Writer::Patch)
    }

    /// Writes an object whose scale was changed, on its main endpoint.
    pub(super) fn replace_scaled(
        &mut self,
        call: &Call,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        let live: Arc<Object> = Arc::clone(self.live(call)?);
        let outcome = self.replace(call, &live, body, options, Writer::Update)?;
        Ok(Written {
            object: scale::read(&call.kind, &outcome.object)?,
            ..outcome
        })
    }
}

/// Whether a patch is about `metadata.managedFields`, which is no part of an object's value.
fn names_managers(patch: &Patch) -> bool {
    const MANAGERS: &str = "/metadata/managedFields";
    let concerns = |pointer: &str| MANAGERS.starts_with(pointer) || pointer.starts_with(MANAGERS);
    match patch {
        Patch::Merge(patch) | Patch::Strategic(patch) => match patch.get("metadata") {
            None => patch.get("$patch").is_some(),
            Some(Value::Object(fields)) => fields
                .keys()
                .any(|name| name == "managedFields" || name.starts_with('$')),
            Some(_) => true,
        },
        Patch::Json(patch) => patch.0.iter().any(|operation| {
            let from = match operation {
                PatchOperation::Move(operation) => Some(operation.from.as_str()),
                PatchOperation::Copy(operation) => Some(operation.from.as_str()),
                _ => None,
            };
            from.is_some_and(concerns) || concerns(operation.path().as_str())
        }),
        Patch::Apply(_) => false,
    }
}

/// The object with a patch that is no apply.
fn patched(call: &Call, patch: &Patch, before: &Value) -> Result<Value, Status> {
    let mut body = before.clone();
    match patch {
        Patch::Merge(patch) => json_patch::merge(&mut body, patch),
        Patch::Json(patch) => {
            for operation in &patch.0 {
                let operation = lenient(operation, &body);
                json_patch::patch(&mut body, &operation).map_err(|_| Status::rejected())?;
            }
        }
        Patch::Strategic(patch) => {
            let schema = call
                .kind
                .schema()
                .ok_or_else(|| Status::unsupported_media_type(&[]))?;
            body = crate::apply::strategic_merge(schema.node(), &body, patch)
                .map_err(|error| Status::new(500, "", error.to_string()))?;
        }
        Patch::Apply(_) => {}
    }
    Ok(body)
}

/// The server's JSON patch takes the replacement of a field that is not there for its addition, and what is not there for
/// null.
fn lenient(operation: &PatchOperation, present: &Value) -> Vec<PatchOperation> {
    let is_missing = |path: &str| {
        let parent = path
            .rsplit_once('/')
            .and_then(|(parent, _)| present.pointer(parent));
        present.pointer(path).is_none() && parent.is_some_and(Value::is_object)
    };
    match operation {
        PatchOperation::Replace(replace) if is_missing(replace.path.as_str()) => {
            vec![PatchOperation::Add(AddOperation {
                path: replace.path.clone(),
                value: replace.value.clone(),
            })]
        }
        PatchOperation::Test(test) if is_missing(test.path.as_str()) && test.value.is_null() => Vec::new(),
        other => vec![other.clone()],
    }
}

fn check_options(patch: &Patch, options: &WriteOptions) -> Result<(), Status> {
    let invalid = |cause| Err(Status::invalid_of("meta.k8s.io", "PatchOptions", "", vec![cause]));
    let is_apply = matches!(patch, Patch::Apply(_));
    if is_apply && options.field_manager.as_deref().unwrap_or_default().is_empty() {
        return invalid(Cause::required("fieldManager", "is required for apply patch"));
    }
    if !is_apply && options.force {
        let why = "Forbidden: may not be specified for non-apply patch";
        return invalid(Cause::new("FieldValueForbidden", "force", why));
    }
    Ok(())
}

impl State {
    fn apply(&mut self, call: &Call, applied: &Value, options: &WriteOptions) -> Result<Written, Status> {
        let mut applied = applied.clone();
        let text = |field: &str| applied[field].as_str().unwrap_or_default();
        let is_of_kind = text("kind") == call.kind.kind && text("apiVersion") == call.kind.api_version();
        if !is_of_kind && call.subresource != Some(Subresource::Scale) {
            let slash = if text("apiVersion").contains('/') { "" } else { "/" };
            let sent = format!("{slash}{}, Kind={}", text("apiVersion"), text("kind"));
            return Err(Status::bad_request(format!("invalid object type: {sent}")));
        }
        super::metadata::check_type(&call.kind, &mut applied)?;
        let live = self.store.get(&call.kind.collection, &call.key()).map(Arc::clone);
        if live.is_none() && call.subresource.is_some() {
            return Err(Status::not_found(&call.kind, &call.name));
        }
        let before = live.as_ref().map(|live| self.presented(&call.kind, live));
        let now = self.now();
        let change = Change {
            kind: &call.kind,
            identity: &call.identity,
            options,
            subresource: call.subresource,
            now: &now,
            writer: Writer::Apply(ManagedFields::default()),
        };
        let uid = applied["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let (mut body, managed) = change.apply(&applied, before.as_deref())?;
        super::metadata::check_name(call, &body)?;
        super::metadata::check_place(call, &mut body)?;
        refuse_emptied(call, &body, &applied)?;
        match live {
            Some(live) => self.replace(call, &live, body, options, Writer::Apply(managed)),
            None if !uid.is_empty() => {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                Err(Status::conflict(&call.kind, &call.name, &why))
            }
            None => self.create_object(call, body, options, Writer::Apply(managed)),
        }
    }
}

/// What an apply no longer names in a custom object and nobody else has is null, as a whole, if nothing is left of it: null
/// must be allowed there.
fn refuse_emptied(call: &Call, merged: &Value, applied: &Value) -> Result<(), Status> {
    let Some(schema) = call
        .kind
        .schema
        .as_ref()
        .filter(|_| has_new_null(merged, applied))
    else {
        return Ok(());
    };
    let errors = schema.validate(merged, None);
    let causes: Vec<Cause> = errors.iter().map(Cause::from).collect();
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&call.kind, &call.name, causes))
}

/// Whether the merged object has a null that the applied one has not.
fn has_new_null(merged: &Value, applied: &Value) -> bool {
    match merged {
        Value::Null => !applied.is_null(),
        Value::Object(fields) => {
            fields
                .iter()
                .filter(|(name, _)| *name != "metadata")
                .any(|(name, value)| match applied.get(name) {
                    Some(below) => has_new_null(value, below),
                    None => value.is_null() || has_new_null(value, &Value::Bool(false)),
                })
        }
        Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
