//! Lenient CustomResourceDefinitions of the foreign kinds, for a server to which nobody has given the real ones.
//!
//! Scope, names, columns, subresources, list types and the defaults that a client can tell are the real ones'; all
//! fields are accepted and kept.

mod machine_api;
mod olm;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresourceStatus,
    CustomResourceSubresources, CustomResourceValidation, JSONSchemaProps,
};
use kube::core::Resource;
use serde_json::{Value, json};

use crate::{
    crd::{forbid_null, manifest_work_spec},
    ocm::{
        ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, ManifestWork,
        Placement, PlacementDecision,
    },
    openshift::{ClusterOperator, ClusterVersion, MachineConfigPool},
};

/// A printer column: name, type, JSON path.
type Column = (&'static str, &'static str, &'static str);

/// What a foreign kind adds to its group, version, kind and plural.
struct Shape {
    cluster_scoped: bool,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    columns: &'static [Column],
    spec: Option<Value>,
    status: Value,
}

/// Lenient CustomResourceDefinitions of the foreign kinds.
pub fn foreign_crds() -> Vec<CustomResourceDefinition> {
    let mut definitions = ocm_clusters();
    definitions.extend(ocm_namespaced());
    definitions.extend(openshift());
    definitions.extend(machine_api::definitions());
    definitions.extend(olm::definitions());
    definitions
}

/// Clusters and their sets.
fn ocm_clusters() -> Vec<CustomResourceDefinition> {
    vec![
        definition::<ManagedCluster>(Shape {
            cluster_scoped: true,
            short_names: &["mcl", "mcls"],
            categories: &[],
            columns: MANAGED_CLUSTER_COLUMNS,
            spec: Some(open(
                &json!({ "leaseDurationSeconds": { "type": "integer", "format": "int32", "default": 60 } }),
            )),
            status: open(&json!({ "conditions": conditions() })),
        }),
        definition::<ManagedClusterSet>(Shape {
            cluster_scoped: true,
            short_names: &["mclset", "mclsets"],
            categories: &[],
            columns: &[
                (
                    "Empty",
                    "string",
                    r#".status.conditions[?(@.type=="ClusterSetEmpty")].status"#,
                ),
                AGE,
            ],
            spec: Some(cluster_set_spec()),
            status: open(&json!({})),
        }),
        definition::<ManagedClusterSetBinding>(Shape {
            cluster_scoped: false,
            short_names: &["mclsetbinding", "mclsetbindings"],
            categories: &[],
            columns: &[],
            spec: Some(open(
                &json!({ "clusterSet": { "type": "string", "minLength": 1 } }),
            )),
            status: open(&json!({})),
        }),
    ]
}

/// Placements, add-ons and works.
fn ocm_namespaced() -> Vec<CustomResourceDefinition> {
    vec![
        definition::<Placement>(Shape {
            cluster_scoped: false,
            short_names: &[],
            categories: &[],
            columns: PLACEMENT_COLUMNS,
            spec: Some(open(&json!({
                "scoreRateLimit": { "type": "string", "default": "1m" },
                "sortBy": { "type": "string", "default": "ClusterName" },
            }))),
            status: open(&json!({ "conditions": conditions() })),
        }),
        definition::<PlacementDecision>(Shape {
            cluster_scoped: false,
            short_names: &[],
            categories: &[],
            columns: &[],
            spec: None,
            status: open(&json!({})),
        }),
        definition::<ManagedClusterAddOn>(Shape {
            cluster_scoped: false,
            short_names: &["mca", "mcas"],
            categories: &[],
            columns: ADDON_COLUMNS,
            spec: Some(open(&json!({
                "installNamespace": { "type": "string", "default": "open-cluster-management-agent-addon" }
            }))),
            status: open(&json!({ "conditions": conditions() })),
        }),
        definition::<ManifestWork>(Shape {
            cluster_scoped: false,
            short_names: &[],
            categories: &[],
            columns: &[],
            spec: Some(work_spec()),
            status: open(&json!({ "conditions": conditions() })),
        }),
    ]
}

fn openshift() -> Vec<CustomResourceDefinition> {
    let conditions_status = || open(&json!({ "conditions": conditions() }));
    vec![
        definition::<ClusterVersion>(Shape {
            cluster_scoped: true,
            short_names: &[],
            categories: &[],
            columns: CLUSTER_VERSION_COLUMNS,
            spec: Some(cluster_version_spec()),
            status: conditions_status(),
        }),
        definition::<ClusterOperator>(Shape {
            cluster_scoped: true,
            short_names: &["co"],
            categories: &[],
            columns: CLUSTER_OPERATOR_COLUMNS,
            spec: Some(open(&json!({}))),
            status: conditions_status(),
        }),
        definition::<MachineConfigPool>(Shape {
            cluster_scoped: true,
            short_names: &["mcp"],
            categories: &[],
            columns: POOL_COLUMNS,
            spec: Some(open(&json!({}))),
            status: open(&json!({})),
        }),
    ]
}

/// An object with these fields and any others.
fn open(fields: &Value) -> Value {
    json!({ "type": "object", "properties": fields, "x-kubernetes-preserve-unknown-fields": true })
}

/// Conditions, one a type.
fn conditions() -> Value {
    let mut condition = open(&json!({ "type": { "type": "string" }, "status": { "type": "string" } }));
    condition["required"] = json!(["type", "status"]);
    json!({
        "type": "array",
        "items": condition,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
    })
}

/// The spec of a work, with how feedback is read unless it says so.
fn work_spec() -> Value {
    let mut spec = manifest_work_spec();
    spec["properties"]["manifestConfigs"]["items"]["properties"]["feedbackScrapeType"] =
        json!({ "type": "string", "enum": ["Poll", "Watch"], "default": "Poll" });
    spec
}

fn cluster_set_spec() -> Value {
    let by_label = json!({ "selectorType": "ExclusiveClusterSetLabel" });
    let mut selector = open(&json!({
        "selectorType": { "type": "string", "default": "ExclusiveClusterSetLabel" }
    }));
    selector["default"] = by_label.clone();
    let mut spec = open(&json!({ "clusterSelector": selector }));
    spec["default"] = json!({ "clusterSelector": by_label });
    spec
}

fn cluster_version_spec() -> Value {
    let text = json!({ "type": "string" });
    let mut override_ = open(&json!({ "kind": text, "group": text, "namespace": text, "name": text }));
    override_["required"] = json!(["kind", "group", "namespace", "name"]);
    let mut spec = open(&json!({
        "clusterID": text,
        "overrides": {
            "type": "array",
            "items": override_,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["kind", "group", "namespace", "name"],
        },
    }));
    spec["required"] = json!(["clusterID"]);
    spec
}

fn definition<K: Resource<DynamicType = ()>>(shape: Shape) -> CustomResourceDefinition {
    let kind = K::kind(&()).into_owned();
    let plural = K::plural(&()).into_owned();
    let group = K::group(&()).into_owned();
    CustomResourceDefinition {
        metadata: kube::core::ObjectMeta {
            name: Some(format!("{plural}.{group}")),
            ..Default::default()
        },
        spec: CustomResourceDefinitionSpec {
            group,
            names: CustomResourceDefinitionNames {
                singular: Some(kind.to_lowercase()),
                list_kind: Some(format!("{kind}List")),
                short_names: some(shape.short_names.iter().map(|name| (*name).to_owned()).collect()),
                kind,
                plural,
                categories: some(shape.categories.iter().map(|name| (*name).to_owned()).collect()),
            },
            scope: if shape.cluster_scoped {
                "Cluster"
            } else {
                "Namespaced"
            }
            .to_owned(),
            versions: vec![version(K::version(&()).into_owned(), shape)],
            ..Default::default()
        },
        status: None,
    }
}

fn version(name: String, shape: Shape) -> CustomResourceDefinitionVersion {
    let mut fields = json!({ "status": shape.status });
    if let Some(spec) = shape.spec {
        fields["spec"] = spec;
    }
    CustomResourceDefinitionVersion {
        name,
        served: true,
        storage: true,
        additional_printer_columns: some(shape.columns.iter().map(column).collect()),
        schema: Some(CustomResourceValidation {
            open_api_v3_schema: Some(schema(json!({ "type": "object", "properties": fields }))),
        }),
        subresources: Some(CustomResourceSubresources {
            status: Some(CustomResourceSubresourceStatus(json!({}))),
            scale: None,
        }),
        ..Default::default()
    }
}

#[expect(
    clippy::expect_used,
    reason = "the schemas are constants of this file; a test renders all of them"
)]
fn schema(value: Value) -> JSONSchemaProps {
    let mut schema = serde_json::from_value(value).expect("a schema of this file is a JSON schema");
    forbid_null(&mut schema);
    schema
}

