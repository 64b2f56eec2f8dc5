//! The bodies of the hooks that informers serve (insights.md, section 1.3). Requests are ours; responses come from strangers, so that every
//! field of theirs is text or absent, and is judged where it is used.

use serde::{Deserialize, Deserializer, Serialize};

use super::{API_LEVEL, GROUP, MAX_INSIGHTS, VERSION};
use crate::bounded_list::BoundedList;

/// The most pools that a finding is about.
pub const MAX_POOLS: usize = 32;
/// The most objects that a finding is about.
pub const MAX_RESOURCES: usize = 16;

/// A list that is refused as soon as it has more entries.
fn at_most<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    BoundedList::<T, MOST>::deserialize(deserializer).map(|list| list.0)
}

/// The path of a hook, behind what the service is given.
pub fn path(hook: Hook) -> String {
    format!("/hooks.{GROUP}/{API_LEVEL}/{}", hook.as_str())
}

/// The `apiVersion` of all bodies.
pub fn api_version() -> String {
    format!("{GROUP}/{VERSION}")
}

/// A hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// What the informer can do.
    Discovery,
    /// What it knows about the update that is under way.
    UpdateInsights,
    /// What it knows about an update that is planned.
    UpdatePlanInsights,
}

impl Hook {
    /// The last part of its path.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discovery => "discovery",
            Self::UpdateInsights => "updateInsights",
            Self::UpdatePlanInsights => "updatePlanInsights",
        }
    }

    /// The kind of its request.
    pub fn request_kind(self) -> &'static str {
        match self {
            Self::Discovery => "DiscoveryRequest",
            Self::UpdateInsights => "UpdateInsightsRequest",
            Self::UpdatePlanInsights => "UpdatePlanInsightsRequest",
        }
    }

    /// The kind of its response.
    pub fn response_kind(self) -> &'static str {
        match self {
            Self::Discovery => "DiscoveryResponse",
            Self::UpdateInsights => "UpdateInsightsResponse",
            Self::UpdatePlanInsights => "UpdatePlanInsightsResponse",
        }
    }
}

/// UpdateInsightsRequest, and UpdatePlanInsightsRequest, which has the same fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InsightsRequest {
    /// The group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// What is asked.
    pub spec: InsightsRequestSpec,
}

impl InsightsRequest {
    /// The request to a hook.
    pub fn new(hook: Hook, spec: InsightsRequestSpec) -> Self {
        Self {
            api_version: api_version(),
            kind: hook.request_kind().to_owned(),
            spec,
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InsightsRequestSpec {
    /// Which cluster asks, for informers that ask a remote system.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// The version that the cluster runs.
    pub control_plane_version: String,
    /// The version that it is updated to, or would be.
    pub target_control_plane_version: String,
    /// The informer may update itself first. It need not.
    pub informer_update: bool,
}

/// DiscoveryResponse.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DiscoveryResponse {
    /// The kind.
    pub kind: String,
    /// What the informer can do.
    pub spec: DiscoveryResponseSpec,
    /// How the call went.
    pub status: ResponseStatus,
}

/// What an informer can do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DiscoveryResponseSpec {
    /// The API levels that it speaks.
    #[serde(deserialize_with = "at_most::<_, _, 64>")]
    pub api_levels: Vec<String>,
    /// The hooks that it has, `status` and `plan`.
    #[serde(deserialize_with = "at_most::<_, _, 64>")]
    pub handlers: Vec<String>,
}

/// UpdateInsightsResponse, and UpdatePlanInsightsResponse, which has the same fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InsightsResponse {
    /// The kind.
    pub kind: String,
    /// What was found.
    pub spec: InsightsResponseSpec,
    /// How the call went.
    pub status: ResponseStatus,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct InsightsResponseSpec {
    /// The findings; absent if the informer has not said what it has found, which is not nothing.
    #[serde(deserialize_with = "insights")]
    pub insights: Option<Vec<ResponseInsight>>,
}

fn insights<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<ResponseInsight>>, D::Error> {
    at_most::<_, _, MAX_INSIGHTS>(deserializer).map(Some)
}

/// How a call went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResponseStatus {
    /// `Success`, `Failure` or `Wait`.
    pub response: String,
    /// Why.
    pub message: String,
}

/// A finding, as it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResponseInsight {
    /// Who the finding is, to its informer.
    pub uid: String,
    /// When the informer looked (RFC 3339).
    pub acquisition_time: String,
    /// Which part of the cluster it is about.
    pub scope: ResponseScope,
    /// What it means.
    pub impact: ResponseImpact,
    /// What can be done.
    pub remediation: Option<ResponseRemediation>,
}

/// Which part of a cluster a finding is about, as it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResponseScope {
    /// `ControlPlane` or `WorkerPool`.
    #[serde(rename = "type")]
    pub scope_type: String,
    /// The pools.
    #[serde(deserialize_with = "at_most::<_, _, MAX_POOLS>")]
    pub worker_pool: Vec<ResponseReference>,
    /// The objects that are involved.
    #[serde(deserialize_with = "at_most::<_, _, MAX_RESOURCES>")]
    pub resources: Vec<ResponseReference>,
}

/// An object, as it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResponseReference {
    /// Its group.
    pub group: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// What a finding means, as it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResponseImpact {
    /// How bad it is, in any case.
    pub level: String,
    /// What it is about, in any case, its words joined by spaces or hyphens.
    #[serde(rename = "type")]
    pub impact_type: Option<String>,
    /// The headline.
    pub summary: String,
    /// Everything else.
    pub description: Option<String>,
}

/// What can be done, as it comes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResponseRemediation {
    /// Where to read about it.
    pub reference: Option<String>,
    /// False keeps the finding after the update.
    pub resolved: Option<bool>,
    /// A moment (RFC 3339), or a duration from `acquisitionTime` on such as `15m`.
    pub estimated_finish: Option<String>,
}
