//! Fields of built-in kinds that no update may change.

use serde_json::Value;

use crate::schema::{FieldError, GroupVersionKind};

/// Group, kind, and the fields: whoever sends another value, or none, is refused.
const IMMUTABLE: &[(&str, &str, &[&str])] = &[
    (
        "batch",
        "Job",
        &["spec.selector", "spec.completionMode", "spec.template"],
    ),
    ("apps", "Deployment", &["spec.selector"]),
    ("apps", "DaemonSet", &["spec.selector"]),
    ("apps", "ReplicaSet", &["spec.selector"]),
    ("", "Secret", &["type"]),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &["roleRef"]),
    ("rbac.authorization.k8s.io", "RoleBinding", &["roleRef"]),
    (
        "storage.k8s.io",
        "StorageClass",
        &["provisioner", "parameters", "reclaimPolicy"],
    ),
];

/// What an update changes that it may not.
pub fn validate_update(kind: &GroupVersionKind, new: &Value, old: &Value) -> Vec<FieldError> {
    let fields = IMMUTABLE
        .iter()
        .find(|(group, name, _)| *group == kind.group && *name == kind.kind)
        .map_or(&[][..], |(_, _, fields)| *fields);
    let at = |object: &Value, path: &str| -> Value {
        let found = path.split('.').try_fold(object, |value, field| value.get(field));
        found.cloned().unwrap_or_default()
    };
    // A Job that is suspended and has not started may still be given another template.
    let may_change = |path: &str| {
        path == "spec.template" && old["spec"]["suspend"] == true && old["status"]["startTime"].is_null()
    };
    fields
        .iter()
        .filter(|path| !may_change(path))
        .filter_map(|path| {
            let (before, after) = (at(old, path), at(new, path));
            (before != after).then(|| FieldError::invalid(*path, after, "field is immutable"))
        })
        .collect()
}
