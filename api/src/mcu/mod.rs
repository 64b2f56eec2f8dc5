//! ManagedClustersUpgrade (short `mcu`): one object that upgrades a fleet.
//!
//! Fields that are more than text (durations, versions, percentages) are text here and are parsed where they are
//! used: an object that a server without our rules has let through must be readable, so that its status can say what
//! is wrong with it.

mod acceptance;
mod action;
mod pre_checks;
mod record;
mod spec;
mod status;
mod strategy;

pub use acceptance::{
    ACCEPTED_RISKS_LIMIT, AcceptedRisk, ENDED_CLUSTERS_LIMIT, EndedRisk, UpgradeRiskAcceptance,
    UpgradeRiskAcceptanceSpec, UpgradeRiskAcceptanceStatus,
};
pub use action::{Action, ActionWork, ManifestWorkTemplate, UnreadableWork};
pub use pre_checks::{InvalidPreChecksMode, PreChecks, PreChecksMode};
pub use record::{
    ManagedClustersUpgradeRecord, ManagedClustersUpgradeRecordSpec, RECORD_ENTRIES_LIMIT, RecordEntry,
    RecordedForecast, RecordedStages, RecordedUpgrade,
};
pub use spec::{
    ClusterSelector, ClusterVersion, ManagedClustersUpgrade, ManagedClustersUpgradeSpec, OcpOperators,
    OperatorReference, PlacementReference,
};
pub use status::{
    ActionSummary, ClusterStatusEntry, ClustersSummary, ForecastBand, ForecastStatus,
    ManagedClustersUpgradeStatus, PreChecksSummary, condition,
};
pub use strategy::{
    AgentSettings, CanaryClusters, ConfigMapKey, Freeze, FreezeCalendarSource, Limit, StartWindow,
    UpgradeStrategy, UpgradeVia, parse_limit,
};

use crate::GoDuration;
pub use drydock_names::reasons as reason;

/// How long the platform upgrade of a cluster may take, if `clusterUpgradeTimeout` does not say.
pub const DEFAULT_CLUSTER_UPGRADE_TIMEOUT: GoDuration = GoDuration::from_hours(3);
/// How long the operator upgrades of a cluster may take, if `operatorsUpgradeTimeout` does not say.
pub const DEFAULT_OPERATORS_UPGRADE_TIMEOUT: GoDuration = GoDuration::from_mins(10);
/// How long an action may take, if its `timeout` does not say.
pub const DEFAULT_ACTION_TIMEOUT: GoDuration = GoDuration::from_hours(1);
/// How old an answer to pre-checks may be, if `preChecks.maxAge` does not say: agents renew theirs each 24 hours.
pub const DEFAULT_PRE_CHECKS_MAX_AGE: GoDuration = GoDuration::from_hours(25);
/// How long a cluster may take to answer pre-checks, if `preChecks.timeout` does not say. Agents wait for their informers for two minutes.
pub const DEFAULT_PRE_CHECKS_TIMEOUT: GoDuration = GoDuration::from_mins(10);
/// The size limit of a status, in bytes of JSON.
pub const STATUS_LIMIT: usize = 64 * 1024;
/// The most clusters that a status lists.
pub const STATUS_CLUSTERS_LIMIT: usize = 100;
