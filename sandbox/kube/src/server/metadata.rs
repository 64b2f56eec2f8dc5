//! The fields of `metadata` that the server owns or checks.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::selectors::{is_label_value, is_qualified_name};
use super::{Call, Cause, ServedKind, Status};

/// A time as objects carry it: UTC, whole seconds.
pub(super) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The object's metadata, made if it is not there.
pub(super) fn of(value: &mut Value) -> &mut Map<String, Value> {
    let metadata = &mut value["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    match metadata {
        Value::Object(fields) => fields,
        _ => unreachable_metadata(),
    }
}

#[expect(clippy::panic, reason = "the value was made an object one line above")]
fn unreachable_metadata() -> ! {
    panic!("metadata is an object")
}

/// Gives a new object what the server decides.
pub(super) fn stamp_new(value: &mut Value, uid: &str, now: &str, generation: bool) {
    let metadata = of(value);
    for owned in [
        "resourceVersion",
        "selfLink",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        metadata.remove(owned);
    }
    metadata.insert("uid".to_owned(), uid.into());
    metadata.insert("creationTimestamp".to_owned(), now.into());
    if generation {
        metadata.insert("generation".to_owned(), 1.into());
    }
}

/// Gives a changed object what the server keeps from the version before.
pub(super) fn keep_owned(value: &mut Value, live: &Value) {
    let metadata = of(value);
    metadata.remove("selfLink");
    for owned in [
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
    ] {
        match live["metadata"].get(owned) {
            Some(kept) => metadata.insert(owned.to_owned(), kept.clone()),
            None => metadata.remove(owned),
        };
    }
    // What the object was generated from stays as it was made.
    if let Some(kept) = live["metadata"].get("generateName") {
        metadata.insert("generateName".to_owned(), kept.clone());
    }
}

/// Counts a change of the desired state.
pub(super) fn count_generation(value: &mut Value) {
    let generation = value["metadata"]["generation"].as_i64().unwrap_or(0);
    of(value).insert("generation".to_owned(), (generation + 1).into());
}

/// Checks that a body is of the kind and place of its path, and fills in what the path says.
pub(super) fn check_place(call: &Call, body: &mut Value) -> Result<(), Status> {
    let kind = &call.kind;
    if body.is_null() && kind.origin == super::Origin::BuiltIn {
        *body = json!({});
    }
    if !body.is_object() {
        return Err(Status::bad_request(
            "the body of the request must be a JSON object",
        ));
    }
    check_type(kind, body)?;
    if !body["metadata"].is_object() && !body["metadata"].is_null() {
        return Err(Status::bad_request(
            "json: cannot unmarshal metadata: it must be an object",
        ));
    }
    let metadata = of(body);
    metadata.retain(|_, field| !field.is_null());
    let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or("");
    match &call.namespace {
        Some(wanted) if namespace.is_empty() => {
            metadata.insert("namespace".to_owned(), wanted.as_str().into());
        }
        Some(wanted) if wanted != namespace => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        None if kind.namespaced => return Err(Status::method_not_allowed()),
        // What lives in no namespace and is defined by somebody may name one: it is dropped.
        None if !namespace.is_empty() && kind.origin == super::Origin::Custom => {
            metadata.remove("namespace");
        }
        None if !namespace.is_empty() => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Some(_) | None => {}
    }
    Ok(())
}

/// Checks that a body has the name of its path.
pub(super) fn check_name(call: &Call, body: &Value) -> Result<(), Status> {
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    if name == call.name {
        return Ok(());
    }
    Err(Status::bad_request(if name.is_empty() {
        format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            call.name
        )
    } else {
        format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            call.name
        )
    }))
}

