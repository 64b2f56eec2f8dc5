//! Why a cluster is where it is. Status, Events, metrics, the plugin and the page all use these words.

mod words;

use std::sync::Arc;

use drydock_names::names::WorkKind;
use jiff::{SignedDuration, Timestamp};

use crate::{ALREADY_AT_TARGET, ExpectedDuration, Refusal, Stage};

/// How a message begins that names another upgrade: not everybody may know of that.
pub const BELONGS_TO: &str = "the cluster belongs to upgrade ";

/// When a cluster leaves its state at the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// At this moment it fails, if nothing else happens.
    At(Timestamp),
    /// It may wait forever; why that is right.
    Never(&'static str),
}

macro_rules! failure_reasons {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Why a cluster failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum FailureReason {
            $($(#[$doc])* $name,)*
        }

        impl FailureReason {
            /// All reasons.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The reason in CamelCase.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }
        }
    };
}

failure_reasons! {
    /// A Job or Pod of the pre-upgrade action failed, or a rule says it is degraded.
    PreActionFailed,
    /// The pre-upgrade action took too long.
    PreActionTimedOut,
    /// The work of the pre-upgrade action could not be written.
    PreActionRefused,
    /// The cluster refuses the target.
    InvalidTarget,
    /// The agent says that the upgrade failed.
    AgentFailed,
    /// The upgrade took too long.
    UpgradeTimedOut,
    /// The work of the upgrade could not be written.
    UpgradeRefused,
    /// The operators' upgrades failed.
    OperatorsFailed,
    /// The operators' upgrades took too long.
    OperatorsTimedOut,
    /// The work of the operators' upgrades could not be written.
    OperatorsRefused,
    /// A Job or Pod of the post-upgrade action failed, or a rule says it is degraded.
    PostActionFailed,
    /// The post-upgrade action took too long.
    PostActionTimedOut,
    /// The work of the post-upgrade action could not be written.
    PostActionRefused,
}

impl FailureReason {
    /// The reason that a recorded word names.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == text)
    }

    /// The stage in which a cluster fails so.
    pub fn stage(self) -> Stage {
        match self {
            Self::PreActionFailed | Self::PreActionTimedOut | Self::PreActionRefused => Stage::PreAction,
            Self::InvalidTarget | Self::AgentFailed | Self::UpgradeTimedOut | Self::UpgradeRefused => {
                Stage::Platform
            }
            Self::OperatorsFailed | Self::OperatorsTimedOut | Self::OperatorsRefused => Stage::Operators,
            Self::PostActionFailed | Self::PostActionTimedOut | Self::PostActionRefused => Stage::PostAction,
        }
    }
}

