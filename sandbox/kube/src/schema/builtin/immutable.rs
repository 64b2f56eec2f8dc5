//! Fields of built-in kinds that no update may change.

use serde_json::Value;

use crate::schema::{FieldError, GroupVersionKind};

/// Group, kind, and the fields: whoever sends another value, or none, is refused.
const IMMUTABLE: &[(&str, &str, &[&str])] = &[
    (
        "batch",
        "Job",
        &[
            "spec.completions",
            "spec.selector",
            "spec.completionMode",
            "spec.template",
        ],
    ),
    ("apps", "Deployment", &["spec.selector"]),
    ("apps", "DaemonSet", &["spec.selector"]),
    ("", "Secret", &["type"]),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &["roleRef"]),
    ("rbac.authorization.k8s.io", "RoleBinding", &["roleRef"]),
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
    let mut errors = kept_whole(kind, new, old);
    let changed = fields.iter().filter(|path| !may_change(path)).filter_map(|path| {
        let (before, after) = (at(old, path), at(new, path));
        let why = if *path == "roleRef" {
            "cannot change roleRef"
        } else {
            "field is immutable"
        };
        (before != after).then(|| FieldError::invalid(*path, after, why))
    });
    errors.extend(changed);
    errors
}

/// ConfigMaps and Secrets that say so themselves, and the specs of pods.
fn kept_whole(kind: &GroupVersionKind, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "ConfigMap" | "Secret") if old["immutable"] == true => {
            let mut forbid = |field: &str| {
                let why = "field is immutable when `immutable` is set";
                errors.push(FieldError::forbidden(field, why));
            };
            if new["immutable"] != true {
                forbid("immutable");
            }
            for field in ["data", "binaryData"] {
                if new.get(field) != old.get(field) {
                    forbid(field);
                }
            }
        }
        ("", "Pod") if fixed(&new["spec"]) != fixed(&old["spec"]) => {
            let why = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
            errors.push(FieldError::forbidden("spec", why));
        }
        _ => {}
    }
    errors
}

/// A pod's spec without what may change.
fn fixed(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            container["image"] = Value::Null;
        }
    }
    for free in [
        "activeDeadlineSeconds",
        "tolerations",
        "terminationGracePeriodSeconds",
    ] {
        spec[free] = Value::Null;
    }
    spec
}
