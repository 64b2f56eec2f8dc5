//! The Operator Lifecycle Manager's kinds.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

use super::{AGE, Column, Shape, definition, open};
use crate::olm::{CatalogSource, ClusterServiceVersion, InstallPlan, Subscription};

pub(super) fn definitions() -> Vec<CustomResourceDefinition> {
    let text = || json!({ "type": "string" });
    let mut subscription = open(&json!({ "name": text(), "source": text(), "sourceNamespace": text() }));
    subscription["required"] = json!(["name", "source", "sourceNamespace"]);
    let mut plan = open(&json!({
        "approval": text(),
        "approved": { "type": "boolean" },
        "clusterServiceVersionNames": { "type": "array", "items": text() },
    }));
    plan["required"] = json!(["approval", "approved", "clusterServiceVersionNames"]);
    vec![
        definition::<CatalogSource>(Shape {
            cluster_scoped: false,
            short_names: &["catsrc"],
            categories: &["olm"],
            columns: CATALOG_COLUMNS,
            spec: Some(open(&json!({}))),
            status: open(&json!({})),
        }),
        definition::<Subscription>(Shape {
            cluster_scoped: false,
            short_names: &["sub", "subs"],
            categories: &["olm"],
            columns: SUBSCRIPTION_COLUMNS,
            spec: Some(subscription),
            status: open(&json!({})),
        }),
        definition::<InstallPlan>(Shape {
            cluster_scoped: false,
            short_names: &["ip"],
            categories: &["olm"],
            columns: PLAN_COLUMNS,
            spec: Some(plan),
            status: open(&json!({})),
        }),
        definition::<ClusterServiceVersion>(Shape {
            cluster_scoped: false,
            short_names: &["csv", "csvs"],
            categories: &["olm"],
            columns: VERSION_COLUMNS,
            spec: Some(open(&json!({}))),
            status: open(&json!({})),
        }),
    ]
}

const CATALOG_COLUMNS: &[Column] = &[
    ("Display", "string", ".spec.displayName"),
    ("Type", "string", ".spec.sourceType"),
    ("Publisher", "string", ".spec.publisher"),
    AGE,
];

const SUBSCRIPTION_COLUMNS: &[Column] = &[
    ("Package", "string", ".spec.name"),
    ("Source", "string", ".spec.source"),
    ("Channel", "string", ".spec.channel"),
];

const PLAN_COLUMNS: &[Column] = &[
    ("CSV", "string", ".spec.clusterServiceVersionNames[0]"),
    ("Approval", "string", ".spec.approval"),
    ("Approved", "boolean", ".spec.approved"),
];

const VERSION_COLUMNS: &[Column] = &[
    ("Display", "string", ".spec.displayName"),
    ("Version", "string", ".spec.version"),
    ("Replaces", "string", ".spec.replaces"),
    ("Phase", "string", ".status.phase"),
];
