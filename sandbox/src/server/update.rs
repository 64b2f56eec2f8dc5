//! Replacing objects; patches end here too.

use std::sync::Arc;

use serde_json::Value;

use super::admission::{self, Change, Writer};
use super::create::remove;
use super::state::State;
use super::{Call, Cause, Origin, Outcome, Status, Subresource, WriteOptions, conversion, metadata, scale};
use crate::store::{Object, finalizers};

impl State {
    pub(super) fn update(
        &mut self,
        call: &Call,
        mut body: Value,
        options: &WriteOptions,
    ) -> Result<Outcome, Status> {
        let live = Arc::clone(self.live(call)?);
        if call.subresource == Some(Subresource::Scale) {
            let changed = scale::replaced(&call.kind, &live, &body)?;
            return self.replace_scaled(call, changed, options);
        }
        metadata::check_place(call, &mut body)?;
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        if name != call.name {
            return Err(Status::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                call.name
            )));
        }
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if version.is_empty() && call.kind.origin == Origin::Custom {
            let cause = Cause::invalid(
                "metadata.resourceVersion",
                &Value::from(0),
                "must be specified for an update",
            );
            return Err(Status::invalid(&call.kind, &call.name, vec![cause]));
        }
        self.replace(call, &live, body, options, Writer::Update)
    }

    /// Puts `body` in the place of `live`, as far as the endpoint allows.
    pub(super) fn replace(
        &mut self,
        call: &Call,
        live: &Arc<Object>,
        mut body: Value,
        options: &WriteOptions,
        writer: Writer,
    ) -> Result<Outcome, Status> {
        let kind = &call.kind;
        check_preconditions(call, live, &body)?;
        let warnings = admission::decode(kind, &mut body, options.field_validation)?;
        let before = self.presented(kind, live);
        keep_other_half(call, &before, &mut body);
        metadata::keep_owned(&mut body, &before);
        check_finalizers(call, &before, &body)?;
        let now = self.now();
        let change = Change {
            kind,
            identity: &call.identity,
            options,
            subresource: call.subresource,
            now: &now,
            writer,
        };
        change.complete(&mut body, Some(before.value()))?;
        if kind.generation && desired_state_differs(call, &before, &body) {
            metadata::count_generation(&mut body);
        }
        if admission::unchanged(&before, &body) {
            return Ok(Outcome {
                object: before,
                created: false,
                warnings,
            });
        }
        let key = call.key();
        let written = self.write(kind, &key, conversion::stored(kind, body), options.dry_run);
        if !options.dry_run {
            self.after_write(kind, &key);
        }
        Ok(Outcome {
            object: self.presented(kind, &written),
            created: false,
            warnings,
        })
    }
}

fn check_preconditions(call: &Call, live: &Object, body: &Value) -> Result<(), Status> {
    let text = |field: &str| body["metadata"][field].as_str().unwrap_or_default();
    let uid = text("uid");
    if !uid.is_empty() && uid != live.uid() {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            live.uid()
        );
        return Err(Status::conflict(&call.kind, &call.name, &why));
    }
    let version = text("resourceVersion");
    if !version.is_empty() && version != live.resource_version() {
        super::list::parse_version(version)?;
        return Err(Status::outdated(&call.kind, &call.name));
    }
    Ok(())
}

/// The main endpoint leaves the status as it is, the status endpoint everything else.
fn keep_other_half(call: &Call, live: &Value, body: &mut Value) {
    let kind = &call.kind;
    if call.subresource == Some(Subresource::Status) {
        let status = remove(body, "status");
        let sent = remove(body, "metadata");
        *body = live.clone();
        match status {
            Some(status) => body["status"] = status,
            None => {
                remove(body, "status");
            }
        }
        let Some(sent) = sent else { return };
        if kind.origin == Origin::BuiltIn {
            // Built-in kinds let the status endpoint change labels and the like, except what ends their life.
            let finalizers = live["metadata"].get("finalizers").cloned();
            body["metadata"] = sent;
            let metadata = metadata::of(body);
            match finalizers {
                Some(kept) => metadata.insert("finalizers".to_owned(), kept),
                None => metadata.remove("finalizers"),
            };
        } else if let Some(managed) = sent.get("managedFields") {
            metadata::of(body).insert("managedFields".to_owned(), managed.clone());
        }
    } else if kind.status {
        match live.get("status") {
            Some(status) => body["status"] = status.clone(),
            None => {
                remove(body, "status");
            }
        }
    }
}

fn check_finalizers(call: &Call, live: &Object, body: &Value) -> Result<(), Status> {
    if !live.is_deleting() {
        return Ok(());
    }
    let added: Vec<String> = finalizers(body)
        .filter(|finalizer| !live.has_finalizer(finalizer))
        .map(|finalizer| format!("\"{finalizer}\""))
        .collect();
    if added.is_empty() {
        return Ok(());
    }
    let why = format!(
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        added.join(", ")
    );
    let cause = Cause::new("FieldValueForbidden", "metadata.finalizers", why);
    Err(Status::invalid(&call.kind, &call.name, vec![cause]))
}

/// Whether what counts as a new generation has changed: all but metadata, and but status where that is an endpoint.
fn desired_state_differs(call: &Call, before: &Value, after: &Value) -> bool {
    let part = |value: &'_ Value| -> Vec<(String, Value)> {
        value
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(field, _)| *field != "metadata" && !(call.kind.status && *field == "status"))
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect()
    };
    part(before) != part(after)
}