pub(super) fn check_type(kind: &ServedKind, body: &mut Value) -> Result<(), Status> {
    let (api_version, name) = (kind.api_version(), kind.kind.as_str());
    let text = |field: &str| body[field].as_str().unwrap_or_default();
    if kind.origin == super::Origin::Custom && text("kind").is_empty() {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {name}): Object 'Kind' is missing in '{body}' ({body})"
        )));
    }
    let (sent_version, sent_kind) = (text("apiVersion"), text("kind"));
    if !sent_kind.is_empty() && sent_kind != name {
        return Err(another_kind(kind, sent_version, sent_kind, body));
    }
    if !sent_version.is_empty() && sent_version != api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({sent_version}) does not match the expected API version ({api_version})"
        )));
    }
    body["apiVersion"] = api_version.into();
    body["kind"] = name.into();
    Ok(())
}

fn another_kind(kind: &ServedKind, sent_version: &str, sent_kind: &str, body: &Value) -> Status {
    if kind.origin == super::Origin::Custom && sent_version == kind.api_version() {
        let cause = Cause::invalid("kind", &Value::from(sent_kind), &format!("must be {}", kind.kind));
        let name = body["metadata"]["name"].as_str().unwrap_or_default();
        return Status::invalid_of(&kind.group, sent_kind, name, vec![cause]);
    }
    let package = match kind.group.as_str() {
        "" => "core",
        group => group.split('.').next().unwrap_or(group),
    };
    let short = sent_version.rsplit('/').next().unwrap_or_default();
    let name = &kind.kind;
    Status::bad_request(format!(
        "{sent_kind} in version {sent_version:?} cannot be handled as a {name}: converting ({short}.{sent_kind}) to ({package}.{name}): unknown conversion"
    ))
}

/// Checks name, labels, annotations and owners, as for every kind.
pub(super) fn validate(kind: &ServedKind, value: &Value) -> Vec<Cause> {
    let metadata = &value["metadata"];
    let mut causes = Vec::new();
    if let Some(prefix) = metadata["generateName"]
        .as_str()
        .filter(|prefix| !prefix.is_empty())
        && let Some(why) = bad_name(kind, &format!("{}a", prefix.trim_end_matches('-')))
    {
        causes.push(Cause::invalid(
            "metadata.generateName",
            &metadata["generateName"],
            &why,
        ));
    }
    let name = metadata["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        causes.push(Cause::required(
            "metadata.name",
            "name or generateName is required",
        ));
    } else if let Some(why) = bad_name(kind, name) {
        causes.push(Cause::invalid("metadata.name", &metadata["name"], &why));
    }
    causes.extend(validate_labels(&metadata["labels"]));
    causes.extend(validate_annotations(&metadata["annotations"]));
    causes.extend(validate_owners(&metadata["ownerReferences"]));
    for (at, finalizer) in crate::store::finalizers(value).enumerate() {
        let known = matches!(finalizer, "orphan" | "foregroundDeletion" | "kubernetes");
        for why in bad_qualified_name(finalizer) {
            causes.push(Cause::invalid(
                "metadata.finalizers",
                &Value::from(finalizer),
                &why,
            ));
        }
        // Definitions have a finalizer of their own, older than this rule.
        let is_checked = kind.origin == super::Origin::BuiltIn;
        if is_checked && !known && !finalizer.contains('/') && finalizer != super::definitions::CLEANUP {
            causes.push(Cause::invalid(
                format!("metadata.finalizers[{at}]"),
                &Value::from(finalizer),
                "name is neither a standard finalizer name nor is it fully qualified",
            ));
        }
    }
    causes
}

const LABEL: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
     start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
     validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const KEY_WITH_PREFIX: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and \
     must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
     and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/// What is wrong with the key of a label or an annotation, or with a finalizer.