fn column(&(name, type_, json_path): &Column) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: json_path.to_owned(),
        ..Default::default()
    }
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

const AGE: Column = ("Age", "date", ".metadata.creationTimestamp");

const MANAGED_CLUSTER_COLUMNS: &[Column] = &[
    ("Hub Accepted", "boolean", ".spec.hubAcceptsClient"),
    (
        "Managed Cluster URLs",
        "string",
        ".spec.managedClusterClientConfigs[*].url",
    ),
    (
        "Joined",
        "string",
        r#".status.conditions[?(@.type=="ManagedClusterJoined")].status"#,
    ),
    (
        "Available",
        "string",
        r#".status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status"#,
    ),
    AGE,
];

const PLACEMENT_COLUMNS: &[Column] = &[
    (
        "Succeeded",
        "string",
        r#".status.conditions[?(@.type=="PlacementSatisfied")].status"#,
    ),
    (
        "Reason",
        "string",
        r#".status.conditions[?(@.type=="PlacementSatisfied")].reason"#,
    ),
    ("SelectedClusters", "integer", ".status.numberOfSelectedClusters"),
];

const ADDON_COLUMNS: &[Column] = &[
    (
        "Available",
        "string",
        r#".status.conditions[?(@.type=="Available")].status"#,
    ),
    (
        "Degraded",
        "string",
        r#".status.conditions[?(@.type=="Degraded")].status"#,
    ),
    (
        "Progressing",
        "string",
        r#".status.conditions[?(@.type=="Progressing")].status"#,
    ),
];

