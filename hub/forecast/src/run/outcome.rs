//! What comes out of a run.

use jiff::Timestamp;

/// Why a rollout comes to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopCause {
    /// The user paused it.
    Paused,
    /// A canary failed.
    CanaryFailed,
    /// A canary cannot start, and all others wait for it.
    CanaryBlocked,
    /// Clusters are left, and none of them can start.
    ClustersBlocked,
    /// What is left cannot start as long as other upgrades have it.
    OwnedByAnotherUpgrade,
    /// The canary selector matches no selected cluster.
    NoCanaryMatched,
    /// A canary is in trouble, which stops the soak.
    CanaryUnhealthy,
    /// Too many clusters failed.
    FailureBudgetSpent,
    /// No start window opens any more.
    NoWindowOpens,
    /// The calendar of freezes cannot be read.
    FreezeCalendarUnreadable,
    /// It would take longer than forecasts look ahead.
    TooLong,
}

impl StopCause {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Paused,
        Self::CanaryFailed,
        Self::CanaryBlocked,
        Self::ClustersBlocked,
        Self::OwnedByAnotherUpgrade,
        Self::NoCanaryMatched,
        Self::CanaryUnhealthy,
        Self::FailureBudgetSpent,
        Self::NoWindowOpens,
        Self::FreezeCalendarUnreadable,
        Self::TooLong,
    ];

    /// The cause with this reason.
    pub fn parse(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.reason() == reason)
    }

    /// The reason in CamelCase.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Paused => "Paused",
            Self::CanaryFailed => "CanaryFailed",
            Self::CanaryBlocked => "CanaryBlocked",
            Self::ClustersBlocked => "ClustersBlocked",
            Self::OwnedByAnotherUpgrade => "OwnedByAnotherUpgrade",
            Self::NoCanaryMatched => "NoCanaryMatched",
            Self::CanaryUnhealthy => "CanaryUnhealthy",
            Self::FailureBudgetSpent => "FailureBudgetSpent",
            Self::NoWindowOpens => "NoWindowOpens",
            Self::FreezeCalendarUnreadable => "FreezeCalendarUnreadable",
            Self::TooLong => "TooLong",
        }
    }

    /// In a few words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Paused => "it is paused",
            Self::CanaryFailed => "a canary fails",
            Self::CanaryBlocked => "a canary cannot start",
            Self::ClustersBlocked => "clusters are left that cannot start",
            Self::OwnedByAnotherUpgrade => {
                "what is left waits for other upgrades that have it, or have left it half done"
            }
            Self::NoCanaryMatched => "no canary is selected",
            Self::CanaryUnhealthy => "a canary is in trouble",
            Self::FailureBudgetSpent => "too many clusters fail",
            Self::NoWindowOpens => "no start window opens any more",
            Self::FreezeCalendarUnreadable => "the calendar of freezes cannot be read",
            Self::TooLong => "it takes more than two years",
        }
    }
}

/// What the next cluster waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// A free slot.
    Slots,
    /// A start window.
    Window,
    /// The soak of the canaries.
    Soak,
    /// The canaries.
    Canaries,
}

impl Wait {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Slots, Self::Window, Self::Soak, Self::Canaries];

    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Window => "windows",
            Self::Soak => "soak",
            Self::Canaries => "canaries",
        }
    }
}

/// When a cluster starts and ends in a run; as it was before the run, if it had started or ended then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterTimes {
    /// When it starts.
    pub started: Option<Timestamp>,
    /// When it is done, or fails.
    pub ended: Option<Timestamp>,
    /// It fails.
    pub failed: bool,
}

/// What became of a rollout in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutcome {
    /// When the last cluster ended that started.
    pub end: Timestamp,
    /// Why not all clusters have ended, if so.
    pub stop: Option<StopCause>,
    /// All that could start have ended, and something did.
    pub is_over: bool,
    /// More clusters have failed than the spec allows, or all that were upgraded, though none was left that this could stop.
    pub fails: bool,
    /// Clusters that have failed.
    pub failed: usize,
    /// Clusters that did not start, though nothing is wrong with them.
    pub left: usize,
    /// The most clusters in flight at once.
    pub most_in_flight: usize,
    /// Seconds for which the next cluster waited, by what it waited for, in the order of [`Wait::ALL`].
    pub waited: [i64; 4],
}
