//! What a server says of its kinds: discovery, and OpenAPI documents enough for kubectl's apply and explain. Pure: from
//! kinds to JSON.

mod discovery;
mod document;
#[cfg(test)]
mod tests;

pub use discovery::{aggregated, group, groups, resources, versions};
pub use document::{document, index};

use crate::server::{Origin, ServedKind, Subresource};

/// The version of Kubernetes whose behaviour is shown.
pub const KUBERNETES: &str = "v1.36.3";

/// The verbs of objects.
const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// The same of a custom kind, in the order in which they are given.
const CUSTOM_VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

fn verbs(kind: &ServedKind) -> [&'static str; 8] {
    match kind.origin {
        Origin::Custom => CUSTOM_VERBS,
        Origin::BuiltIn => VERBS,
    }
}

/// What `/version` answers.
pub fn version() -> serde_json::Value {
    serde_json::json!({
        "major": "1", "minor": "36", "gitVersion": KUBERNETES, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64",
    })
}

/// A part of a kind that has a path of its own.
struct Part {
    name: &'static str,
    group: String,
    version: String,
    kind: String,
    verbs: &'static [&'static str],
}

fn parts(kind: &ServedKind) -> Vec<Part> {
    let own = |part: Subresource| Part {
        name: part.as_str(),
        group: kind.group.clone(),
        version: kind.version.clone(),
        kind: kind.kind.clone(),
        verbs: &["get", "patch", "update"],
    };
    let of = |part: Subresource, group: &str, version: &str, name: &str, verbs| Part {
        name: part.as_str(),
        group: group.to_owned(),
        version: version.to_owned(),
        kind: name.to_owned(),
        verbs,
    };
    let mut parts = Vec::new();
    if kind.is("", "Pod") {
        parts.push(of(Subresource::Binding, "", "v1", "Binding", &["create"]));
        parts.push(of(Subresource::Eviction, "policy", "v1", "Eviction", &["create"]));
    }
    if kind.scale.is_some() {
        parts.push(of(
            Subresource::Scale,
            "autoscaling",
            "v1",
            "Scale",
            &["get", "patch", "update"],
        ));
    }
    if kind.status {
        match kind.origin {
            Origin::Custom => parts.insert(0, own(Subresource::Status)),
            Origin::BuiltIn => parts.push(own(Subresource::Status)),
        }
    }
    parts
}
