//! Lists: the objects of one moment, in pages.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::selectors::{FieldSelector, LabelSelector, labels_of};
use super::state::State;
use super::{Call, Cause, List, ListOptions, Status, VersionMatch};
use crate::store::{Key, Object, Scope};

const TOKEN_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
     the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
     Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
     deleted between the time the first chunk was returned and now may show up in the list.";

/// Where a page begins, and in which moment.
struct Start {
    revision: u64,
    after: Option<String>,
}

impl State {
    pub(super) fn list(&self, call: &Call, options: &ListOptions) -> Result<List, Status> {
        options.fields.check(&call.kind)?;
        let scope = scope_of(call, &options.fields);
        let start = self.start(options)?;
        let collection = &call.kind.collection;
        let objects = if start.revision == self.store.revision() {
            self.store.objects(collection, &scope)
        } else {
            self.store
                .objects_at(collection, &scope, start.revision)
                .map_err(|compacted| Self::expired(options, &start, compacted.oldest))?
        };
        Ok(self.page(call, options, &start, objects))
    }

    fn page(&self, call: &Call, options: &ListOptions, start: &Start, objects: Vec<Arc<Object>>) -> List {
        let selective = !options.labels.is_empty() || !options.fields.is_empty();
        let after = |object: &Arc<Object>| {
            start
                .after
                .as_ref()
                .is_none_or(|after| object.key() > key_from(after))
        };
        let mut rest = objects
            .into_iter()
            .filter(after)
            .filter(|object| selects(&options.labels, &options.fields, object))
            .map(|object| self.presented(&call.kind, &object));
        // Any version will do: the real server answers from its cache, which has no pages.
        let limit = if options.limit == 0 || options.resource_version.as_deref() == Some("0") {
            usize::MAX
        } else {
            options.limit
        };
        let items: Vec<_> = rest.by_ref().take(limit).collect();
        let remaining = rest.count();
        let last = items.last().filter(|_| remaining > 0);
        List {
            revision: start.revision,
            continue_token: last.map(|last| token(start.revision, &last.key().to_string())),
            remaining: (remaining > 0 && !selective).then_some(remaining),
            items,
        }
    }

    fn start(&self, options: &ListOptions) -> Result<Start, Status> {
        let current = self.store.revision();
        let asked = options
            .resource_version
            .as_deref()
            .filter(|version| !version.is_empty());
        if let Some(token) = &options.continue_token {
            if asked.is_some_and(|version| version != "0") {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return read_token(token, current);
        }
        let newest = Start {
            revision: current,
            after: None,
        };
        let Some(asked) = asked else {
            return match options.version_match {
                Some(_) => Err(forbidden_match(
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                )),
                None => Ok(newest),
            };
        };
        let version = asked_version(asked)?;
        let exact = options.version_match == Some(VersionMatch::Exact)
            || (options.version_match.is_none() && options.limit > 0 && version > 0);
        if exact && version == 0 {
            return Err(forbidden_match(
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ));
        }
        if version > current {
            return Err(Status::too_large_resource_version(version, current));
        }
        Ok(Start {
            revision: if exact { version } else { current },
            after: None,
        })
    }

    fn expired(options: &ListOptions, start: &Start, oldest: u64) -> Status {
        if options.continue_token.is_none() {
            return Status::expired(format!(
                "The resourceVersion for the provided list is too old: {} ({oldest})",
                start.revision
            ));
        }
        // The real server hands out a token that continues in the present, for those who accept the seam.
        let mut status = Status::expired(TOKEN_EXPIRED);
        let after = start.after.as_deref().unwrap_or_default();
        status.details = None;
        status.continue_token = Some(token(0, after));
        status
    }
}

/// The part of a collection that a call is about.
pub(super) fn scope_of(call: &Call, fields: &FieldSelector) -> Scope {
    let namespace = call
        .namespace
        .as_deref()
        .or_else(|| fields.required_namespace().filter(|_| call.kind.namespaced));
    match (fields.required_name(), namespace, call.kind.namespaced) {
        (Some(name), Some(namespace), true) => Scope::One(Key::namespaced(namespace, name)),
        (Some(name), _, false) => Scope::One(Key::cluster(name)),
        (_, Some(namespace), true) => Scope::Namespace(namespace.to_owned()),
        _ => Scope::Everything,
    }
}

/// Whether both selectors select the object.
pub(super) fn selects(labels: &LabelSelector, fields: &FieldSelector, object: &Object) -> bool {
    (labels.is_empty() || labels.matches(labels_of(object))) && fields.matches(object)
}

fn forbidden_match(why: &str) -> Status {
    let cause = Cause::new(
        "FieldValueForbidden",
        "resourceVersionMatch",
        format!("Forbidden: {why}"),
    );
    Status::invalid_of("meta.k8s.io", "ListOptions", "", vec![cause])
}

/// Reads a resource version.
pub(super) fn parse_version(text: &str) -> Result<u64, Status> {
    let why = || format!("strconv.ParseUint: parsing \"{text}\": invalid syntax");
    text.parse().map_err(|_| Status::new(500, "", why()))
}

/// Reads the resource version that a list asks for.
fn asked_version(text: &str) -> Result<u64, Status> {
    parse_version(text).map_err(|status| {
        Status::bad_request(format!(
            "invalid resource version: resourceVersion: Invalid value: \"{text}\": {}",
            status.message
        ))
    })
}

fn token(revision: u64, start: &str) -> String {
    let content = json!({"v": "meta.k8s.io/v1", "rv": if revision == 0 { -1 } else { revision as i64 }, "start": start});
    URL_SAFE_NO_PAD.encode(content.to_string())
}

fn read_token(token: &str, current: u64) -> Result<Start, Status> {
    let invalid = || Status::bad_request("continue key is not valid: not a token of this server");
    let text = URL_SAFE_NO_PAD.decode(token).map_err(|_| invalid())?;
    let content: Value = serde_json::from_slice(&text).map_err(|_| invalid())?;
    let revision = content["rv"].as_i64().ok_or_else(invalid)?;
    let after = content["start"].as_str().ok_or_else(invalid)?;
    Ok(Start {
        revision: u64::try_from(revision).unwrap_or(current).min(current),
        after: Some(after.to_owned()),
    })
}

fn key_from(path: &str) -> Key {
    match path.split_once('/') {
        Some((namespace, name)) => Key::namespaced(namespace, name),
        None => Key::cluster(path),
    }
}
