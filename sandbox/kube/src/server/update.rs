//! Replacing objects; patches end here too.

use std::sync::Arc;

use serde_json::Value;

use super::admission::{self, Change, Writer};
use super::create::remove;
use super::state::State;
use super::{Call, Cause, Origin, ServedKind, Status, Subresource, WriteOptions, Written, metadata, scale};
use crate::apply;
use crate::store::{Object, finalizers};

impl State {
    pub(super) fn update(
        &mut self,
        call: &Call,
        mut body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        if call.subresource.is_none() && may_create_on_update(&call.kind) && self.live(call).is_err() {
            return self.create_object(call, body, options, Writer::Update);
        }
        let live = match self.live(call) {
            Ok(live) => Arc::clone(live),
            // A body that cannot be read is refused first.
            Err(missing) => {
                if call.subresource != Some(Subresource::Scale) {
                    admission::decode(&call.kind, &mut body, options)?;
                    metadata::check_place(call, &mut body)?;
                    metadata::check_name(call, &body)?;
                }
                return Err(missing);
            }
        };
        if call.subresource == Some(Subresource::Finalize) {
            check_preconditions(call, &live, &body, &Writer::Update)?;
            return self.finalize(call, &live, &body, options);
        }
        if call.subresource == Some(Subresource::Scale) {
            let changed = scale::replaced(&call.kind, &live, &body)?;
            return self.replace_scaled(call, changed, options);
        }
        metadata::check_place(call, &mut body)?;
        metadata::check_name(call, &body)?;
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if version.is_empty() && !may_update_unconditionally(&call.kind) {
            admission::decode(&call.kind, &mut body, options)?;
            let cause = Cause::invalid(
                "metadata.resourceVersion",
                &Value::from(0),
                "must be specified for an update",
            );
            let mut status = Status::invalid(&call.kind, &call.name, vec![cause]);
            let (kind, plural) = (&call.kind.kind, &call.kind.plural);
            status.message = status.message.replacen(kind.as_str(), plural, 1);
            if let Some(details) = &mut status.details {
                details.kind.clone_from(plural);
            }
            return Err(status);
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
    ) -> Result<Written, Status> {
        let kind = &call.kind;
        check_preconditions(call, live, &body, &writer)?;
        let decoded = admission::decode(kind, &mut body, options);
        let mut warnings = decoded.map_err(|refusal| match writer {
            Writer::Patch => admission::refused_patch(&refusal, &body),
            Writer::Update | Writer::Apply(_) => refusal,
        })?;
        let sent = apply::take_managed_fields(&mut body);
        // An update warns of the finalizers that it adds.
        let adds_finalizers = finalizers(&body).any(|name| !live.has_finalizer(name));
        warnings.retain(|warning| adds_finalizers || !warning.starts_with("metadata.finalizers: "));
        let before = self.presented(kind, live);
        check_times(call, &before, &body)?;
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
        let managed = change.record(&mut body, sent.as_ref(), Some(&before))?;
        change.validate(&body, Some(before.value()))?;
        if kind.generation && desired_state_differs(call, &before, &body) {
            metadata::count_generation(&mut body);
        }
        if *before.value() == body && before.managed_fields().is_same_but_for_times(&managed) {
            return Ok(Written {
                object: before,
                created: false,
                warnings,
            });
        }
        let key = call.key();
        if !options.dry_run && nothing_keeps(kind, &before, &body) {
            self.remove(kind, &key);
            return Ok(Written {
                object: Arc::new(Object::managed(body, managed, live.revision())),
                created: false,
                warnings,
            });
        }
        let stored = self.to_store(kind, body);
        let written = self.write(kind, &key, stored, managed, options.dry_run)?;
        if !options.dry_run {
            self.after_write(kind, &key);
        }
        Ok(Written {
            object: self.presented(kind, &written),
            created: false,
            warnings,
        })
    }
}

/// Whether an update takes away the last that kept an object which is being deleted: it goes at once, unwritten.
fn nothing_keeps(kind: &ServedKind, live: &Object, body: &Value) -> bool {
    let grace = live["metadata"]["deletionGracePeriodSeconds"]
        .as_i64()
        .unwrap_or(0);
    let is_kept_namespace = kind.is("", "Namespace")
        && body["spec"]["finalizers"]
            .as_array()
            .is_some_and(|kept| !kept.is_empty());
    live.is_deleting() && grace == 0 && finalizers(body).next().is_none() && !is_kept_namespace
}

fn check_preconditions(call: &Call, live: &Object, body: &Value, writer: &Writer) -> Result<(), Status> {
    let text = |field: &str| body["metadata"][field].as_str().unwrap_or_default();
    let uid = text("uid");
    if !uid.is_empty() && uid != live.uid() {
        if !matches!(writer, Writer::Update) {
            let cause = Cause::invalid("metadata.uid", &Value::from(uid), "field is immutable");
            return Err(Status::invalid(&call.kind, &call.name, vec![cause]));
        }
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            live.uid()
        );
        return Err(Status::conflict(&call.kind, &call.name, &why));
    }
    let version = text("resourceVersion");
    if !version.is_empty() && version != live.resource_version() {
        let asked = super::list::parse_version(version)?;
        if asked == 0 {
            return Ok(());
        }
        return Err(Status::outdated(&call.kind, &call.name));
    }
    Ok(())
}

