//! The Job of an UpgradeJobHook.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Fields, bounded_json};

/// The Job of a hook, as in a CronJob's jobTemplate. All fields are kept, those too that are newer than this program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct JobTemplate {
    /// Labels and annotations of the Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JobTemplateMetadata>,
    /// The spec of the Job (batch/v1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Fields>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
    /// A template is there, and nested deeper than it is read: nothing else is known of it.
    #[serde(skip)]
    pub is_too_deep: bool,
}

/// A template as it is read.
#[derive(Deserialize)]
struct TemplateOnTheWire {
    metadata: Option<JobTemplateMetadata>,
    spec: Option<Fields>,
    #[serde(flatten)]
    other: Fields,
}

impl<'de> Deserialize<'de> for JobTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(template) = bounded_json::deserialize(deserializer)? else {
            return Ok(Self {
                is_too_deep: true,
                ..Self::default()
            });
        };
        let TemplateOnTheWire {
            metadata,
            spec,
            other,
        } = TemplateOnTheWire::deserialize(template).map_err(D::Error::custom)?;
        Ok(Self {
            metadata,
            spec,
            other,
            is_too_deep: false,
        })
    }
}

/// Labels and annotations of a hook's Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobTemplateMetadata {
    /// Labels of the Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations of the Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

// A schema of the whole pod would take most of a MiB, more than `kubectl apply` can annotate, and would prune what is newer than it.
impl JsonSchema for JobTemplate {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "JobTemplate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let metadata = json_schema!({
            "properties": {
                "labels": texts("Labels of the Job."),
                "annotations": texts("Annotations of the Job."),
            },
        });
        let template = json_schema!({
            "properties": {
                "metadata": open(metadata, "Labels and annotations of the Job."),
                "spec": job(),
            },
        });
        open(template, "The Job of a hook, as in a CronJob's jobTemplate.")
    }
}

fn job() -> Schema {
    let container = json_schema!({
        "required": ["name"],
        "properties": { "name": { "type": "string", "description": "The name of the container." } },
    });
    let pod = json_schema!({
        "required": ["containers"],
        "properties": {
            "containers": {
                "type": "array",
                "description": "The containers. Each gets the event and the UpgradeJob in its environment.",
                "items": open(container, "A container (core/v1 Container)."),
            },
        },
    });
    let pod_template = json_schema!({
        "properties": { "spec": open(pod, "The spec of the pods (core/v1 PodSpec).") },
    });
    let job = json_schema!({
        "required": ["template"],
        "properties": {
            "template": open(pod_template, "The pods of the Job (core/v1 PodTemplateSpec)."),
        },
    });
    open(job, "The spec of the Job (batch/v1 JobSpec).")
}

/// An object of which some fields are known, and all are kept.
fn open(mut schema: Schema, description: &str) -> Schema {
    schema.insert("type".into(), "object".into());
    schema.insert("description".into(), description.into());
    schema.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
    schema
}

fn texts(description: &str) -> Schema {
    json_schema!({
        "type": "object",
        "description": description,
        "additionalProperties": { "type": "string" },
    })
}
