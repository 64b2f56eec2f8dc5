//! The conditions of an upgrade: their types, and how they are kept: newest first, nothing touched that says it
//! already, the time of the last look no older than [`HEARTBEAT`].

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::mcu::reason::RISKS_NOT_ACCEPTED;
use drydock_api::upgradeconfig::UpgradeCondition;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// How old `lastProbeTime` of the step that waits becomes at most, as long as it is looked at.
const HEARTBEAT: SignedDuration = SignedDuration::from_mins(10);

/// A type of condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionType {
    /// Done at once: receivers will be notified of the start.
    StartedNotificationSent,
    /// Done at once: an upgrade that does not commence in time is reported.
    UpgradeDelayedCheck,
    /// Done when ClusterVersion is not `Upgradeable=False`, or only a patch is asked for.
    IsClusterUpgradable,
    /// Done when no critical alert of the platform fires, and no cluster operator is degraded or unavailable.
    ClusterHealthyBeforeUpgrade,
    /// Done when every URL of `extDependencyAvailabilityChecks.http.urls` answers 200.
    ExternalDependenciesAvailable,
    /// Done when a copy of every MachineSet of workers has its node Ready, or `scale.timeOut` is over.
    ComputeCapacityReserved,
    /// Done when lesser alerts are silenced for the upgrade of the control plane.
    ControlPlaneMaintenanceWindowCreated,
    /// Done when ClusterVersion has the channel and the release.
    UpgradeCommenced,
    /// Done when ClusterVersion's history has the version as `Completed`.
    ControlPlaneUpgraded,
    /// Done when the silences of the control plane have ended.
    ControlPlaneMaintenanceWindowRemoved,
    /// Done when lesser alerts are silenced for as long as the nodes that are left should take.
    WorkersMaintenanceWindowCreated,
    /// Done when all machines of the pool `worker` are updated.
    WorkerNodesUpgraded,
    /// Done when the extra machines are gone.
    ComputeCapacityRemoved,
    /// Done when the silences of the workers have ended.
    WorkersMaintenanceWindowRemoved,
    /// Done when the cluster is as healthy as before the upgrade.
    ClusterHealthyAfterUpgrade,
    /// Done when the tasks after the upgrade are, such as those of `environment.fedramp`.
    PostUpgradeTasksCompleted,
    /// Done at once: receivers will be notified of the end.
    CompletedNotificationSent,
    /// Whether the UpgradeConfig is valid.
    UpgradeConfigValidated,
    /// Whether changes of the spec were taken.
    UpgradeConfigAccepted,
    /// Whether the provider's policy is still what the upgrade was made for.
    PolicyRefreshed,
    /// How a check hours before the upgrade went.
    ClusterHealthyAhead,
    /// Whether the ConfigMap's configuration is in force.
    ConfigurationAccepted,
    /// That the upgrade was given up.
    FailedUpgrade,
}

impl ConditionType {
    /// The type on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StartedNotificationSent => "StartedNotificationSent",
            Self::UpgradeDelayedCheck => "UpgradeDelayedCheck",
            Self::IsClusterUpgradable => "IsClusterUpgradable",
            Self::ClusterHealthyBeforeUpgrade => "ClusterHealthyBeforeUpgrade",
            Self::ExternalDependenciesAvailable => "ExternalDependenciesAvailable",
            Self::ComputeCapacityReserved => "ComputeCapacityReserved",
            Self::ControlPlaneMaintenanceWindowCreated => "ControlPlaneMaintenanceWindowCreated",
            Self::UpgradeCommenced => "UpgradeCommenced",
            Self::ControlPlaneUpgraded => "ControlPlaneUpgraded",
            Self::ControlPlaneMaintenanceWindowRemoved => "ControlPlaneMaintenanceWindowRemoved",
            Self::WorkersMaintenanceWindowCreated => "WorkersMaintenanceWindowCreated",
            Self::WorkerNodesUpgraded => "WorkerNodesUpgraded",
            Self::ComputeCapacityRemoved => "ComputeCapacityRemoved",
            Self::WorkersMaintenanceWindowRemoved => "WorkersMaintenanceWindowRemoved",
            Self::ClusterHealthyAfterUpgrade => "ClusterHealthyAfterUpgrade",
            Self::PostUpgradeTasksCompleted => "PostUpgradeTasksCompleted",
            Self::CompletedNotificationSent => "CompletedNotificationSent",
            Self::UpgradeConfigValidated => "UpgradeConfigValidated",
            Self::UpgradeConfigAccepted => "UpgradeConfigAccepted",
            Self::PolicyRefreshed => "PolicyRefreshed",
            Self::ClusterHealthyAhead => "ClusterHealthyAhead",
            Self::ConfigurationAccepted => "ConfigurationAccepted",
            Self::FailedUpgrade => "FailedUpgrade",
        }
    }
}

