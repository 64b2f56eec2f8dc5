//! The reasons of an upgrade's conditions, in CamelCase.

/// Selected: there are clusters.
pub const SELECTED: &str = "ManagedClustersSelected";
/// Not selected: there are none.
pub const NO_CLUSTERS: &str = "NoClustersSelected";
/// Not selected: a placement does not exist.
pub const PLACEMENT_NOT_FOUND: &str = "PlacementNotFound";
/// Not selected: a placement has found no clusters.
pub const PLACEMENT_UNSATISFIED: &str = "PlacementUnsatisfied";
/// Not selected: a placement may not be read.
pub const PLACEMENT_FORBIDDEN: &str = "PlacementForbidden";
/// Applied: works are applied.
pub const APPLIED: &str = "ManagedClustersUpgradeApplied";
/// In progress.
pub const IN_PROGRESS: &str = "ManagedClustersUpgradeInProgress";
/// Complete, and therefore not in progress.
pub const COMPLETE: &str = "ManagedClustersUpgradeComplete";
/// Not in progress: the user has paused it.
pub const PAUSED: &str = "Paused";
/// Not in progress: a canary has failed.
pub const CANARY_FAILED: &str = "CanaryFailed";
/// Not in progress: the canary selector matches no selected cluster.
pub const NO_CANARY_MATCHED: &str = "NoCanaryMatched";
/// Not in progress: the canaries must stay healthy for a while.
pub const CANARY_SOAKING: &str = "CanarySoaking";
/// Not in progress: too many clusters have failed.
pub const FAILURE_BUDGET_SPENT: &str = "FailureBudgetSpent";
/// Not in progress: no start window is open.
pub const AWAITING_START_WINDOW: &str = "AwaitingStartWindow";
/// The clusters that have not started are frozen.
pub const FROZEN: &str = "Frozen";
/// The calendar of freezes cannot be read.
pub const FREEZE_CALENDAR_UNREADABLE: &str = "FreezeCalendarUnreadable";
/// Not in progress: nothing has started yet.
pub const NOT_STARTED: &str = "NotStarted";
/// Of a cluster, or of the condition PreChecksPassed: findings that nobody has accepted.
pub const RISKS_NOT_ACCEPTED: &str = "RisksNotAccepted";
/// PreChecksPassed: findings that somebody had accepted block again, for the time is over, or they have become worse.
pub const ACCEPTANCE_ENDED: &str = "AcceptanceEnded";
/// Of a cluster, or of the condition PreChecksPassed: asked, and not answered yet.
pub const AWAITING_PRE_CHECKS: &str = "AwaitingPreChecks";
/// Of a cluster, or of the condition PreChecksPassed: no answer in time.
pub const PRE_CHECKS_UNANSWERED: &str = "PreChecksUnanswered";
/// PreChecksPassed: nothing keeps a cluster from starting.
pub const PRE_CHECKS_PASSED: &str = "AsExpected";
/// Failed: at least one cluster has.
pub const CLUSTER_FAILED: &str = "ClusterUpgradeFailed";
/// Failed: the spec cannot be acted on.
pub const INVALID_SPEC: &str = "InvalidSpec";
/// Failed, or being deleted: the outcomes of clusters cannot be recorded.
pub const RECORDS_REFUSED: &str = "RecordsRefused";
/// An Event: the rollout is expected to end after the p90 of the forecast that was made when it began.
pub const LATE: &str = "RolloutLate";
/// Being deleted: the works go.
pub const DELETING_WORKS: &str = "DeletingWorks";
/// Being deleted: the deletion of a work is refused.
pub const DELETION_REFUSED: &str = "DeletionRefused";
