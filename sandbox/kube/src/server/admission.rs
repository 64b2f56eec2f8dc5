//! What every written object goes through: unknown fields, defaults, validation, and who manages which field.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{
    Cause, FieldValidation, Identity, Origin, ServedKind, Status, Subresource, WriteOptions, definitions,
    metadata,
};
use crate::apply::{self, Live, ManagedFields, Manager, ResetFields};
use crate::schema::builtin;
use crate::store::{Object, finalizers};

/// How the write came about, for `managedFields`.
#[derive(Clone, Debug)]
pub(super) enum Writer {
    /// Create or update: what changed now belongs to the writer.
    Update,
    /// A patch that is no apply: as an update, but what is wrong is wrong with the patch.
    Patch,
    /// An apply, whose merge has already said who manages what.
    Apply(ManagedFields),
}

/// A write on its way into the store.
pub(super) struct Change<'a> {
    pub(super) kind: &'a ServedKind,
    pub(super) identity: &'a Identity,
    pub(super) options: &'a WriteOptions,
    pub(super) subresource: Option<Subresource>,
    pub(super) now: &'a str,
    pub(super) writer: Writer,
}

/// Reads a body as its kind: refuses what cannot be one, drops what the kind does not know, fills in defaults.
///
/// # Errors
/// 400 for a value of the wrong type, and in strict mode for unknown fields.
pub(super) fn decode(
    kind: &ServedKind,
    body: &mut Value,
    options: &WriteOptions,
) -> Result<Vec<String>, Status> {
    let gvk = kind.group_version_kind();
    match kind.origin {
        Origin::BuiltIn => builtin::decode(&gvk, body).map_err(Status::bad_request)?,
        Origin::Custom => builtin::decode_metadata(&gvk, body).map_err(Status::bad_request)?,
    }
    let unknown = kind.schema().map_or_else(Vec::new, |schema| schema.prune(body));
    match kind.origin {
        Origin::BuiltIn => builtin::default(&gvk, body),
        Origin::Custom => {
            if let Some(schema) = kind.schema() {
                schema.default(body);
            }
        }
    }
    let warning = |what: &str, path: &String| format!("{what} field {}", crate::schema::go_quote(path));
    let duplicates = options.duplicates.iter().map(|path| warning("duplicate", path));
    let unqualified = (kind.origin == Origin::Custom)
        .then(|| finalizers(body))
        .into_iter()
        .flatten()
        .filter(|name| !name.contains('/'))
        .map(|name| {
            format!(
                "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers"
            )
        })
        .collect::<Vec<_>>();
    let warnings: Vec<String> = duplicates
        .chain(unknown.iter().map(|path| warning("unknown", path)))
        .collect();
    match options.field_validation {
        FieldValidation::Ignore => Ok(unqualified),
        FieldValidation::Strict if !warnings.is_empty() => Err(Status::bad_request(format!(
            "{name} in version \"{}\" cannot be handled as a {name}: strict decoding error: {}",
            kind.version,
            warnings.join(", "),
            name = kind.kind,
        ))),
        FieldValidation::Warn | FieldValidation::Strict => Ok([unqualified, warnings].concat()),
    }
}

/// A refusal of [`decode`] as a patch is refused for it: with the patched document in the words of 422.
pub(super) fn refused_patch(refusal: &Status, document: &Value) -> Status {
    let why = refusal
        .message
        .split_once(" cannot be handled as a ")
        .and_then(|(_, rest)| rest.split_once(": "))
        .map_or(refusal.message.as_str(), |(_, why)| why);
    let cause = Cause::invalid("patch", &Value::from(document.to_string()), why);
    Status::invalid_of("", "", "", vec![cause])
}

