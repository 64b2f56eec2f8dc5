//! How a node may be, in the words that are printed.

use serde::Serialize;

/// How a node is; in the order in which nodes are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum NodeAssessment {
    /// Its daemon has failed.
    Degraded,
    /// It is not available, and not because of the update.
    Unavailable,
    /// It is being updated.
    Progressing,
    /// Its pool is paused.
    Excluded,
    /// Its turn has not come.
    Outdated,
    /// It is updated.
    Completed,
}

impl NodeAssessment {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Degraded => "Degraded",
            Self::Unavailable => "Unavailable",
            Self::Progressing => "Progressing",
            Self::Excluded => "Excluded",
            Self::Outdated => "Outdated",
            Self::Completed => "Completed",
        }
    }
}

/// Where a node is; in the order in which nodes of one assessment are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum NodePhase {
    /// Its pods are evicted.
    Draining,
    /// Its configuration is written.
    Updating,
    /// It reboots.
    Rebooting,
    /// Its pool is paused.
    Paused,
    /// Its turn has not come.
    Pending,
    /// It is updated.
    Updated,
}

impl NodePhase {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draining => "Draining",
            Self::Updating => "Updating",
            Self::Rebooting => "Rebooting",
            Self::Paused => "Paused",
            Self::Pending => "Pending",
            Self::Updated => "Updated",
        }
    }

    /// Whether the node is not updated.
    pub fn is_outdated(self) -> bool {
        self != Self::Updated
    }

    /// How the node is, if nothing else is wrong with it.
    pub(super) fn assessment(self) -> NodeAssessment {
        match self {
            Self::Paused => NodeAssessment::Excluded,
            Self::Pending => NodeAssessment::Outdated,
            Self::Draining | Self::Updating | Self::Rebooting => NodeAssessment::Progressing,
            Self::Updated => NodeAssessment::Completed,
        }
    }

    /// How much longer the node takes, if nothing else is wrong with it.
    pub(super) fn estimate(self) -> NodeEstimate {
        match self {
            Self::Draining => NodeEstimate::Minutes(10),
            Self::Updating | Self::Rebooting => NodeEstimate::Minutes(5),
            Self::Pending => NodeEstimate::Unknown,
            Self::Paused | Self::Updated => NodeEstimate::None,
        }
    }
}

/// How much longer a node takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeEstimate {
    /// So many minutes.
    Minutes(u32),
    /// Nobody can say.
    Unknown,
    /// Nothing happens.
    None,
}

impl std::fmt::Display for NodeEstimate {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Minutes(minutes) => write!(formatter, "+{minutes}m"),
            Self::Unknown => formatter.write_str("?"),
            Self::None => formatter.write_str("-"),
        }
    }
}
