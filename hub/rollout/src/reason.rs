//! Why a cluster is where it is. Status, Events, metrics and logs all use these words.

use std::fmt;

use jiff::Timestamp;

/// When a cluster leaves its state at the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// At this moment it fails, if nothing else happens.
    At(Timestamp),
    /// It may wait for ever; why that is right.
    Never(&'static str),
}

/// Why a cluster failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// A Job or Pod of the pre-upgrade action failed, or a rule says it is degraded.
    PreActionFailed,
    /// The pre-upgrade action took too long.
    PreActionTimedOut,
    /// The cluster refuses the target.
    InvalidTarget,
    /// The agent says that the upgrade failed.
    AgentFailed,
    /// The upgrade took too long.
    UpgradeTimedOut,
    /// The operators' upgrades failed.
    OperatorsFailed,
    /// The operators' upgrades took too long.
    OperatorsTimedOut,
    /// A Job or Pod of the post-upgrade action failed, or a rule says it is degraded.
    PostActionFailed,
    /// The post-upgrade action took too long.
    PostActionTimedOut,
}

impl FailureReason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::PreActionFailed,
        Self::PreActionTimedOut,
        Self::InvalidTarget,
        Self::AgentFailed,
        Self::UpgradeTimedOut,
        Self::OperatorsFailed,
        Self::OperatorsTimedOut,
        Self::PostActionFailed,
        Self::PostActionTimedOut,
    ];

    /// The reason in CamelCase.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreActionFailed => "PreActionFailed",
            Self::PreActionTimedOut => "PreActionTimedOut",
            Self::InvalidTarget => "InvalidTarget",
            Self::AgentFailed => "AgentFailed",
            Self::UpgradeTimedOut => "UpgradeTimedOut",
            Self::OperatorsFailed => "OperatorsFailed",
            Self::OperatorsTimedOut => "OperatorsTimedOut",
            Self::PostActionFailed => "PostActionFailed",
            Self::PostActionTimedOut => "PostActionTimedOut",
        }
    }

    /// The reason that a recorded word names.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }

    /// Whether the cluster failed before its upgrade began.
    pub fn before_upgrade(self) -> bool {
        matches!(self, Self::PreActionFailed | Self::PreActionTimedOut)
    }

    /// Whether the cluster failed after it had reached the target.
    pub fn after_upgrade(self) -> bool {
        matches!(self, Self::PostActionFailed | Self::PostActionTimedOut)
    }
}

/// Why a cluster is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
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
    /// The rollout as a whole starts nothing; its conditions say why.
    Halted,
    /// The hub does not know the cluster.
    ClusterUnknown,
    /// The hub's admin has not accepted the cluster.
    NotAccepted,
    /// The cluster has not joined.
    NotJoined,
    /// The cluster is not Available.
    NotAvailable,
    /// The cluster has a taint that its placement does not tolerate.
    Tainted(String),
    /// Another upgrade is at work on the cluster, or has superseded this one there.
    OwnedByAnotherUpgrade(String),
    /// The upgrade must go through the agent, which is not Available on the cluster.
    AgentNotAvailable,
    /// An object that is not ours has the name of a work.
    NameTaken(String),
    /// A finished work makes room first.
    ReplacingOldWork,
    /// The cluster runs the target, or something newer, without our doing.
    AlreadyAtTarget(String),
    /// The work agent has not applied the work.
    WaitingForApply(String),
    /// Jobs of an action have not ended.
    ActionRunning {
        /// How many have succeeded.
        succeeded: usize,
        /// How many there are.
        total: usize,
    },
    /// The action is done; the next step follows.
    ActionDone,
    /// The spec does not say what comes next, because it is invalid.
    SpecInvalid,
    /// The cluster does not show the target yet.
    WaitingForTarget(Option<String>),
    /// The cluster is on its way.
    Progressing(Option<String>),
    /// What the work feeds back cannot be read.
    Unreadable(String),
    /// It is done.
    Upgraded(String),
    /// It failed, and how.
    Failed(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::WaitingForSlot { in_flight, limit } => {
                write!(f, "waiting for a slot: {in_flight} of {limit} are taken")
            }
            Self::WaitingForCanaries => f.write_str("waiting until all canaries are complete"),
            Self::Halted => f.write_str("nothing new starts: see the conditions"),
            Self::ClusterUnknown => f.write_str("there is no ManagedCluster of this name"),
            Self::NotAccepted => f.write_str("the hub has not accepted the cluster"),
            Self::NotJoined => f.write_str("the cluster has not joined the hub"),
            Self::NotAvailable => f.write_str("the cluster is not Available; it starts when it is"),
            Self::Tainted(taint) => {
                write!(
                    f,
                    "the cluster has the taint {taint}, which its placement does not tolerate"
                )
            }
            Self::OwnedByAnotherUpgrade(upgrade) => {
                write!(f, "OwnedByAnotherUpgrade: the cluster is {upgrade}'s")
            }
            Self::AgentNotAvailable => f.write_str(
                "upgradeVia is Agent, and the add-on drydock-agent is not Available on the cluster",
            ),
            Self::NameTaken(name) => {
                write!(f, "the ManifestWork {name} is not Drydock's: delete or rename it")
            }
            Self::ReplacingOldWork => f.write_str("waiting until the work of an earlier upgrade is deleted"),
            Self::AlreadyAtTarget(version) => write!(f, "already runs {version}"),
            Self::WaitingForApply(message) if message.is_empty() => {
                f.write_str("waiting until the cluster applies the work")
            }
            Self::WaitingForApply(message) => {
                write!(f, "waiting until the cluster applies the work: {message}")
            }
            Self::ActionRunning { succeeded, total } => {
                write!(f, "the action runs: {succeeded} of {total} have succeeded")
            }
            Self::ActionDone => f.write_str("the action has succeeded"),
            Self::SpecInvalid => f.write_str("waiting until the spec is valid again"),
            Self::WaitingForTarget(None) => f.write_str("waiting until the cluster takes up the target"),
            Self::WaitingForTarget(Some(why)) => {
                write!(f, "waiting until the cluster takes up the target: {why}")
            }
            Self::Progressing(None) => f.write_str("upgrading"),
            Self::Progressing(Some(how)) => write!(f, "upgrading: {how}"),
            Self::Unreadable(why) => write!(f, "what the cluster feeds back cannot be read: {why}"),
            Self::Upgraded(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}