fn bad_qualified_name(key: &str) -> Vec<String> {
    let parts: Vec<&str> = key.split('/').collect();
    let (prefix, name) = match parts.as_slice() {
        [name] => (None, *name),
        [prefix, name] => (Some(*prefix), *name),
        _ => return vec![format!("a valid label key {KEY_WITH_PREFIX}")],
    };
    let mut wrong = Vec::new();
    match prefix {
        Some("") => wrong.push("prefix part must be non-empty".to_owned()),
        Some(prefix) if prefix.len() > 253 => {
            wrong.push("prefix part must be no more than 253 bytes".to_owned());
        }
        Some(prefix) if !prefix.split('.').all(is_dns_label) => {
            wrong.push(format!("prefix part {SUBDOMAIN}"));
        }
        Some(_) | None => {}
    }
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        wrong.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified_name(name) && name.len() <= 63 {
        wrong.push(QUALIFIED.to_owned());
    }
    wrong
}

fn is_dns_label(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn validate_labels(labels: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        for why in bad_qualified_name(key) {
            causes.push(Cause::invalid(
                "metadata.labels",
                &Value::from(key.as_str()),
                &why,
            ));
        }
        if let Some(text) = value.as_str()
            && !is_label_value(text)
        {
            let why = if text.len() > 63 {
                "must be no more than 63 bytes"
            } else {
                LABEL
            };
            causes.push(Cause::invalid("metadata.labels", value, why));
        }
    }
    causes
}

fn validate_annotations(annotations: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        for why in bad_qualified_name(&key.to_lowercase()) {
            causes.push(Cause::invalid(
                "metadata.annotations",
                &Value::from(key.as_str()),
                &why,
            ));
        }
    }
    if size > 256 * 1024 {
        causes.push(Cause::new(
            "FieldValueTooLong",
            "metadata.annotations",
            "Too long: may not be more than 262144 bytes",
        ));
    }
    causes
}

fn validate_owners(owners: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controllers = 0;
    for owner in owners.as_array().into_iter().flatten() {
        for (field, why) in [
            ("apiVersion", "version must not be empty"),
            ("kind", "must not be empty"),
            ("name", "must not be empty"),
            ("uid", "must not be empty"),
        ] {
            if owner[field].as_str().unwrap_or_default().is_empty() {
                let path = format!("metadata.ownerReferences.{field}");
                causes.push(Cause::invalid(path, &Value::from(""), why));
            }
        }
        if owner["apiVersion"] == "v1" && owner["kind"] == "Event" {
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(Cause::invalid("metadata.ownerReferences", owner, why));
        }
        if owner["controller"] == true {
            controllers += 1;
        }
    }
    if controllers > 1 {
        causes.push(Cause::invalid(
            "metadata.ownerReferences",
            owners,
            "Only one reference can have Controller set to true.",
        ));
    }
    causes
}

/// Why a name cannot be one of this kind.
fn bad_name(kind: &ServedKind, name: &str) -> Option<String> {
    // RBAC names are only path segments.
    if kind.group == "rbac.authorization.k8s.io" {
        return (name == "." || name == ".." || name.contains(['/', '%']))
            .then(|| "may not contain '/' or '%'".to_owned());
    }
    if kind.is("", "Namespace") || kind.is("", "Service") {
        if name.len() > 63 {
            return Some("must be no more than 63 bytes".to_owned());
        }
        if name.contains('.') && name.split('.').all(is_dns_label) {
            return Some("must not contain dots".to_owned());
        }
        return (!is_dns_label(name)).then(|| DNS_LABEL.to_owned());
    }
    if name.len() > 253 {
        return Some("must be no more than 253 characters".to_owned());
    }
    (!name.split('.').all(is_dns_label)).then(|| SUBDOMAIN.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_as_their_kind_demands() {
        let registry = super::super::builtin::registry();
        let find = |group, plural| registry.find(group, "v1", plural).unwrap();
        let table = [
            (find("", "configmaps"), "a.b-c", true),
            (find("", "configmaps"), "A", false),
            (find("", "configmaps"), "-a", false),
            (find("", "namespaces"), "a.b", false),
            (find("rbac.authorization.k8s.io", "roles"), "system:node", true),
            (find("rbac.authorization.k8s.io", "roles"), "a/b", false),
        ];
        for (kind, name, good) in table {
            assert_eq!(bad_name(kind, name).is_none(), good, "{name}");
        }
    }
}
