//! ClusterVersion (managed): the spec of OpenShift's ClusterVersion, with changes that come into force at a time.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::absent_spec::default_if_absent;
use crate::openshift::cluster_version::ClusterVersionSpec;

/// What the spec of OpenShift's ClusterVersion is, and becomes. In this group the kind is ClusterVersion, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "managedupgrade.appuio.io",
    version = "v1beta1",
    kind = "ClusterVersion",
    root = "ManagedClusterVersion",
    plural = "clusterversions",
    singular = "clusterversion",
    shortname = "mcv",
    namespaced,
    status = "ManagedClusterVersionStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "ClusterVersion is the spec of OpenShift's ClusterVersion of this cluster, but for the desired update, which UpgradeJobs set.",
    printcolumn = r#"{"name": "Channel", "type": "string", "jsonPath": ".status.current.channel"}"#,
    printcolumn = r#"{"name": "Overlay", "type": "string", "jsonPath": ".status.overlayApplied", "description": "Since when the overlay in force is applied"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase", from = "Option<SpecOnTheWire>")]
#[schemars(!from)]
pub struct ManagedClusterVersionSpec {
    /// The spec that is in force where no overlay is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<ClusterVersionTemplate>,
    /// Changes to the template. The one that came into force last applies, alone: they do not add up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlays: Option<Vec<ScheduledOverlay>>,
}

default_if_absent!(ManagedClusterVersionSpec {
    template: Option<ClusterVersionTemplate>,
    overlays: Option<Vec<ScheduledOverlay>>,
});

/// The spec that is in force where no overlay is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterVersionTemplate {
    /// The spec of OpenShift's ClusterVersion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "whole_spec")]
    pub spec: Option<ClusterVersionSpec>,
}

/// A change to the template that comes into force at a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScheduledOverlay {
    /// When it comes into force.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub from: Time,
    /// The change.
    pub overlay: ClusterVersionOverlay,
}

/// A change to the template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterVersionOverlay {
    /// The fields that differ. Objects are merged, lists are replaced; what is empty changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "part_of_spec")]
    pub spec: Option<ClusterVersionSpec>,
}

/// Which spec is in force, and which ones will be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterVersionStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The spec that is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "whole_spec")]
    pub current: Option<ClusterVersionSpec>,
    /// What the spec is with each of the overlays, in the order of the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlays: Option<Vec<OverlayPreview>>,
    /// Since when the overlay that is in force is; absent if none is.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub overlay_applied: Option<Time>,
    /// Ready: has the spec been applied?
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::conditions::deserialize_some"
    )]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,
}

/// What the spec is with an overlay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverlayPreview {
    /// When the overlay comes into force.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub from: Time,
    /// What the spec is then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<ClusterVersionPreview>,
}

/// What the spec is with an overlay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterVersionPreview {
    /// The spec of OpenShift's ClusterVersion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "whole_spec")]
    pub spec: Option<ClusterVersionSpec>,
}

/// A spec as OpenShift takes it.
fn whole_spec(_: &mut SchemaGenerator) -> Schema {
    let mut overrides = overrides();
    overrides.insert("x-kubernetes-list-type".into(), "map".into());
    overrides.insert(
        "x-kubernetes-list-map-keys".into(),
        json!(["kind", "group", "namespace", "name"]),
    );
    let mut schema = spec(&overrides);
    schema.insert("required".into(), json!(["clusterID"]));
    schema
}

/// A spec of which most is missing.
fn part_of_spec(_: &mut SchemaGenerator) -> Schema {
    spec(&overrides())
}

/// The fields of OpenShift's ClusterVersionSpec. Names of capabilities are not listed: every release of OpenShift adds some, and the
/// cluster's own definition knows which.
fn spec(overrides: &Schema) -> Schema {
    json_schema!({
        "type": "object",
        "description": "The spec of OpenShift's ClusterVersion.",
        "properties": {
            "clusterID": text("The identifier of the cluster, a UUID."),
            "channel": text("The channel of updates that the cluster follows, such as stable-4.18."),
            "upstream": text("The update service. Default the one of the platform."),
            "desiredUpdate": desired_update(),
            "capabilities": capabilities(),
            "overrides": overrides,
            "signatureStores": signature_stores(),
        },
    })
}

fn text(description: &str) -> Schema {
    json_schema!({ "type": "string", "description": description })
}

fn desired_update() -> Schema {
    json_schema!({
        "type": "object",
        "description": "Accepted and ignored: UpgradeJobs set the desired update.",
        "properties": {
            "architecture": { "type": "string", "description": "Ignored.", "enum": ["Multi", ""] },
            "force": { "type": "boolean", "description": "Ignored." },
            "image": text("Ignored."),
            "version": text("Ignored."),
        },
    })
}

fn capabilities() -> Schema {
    json_schema!({
        "type": "object",
        "description": "The optional components of the cluster.",
        "properties": {
            "baselineCapabilitySet": text("The set of capabilities to start from, such as None, v4.18 or vCurrent."),
            "additionalEnabledCapabilities": {
                "type": "array",
                "description": "Capabilities that are enabled beside those of the set.",
                "items": { "type": "string" },
            },
        },
    })
}

fn overrides() -> Schema {
    json_schema!({
        "type": "array",
        "description": "Components that the cluster-version operator does not manage.",
        "items": {
            "type": "object",
            "description": "A component.",
            "required": ["group", "kind", "name", "namespace", "unmanaged"],
            "properties": {
                "group": text("The API group of its kind."),
                "kind": text("Its kind."),
                "name": text("Its name."),
                "namespace": text("Its namespace; empty if it is cluster-scoped."),
                "unmanaged": { "type": "boolean", "description": "If true, the operator leaves it alone." },
            },
        },
    })
}

fn signature_stores() -> Schema {
    json_schema!({
        "type": "array",
        "description": "Where the signatures of releases are, instead of the default stores.",
        "maxItems": 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["url"],
        "items": {
            "type": "object",
            "description": "A store of signatures.",
            "required": ["url"],
            "properties": {
                "url": {
                    "type": "string",
                    "description": "Its address.",
                    "x-kubernetes-validations": [
                        { "rule": "isURL(self)", "message": "url must be a valid absolute URL" },
                    ],
                },
                "ca": {
                    "type": "object",
                    "description": "The certificate authority of its server: a ConfigMap of openshift-config with the key ca.crt.",
                    "required": ["name"],
                    "properties": { "name": text("The name of the ConfigMap.") },
                },
            },
        },
    })
}
