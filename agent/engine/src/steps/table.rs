//! The table of steps: their order in OSD and ARO, and what else is known of each.

use drydock_api::upgradeconfig::UpgradeType;

use super::{
    StepContext, StepOutcome, commence, control_plane, control_plane_window, dependencies, extra_workers,
    health_check, lock, post_procedures, upgradeable, workers, workers_window,
};
use crate::condition::ConditionType;
use crate::notification::UpgradeEvent;

/// A step of an upgrade.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The type of its condition.
    pub condition: ConditionType,
    /// Whether ARO has it, too; OSD has all.
    pub in_aro: bool,
    /// Whether it is over once the upgrade has commenced.
    pub precedes_commencement: bool,
    /// Whether it stays done once it was: what it does must not be done again.
    pub once: bool,
    /// How long it may take.
    pub deadline: Deadline,
    /// How its end is reported.
    pub milestone: Option<Milestone>,
    /// The reason of the Event that reports that it waits.
    pub warned: Option<&'static str>,
    /// What managed-upgrade-operator's metric `managed_upgrade_condition_…_timestamp` calls it.
    pub metric: &'static str,
    /// What it makes of the facts.
    pub decide: fn(&StepContext<'_>) -> StepOutcome,
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.condition == other.condition
    }
}

/// How long a step may take before it counts as overdue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// Until the upgrade has to have commenced.
    Commencement,
    /// As long as a control plane may take, from when the upgrade commenced.
    ControlPlane,
    /// As long as all workers may take.
    Workers,
    /// As long as extra workers may take to come or go.
    Capacity,
    /// Half an hour.
    HalfAnHour,
}

/// The end of a step, in the same words as an Event and as a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The notification.
    pub event: UpgradeEvent,
    /// The Event's reason.
    pub reason: &'static str,
    /// What is said of the version.
    pub text: &'static str,
}

const fn milestone(event: UpgradeEvent, reason: &'static str, text: &'static str) -> Milestone {
    Milestone { event, reason, text }
}

/// A step that precedes the commencement; what differs is set by each.
const BEFORE: Step = Step {
    condition: ConditionType::StartedNotificationSent,
    in_aro: true,
    precedes_commencement: true,
    once: false,
    deadline: Deadline::Commencement,
    milestone: None,
    warned: None,
    metric: "",
    decide: |_| StepOutcome::Done,
};

/// A step that follows the commencement; what differs is set by each.
const AFTER: Step = Step {
    precedes_commencement: false,
    deadline: Deadline::HalfAnHour,
    ..BEFORE
};