const CLUSTER_VERSION_COLUMNS: &[Column] = &[
    (
        "Version",
        "string",
        r#".status.history[?(@.state=="Completed")].version"#,
    ),
    (
        "Available",
        "string",
        r#".status.conditions[?(@.type=="Available")].status"#,
    ),
    (
        "Progressing",
        "string",
        r#".status.conditions[?(@.type=="Progressing")].status"#,
    ),
    (
        "Since",
        "date",
        r#".status.conditions[?(@.type=="Progressing")].lastTransitionTime"#,
    ),
    (
        "Status",
        "string",
        r#".status.conditions[?(@.type=="Progressing")].message"#,
    ),
];

const CLUSTER_OPERATOR_COLUMNS: &[Column] = &[
    (
        "Version",
        "string",
        r#".status.versions[?(@.name=="operator")].version"#,
    ),
    (
        "Available",
        "string",
        r#".status.conditions[?(@.type=="Available")].status"#,
    ),
    (
        "Progressing",
        "string",
        r#".status.conditions[?(@.type=="Progressing")].status"#,
    ),
    (
        "Degraded",
        "string",
        r#".status.conditions[?(@.type=="Degraded")].status"#,
    ),
    (
        "Since",
        "date",
        r#".status.conditions[?(@.type=="Available")].lastTransitionTime"#,
    ),
];

const POOL_COLUMNS: &[Column] = &[
    ("Config", "string", ".status.configuration.name"),
    (
        "Updated",
        "string",
        r#".status.conditions[?(@.type=="Updated")].status"#,
    ),
    (
        "Updating",
        "string",
        r#".status.conditions[?(@.type=="Updating")].status"#,
    ),
    (
        "Degraded",
        "string",
        r#".status.conditions[?(@.type=="Degraded")].status"#,
    ),
    ("MachineCount", "number", ".status.machineCount"),
    ("ReadyMachineCount", "number", ".status.readyMachineCount"),
    ("UpdatedMachineCount", "number", ".status.updatedMachineCount"),
    ("DegradedMachineCount", "number", ".status.degradedMachineCount"),
    AGE,
];
