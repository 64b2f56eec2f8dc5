//! The definition of AppliedManifestWork, which the work agent keeps on the spoke.

use serde_json::{Value, json};

/// The CustomResourceDefinition as JSON.
pub fn applied_manifest_work() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "appliedmanifestworks.work.open-cluster-management.io"},
        "spec": {
            "group": "work.open-cluster-management.io",
            "names": {
                "kind": "AppliedManifestWork", "listKind": "AppliedManifestWorkList",
                "plural": "appliedmanifestworks", "singular": "appliedmanifestwork",
            },
            "scope": "Cluster",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}
