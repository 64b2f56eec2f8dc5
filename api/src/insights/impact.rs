//! How bad a finding is, and what it is about (insights.md, section 1.3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How bad a finding is. Ordered from what matters least to what matters most; what could not be judged is worse than a warning.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Level {
    /// Normal progress.
    Status,
    /// Good to know.
    Info,
    /// Minor or transient: nothing has to be done.
    Warning,
    /// It could not be judged.
    #[default]
    Unknown,
    /// An administrator is needed.
    Error,
    /// Data or the cluster may be lost.
    Critical,
}

impl Level {
    /// All levels, from what matters least.
    pub const ALL: [Self; 6] = [
        Self::Status,
        Self::Info,
        Self::Warning,
        Self::Unknown,
        Self::Error,
        Self::Critical,
    ];

    /// The level's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Status => "Status",
            Self::Info => "Info",
            Self::Warning => "Warning",
            Self::Unknown => "Unknown",
            Self::Error => "Error",
            Self::Critical => "Critical",
        }
    }

    /// Reads a level in any case. What is not one is [`Self::Unknown`]: an informer may be newer than this program.
    pub fn parse(text: &str) -> Self {
        let level = Self::ALL
            .into_iter()
            .find(|level| level.as_str().eq_ignore_ascii_case(text));
        level.unwrap_or_default()
    }

    /// Does an update wait until such a finding is accepted (insights.md, section 1.6)?
    pub fn gates(self) -> bool {
        match self {
            Self::Status | Self::Info => false,
            Self::Warning | Self::Unknown | Self::Error | Self::Critical => true,
        }
    }
}

/// What a finding is about.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ImpactType {
    /// Nothing.
    None,
    /// It was not said.
    #[default]
    Unknown,
    /// Whether APIs answer.
    #[serde(rename = "API Availability")]
    ApiAvailability,
    /// How much the cluster can run.
    #[serde(rename = "Cluster Capacity")]
    ClusterCapacity,
    /// Whether workloads keep their redundancy.
    #[serde(rename = "Application Availability")]
    ApplicationAvailability,
    /// Whether workloads run.
    #[serde(rename = "Application Outage")]
    ApplicationOutage,
    /// Whether data is lost.
    #[serde(rename = "Data Loss")]
    DataLoss,
    /// How long the update takes.
    #[serde(rename = "Update Speed")]
    UpdateSpeed,
    /// Whether the update gets anywhere.
    #[serde(rename = "Update Stalled")]
    UpdateStalled,
}

impl ImpactType {
    /// All types.
    pub const ALL: [Self; 9] = [
        Self::None,
        Self::Unknown,
        Self::ApiAvailability,
        Self::ClusterCapacity,
        Self::ApplicationAvailability,
        Self::ApplicationOutage,
        Self::DataLoss,
        Self::UpdateSpeed,
        Self::UpdateStalled,
    ];

    /// The type's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Unknown => "Unknown",
            Self::ApiAvailability => "API Availability",
            Self::ClusterCapacity => "Cluster Capacity",
            Self::ApplicationAvailability => "Application Availability",
            Self::ApplicationOutage => "Application Outage",
            Self::DataLoss => "Data Loss",
            Self::UpdateSpeed => "Update Speed",
            Self::UpdateStalled => "Update Stalled",
        }
    }

    /// Reads a type in any case, its words joined by spaces or hyphens. What is not one is [`Self::Unknown`].
    pub fn parse(text: &str) -> Self {
        let text = text.replace('-', " ");
        let known = Self::ALL
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(&text));
        known.unwrap_or_default()
    }
}

/// What a finding means for the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Impact {
    /// How bad it is.
    pub level: Level,
    /// What it is about.
    #[serde(rename = "type")]
    pub impact_type: ImpactType,
    /// The headline.
    #[schemars(length(min = 1, max = 256))]
    pub summary: String,
    /// Everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub description: Option<String>,
}
