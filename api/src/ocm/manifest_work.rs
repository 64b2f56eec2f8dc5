//! ManifestWork: objects for a managed cluster, and what is read back of them.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Fields, List, bounded_json, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// Objects that the work agent applies on a managed cluster; lives in the cluster's namespace.
    ManifestWork, "work.open-cluster-management.io", "v1", "manifestworks", NamespaceResourceScope,
    spec: ManifestWorkSpec, status: ManifestWorkStatus
);

/// The objects, and how they are applied, watched and deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ManifestWorkSpec {
    /// The objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// What becomes of the objects when the work is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_option: Option<DeleteOption>,
    /// How single objects are applied, and what is read back of them.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub manifest_configs: List<ManifestConfig>,
    /// As whom the work agent applies the objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor: Option<Executor>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// The objects of a work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Workload {
    /// The objects.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub manifests: List<Manifest>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// An object for a managed cluster, whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend(
    "type" = "object",
    "x-kubernetes-embedded-resource" = true,
    "x-kubernetes-preserve-unknown-fields" = true
))]
pub struct Manifest(pub Value);

// One that is nested too deep is read as `null`: it must not keep other works from being read, and none of ours is.
impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bounded_json::deserialize(deserializer).map(|object| Self(object.unwrap_or_default()))
    }
}

impl From<Value> for Manifest {
    fn from(object: Value) -> Self {
        Self(object)
    }
}

/// What becomes of the objects when a work is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeleteOption {
    /// `Foreground` (they are deleted first), `Orphan` (they stay) or `SelectivelyOrphan` (some stay).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Foreground", "Orphan", "SelectivelyOrphan"]))]
    pub propagation_policy: Option<String>,
    /// Which objects stay, for `SelectivelyOrphan`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selectively_orphans: Option<SelectivelyOrphan>,
    /// Time to live of the work after completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i64>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// Which objects stay when a work is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct SelectivelyOrphan {
    /// One rule per object.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub orphaning_rules: List<ResourceIdentifier>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// One object of a work. The resource is the plural; group and namespace are empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceIdentifier {
    /// The API group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The resource, in the plural.
    pub resource: String,
    /// The object's name.
    pub name: String,
    /// The object's namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How one object is applied, and what is read back of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestConfig {
    /// The object.
    pub resource_identifier: ResourceIdentifier,
    /// What is read back.
    #[serde(default, skip_serializing_if = "List::is_absent")]
    pub feedback_rules: List<FeedbackRule>,
    /// `Poll` (the default) or `Watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Poll", "Watch"]))]
    pub feedback_scrape_type: Option<String>,
    /// How the object is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
    /// Conditions that are computed from the object.
    #[serde(default, skip_serializing_if = "List::is_absent")]
    pub condition_rules: List<ConditionRule>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What is read back of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackRule {
    /// `WellKnownStatus` or `JSONPaths`.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["WellKnownStatus", "JSONPaths"]))]
    pub type_: String,
    /// The values, for `JSONPaths`.
    #[serde(default, skip_serializing_if = "List::is_absent")]
    pub json_paths: List<JsonPath>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// One value that is read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JsonPath {
    /// The value's name in the feedback.
    pub name: String,
    /// Where it stands in the object, as kubectl's JSON path.
    pub path: String,
    /// The version of the resource to which the path belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How an object is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStrategy {
    /// `Update` (replaces the whole spec), `CreateOnly`, `ServerSideApply` or `ReadOnly`.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["Update", "CreateOnly", "ServerSideApply", "ReadOnly"]))]
    pub type_: String,
    /// How it is applied, for `ServerSideApply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_side_apply: Option<ServerSideApply>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How an object is applied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServerSideApply {
    /// Whether to take over fields that other managers own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// The field manager; begins with `work-agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^work-agent"))]
    pub field_manager: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A condition that is computed from an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionRule {
    /// The condition's type.
    pub condition: String,
    /// `WellKnownConditions` or `CEL`.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["WellKnownConditions", "CEL"]))]
    pub type_: String,
    /// The expressions, for `CEL`; all must be true.
    #[serde(default, skip_serializing_if = "List::is_absent")]
    pub cel_expressions: List<String>,
    /// The condition's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// An expression that gives the condition's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_expression: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// As whom the work agent applies the objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Executor {
    /// Who that is: a ServiceAccount of the managed cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<ExecutorSubject>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// The subject as whom the work agent applies the objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorSubject {
    /// `ServiceAccount`.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["ServiceAccount"]))]
    pub type_: String,
    /// The ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<ServiceAccountReference>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A ServiceAccount of the managed cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccountReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What became of the objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManifestWorkStatus {
    /// Of the whole work: `Applied`, `Available`, and those of the user's rules.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// Of each object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_status: Option<ResourceStatus>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What became of each object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceStatus {
    /// One entry an object, in the order of the workload.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub manifests: List<ManifestStatus>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What became of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManifestStatus {
    /// Which object.
    pub resource_meta: ResourceMeta,
    /// What was read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_feedback: Option<StatusFeedback>,
    /// `Applied`, `Available`, `StatusFeedbackSynced`, and those of the user's rules.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// Which object of the workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceMeta {
    /// Its place in the workload.
    pub ordinal: i64,
    /// The API group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The API version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The resource, in the plural.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What was read back of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StatusFeedback {
    /// The values that were there; a path without a value is left out.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub values: List<FeedbackValue>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// One value that was read back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FeedbackValue {
    /// The name that the rule gave it.
    pub name: String,
    /// The value.
    pub field_value: FieldValue,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A scalar.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldValue {
    /// `Integer`, `String`, `Boolean` or `JsonRaw`.
    #[serde(rename = "type")]
    pub type_: String,
    /// The value of an `Integer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub integer: Option<i64>,
    /// The value of a `String`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub string: Option<String>,
    /// The value of a `Boolean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boolean: Option<bool>,
    /// The value of a `JsonRaw`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_raw: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

impl FieldValue {
    /// A text.
    pub fn text(value: impl Into<String>) -> Self {
        Self {
            type_: "String".to_owned(),
            string: Some(value.into()),
            ..Self::default()
        }
    }

    /// The value as text, whatever its type.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self {
                string: Some(text), ..
            }
            | Self {
                json_raw: Some(text), ..
            } => Some(text.clone()),
            Self {
                integer: Some(integer),
                ..
            } => Some(integer.to_string()),
            Self {
                boolean: Some(boolean),
                ..
            } => Some(boolean.to_string()),
            _ => None,
        }
    }
}

impl StatusFeedback {
    /// The value that a rule has named.
    pub fn value(&self, name: &str) -> Option<&FieldValue> {
        let value = self.values.iter().find(|value| value.name == name)?;
        Some(&value.field_value)
    }
}
