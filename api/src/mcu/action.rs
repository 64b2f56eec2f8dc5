//! What is done on each cluster before or after its upgrade.

use kube::KubeSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{bounded_json, ocm::manifest_work::ManifestWorkSpec};

/// What is done on each cluster before or after its upgrade.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Action {
    /// The objects that are applied on the cluster: a ManifestWork's spec, inline or under `spec`.
    #[schemars(with = "ManifestWorkTemplate")]
    pub manifest_work: ActionWork,
    /// How long the action may take on a cluster. Default 1h.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(
        validation = Rule::new(r"self.matches('^([0-9]+([.][0-9]*)?(ns|us|ms|s|m|h))+$') && duration(self) > duration('0s')")
            .message("timeout must be a positive duration, for example 2h, 1h30m or 90s")
    )]
    pub timeout: Option<String>,
}

/// The work of an action. A server accepts what nobody can read, and one such upgrade must not keep all others from being read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ActionWork {
    /// As the user wrote it.
    Readable(Box<ManifestWorkTemplate>),
    /// It is there, and cannot be read; written as `null`, which every server refuses.
    #[serde(serialize_with = "null")]
    Unreadable(UnreadableWork),
}

/// Why the work of an action cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableWork {
    /// See [`bounded_json::DEEPEST`].
    #[error(
        "it is nested more than {} levels deep: make its objects flatter",
        bounded_json::DEEPEST
    )]
    TooDeep,
    /// A field has another type.
    #[error("{0}")]
    Malformed(String),
}

impl ActionWork {
    /// The ManifestWork's spec, whichever way it was written.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn work_spec(&self) -> Result<&ManifestWorkSpec, &UnreadableWork> {
        match self {
            Self::Readable(template) => Ok(template.work_spec()),
            Self::Unreadable(why) => Err(why),
        }
    }
}

impl Default for ActionWork {
    fn default() -> Self {
        Self::Readable(Box::default())
    }
}

impl From<ManifestWorkSpec> for ActionWork {
    fn from(inline: ManifestWorkSpec) -> Self {
        Self::Readable(Box::new(ManifestWorkTemplate { inline, spec: None }))
    }
}

impl<'de> Deserialize<'de> for ActionWork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Some(work) = bounded_json::deserialize(deserializer)? else {
            return Ok(Self::Unreadable(UnreadableWork::TooDeep));
        };
        let read = ManifestWorkTemplate::deserialize(work);
        Ok(read.map_or_else(
            |error| Self::Unreadable(UnreadableWork::Malformed(error.to_string())),
            |template| Self::Readable(Box::new(template)),
        ))
    }
}

fn null<S: Serializer>(_: &UnreadableWork, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_unit()
}

/// A ManifestWork's spec, inline (`workload`, `deleteOption`, …) or under `spec`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.spec) ? has(self.spec.workload) && has(self.spec.workload.manifests) && size(self.spec.workload.manifests) > 0 : has(self.workload) && has(self.workload.manifests) && size(self.workload.manifests) > 0")
        .message("manifestWork needs workload.manifests (or spec.workload.manifests): the objects to apply on the cluster"),
    validation = Rule::new("!has(self.spec) || !(has(self.workload) || has(self.deleteOption) || has(self.manifestConfigs) || has(self.executor))")
        .message("manifestWork takes its fields inline or under spec, not both")
)]
pub struct ManifestWorkTemplate {
    /// The spec, inline.
    #[serde(flatten)]
    pub inline: ManifestWorkSpec,
    /// The spec, as it stands in a ManifestWork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Box<ManifestWorkSpec>>,
}

impl ManifestWorkTemplate {
    /// The ManifestWork's spec, whichever way it was written.
    pub fn work_spec(&self) -> &ManifestWorkSpec {
        self.spec.as_deref().unwrap_or(&self.inline)
    }
}
