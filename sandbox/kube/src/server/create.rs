//! Creating objects.

use serde_json::Value;

use super::admission::{self, Change};
use super::state::State;
use super::{Call, Cause, Origin, ServedKind, Status, Subresource, WriteOptions, Written, metadata};
use crate::apply;
use crate::schema::builtin;
use crate::store::{CollectionId, Key};

/// How often the server tries another generated name.
const NAME_ATTEMPTS: usize = 8;

impl State {
    pub(super) fn create(
        &mut self,
        call: &Call,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        match call.subresource {
            Some(Subresource::Eviction) => return self.evict(call, &body, options),
            Some(Subresource::Binding) => return self.bind(call, &body, options),
            Some(_) => return Err(Status::method_not_allowed()),
            None => {}
        }
        let outcome = self.create_object(call, body, options, admission::Writer::Update)?;
        Ok(outcome)
    }

    /// Creates the object of a POST, or of an apply that found none.
    pub(super) fn create_object(
        &mut self,
        call: &Call,
        mut body: Value,
        options: &WriteOptions,
        writer: admission::Writer,
    ) -> Result<Written, Status> {
        let kind = &call.kind;
        metadata::check_place(call, &mut body)?;
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let is_apply = matches!(writer, admission::Writer::Apply(_));
        if !version.is_empty() && !is_apply {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(500, "", why));
        }
        self.name(kind, call, &mut body)?;
        self.check_namespace(call, &body)?;
        let warnings = admission::decode(kind, &mut body, options)?;
        let sent = apply::take_managed_fields(&mut body);
        let uid = self.new_uid();
        let now = self.now();
        metadata::stamp_new(&mut body, &uid, &now, kind.generation);
        if kind.origin == Origin::Custom && kind.status {
            remove(&mut body, "status");
        }
        let change = Change {
            kind,
            identity: &call.identity,
            options,
            subresource: None,
            now: &now,
            writer,
        };
        let managed = change.record(&mut body, sent.as_ref(), None)?;
        if kind.origin == Origin::BuiltIn {
            builtin::prepare_for_create(&kind.group_version_kind(), &mut body);
        }
        change.validate(&body, None)?;
        let key = Key {
            namespace: call.namespace.clone(),
            name: body["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        };
        if let Some(live) = self.store.get(&kind.collection, &key) {
            let mut status = Status::already_exists(kind, &key.name);
            if live.is_deleting() {
                status.message = format!("object is being deleted: {}", status.message);
            }
            return Err(status);
        }
        let stored = self.to_store(kind, body);
        let written = self.write(kind, &key, stored, managed, options.dry_run)?;
        if !options.dry_run {
            self.after_write(kind, &key);
        }
        Ok(Written {
            object: self.presented(kind, &written),
            created: true,
            warnings,
        })
    }

    fn name(&mut self, kind: &ServedKind, call: &Call, body: &mut Value) -> Result<(), Status> {
        let fields = metadata::of(body);
        // What is no text is refused for that, in a moment.
        if fields
            .get("name")
            .is_some_and(|name| !name.is_string() && !name.is_null())
        {
            return Ok(());
        }
        let name = fields
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        if !name.is_empty() {
            return match call.name.as_str() {
                "" => Ok(()),
                _ => metadata::check_name(call, body),
            };
        }
        if !call.name.is_empty() {
            fields.insert("name".to_owned(), call.name.as_str().into());
            return Ok(());
        }
        let prefix = fields
            .get("generateName")
            .and_then(Value::as_str)
            .unwrap_or("")
            .to_owned();
        // Without any name it is refused in a moment, with all else that is wrong.
        if prefix.is_empty() {
            return Ok(());
        }
        let mut end = prefix.len().min(58);
        while !prefix.is_char_boundary(end) {
            end -= 1;
        }
        for _ in 0..NAME_ATTEMPTS {
            let name = format!("{}{}", &prefix[..end], self.suffix());
            let key = Key {
                namespace: call.namespace.clone(),
                name: name.clone(),
            };
            if self.store.get(&kind.collection, &key).is_none() {
                metadata::of(body).insert("name".to_owned(), name.into());
                return Ok(());
            }
        }
        Err(Status::already_exists(kind, &prefix))
    }

    fn check_namespace(&self, call: &Call, body: &Value) -> Result<(), Status> {
        let Some(namespace) = &call.namespace else {
            return Ok(());
        };
        let namespaces = CollectionId::new("", "namespaces");
        let Some(live) = self.store.get(&namespaces, &Key::cluster(namespace.as_str())) else {
            let kind = self.registry.find("", "v1", "namespaces")?;
            return Err(Status::not_found(kind, namespace));
        };
        if live.is_deleting() {
            let name = body["metadata"]["name"].as_str().unwrap_or_default();
            let why = format!(
                "unable to create new content in namespace {namespace} because it is being terminated"
            );
            let mut status = Status::forbidden(&call.kind, name, &why);
            if let Some(details) = &mut status.details {
                details.causes.push(Cause::new(
                    "NamespaceTerminating",
                    "metadata.namespace",
                    format!("namespace {namespace} is being terminated"),
                ));
            }
            return Err(status);
        }
        Ok(())
    }
}

pub(super) fn remove(value: &mut Value, field: &str) -> Option<Value> {
    value.as_object_mut().and_then(|fields| fields.remove(field))
}
