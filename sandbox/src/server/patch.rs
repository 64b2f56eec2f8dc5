//! Patches: each turns the live object into a body, which then goes the way of an update.

use std::sync::Arc;

use serde_json::Value;

use super::admission::{Change, Writer};
use super::state::State;
use super::{Call, Cause, Origin, Outcome, Patch, Status, Subresource, WriteOptions, scale};
use crate::store::Object;

impl State {
    pub(super) fn patch(
        &mut self,
        call: &Call,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<Outcome, Status> {
        check_options(patch, options)?;
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
        let mut body = patched(call, patch, before.value())?;
        super::metadata::check_place(call, &mut body)?;
        if body["metadata"]["name"] != before["metadata"]["name"] {
            return Err(Status::bad_request(format!(
                "the name of the object ({}) does not match the name on the URL ({})",
                body["metadata"]["name"].as_str().unwrap_or_default(),
                call.name
            )));
        }
        self.replace(call, &live, body, options, Writer::Update)
    }

    /// Writes an object whose scale was changed, on its main endpoint.
    pub(super) fn replace_scaled(
        &mut self,
        call: &Call,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Outcome, Status> {
        let main = Call {
            subresource: None,
            ..call.clone()
        };
        let live: Arc<Object> = Arc::clone(self.live(&main)?);
        let outcome = self.replace(&main, &live, body, options, Writer::Update)?;
        Ok(Outcome {
            object: scale::read(&call.kind, &outcome.object)?,
            ..outcome
        })
    }
}

/// The object with a patch that is no apply.
fn patched(call: &Call, patch: &Patch, before: &Value) -> Result<Value, Status> {
    let mut body = before.clone();
    match patch {
        Patch::Merge(patch) => json_patch::merge(&mut body, patch),
        Patch::Json(patch) => json_patch::patch(&mut body, patch).map_err(|_| {
            Status::new(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            )
        })?,
        Patch::Strategic(_) if call.kind.origin == Origin::Custom => {
            return Err(Status::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ]));
        }
        Patch::Strategic(patch) => {
            let schema = call
                .kind
                .schema()
                .ok_or_else(|| Status::unsupported_media_type(&[]))?;
            body = crate::apply::strategic_merge(schema.node(), &body, patch)
                .map_err(|error| Status::bad_request(error.to_string()))?;
        }
        Patch::Apply(_) => {}
    }
    Ok(body)
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
    fn apply(&mut self, call: &Call, applied: &Value, options: &WriteOptions) -> Result<Outcome, Status> {
        let mut applied = applied.clone();
        super::metadata::check_place(call, &mut applied)?;
        check_applied_name(call, &mut applied)?;
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
            writer: Writer::Apply,
        };
        let uid = applied["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let body = change.apply(&applied, before.as_ref().map(|before| before.value()))?;
        match live {
            Some(live) => self.replace(call, &live, body, options, Writer::Apply),
            None if !uid.is_empty() => {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                Err(Status::conflict(&call.kind, &call.name, &why))
            }
            None => self.create_object(call, body, options, Writer::Apply),
        }
    }
}

fn check_applied_name(call: &Call, applied: &mut Value) -> Result<(), Status> {
    let name = applied["metadata"]["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        super::metadata::of(applied).insert("name".to_owned(), call.name.as_str().into());
        return Ok(());
    }
    if name == call.name {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({name}) does not match the name on the URL ({})",
        call.name
    )))
}
