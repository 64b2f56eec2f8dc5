//! Which groups, versions and kinds there are: in the form of old clients, and aggregated.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{parts, verbs};
use crate::server::{Registry, ServedKind};

/// `/api`
pub fn versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [],
    })
}

/// The versions of each named group, the preferred one first.
fn by_group(registry: &Registry) -> BTreeMap<String, BTreeMap<Rank, Vec<Arc<ServedKind>>>> {
    let mut groups: BTreeMap<String, BTreeMap<Rank, Vec<Arc<ServedKind>>>> = BTreeMap::new();
    for kind in registry.kinds() {
        groups
            .entry(kind.group.clone())
            .or_default()
            .entry(Rank::of(&kind.version))
            .or_default()
            .push(Arc::clone(kind));
    }
    groups
}

/// The order of versions: v2, v1, v2beta1, v1beta2, v1alpha1, then the rest by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    stage: u8,
    numbers: (std::cmp::Reverse<u32>, std::cmp::Reverse<u32>),
    version: String,
}

impl Rank {
    fn of(version: &str) -> Self {
        let number = |text: &str| text.parse::<u32>().ok();
        let parsed = version.strip_prefix('v').and_then(|rest| {
            for (stage, word) in [(1, "beta"), (2, "alpha")] {
                if let Some((major, minor)) = rest.split_once(word) {
                    return Some((stage, number(major)?, number(minor)?));
                }
            }
            Some((0, number(rest)?, 0))
        });
        let (stage, major, minor) = parsed.unwrap_or((3, 0, 0));
        Self {
            stage,
            numbers: (std::cmp::Reverse(major), std::cmp::Reverse(minor)),
            version: version.to_owned(),
        }
    }
}

/// `/apis`
pub fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = by_group(registry)
        .iter()
        .filter(|(name, _)| !name.is_empty())
        .map(|(name, versions)| group_value(name, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/{group}`; `None` if there is no such group.
pub fn group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = by_group(registry);
    let mut value = group_value(name, groups.get(name).filter(|_| !name.is_empty())?);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    Some(value)
}

fn group_value(name: &str, versions: &BTreeMap<Rank, Vec<Arc<ServedKind>>>) -> Value {
    let versions: Vec<Value> = versions
        .keys()
        .map(|rank| json!({"groupVersion": format!("{name}/{}", rank.version), "version": rank.version}))
        .collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

/// `/api/v1` and `/apis/{group}/{version}`; `None` if there is no such version.
pub fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let kinds = of_version(registry, group, version);
    let first = kinds.first()?;
    let mut resources = Vec::new();
    for kind in &kinds {
        let mut resource = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": verbs(kind),
        });
        if !kind.short_names.is_empty() {
            resource["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            resource["categories"] = json!(kind.categories);
        }
        resources.push(resource);
        for part in parts(kind) {
            let mut resource = json!({
                "name": format!("{}/{}", kind.plural, part.name), "singularName": "",
                "namespaced": kind.namespaced, "kind": part.kind, "verbs": part.verbs,
            });
            if part.group != kind.group || part.version != kind.version {
                resource["group"] = part.group.into();
                resource["version"] = part.version.into();
            }
            resources.push(resource);
        }
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": first.api_version(),
        "resources": resources,
    }))
}

pub(super) fn of_version(registry: &Registry, group: &str, version: &str) -> Vec<Arc<ServedKind>> {
    registry
        .kinds()
        .filter(|kind| kind.group == group && kind.version == version)
        .map(Arc::clone)
        .collect()
}

/// `/api` (`core`) or `/apis` as one document with all kinds (`apidiscovery.k8s.io/v2`).
pub fn aggregated(registry: &Registry, core: bool) -> Value {
    let items: Vec<Value> = by_group(registry)
        .iter()
        .filter(|(name, _)| name.is_empty() == core)
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|(rank, kinds)| {
                    let resources: Vec<Value> = kinds.iter().map(|kind| aggregated_resource(kind)).collect();
                    json!({"version": rank.version, "freshness": "Current", "resources": resources})
                })
                .collect();
            let metadata = if core { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": items,
    })
}

fn aggregated_resource(kind: &ServedKind) -> Value {
    let mut resource = json!({
        "resource": kind.plural, "singularResource": kind.singular,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "verbs": verbs(kind),
    });
    if !kind.short_names.is_empty() {
        resource["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        resource["categories"] = json!(kind.categories);
    }
    let parts: Vec<Value> = parts(kind)
        .into_iter()
        .map(|part| {
            json!({
                "subresource": part.name, "verbs": part.verbs,
                "responseKind": {"group": part.group, "version": part.version, "kind": part.kind},
            })
        })
        .collect();
    if !parts.is_empty() {
        resource["subresources"] = parts.into();
    }
    resource
}