impl std::fmt::Display for ConditionType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The conditions of an upgrade, newest first; that of a step that waits before all others.
pub type Conditions = Vec<UpgradeCondition>;

/// The step is done.
pub fn done(conditions: &mut Conditions, type_: ConditionType, now: Timestamp) {
    if is(conditions, type_, TRUE) {
        return;
    }
    let (reason, message) = (format!("{type_} done"), format!("{type_} is completed"));
    set(conditions, type_, TRUE, &reason, message, now);
}

/// Whether the step waits, as it last said, until somebody accepts what the informers have found.
pub fn is_held(conditions: &[UpgradeCondition], type_: ConditionType) -> bool {
    let reason = find(conditions, type_).and_then(|condition| condition.reason.as_deref());
    reason == Some(RISKS_NOT_ACCEPTED)
}

/// The step waits until somebody accepts what the informers have found, or it is corrected: who reads the condition has to tell this apart.
pub fn held(conditions: &mut Conditions, type_: ConditionType, why: String, now: Timestamp) {
    set(conditions, type_, FALSE, RISKS_NOT_ACCEPTED, why, now);
    put_first(conditions, type_);
}

/// The step waits, for what `why` says.
pub fn waits(conditions: &mut Conditions, type_: ConditionType, why: Option<String>, now: Timestamp) {
    let is_new = find(conditions, type_).is_none();
    let message = why.unwrap_or_else(|| {
        if is_new {
            format!("{type_} has started")
        } else {
            format!("{type_} still in progress")
        }
    });
    set(
        conditions,
        type_,
        FALSE,
        &format!("{type_} not done"),
        message,
        now,
    );
    // One that was done may wait again when later ones have begun.
    put_first(conditions, type_);
}

/// Sets a condition of any kind. Its times move only with what it says; it has been completed only while it is true.
pub fn set(
    conditions: &mut Conditions,
    type_: ConditionType,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) {
    let condition = entry(conditions, type_, now);
    if condition.status != status {
        status.clone_into(&mut condition.status);
        condition.last_transition_time = Some(Time(now));
        condition.complete_time = (status == TRUE).then_some(Time(now));
    }
    let is_old = condition
        .last_probe_time
        .as_ref()
        .is_none_or(|time| now.duration_since(time.0) >= HEARTBEAT);
    let (reason, message) = (Some(reason.to_owned()), Some(message));
    let says_more = (&condition.reason, &condition.message) != (&reason, &message);
    if says_more {
        condition.reason = reason;
        condition.message = message;
    }
    if says_more || (is_old && status == FALSE) {
        condition.last_probe_time = Some(Time(now));
    }
}

/// The condition of a type.
pub fn find(conditions: &[UpgradeCondition], type_: ConditionType) -> Option<&UpgradeCondition> {
    conditions
        .iter()
        .find(|condition| condition.type_ == type_.name())
}

fn position(conditions: &[UpgradeCondition], type_: ConditionType) -> Option<usize> {
    conditions
        .iter()
        .position(|condition| condition.type_ == type_.name())
}

/// Whether a condition has this status.
pub fn is(conditions: &[UpgradeCondition], type_: ConditionType, status: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == status)
}

/// Puts the condition of a step that waits before all others: what is read first says what is waited for.
pub fn put_first(conditions: &mut Conditions, step: ConditionType) {
    if let Some(from) = position(conditions, step) {
        conditions[..=from].rotate_right(1);
    }
}

/// Takes a condition away.
pub fn remove(conditions: &mut Conditions, type_: ConditionType) {
    conditions.retain(|condition| condition.type_ != type_.name());
}

/// The condition of a type, made at the front if it is not there.
fn entry(conditions: &mut Conditions, type_: ConditionType, now: Timestamp) -> &mut UpgradeCondition {
    let at = position(conditions, type_).unwrap_or_else(|| {
        let new = UpgradeCondition {
            type_: type_.name().to_owned(),
            start_time: Some(Time(now)),
            ..UpgradeCondition::default()
        };
        conditions.insert(0, new);
        0
    });
    &mut conditions[at]
}
