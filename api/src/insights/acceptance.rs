//! The acceptance of a finding (insights.md, section 1.6).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Level;

/// The acceptance of one finding, for the target of its plan and no other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.until) || self.until > self.acceptedAt")
        .message("until must be after acceptedAt")
)]
pub struct AcceptedInsight {
    /// The finding.
    #[schemars(length(min = 32, max = 32), regex(pattern = "^[0-9a-f]{32}$"))]
    pub uuid: String,
    /// The level that was accepted. A finding that becomes worse has to be accepted anew.
    pub level: Level,
    /// Who accepts it.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"\S"))]
    pub accepted_by: String,
    /// When it was accepted.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub accepted_at: Time,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
    /// Until when; for the life of the plan if not given.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub until: Option<Time>,
}

/// What the acceptance of a finding comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum AcceptanceState {
    /// It counts.
    Accepted,
    /// The finding has become worse since.
    LevelRaised,
    /// It was accepted for a time that is over.
    Expired,
}

impl AcceptanceState {
    /// The state's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::LevelRaised => "LevelRaised",
            Self::Expired => "Expired",
        }
    }
}