impl Change<'_> {
    /// Who manages what once the body is written: before the server adds anything of its own. `sent` is what the body said of it.
    ///
    /// # Errors
    /// If a definition cannot be completed.
    pub(super) fn record(
        &self,
        body: &mut Value,
        sent: Option<&Value>,
        live: Option<&Object>,
    ) -> Result<ManagedFields, Status> {
        if self.kind.collection == definitions::collection() && self.subresource.is_none() {
            definitions::complete(body, live.map(Object::value))?;
        }
        let managed = live.map(Object::managed_fields).cloned().unwrap_or_default();
        if let Writer::Apply(managed) = &self.writer {
            return Ok(managed.clone());
        }
        let Some(schema) = self.kind.schema() else {
            return Ok(managed);
        };
        let none;
        let before = if let Some(live) = live {
            live.value()
        } else {
            none = json!({"apiVersion": body["apiVersion"], "kind": body["kind"]});
            &none
        };
        let before = match self.kind.origin {
            Origin::BuiltIn => builtin::complete_empty(&self.kind.group_version_kind(), before),
            Origin::Custom => Cow::Borrowed(before),
        };
        let live = Live {
            object: &before,
            managed: &managed,
        };
        let (manager, reset) = (self.manager(), self.reset());
        Ok(apply::record_update(
            schema.node(),
            live,
            body,
            sent,
            &manager.borrowed(),
            &reset,
        ))
    }

    /// Checks the object as it is to be stored.
    ///
    /// # Errors
    /// 422 with everything that is wrong.
    pub(super) fn validate(&self, body: &Value, live: Option<&Value>) -> Result<(), Status> {
        let mut causes = metadata::validate(self.kind, body);
        if self.kind.origin == Origin::Custom
            && let Some(schema) = self.kind.schema()
        {
            let blocked = causes.iter().any(|cause| cause.reason == "FieldValueRequired");
            causes.extend(
                schema
                    .validate_unless(body, live, blocked)
                    .iter()
                    .map(Cause::from),
            );
        }
        if self.kind.origin == Origin::BuiltIn && self.subresource.is_none() {
            let gvk = self.kind.group_version_kind();
            causes.extend(builtin::validate(&gvk, body).iter().map(Cause::from));
        }
        if let Some(live) = live.filter(|_| self.kind.origin == Origin::BuiltIn) {
            let changed = builtin::validate_update(&self.kind.group_version_kind(), body, live);
            causes.extend(changed.iter().map(Cause::from));
        }
        if causes.is_empty() {
            return Ok(());
        }
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        // Both groups' Events are checked as those of the core group.
        let group = if self.kind.is("events.k8s.io", "Event") {
            ""
        } else {
            &self.kind.group
        };
        Err(Status::invalid_of(group, &self.kind.kind, name, causes))
    }

    /// Merges an applied configuration into the live object.
    ///
    /// # Errors
    /// 409 with the fields that others manage, 400 and 500 for what cannot be merged.
    pub(super) fn apply(
        &self,
        applied: &Value,
        live: Option<&Object>,
    ) -> Result<(Value, ManagedFields), Status> {
        let none = json!({"apiVersion": applied["apiVersion"], "kind": applied["kind"]});
        let nobody = ManagedFields::default();
        let Some(schema) = self.kind.schema() else {
            return Err(Status::internal(format!("{} has no schema", self.kind.kind)));
        };
        let manager = self.manager();
        Ok(apply::apply(
            schema.node(),
            Live {
                object: live.map_or(&none, Object::value),
                managed: live.map_or(&nobody, Object::managed_fields),
            },
            applied,
            &manager.borrowed(),
            self.options.force,
            &self.reset(),
        )?)
    }

    fn manager(&self) -> OwnedManager<'_> {
        OwnedManager {
            name: self
                .options
                .field_manager
                .as_deref()
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| self.identity.name()),
            api_version: self.kind.api_version(),
            subresource: self.subresource.map(Subresource::as_str),
            time: self.now,
        }
    }

    fn reset(&self) -> ResetFields {
        match (self.subresource, self.kind.origin) {
            (Some(Subresource::Status), Origin::Custom) => ResetFields::status(),
            (Some(Subresource::Status), Origin::BuiltIn) => ResetFields::built_in_status(),
            _ => ResetFields::main(self.kind.status),
        }
    }
}

struct OwnedManager<'a> {
    name: &'a str,
    api_version: String,
    subresource: Option<&'a str>,
    time: &'a str,
}

impl OwnedManager<'_> {
    fn borrowed(&self) -> Manager<'_> {
        Manager {
            name: self.name,
            api_version: &self.api_version,
            subresource: self.subresource,
            time: self.time,
        }
    }
}