/// All steps, in their order.
pub const STEPS: [Step; 17] = [
    Step {
        condition: ConditionType::StartedNotificationSent,
        // It is for the lock to say whether what has commenced is this upgrade.
        precedes_commencement: false,
        milestone: Some(milestone(
            UpgradeEvent::Started,
            "UpgradeStarted",
            "the upgrade has started",
        )),
        metric: "notification_start",
        warned: Some("WaitingForLock"),
        decide: lock::take,
        ..BEFORE
    },
    // What waits words the delay; this step never blocks.
    Step {
        condition: ConditionType::UpgradeDelayedCheck,
        in_aro: false,
        metric: "delayed_check",
        ..BEFORE
    },
    Step {
        condition: ConditionType::IsClusterUpgradable,
        in_aro: false,
        warned: Some("NotUpgradeable"),
        metric: "upgradeable_check",
        decide: upgradeable::decide,
        ..BEFORE
    },
    Step {
        condition: ConditionType::ClusterHealthyBeforeUpgrade,
        warned: Some("HealthCheckFailed"),
        metric: "health_check",
        decide: health_check::before,
        ..BEFORE
    },
    Step {
        condition: ConditionType::ExternalDependenciesAvailable,
        warned: Some("ExternalDependenciesUnavailable"),
        metric: "external_dep_check",
        decide: dependencies::decide,
        ..BEFORE
    },
    Step {
        condition: ConditionType::ComputeCapacityReserved,
        warned: Some("WaitingForExtraWorkers"),
        metric: "capacity_added",
        decide: extra_workers::ensure,
        ..BEFORE
    },
    Step {
        condition: ConditionType::ControlPlaneMaintenanceWindowCreated,
        precedes_commencement: false,
        warned: Some("SilencesFailed"),
        metric: "control_plane_maint_start",
        decide: control_plane_window::create,
        ..BEFORE
    },
    Step {
        condition: ConditionType::UpgradeCommenced,
        precedes_commencement: false,
        // What somebody else writes into ClusterVersion after that is not overwritten.
        once: true,
        milestone: Some(milestone(
            UpgradeEvent::ControlPlaneStarted,
            "ControlPlaneUpgradeStarted",
            "the upgrade of the control plane has started",
        )),
        warned: Some("WaitingToCommence"),
        metric: "control_plane_upgrade_start",
        decide: commence::decide,
        ..BEFORE
    },
    Step {
        condition: ConditionType::ControlPlaneUpgraded,
        deadline: Deadline::ControlPlane,
        milestone: Some(milestone(
            UpgradeEvent::ControlPlaneFinished,
            "ControlPlaneUpgradeFinished",
            "the control plane has been upgraded",
        )),
        metric: "control_plane_completion",
        decide: control_plane::decide,
        ..AFTER
    },
    Step {
        condition: ConditionType::ControlPlaneMaintenanceWindowRemoved,
        once: true,
        warned: Some("SilencesFailed"),
        metric: "control_plane_maint_removed",
        decide: control_plane_window::remove,
        ..AFTER
    },
    Step {
        condition: ConditionType::WorkersMaintenanceWindowCreated,
        warned: Some("SilencesFailed"),
        metric: "workers_maint_start",
        decide: workers_window::create,
        ..AFTER
    },
    Step {
        condition: ConditionType::WorkerNodesUpgraded,
        deadline: Deadline::Workers,
        milestone: Some(milestone(
            UpgradeEvent::WorkerPlaneFinished,
            "WorkerUpgradeFinished",
            "the worker nodes have been upgraded",
        )),
        warned: Some("WorkersHeldUp"),
        metric: "workers_upgraded",
        decide: workers::decide,
        ..AFTER
    },
    Step {
        condition: ConditionType::ComputeCapacityRemoved,
        once: true,
        deadline: Deadline::Capacity,
        warned: Some("ExtraWorkersRemain"),
        metric: "capacity_removed",
        decide: extra_workers::remove,
        ..AFTER
    },
    Step {
        condition: ConditionType::WorkersMaintenanceWindowRemoved,
        once: true,
        warned: Some("SilencesFailed"),
        metric: "workers_maint_removed",
        decide: workers_window::remove,
        ..AFTER
    },
    Step {
        condition: ConditionType::ClusterHealthyAfterUpgrade,
        warned: Some("HealthCheckFailed"),
        metric: "post_upgrade_healthcheck",
        decide: health_check::after,
        ..AFTER
    },
    Step {
        condition: ConditionType::PostUpgradeTasksCompleted,
        in_aro: false,
        once: true,
        warned: Some("PostUpgradeTasksFailed"),
        metric: "post_upgrade_tasks",
        decide: post_procedures::decide,
        ..AFTER
    },
    Step {
        condition: ConditionType::CompletedNotificationSent,
        milestone: Some(milestone(
            UpgradeEvent::Completed,
            "UpgradeCompleted",
            "the upgrade is completed",
        )),
        metric: "notification_complete",
        ..AFTER
    },
];

/// The steps of a type of upgrade, in their order.
pub fn in_order(upgrade_type: UpgradeType) -> impl Iterator<Item = &'static Step> {
    let is_aro = upgrade_type == UpgradeType::Aro;
    STEPS.iter().filter(move |step| step.in_aro || !is_aro)
}
