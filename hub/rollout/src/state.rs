//! The states of a cluster in an upgrade.

use std::fmt;

/// Where a cluster is. In flight are the states from `PreAction` to `PostAction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterState {
    /// Selected; nothing has been created for it.
    NotStarted,
    /// Its pre-upgrade action runs.
    PreAction,
    /// Its upgrade work exists, the cluster does not show the target yet.
    Initialized,
    /// The cluster is on its way to the target.
    PartialUpgrade,
    /// Its operators are being upgraded.
    Operators,
    /// Its post-upgrade action runs.
    PostAction,
    /// It is done.
    Complete,
    /// It failed; final.
    Failed,
}

impl ClusterState {
    /// All states, in their order.
    pub const ALL: [Self; 8] = [
        Self::NotStarted,
        Self::PreAction,
        Self::Initialized,
        Self::PartialUpgrade,
        Self::Operators,
        Self::PostAction,
        Self::Complete,
        Self::Failed,
    ];

    /// The name on the wire, in metrics and in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotStarted => "NotStarted",
            Self::PreAction => "PreAction",
            Self::Initialized => "Initialized",
            Self::PartialUpgrade => "PartialUpgrade",
            Self::Operators => "Operators",
            Self::PostAction => "PostAction",
            Self::Complete => "Complete",
            Self::Failed => "Failed",
        }
    }

    /// The state of this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Whether the cluster holds one of the `maxConcurrency` slots.
    pub fn in_flight(self) -> bool {
        match self {
            Self::PreAction
            | Self::Initialized
            | Self::PartialUpgrade
            | Self::Operators
            | Self::PostAction => true,
            Self::NotStarted | Self::Complete | Self::Failed => false,
        }
    }

    /// Whether the cluster's part is over.
    pub fn finished(self) -> bool {
        matches!(self, Self::Complete | Self::Failed)
    }
}

impl fmt::Display for ClusterState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