/// Why a cluster is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It may start when its turn comes; the report says what it waits for.
    ReadyToStart,
    /// It starts with this plan.
    Starting,
    /// All slots are taken.
    WaitingForSlot {
        /// How many clusters are in flight.
        in_flight: usize,
        /// How many may be.
        limit: usize,
    },
    /// The canaries are not all complete.
    WaitingForCanaries,
    /// Answers are required, and not every cluster has been asked.
    WaitingForQuestions,
    /// The rollout as a whole starts nothing; the condition's reason.
    Halted {
        /// Its reason.
        reason: &'static str,
        /// Until when, if it ends by itself at a moment that is known.
        until: Option<Timestamp>,
    },
    /// None of its start windows is open, while those of other clusters may be, or it is between two stages.
    WaitingForWindow {
        /// When one opens.
        opens: Option<Timestamp>,
    },
    /// Too little time is left before its start window closes, or its next freeze begins.
    DoesNotFit {
        /// How long its upgrade takes.
        expected: ExpectedDuration,
        /// When it may start, if ever.
        until: Option<Timestamp>,
    },
    /// Its upgrade takes longer than any of its start windows is open.
    NeverFits {
        /// How long its upgrade takes.
        expected: ExpectedDuration,
        /// How long the longest of its windows is open.
        longest: SignedDuration,
    },
    /// It is frozen, while other clusters may not be, or it is between two stages.
    Frozen {
        /// When it may start, if ever.
        until: Option<Timestamp>,
        /// Why, in the user's words.
        why: Arc<str>,
    },
    /// The calendar of freezes cannot be read, and why.
    FreezeCalendarUnreadable(Arc<str>),
    /// The hub does not know the cluster.
    ClusterUnknown,
    /// The hub's admin has not accepted the cluster.
    NotAccepted,
    /// The cluster has not joined.
    NotJoined,
    /// The ManagedCluster is being deleted.
    BeingDeleted,
    /// The cluster is not Available.
    NotAvailable,
    /// The Placement still lists the cluster, but its labels do not match any more.
    NoLongerMatches,
    /// The cluster is of another product.
    NotOpenShift(String),
    /// The cluster has a taint that its placement does not tolerate.
    Tainted(String),
    /// Another upgrade is at work on the cluster.
    OwnedByAnotherUpgrade(String),
    /// The upgrade must go through the agent, which is not Available on the cluster.
    AgentNotAvailable,
    /// It has findings that nobody has accepted, and that have to be.
    RisksNotAccepted {
        /// How many.
        count: usize,
        /// The worst of them, with their levels.
        findings: Arc<str>,
    },
    /// It is asked what would be a problem, and has not answered yet.
    AwaitingPreChecks,
    /// It has not answered in the time that it has for that; why, if that is said.
    PreChecksUnanswered(Option<Arc<str>>),
    /// It cannot be asked: the work that asks is refused, in the server's words.
    PreChecksNotAsked(Arc<str>),
    /// The cluster's namespace is missing on the hub, in the server's words.
    NamespaceMissing(Arc<str>),
    /// A work cannot be written.
    WriteRefused {
        /// Which stage's.
        stage: Stage,
        /// In the server's words.
        words: Arc<str>,
    },
    /// A finished work makes room first.
    ReplacingOldWork,
    /// The outcome of an earlier upgrade must be on its record before its work is replaced.
    AwaitingRecord,
    /// The hub reads a work by name, because it does not know whether it is there.
    ConfirmingWork(WorkKind),
    /// The cluster runs the target, or something newer, without our doing; which version, in a sentence.
    AlreadyAtTarget(Arc<str>),
    /// Somebody else deletes its work, which is not gone yet.
    WorkBeingDeleted,
    /// The work agent has not applied the work; why, if it says.
    WaitingForApply(Option<Arc<str>>),
    /// Jobs of an action have not ended.
    ActionRunning {
        /// How many have succeeded.
        succeeded: usize,
        /// How many there are.
        total: usize,
    },
    /// The action is done; the next stage follows.
    ActionDone,
    /// The spec does not say what comes next, because it is invalid.
    SpecInvalid,
    /// The version that the cluster runs is not known yet.
    ReadingVersion,
    /// Another upgrade has the lock of the cluster, and which.
    LockHeld(Arc<str>),
    /// The cluster is being updated to this version, which is not the target.
    UpgradeInProgress(Arc<str>),
    /// The cluster does not show the target yet.
    WaitingForTarget(Option<Arc<str>>),
    /// The cluster is on its way; how far, if that is known.
    Progressing(Option<Arc<str>>),
    /// The cluster is on its way, and says what it waits for.
    Blocked(Arc<str>),
    /// Its agent has begun, and waits for findings that nobody has accepted before it asks for the update (`checkUpdatePlan`).
    HeldByAgent(Arc<str>),
    /// The agent is done, ClusterVersion does not say so yet.
    WaitingForClusterVersion,
    /// What the work feeds back cannot be read.
    Unreadable(Arc<str>),
    /// It is done.
    Upgraded(Arc<str>),
    /// It failed.
    Failed {
        /// Why; `None` if what was recorded is no reason of this version's.
        reason: Option<FailureReason>,
        /// How, in a sentence.
        message: Arc<str>,
    },
}

impl Reason {
    /// A write of a work is refused.
    pub(crate) fn refused(kind: WorkKind, refusal: &Refusal) -> Self {
        Self::WriteRefused {
            stage: Stage::of(kind),
            words: Arc::clone(&refusal.words),
        }
    }

    /// The stage whose work cannot be written, by the text of a [`Reason::WriteRefused`].
    pub fn refused_stage(text: &str) -> Option<Stage> {
        let begins = |stage: &Stage| {
            let refused = Self::WriteRefused {
                stage: *stage,
                words: Arc::default(),
            };
            text.starts_with(&refused.to_string())
        };
        Stage::ALL.into_iter().find(begins)
    }

