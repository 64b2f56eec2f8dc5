//! What an UpgradeConfig decides next, in words.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::InvalidConfig;
use crate::instants::later;
use crate::suspension::Suspension;

/// How long it takes until the ClusterVersion is read again.
const READ_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// What is decided next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextDecision {
    /// An UpgradeJob is created.
    Create {
        /// The start of its maintenance.
        start: Timestamp,
        /// When it is created.
        at: Timestamp,
    },
    /// A maintenance is left out, as things are.
    LeaveOut {
        /// The start of the maintenance.
        start: Timestamp,
        /// When that is decided.
        at: Timestamp,
        /// Why it is left out.
        by: LeftOut,
    },
    /// An UpgradeJob has not ended. Its end is a change that is observed: nothing has to be waited for.
    AwaitEnd {
        /// The UpgradeJob.
        job: String,
    },
    /// The last UpgradeJob has ended before the start of its maintenance.
    AwaitStart {
        /// The UpgradeJob.
        job: String,
        /// The start of its maintenance.
        start: Timestamp,
    },
    /// An UpgradeJob is due, but the ClusterVersion has not been read.
    AwaitUpdates {
        /// The start of its maintenance.
        start: Timestamp,
        /// Until when it may be created.
        until: Timestamp,
    },
    /// The schedule has no further times.
    Never,
    /// The UpgradeConfig is being deleted, and its UpgradeJobs with it.
    Deleting,
    /// The UpgradeConfig must be corrected. That is a change that is observed: nothing has to be waited for.
    Correct(InvalidConfig),
}

/// Why a maintenance is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// `spec.schedule.suspend` is true.
    BySchedule,
    /// An UpgradeSuspensionWindow is in force.
    ByWindow(Suspension),
}

impl NextDecision {
    /// When it is decided, or looked at again.
    pub(super) fn wake(&self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Create { at, .. } | Self::LeaveOut { at, .. } => Some(*at),
            Self::AwaitStart { start, .. } => Some(*start),
            Self::AwaitUpdates { .. } => Some(later(now, READ_AGAIN)),
            Self::AwaitEnd { .. } | Self::Never | Self::Deleting | Self::Correct(_) => None,
        }
    }

    /// Can UpgradeJobs be created? And why not, as one word: the reason of the condition Ready.
    pub fn readiness(&self) -> (bool, &'static str) {
        match self {
            Self::Create { .. } | Self::LeaveOut { .. } | Self::AwaitStart { .. } => (true, "Scheduled"),
            Self::AwaitEnd { .. } => (true, "UpgradeJobNotEnded"),
            Self::AwaitUpdates { .. } => (false, "ClusterVersionNotRead"),
            Self::Never => (false, "NeverOccurs"),
            Self::Deleting => (false, "Deleting"),
            Self::Correct(invalid) => (false, invalid.reason()),
        }
    }
}

impl fmt::Display for NextDecision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create { start, at } => write!(
                formatter,
                "the UpgradeJob of the maintenance at {start} is created at {at}, with the highest version that is available then"
            ),
            Self::LeaveOut { start, at, by } => {
                write!(formatter, "the maintenance at {start} is left out at {at}: {by}")
            }
            Self::AwaitEnd { job } => write!(
                formatter,
                "UpgradeJob {job} has not ended: until it has, no other is created"
            ),
            Self::AwaitStart { job, start } => write!(
                formatter,
                "UpgradeJob {job} has ended before its maintenance: until {start} no other is created"
            ),
            Self::AwaitUpdates { start, until } => write!(
                formatter,
                "the UpgradeJob of the maintenance at {start} is due, and is created as soon as the ClusterVersion can be read, until {until}"
            ),
            Self::Never => write!(formatter, "the schedule has no further times: correct it"),
            Self::Deleting => write!(
                formatter,
                "the UpgradeConfig is being deleted: no UpgradeJob is created"
            ),
            Self::Correct(invalid) => write!(formatter, "{invalid}"),
        }
    }
}

impl LeftOut {
    /// Why, as one word: the reason of the condition Suspended.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::BySchedule => "Suspended",
            Self::ByWindow(Suspension { invalid: None, .. }) => "UpgradeSuspensionWindow",
            Self::ByWindow(Suspension { invalid: Some(_), .. }) => "InvalidSelector",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BySchedule => write!(formatter, "spec.schedule.suspend is true"),
            Self::ByWindow(suspension) => write!(formatter, "{suspension}"),
        }
    }
}
