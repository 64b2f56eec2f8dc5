//! The table of metrics: names, labels and what they mean. Names and labels are managed-upgrade-operator's where it has them.

/// A family of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricKind {
    /// The UpgradeConfig is invalid.
    ValidationFailed,
    /// Extra workers did not come in time.
    ScalingFailed,
    /// The upgrade did not commence in its window.
    WindowBreached,
    /// The control plane takes longer than it should.
    ControlPlaneTimeout,
    /// Workers are left, and no silence is active.
    WorkerTimeout,
    /// A health check finds something.
    HealthCheckFailed,
    /// A node does not drain.
    NodeDrainTimeout,
    /// All receivers have a notification.
    Notification,
    /// How an upgrade went.
    Result,
    /// A step waits for longer than it should.
    StepOverdue,
    /// When the upgrade started.
    UpgradeStarted,
    /// When it was completed.
    UpgradeCompleted,
    /// When the control plane was begun.
    ControlPlaneStarted,
    /// When it was done.
    ControlPlaneCompleted,
    /// When the workers were begun.
    WorkersStarted,
    /// When they were done.
    WorkersCompleted,
    /// `upgradeAt`.
    Scheduled,
    /// `startTime`.
    StartTime,
    /// `completeTime`.
    CompleteTime,
    /// `PDBForceDrainTimeout`.
    BudgetMinutes,
    /// The condition of the step with this number in the table of steps.
    Condition(usize),
}

/// A family, as it is scraped.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Which.
    pub kind: MetricKind,
    /// Its whole name.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Its labels, in the order of a series' values.
    pub labels: &'static [&'static str],
}

const NAME: &[&str] = &["upgradeconfig_name"];
const VERSION: &[&str] = &["upgradeconfig_name", "version"];
const TIME: &[&str] = &["_id", "upgradeconfig_name", "version"];
const PHASED: &[&str] = &["version", "desired_version", "phase"];
/// The labels of a condition's metric.
pub const CONDITION: &[&str] = &["upgradeconfig_name", "version", "desired_version", "condition"];
const MOMENT: &str = "Time at which this milestone was reached, in seconds since 1970.";

const fn family(
    kind: MetricKind,
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
) -> Family {
    Family {
        kind,
        name,
        help,
        labels,
    }
}

/// All families but those of the conditions, which follow from the table of steps.
pub const FAMILIES: [Family; 20] = [
    family(
        MetricKind::ValidationFailed,
        "upgradeoperator_upgradeconfig_validation_failed",
        "1 if the UpgradeConfig is invalid.",
        NAME,
    ),
    family(
        MetricKind::ScalingFailed,
        "upgradeoperator_scaling_failed",
        "1 if extra workers did not come in time.",
        NAME,
    ),
    family(
        MetricKind::WindowBreached,
        "upgradeoperator_upgrade_window_breached",
        "1 if the upgrade did not commence in its window.",
        NAME,
    ),
    family(
        MetricKind::ControlPlaneTimeout,
        "upgradeoperator_controlplane_timeout",
        "1 while the upgrade of the control plane takes longer than expected.",
        VERSION,
    ),
    family(
        MetricKind::WorkerTimeout,
        "upgradeoperator_worker_timeout",
        "1 while worker nodes are not yet updated and no maintenance silence is active any more.",
        VERSION,
    ),
    family(
        MetricKind::HealthCheckFailed,
        "upgradeoperator_healthcheck_failed",
        "1 while the health check fails for this reason.",
        &["upgradeconfig_name", "state", "version", "reason"],
    ),
    family(
        MetricKind::NodeDrainTimeout,
        "upgradeoperator_node_drain_timeout",
        "1 while a node does not drain although all drain strategies have been tried.",
        &["node_name"],
    ),
    family(
        MetricKind::Notification,
        "upgradeoperator_upgrade_notification",
        "1 when all receivers have this notification.",
        &["upgradeconfig_name", "event", "version"],
    ),
    family(
        MetricKind::Result,
        "upgradeoperator_upgrade_result",
        "1 if no critical alert fired during the upgrade, else 0 and their names.",
        &[
            "upgradeconfig_name",
            "preceding_version",
            "stream",
            "version",
            "alerts",
        ],
    ),
    family(
        MetricKind::StepOverdue,
        "drydock_agent_step_overdue",
        "1 while this step of the upgrade waits for longer than it should.",
        &["upgradeconfig_name", "version", "step"],
    ),
    family(
        MetricKind::UpgradeStarted,
        "upgradeoperator_upgrade_started_timestamp",
        MOMENT,
        TIME,
    ),
    family(
        MetricKind::UpgradeCompleted,
        "upgradeoperator_upgrade_completed_timestamp",
        MOMENT,
        TIME,
    ),
    family(
        MetricKind::ControlPlaneStarted,
        "upgradeoperator_controlplane_upgrade_started_timestamp",
        MOMENT,
        TIME,
    ),
    family(
        MetricKind::ControlPlaneCompleted,
        "upgradeoperator_controlplane_upgrade_completed_timestamp",
        MOMENT,
        TIME,
    ),
    family(
        MetricKind::WorkersStarted,
        "upgradeoperator_workernode_upgrade_started_timestamp",
        MOMENT,
        TIME,
    ),
    family(
        MetricKind::WorkersCompleted,
        "upgradeoperator_workernode_upgrade_completed_timestamp",
        MOMENT,
        TIME,
    ),
    family(
        MetricKind::Scheduled,
        "managed_upgrade_upgrade_scheduled",
        "When the upgrade may start, in seconds since 1970.",
        PHASED,
    ),
    family(
        MetricKind::StartTime,
        "managed_upgrade_upgrade_start_timestamp",
        "When the upgrade started, in seconds since 1970.",
        PHASED,
    ),
    family(
        MetricKind::CompleteTime,
        "managed_upgrade_upgrade_complete_timestamp",
        "When the upgrade was completed, in seconds since 1970.",
        PHASED,
    ),
    family(
        MetricKind::BudgetMinutes,
        "managed_upgrade_upgrade_pdb_timeout_minutes",
        "How long PodDisruptionBudgets may block a drain.",
        &["version", "desired_version"],
    ),
];
