//! The definition of PrometheusRule, by which a person adds alerts.

use serde_json::{Value, json};

/// The CustomResourceDefinition as JSON.
pub fn prometheus_rule() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "prometheusrules.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {
                "kind": "PrometheusRule", "listKind": "PrometheusRuleList", "categories": ["prometheus-operator"],
                "plural": "prometheusrules", "singular": "prometheusrule", "shortNames": ["promrule"],
            },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "required": ["spec"],
                    "properties": {
                        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    },
                }},
            }],
        },
    })
}
