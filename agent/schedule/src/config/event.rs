//! Events about an UpgradeConfig.

use jiff::Timestamp;

use super::LeftOut;

/// A maintenance has been left out: an Event of type Normal about the UpgradeConfig, once for each maintenance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEvent {
    /// The start of the maintenance.
    pub start: Timestamp,
    /// Why it was left out.
    pub by: LeftOut,
}

impl ConfigEvent {
    pub(super) fn new(start: Timestamp, by: LeftOut) -> Self {
        Self { start, by }
    }

    /// The reason of the Event.
    pub fn reason(&self) -> &'static str {
        match self.by {
            LeftOut::BySchedule => "UpgradeConfigSuspended",
            LeftOut::ByWindow(_) => "UpgradeConfigSuspendedBySuspensionWindow",
        }
    }

    /// The note of the Event.
    pub fn note(&self) -> String {
        format!("the maintenance at {} is left out: {}", self.start, self.by)
    }
}
