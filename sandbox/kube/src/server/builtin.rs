//! The built-in kinds that this server has.

use std::sync::Arc;

use super::kinds::{Origin, Registry, ScalePaths, ServedKind};
use crate::store::CollectionId;

struct BuiltIn {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    category: Option<&'static str>,
    namespaced: bool,
    status: bool,
    generation: bool,
    scale: bool,
}

const fn kind(group: &'static str, kind: &'static str, plural: &'static str) -> BuiltIn {
    BuiltIn {
        group,
        kind,
        plural,
        short_names: &[],
        category: None,
        namespaced: true,
        status: false,
        generation: false,
        scale: false,
    }
}

impl BuiltIn {
    const fn short(mut self, short_names: &'static [&'static str]) -> Self {
        self.short_names = short_names;
        self
    }
    const fn all(mut self) -> Self {
        self.category = Some("all");
        self
    }
    const fn category(mut self, category: &'static str) -> Self {
        self.category = Some(category);
        self
    }
    const fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }
    const fn status(mut self) -> Self {
        self.status = true;
        self
    }
    const fn generation(mut self) -> Self {
        self.generation = true;
        self
    }
    const fn scale(mut self) -> Self {
        self.scale = true;
        self
    }
}

/// The version of all of them.
const VERSION: &str = "v1";
const ADMISSION: &str = "admissionregistration.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const BUILT_IN: &[BuiltIn] = &[
    kind("", "ConfigMap", "configmaps").short(&["cm"]),
    kind("", "Event", "events").short(&["ev"]),
    kind("", "Namespace", "namespaces")
        .short(&["ns"])
        .cluster()
        .status(),
    kind("", "Node", "nodes").short(&["no"]).cluster().status(),
    kind("", "Pod", "pods").short(&["po"]).all().status().generation(),
    kind("", "Secret", "secrets"),
    kind("", "ServiceAccount", "serviceaccounts").short(&["sa"]),
    kind("", "Service", "services").short(&["svc"]).all().status(),
    kind("apps", "DaemonSet", "daemonsets")
        .short(&["ds"])
        .all()
        .status()
        .generation(),
    kind("apps", "Deployment", "deployments")
        .short(&["deploy"])
        .all()
        .status()
        .generation()
        .scale(),
    kind("batch", "Job", "jobs").all().status().generation(),
    kind("coordination.k8s.io", "Lease", "leases"),
    kind("events.k8s.io", "Event", "events").short(&["ev"]),
    kind("networking.k8s.io", "NetworkPolicy", "networkpolicies")
        .short(&["netpol"])
        .generation(),
    kind("policy", "PodDisruptionBudget", "poddisruptionbudgets")
        .short(&["pdb"])
        .status()
        .generation(),
    kind(RBAC, "ClusterRoleBinding", "clusterrolebindings").cluster(),
    kind(RBAC, "ClusterRole", "clusterroles").cluster(),
    kind(RBAC, "RoleBinding", "rolebindings"),
    kind(RBAC, "Role", "roles"),
    kind(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    )
    .short(&["crd", "crds"])
    .category("api-extensions")
    .cluster()
    .status()
    .generation(),
    kind(
        ADMISSION,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    )
    .category("api-extensions")
    .cluster()
    .status()
    .generation(),
    kind(
        ADMISSION,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    )
    .category("api-extensions")
    .cluster()
    .generation(),
];

/// A registry of the built-in kinds.
pub(super) fn registry() -> Registry {
    let mut registry = Registry::default();
    for built_in in BUILT_IN {
        registry.insert(Arc::new(kind_type(built_in)));
    }
    registry
}

fn kind_type(built_in: &BuiltIn) -> ServedKind {
    let resource = CollectionId::new(built_in.group, built_in.plural);
    // Both groups' Events are one collection, as in the real server, stored in the core group's form.
    let is_event = built_in.kind == "Event";
    let collection = if is_event {
        CollectionId::new("", "events")
    } else {
        resource.clone()
    };
    let api_version = if built_in.group.is_empty() || is_event {
        VERSION.to_owned()
    } else {
        format!("{}/{VERSION}", built_in.group)
    };
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    ServedKind {
        group: built_in.group.to_owned(),
        version: VERSION.to_owned(),
        kind: built_in.kind.to_owned(),
        list_kind: format!("{}List", built_in.kind),
        plural: built_in.plural.to_owned(),
        singular: built_in.kind.to_lowercase(),
        short_names: owned(built_in.short_names),
        categories: built_in
            .category
            .map(std::borrow::ToOwned::to_owned)
            .into_iter()
            .collect(),
        namespaced: built_in.namespaced,
        collection,
        resource,
        origin: Origin::BuiltIn,
        status: built_in.status,
        scale: built_in.scale.then(|| ScalePaths {
            spec: ".spec.replicas".to_owned(),
            status: ".status.replicas".to_owned(),
            selector: None,
        }),
        generation: built_in.generation,
        storage_api_version: api_version,
        definition: None,
        schema: None,
        selectable_fields: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_groups_of_events_share_a_collection() {
        let registry = registry();
        let core = registry.find("", "v1", "events").unwrap();
        let new = registry.find("events.k8s.io", "v1", "events").unwrap();
        assert_eq!(core.collection, new.collection);
        assert_eq!(new.resource.as_str(), "events.events.k8s.io");
        assert_eq!(registry.storage_of(&core.collection).unwrap().group, "");
    }
}