/// Kinds whose updates need no version: all built-in ones but those that exist to be contended for.
fn may_update_unconditionally(kind: &ServedKind) -> bool {
    kind.origin == Origin::BuiltIn
        && !matches!(
            (kind.group.as_str(), kind.kind.as_str()),
            ("coordination.k8s.io", "Lease") | ("apiextensions.k8s.io", "CustomResourceDefinition")
        )
}

/// Kinds that an update makes where there is none.
fn may_create_on_update(kind: &ServedKind) -> bool {
    kind.is("coordination.k8s.io", "Lease") || kind.is("", "Event") || kind.is("events.k8s.io", "Event")
}

/// The main endpoint leaves the status as it is, the status endpoint everything else.
fn keep_other_half(call: &Call, live: &Value, body: &mut Value) {
    let kind = &call.kind;
    if call.subresource == Some(Subresource::Status) {
        let sent = body.get_mut("metadata").map(Value::take);
        keep_spec(live, body);
        body["metadata"] = match sent {
            None => live["metadata"].clone(),
            // Built-in kinds let the status endpoint change labels and the like, except what ends their life.
            Some(mut sent) if kind.origin == Origin::BuiltIn && !kind.is("apps", "Deployment") => {
                keep_field(&live["metadata"], &mut sent, "finalizers");
                sent
            }
            Some(sent) if sent == live["metadata"] => sent,
            Some(_) => live["metadata"].clone(),
        };
    } else if kind.status {
        keep_field(live, body, "status");
    }
}

/// Gives a body what the live object has beside metadata and status. What it has of it already stays: most bodies were read
/// a moment before, and a comparison takes less than a copy.
fn keep_spec(live: &Value, body: &mut Value) {
    let (Some(live), Some(body)) = (live.as_object(), body.as_object_mut()) else {
        return;
    };
    let is_kept = |name: &str| name != "metadata" && name != "status";
    body.retain(|name, _| !is_kept(name) || live.contains_key(name));
    for (name, kept) in live.iter().filter(|(name, _)| is_kept(name)) {
        if body.get(name) != Some(kept) {
            body.insert(name.clone(), kept.clone());
        }
    }
}

fn keep_field(live: &Value, body: &mut Value, name: &str) {
    match live.get(name) {
        Some(kept) => body[name] = kept.clone(),
        None => {
            remove(body, name);
        }
    }
}

/// An update may leave out when an object is to go, but not say otherwise.
fn check_times(call: &Call, live: &Value, body: &Value) -> Result<(), Status> {
    let sent = &body["metadata"]["deletionTimestamp"];
    if sent.is_null() || *sent == live["metadata"]["deletionTimestamp"] {
        return Ok(());
    }
    let cause = Cause::invalid("metadata.deletionTimestamp", sent, "field is immutable");
    Err(Status::invalid(&call.kind, &call.name, vec![cause]))
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
    let mut causes = vec![Cause::new("FieldValueForbidden", "metadata.finalizers", why)];
    causes.extend(metadata::validate(&call.kind, body));
    Err(Status::invalid(&call.kind, &call.name, causes))
}

/// Whether what counts as a new generation has changed: all but metadata, and but status where that is an endpoint.
fn desired_state_differs(call: &Call, before: &Value, after: &Value) -> bool {
    let counts = |field: &str| field != "metadata" && !(call.kind.status && field == "status");
    // A Deployment's annotations are for its controller.
    let annotations = |value: &Value| value["metadata"].get("annotations").cloned();
    let differs = match (before.as_object(), after.as_object()) {
        (Some(one), Some(two)) => {
            let names = one.keys().chain(two.keys()).filter(|name| counts(name));
            names.into_iter().any(|name| one.get(name) != two.get(name))
        }
        _ => before != after,
    };
    differs || (call.kind.is("apps", "Deployment") && annotations(before) != annotations(after))
}