    /// Whether it names what a cluster in flight waits for, which may not end by itself.
    pub fn is_blocked(&self) -> bool {
        matches!(
            self,
            Self::Blocked(_)
                | Self::HeldByAgent(_)
                | Self::WaitingForTarget(Some(_))
                | Self::WaitingForApply(Some(_))
        )
    }

    /// The reason in CamelCase, for machines and links.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ReadyToStart => "ReadyToStart",
            Self::Starting => "Starting",
            Self::WaitingForSlot { .. } => "WaitingForSlot",
            Self::WaitingForCanaries => "WaitingForCanaries",
            Self::WaitingForQuestions => "WaitingForQuestions",
            Self::Halted { reason, .. } => reason,
            Self::WaitingForWindow { .. } => "AwaitingStartWindow",
            Self::DoesNotFit { .. } => "DoesNotFit",
            Self::NeverFits { .. } => "NeverFits",
            Self::Frozen { .. } => "Frozen",
            Self::FreezeCalendarUnreadable(_) => "FreezeCalendarUnreadable",
            Self::ClusterUnknown => "ClusterUnknown",
            Self::NotAccepted => "NotAccepted",
            Self::NotJoined => "NotJoined",
            Self::BeingDeleted => "BeingDeleted",
            Self::NotAvailable => "NotAvailable",
            Self::NoLongerMatches => "NoLongerMatches",
            Self::NotOpenShift(_) => "NotOpenShift",
            Self::Tainted(_) => "Tainted",
            Self::OwnedByAnotherUpgrade(_) => "OwnedByAnotherUpgrade",
            Self::AgentNotAvailable => "AgentNotAvailable",
            Self::RisksNotAccepted { .. } | Self::HeldByAgent(_) => {
                drydock_names::reasons::RISKS_NOT_ACCEPTED
            }
            Self::AwaitingPreChecks => drydock_names::reasons::AWAITING_PRE_CHECKS,
            Self::PreChecksUnanswered(_) | Self::PreChecksNotAsked(_) => {
                drydock_names::reasons::PRE_CHECKS_UNANSWERED
            }
            Self::NamespaceMissing(_) => "NamespaceMissing",
            Self::WriteRefused { .. } => "WriteRefused",
            Self::ReplacingOldWork => "ReplacingOldWork",
            Self::AwaitingRecord => "AwaitingRecord",
            Self::ConfirmingWork(_) => "ConfirmingWork",
            Self::AlreadyAtTarget(_) => ALREADY_AT_TARGET,
            Self::WorkBeingDeleted => "WorkBeingDeleted",
            Self::WaitingForApply(_) => "WaitingForApply",
            Self::ActionRunning { .. } => "ActionRunning",
            Self::ActionDone => "ActionDone",
            Self::SpecInvalid => "SpecInvalid",
            Self::ReadingVersion => "ReadingVersion",
            Self::LockHeld(_) => "LockHeld",
            Self::UpgradeInProgress(_) => "UpgradeInProgress",
            Self::WaitingForTarget(_) => "WaitingForTarget",
            Self::Progressing(_) | Self::Blocked(_) => "Progressing",
            Self::WaitingForClusterVersion => "WaitingForClusterVersion",
            Self::Unreadable(_) => "Unreadable",
            Self::Upgraded(_) => "Upgraded",
            Self::Failed { reason, .. } => reason.map_or("Failed", FailureReason::as_str),
        }
    }

    /// When the cluster may start or continue at the earliest, where start windows or freezes keep it and one ends.
    pub fn opens(&self) -> Option<Timestamp> {
        match self {
            Self::WaitingForWindow { opens } => *opens,
            Self::DoesNotFit { until, .. } | Self::Frozen { until, .. } => *until,
            _ => None,
        }
    }

    /// Whether the cluster only waits for its turn: nothing is wrong with it.
    pub fn is_turn(&self) -> bool {
        matches!(
            self,
            Self::ReadyToStart
                | Self::Starting
                | Self::WaitingForSlot { .. }
                | Self::WaitingForCanaries
                | Self::WaitingForQuestions
                | Self::WaitingForWindow { .. }
                | Self::DoesNotFit { .. }
                | Self::Frozen { .. }
                | Self::FreezeCalendarUnreadable(_)
                | Self::Halted { .. }
                | Self::AwaitingPreChecks
        )
    }
}

#[cfg(test)]
mod tests;
