//! ManagedClustersUpgrade (short `mcu`): one object that upgrades a fleet.
//!
//! Fields that are more than text (durations, versions, percentages) are text here and are parsed where they are
//! used: an object that a server without our rules has let through must be readable, so that its status can say what
//! is wrong with it.

mod record;
mod spec;
mod status;
mod strategy;

pub use record::{
    ManagedClustersUpgradeRecord, ManagedClustersUpgradeRecordSpec, RECORD_ENTRIES_LIMIT, RecordEntry,
    RecordedForecast, RecordedStages, RecordedUpgrade,
};
pub use spec::{
    Action, ClusterSelector, ClusterVersion, ManagedClustersUpgrade, ManagedClustersUpgradeSpec,
    ManifestWorkTemplate, OcpOperators, OperatorReference, PlacementReference,
};
pub use status::{
    ActionSummary, ClusterStatusEntry, ClustersSummary, ForecastBand, ForecastStatus,
    ManagedClustersUpgradeStatus, condition,
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
/// The size limit of a status, in bytes of JSON.
pub const STATUS_LIMIT: usize = 64 * 1024;
/// The most clusters that a status lists.
pub const STATUS_CLUSTERS_LIMIT: usize = 100;
