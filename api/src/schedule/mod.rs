//! Maintenance schedules: the kinds of the group `managedupgrade.appuio.io`. Accept every object that the original's definitions
//! accept, but for schedules that can never come and windows that end before they start.
//!
//! Two kinds share their names with others: [`UpgradeConfig`] is not the one of `upgrade.managed.openshift.io`
//! ([`crate::upgradeconfig`]), and [`ManagedClusterVersion`] is not OpenShift's ClusterVersion ([`crate::openshift`]).
//!
//! Durations, cron expressions, time zones and label selectors are text here, or are taken as they are, and are parsed where they are
//! used: an object that a server without our rules has let through must be readable, so that its status can say what is wrong with it.

mod absent_spec;
mod cluster_version;
mod cron;
mod health_checks;
mod job_config;
mod job_template;
mod node_force_drain;
mod notification;
mod suspension_window;
mod upgrade_config;
mod upgrade_job;
mod upgrade_job_hook;

pub use cluster_version::{
    ClusterVersionOverlay, ClusterVersionPreview, ClusterVersionTemplate, ManagedClusterVersion,
    ManagedClusterVersionSpec, ManagedClusterVersionStatus, OverlayPreview, ScheduledOverlay,
};
pub use health_checks::HealthChecks;
pub use job_config::{
    MachineConfigPoolConfig, PauseMachineConfigPoolsOnFailure, PoolUpgradeDelay, UpgradeJobConfig,
};
pub use job_template::{JobTemplate, JobTemplateMetadata};
pub use node_force_drain::{NodeForceDrain, NodeForceDrainSpec, NodeForceDrainStatus, ObservedNodeDrain};
pub use notification::{JobNotification, SecretKey, WebhookReceiver};
pub use suspension_window::{
    MatchingObject, UpgradeSuspensionWindow, UpgradeSuspensionWindowSpec, UpgradeSuspensionWindowStatus,
};
pub use upgrade_config::{
    NextPossibleSchedule, Schedule, UpgradeConfig, UpgradeConfigSpec, UpgradeConfigStatus,
    UpgradeJobTemplate, UpgradeJobTemplateMetadata, UpgradeJobTemplateSpec,
};
pub use upgrade_job::{
    DesiredVersion, HookStatus, UpgradeJob, UpgradeJobSpec, UpgradeJobStatus, UpgradeNotificationStatus,
};
pub use upgrade_job_hook::{
    HookClaim, HookEvent, HookFailurePolicy, HookRun, UpgradeJobHook, UpgradeJobHookSpec,
    UpgradeJobHookStatus,
};

/// The group of all kinds.
pub const GROUP: &str = "managedupgrade.appuio.io";

/// The value of `spec.schedule.location` that stands for the time zone of the controller's process.
pub const LOCAL: &str = "Local";

/// How many succeeded jobs are kept, if `successfulJobsHistoryLimit` does not say.
pub const DEFAULT_SUCCESSFUL_JOBS: i64 = 4;

/// Types of conditions.
pub mod condition {
    /// Can the object be used?
    pub const READY: &str = "Ready";
    /// Are maintenances left out at present?
    pub const SUSPENDED: &str = "Suspended";
}

/// The default of the durations that have one, but for `upgradeTimeout`.
fn one_hour() -> String {
    "1h".to_owned()
}
