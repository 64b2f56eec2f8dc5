//! The conditions of an UpgradeJob and their reasons (Maintenance schedules, section 3.1). [`JobCondition::Waiting`] is ours: it says for
//! whom an UpgradeJob waits.

use std::fmt;

use drydock_api::conditions::{self, Condition};

/// A type of condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobCondition {
    /// The maintenance has begun.
    Started,
    /// The cluster was healthy before the upgrade.
    PreHealthCheckDone,
    /// The cluster runs the release, and so do the nodes of all pools that are not paused. Never set where nothing is upgraded.
    UpgradeCompleted,
    /// Pools are paused, by this UpgradeJob.
    MachineConfigPoolsPaused,
    /// All that is left to do is the upgrade of paused pools.
    Paused,
    /// The cluster was healthy after the upgrade.
    PostHealthCheckDone,
    /// It has ended well, or was skipped.
    Succeeded,
    /// It has ended, and not well.
    Failed,
    /// It cannot go on for now: another upgrade is under way, or something cannot be read or used.
    Waiting,
}

impl JobCondition {
    /// The type on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "Started",
            Self::PreHealthCheckDone => "PreHealthCheckDone",
            Self::UpgradeCompleted => "UpgradeCompleted",
            Self::MachineConfigPoolsPaused => "MachineConfigPoolsPaused",
            Self::Paused => "Paused",
            Self::PostHealthCheckDone => "PostHealthCheckDone",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Waiting => "Waiting",
        }
    }
}

/// Why a condition is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobReason {
    /// Started: it has.
    Started,
    /// A check or the upgrade is not done yet.
    InProgress,
    /// A check or the upgrade is done.
    Completed,
    /// Pools are paused for a delay, or were.
    DelaySet,
    /// No pool is delayed.
    NoManagedPools,
    /// Pools were paused because the UpgradeJob failed.
    PausedOnFailure,
    /// It has ended well.
    Succeeded,
    /// A suspension window was in force at the start.
    Skipped,
    /// It has failed.
    Failed(Failure),
    /// Waiting: another upgrade has the lock.
    LockHeld,
    /// Waiting: the cluster is being updated to another release.
    UpgradeInProgress,
    /// Waiting: the hub has another release of this version planned.
    PlannedOtherwise,
    /// Waiting: something cannot be read.
    Unreadable,
    /// Waiting: the spec cannot be used.
    InvalidSpec,
    /// Waiting: no longer.
    NotWaiting,
}

impl JobReason {
    /// The reason on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "Started",
            Self::InProgress => "InProgress",
            Self::Completed => "Completed",
            Self::DelaySet => "DelaySet",
            Self::NoManagedPools => "NoManagedPools",
            Self::PausedOnFailure => "PausedOnFailure",
            Self::Succeeded => "Succeeded",
            Self::Skipped => "Skipped",
            Self::Failed(failure) => failure.name(),
            Self::LockHeld => "LockHeld",
            Self::UpgradeInProgress => "UpgradeInProgress",
            Self::PlannedOtherwise => "PlannedOtherwise",
            Self::Unreadable => "Unreadable",
            Self::InvalidSpec => "InvalidSpec",
            Self::NotWaiting => "NotWaiting",
        }
    }
}

/// Why an UpgradeJob has failed (Maintenance schedules, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// It had not started by `startBefore`.
    Expired,
    /// It had not ended `upgradeTimeout` after `startAfter`.
    TimedOut,
    /// The cluster was not healthy before the upgrade.
    PreHealthCheckFailed,
    /// The cluster was not healthy after the upgrade.
    PostHealthCheckFailed,
    /// The release is no longer available.
    UpgradeWithdrawn,
    /// A hook has failed whose failure policy is Abort.
    HookFailed,
    /// A pool was still paused `delayMax` after `startAfter`.
    UnpausingPoolsExpired,
}

impl Failure {
    /// The reason on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Expired => "Expired",
            Self::TimedOut => "TimedOut",
            Self::PreHealthCheckFailed => "PreHealthCheckFailed",
            Self::PostHealthCheckFailed => "PostHealthCheckFailed",
            Self::UpgradeWithdrawn => "UpgradeWithdrawn",
            Self::HookFailed => "HookFailed",
            Self::UnpausingPoolsExpired => "UnpausingPoolsExpired",
        }
    }
}

impl fmt::Display for JobCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The end of an UpgradeJob: its condition Succeeded or Failed, if one of them is true.
pub fn end(conditions: &[Condition]) -> Option<&Condition> {
    [JobCondition::Succeeded, JobCondition::Failed]
        .into_iter()
        .filter_map(|type_| conditions::find(conditions, type_.name()))
        .find(|condition| condition.status == conditions::TRUE)
}
