//! The status of a ManifestWork, and what else of it is read, as Rust types.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use kube_sandbox::condition::Condition;

/// Which resource a manifest is, as the agent's RESTMapper resolved it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceMeta {
    /// Its place in the work.
    pub ordinal: i32,
    /// API group, empty for the core one.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// The plural; empty if the server does not know the kind.
    pub resource: String,
    /// Name.
    pub name: String,
    /// Namespace, empty for cluster-wide resources.
    pub namespace: String,
}

impl ResourceMeta {
    /// True if the resource can be asked for.
    pub fn is_complete(&self) -> bool {
        !self.resource.is_empty() && !self.version.is_empty() && !self.name.is_empty()
    }

    /// True if both are the same resource, wherever they stand in the work.
    pub fn is_same_resource(&self, other: &Self) -> bool {
        (
            &self.group,
            &self.version,
            &self.kind,
            &self.resource,
            &self.name,
            &self.namespace,
        ) == (
            &other.group,
            &other.version,
            &other.kind,
            &other.resource,
            &other.name,
            &other.namespace,
        )
    }
}

/// A value that feedback brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum FieldValue {
    /// A whole number.
    Integer {
        /// The number.
        integer: i64,
    },
    /// A text.
    String {
        /// The text.
        string: String,
    },
    /// Yes or no.
    Boolean {
        /// The answer.
        boolean: bool,
    },
    /// Anything else; written only by agents with an alpha feature.
    JsonRaw {
        /// The JSON text.
        #[serde(rename = "jsonRaw")]
        json_raw: String,
    },
}

/// A named value of feedback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedbackValue {
    /// The name that the rule gave.
    pub name: String,
    /// The value.
    pub field_value: FieldValue,
}

/// The values of one manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusFeedback {
    /// In the order of the rules; a path without a value is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<FeedbackValue>,
}

/// The status of one manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManifestStatus {
    /// Its conditions, in the order in which they were first set.
    pub conditions: Vec<Condition>,
    /// Which resource it is.
    pub resource_meta: ResourceMeta,
    /// What it feeds back.
    pub status_feedback: StatusFeedback,
}

/// `status.resourceStatus`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceStatus {
    /// One entry a manifest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<ManifestStatus>,
}

/// The status of a ManifestWork.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkStatus {
    /// The work's own conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Those of its manifests.
    pub resource_status: ResourceStatus,
}

impl WorkStatus {
    /// Reads the status of a ManifestWork; one that cannot be read counts as empty.
    pub fn parse(work: &Value) -> Self {
        Self::deserialize(&work["status"]).unwrap_or_default()
    }

    /// The status of a manifest.
    pub fn manifest(&self, meta: &ResourceMeta) -> Option<&ManifestStatus> {
        self.resource_status
            .manifests
            .iter()
            .find(|status| status.resource_meta.is_same_resource(meta))
    }
}

/// A resource that the agent applied, as AppliedManifestWork remembers it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AppliedResource {
    /// API group.
    #[serde(default)]
    pub group: String,
    /// API version.
    pub version: String,
    /// The plural.
    pub resource: String,
    /// Namespace, empty for cluster-wide resources.
    #[serde(default)]
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The uid it had, so that a successor of the same name is left alone.
    pub uid: String,
}

impl AppliedResource {
    /// True if both name the same resource, whatever their uid.
    pub fn is_same_resource(&self, other: &Self) -> bool {
        (&self.group, &self.resource, &self.namespace, &self.name)
            == (&other.group, &other.resource, &other.namespace, &other.name)
    }
}
