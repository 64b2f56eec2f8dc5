//! A finding, as it is kept (insights.md, sections 1.3 to 1.5).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Impact, Scope};

/// Something that an informer has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    /// Who the finding is, everywhere: a digest of the informer's name, of the scope and of the uid.
    #[schemars(length(min = 32, max = 32))]
    pub uuid: String,
    /// Who the finding is, to its informer.
    #[schemars(length(min = 1, max = 63))]
    pub uid: String,
    /// When the informer looked.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub acquisition_time: Time,
    /// When it was first reported. It survives restarts of the agent.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub first_seen: Time,
    /// Since when the informer no longer reports it. It counts as resolved a minute later, in case the informer has restarted.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub missing_since: Option<Time>,
    /// Which part of the cluster it is about.
    pub scope: Scope,
    /// What it means.
    pub impact: Impact,
    /// What can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<Remediation>,
    /// The update during which it came up is complete, and it is not resolved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_over: Option<bool>,
    /// The finding that this one follows from, by its uuid: resolve that one first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 32, max = 32))]
    pub caused_by: Option<String>,
}

/// What can be done about a finding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Remediation {
    /// Where to read about it: an address that begins with http:// or https://.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub reference: Option<String>,
    /// What to do. Only the agent's own informers say so: nobody should run the commands of a stranger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub action: Option<String>,
    /// The command that shows whether it still is so. Only of the agent's own informers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub verify: Option<String>,
    /// False keeps the finding after the update, until the informer says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved: Option<bool>,
    /// When it is likely to be over.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub estimated_finish: Option<Time>,
}
