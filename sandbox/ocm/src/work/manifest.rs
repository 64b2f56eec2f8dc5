//! A manifest of a work: its configuration, whether the work owns it, and when it is applied.

use serde_json::Value;

use super::wire::ResourceMeta;
use kube_sandbox::object;

/// Which part of a work's spec is about a manifest: the first match wins; names may contain `*`.
pub fn configuration<'a>(spec: &'a Value, meta: &ResourceMeta) -> Option<&'a Value> {
    object::list(&spec["manifestConfigs"]).iter().find(|config| {
        let identifier = &config["resourceIdentifier"];
        let field = |name: &str| identifier[name].as_str().unwrap_or_default();
        field("group") == meta.group
            && field("resource") == meta.resource
            && wildcard_matches(field("namespace"), &meta.namespace)
            && wildcard_matches(field("name"), &meta.name)
    })
}

/// `*` stands for any number of characters.
fn wildcard_matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(head) else {
        return false;
    };
    (0..=text.len())
        .filter(|&start| text.is_char_boundary(start))
        .any(|start| wildcard_matches(rest, &text[start..]))
}

/// True if deleting the work deletes the resource: an orphaning rule must name the group, the plural, the
/// namespace and the name exactly.
pub fn is_owned(spec: &Value, meta: &ResourceMeta) -> bool {
    let option = &spec["deleteOption"];
    match option["propagationPolicy"].as_str() {
        Some("Orphan") => false,
        Some("SelectivelyOrphan") => !object::list(&option["selectivelyOrphans"]["orphaningRules"])
            .iter()
            .any(|rule| {
                let field = |name: &str| rule[name].as_str().unwrap_or_default();
                field("group") == meta.group
                    && field("resource") == meta.resource
                    && field("name") == meta.name
                    && field("namespace") == meta.namespace
            }),
        _ => true,
    }
}

/// The order in which kinds are applied, lowest first.
pub fn rank(kind: &str) -> u8 {
    match kind {
        "Namespace" | "CustomResourceDefinition" => 0,
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => 1,
        "ServiceAccount" => 2,
        "Secret" | "ConfigMap" => 3,
        "Service" => 4,
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" | "Pod" | "Job" | "CronJob" => 5,
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" | "APIService" => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cluster_version() -> ResourceMeta {
        ResourceMeta {
            group: "config.openshift.io".into(),
            version: "v1".into(),
            kind: "ClusterVersion".into(),
            resource: "clusterversions".into(),
            name: "version".into(),
            ..ResourceMeta::default()
        }
    }

    #[test]
    fn an_orphaning_rule_matches_the_plural_and_the_group_exactly() {
        let rule = |group: &str, resource: &str| {
            json!({"deleteOption": {"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {
                "orphaningRules": [{"group": group, "resource": resource, "name": "version", "namespace": ""}]}}})
        };
        let cases = [
            (json!({}), true),
            (json!({"deleteOption": {"propagationPolicy": "Foreground"}}), true),
            (json!({"deleteOption": {"propagationPolicy": "Orphan"}}), false),
            (rule("config.openshift.io", "clusterversions"), false),
            (rule("", "ClusterVersion.config.openshift.io"), true),
            (rule("config.openshift.io", "ClusterVersion"), true),
        ];
        for (spec, owned) in cases {
            assert_eq!(is_owned(&spec, &cluster_version()), owned, "{spec}");
        }
    }

    #[test]
    fn the_first_configuration_that_matches_wins() {
        let spec = json!({"manifestConfigs": [
            {"resourceIdentifier": {"group": "config.openshift.io", "resource": "clusterversions", "name": "other"}, "n": 0},
            {"resourceIdentifier": {"group": "config.openshift.io", "resource": "clusterversions", "name": "ver*"}, "n": 1},
            {"resourceIdentifier": {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"}, "n": 2},
        ]});
        assert_eq!(configuration(&spec, &cluster_version()).unwrap()["n"], 1);
        assert!(configuration(&json!({}), &cluster_version()).is_none());
    }

    #[test]
    fn bindings_come_before_what_needs_them() {
        assert!(rank("ClusterRoleBinding") < rank("ClusterVersion"));
        assert!(rank("Namespace") < rank("ConfigMap"));
        assert!(rank("ConfigMap") < rank("Job"));
    }
}
