//! The definition of ManifestWorkReplicaSet, which no part of Drydock reads.

use serde_json::{Value, json};

use super::super::object;

/// The CustomResourceDefinition as JSON. Its template is what a ManifestWork has as its spec, so that both get the same
/// defaults.
pub fn manifest_work_replica_set() -> Value {
    let foreign = json!(drydock_api::foreign_crds());
    let works = object::list(&foreign)
        .iter()
        .find(|definition| definition["spec"]["names"]["kind"] == "ManifestWork")
        .unwrap_or(&Value::Null);
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let template = &works["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let column = |name: &str, condition: &str, field: &str| {
        let path = format!(r#".status.conditions[?(@.type=="{condition}")].{field}"#);
        json!({"name": name, "type": "string", "jsonPath": path})
    };
    let mut strategy = open.clone();
    strategy["properties"] = json!({"type": {
        "type": "string", "default": "All", "enum": ["All", "Progressive", "ProgressivePerGroup"],
    }});
    strategy["default"] = json!({"type": "All", "all": {"progressDeadline": "None"}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "manifestworkreplicasets.work.open-cluster-management.io"},
        "spec": {
            "group": "work.open-cluster-management.io",
            "names": {
                "kind": "ManifestWorkReplicaSet", "listKind": "ManifestWorkReplicaSetList",
                "plural": "manifestworkreplicasets", "singular": "manifestworkreplicaset", "shortNames": ["mwrs"],
            },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    column("Placement", "PlacementVerified", "reason"),
                    column("Found", "PlacementVerified", "status"),
                    column("ManifestWorks", "ManifestworkApplied", "reason"),
                    column("Applied", "ManifestworkApplied", "status"),
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "type": "object",
                            "required": ["placementRefs"],
                            "properties": {
                                "cascadeDeletionPolicy": {
                                    "type": "string", "default": "Background", "enum": ["Background", "Foreground"],
                                },
                                "manifestWorkTemplate": template,
                                "placementRefs": {
                                    "type": "array", "minItems": 1,
                                    "items": {
                                        "type": "object",
                                        "required": ["name"],
                                        "properties": {
                                            "name": {"type": "string", "minLength": 1},
                                            "rolloutStrategy": strategy,
                                        },
                                    },
                                },
                            },
                        },
                        "status": open,
                    },
                }},
            }],
        },
    })
}
