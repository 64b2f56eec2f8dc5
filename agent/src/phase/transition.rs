//! What a change of the status means to a user: told once, because the status remembers it.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{UpgradeConfigStatus, UpgradeHistory, UpgradePhase};

use super::upgrading::{DELAYED, FAILED, TOLD, Told};
use super::{ACCEPTED, EARLY_HEALTH, REFRESHED, VALIDATED};
use crate::engine::condition;
use crate::notify::{self, Event};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    pub warning: bool,
    pub reason: &'static str,
    pub message: String,
}

/// What keeps an upgrade waiting and is worth a word when it begins or changes.
const WARNED: [(&str, &str); 12] = [
    (REFRESHED, "PolicyNotRefreshed"),
    ("ExternalDependenciesAvailable", "ExternalDependenciesUnavailable"),
    ("ComputeCapacityReserved", "WaitingForExtraWorkers"),
    ("ControlPlaneMaintenanceWindowCreated", "SilencesFailed"),
    ("WorkersMaintenanceWindowCreated", "SilencesFailed"),
    ("WorkerNodesUpgraded", "WorkersHeldUp"),
    ("IsClusterUpgradable", "NotUpgradeable"),
    ("ClusterHealthyBeforeUpgrade", "HealthCheckFailed"),
    ("ClusterHealthyAfterUpgrade", "HealthCheckFailed"),
    (EARLY_HEALTH, "HealthCheckFailed"),
    (VALIDATED, "InvalidUpgradeConfig"),
    (ACCEPTED, "InvalidChange"),
];

/// What is new in `after`.
pub(crate) fn of(before: &UpgradeConfigStatus, after: &UpgradeConfigStatus) -> Vec<Transition> {
    let Some(entry) = after.history.iter().flatten().next() else {
        return Vec::new();
    };
    let known = before
        .history
        .iter()
        .flatten()
        .find(|known| known.version == entry.version);
    let version = entry.version.as_deref().unwrap_or("unknown");
    let mut transitions = Vec::new();
    for Told {
        type_, reason, text, ..
    } in TOLD
    {
        if status_of(Some(entry), type_) == Some(TRUE) && status_of(known, type_) != Some(TRUE) {
            transitions.push(told(reason, format!("{text}: {version}")));
        }
    }
    for (type_, reason) in WARNED {
        let message = message_of(Some(entry), type_, FALSE);
        if message.is_some() && message != message_of(known, type_, FALSE) {
            transitions.push(warned(reason, version, message));
        }
    }
    let delay = |entry: Option<&UpgradeHistory>| {
        let conditions = entry?.conditions.as_deref()?;
        let told = condition::find(conditions, "UpgradeDelayedCheck")?;
        (told.reason.as_deref() == Some(DELAYED)).then(|| told.message.clone())?
    };
    if let (Some(message), None) = (delay(Some(entry)), delay(known)) {
        transitions.push(warned("UpgradeDelayed", version, Some(&message)));
    }
    for event in [Event::Skipped, Event::ScaleSkipped] {
        let raised = |entry: &UpgradeHistory| notify::event::description(entry, event).map(str::to_owned);
        if let (Some(message), None) = (raised(entry), known.and_then(raised)) {
            transitions.push(warned("ExtraWorkersSkipped", version, Some(&message)));
        }
    }
    let forced =
        |entry: &UpgradeHistory| notify::event::description(entry, Event::Delayed).map(str::to_owned);
    if let (Some(message), None, None) = (forced(entry), known.and_then(forced), delay(Some(entry))) {
        transitions.push(warned("DrainForced", version, Some(&message)));
    }
    let has_failed = |entry: &UpgradeHistory| entry.phase == UpgradePhase::Failed;
    if has_failed(entry) && !known.is_some_and(has_failed) {
        transitions.push(warned(
            "UpgradeFailed",
            version,
            message_of(Some(entry), FAILED, TRUE),
        ));
    }
    transitions
}

fn told(reason: &'static str, message: String) -> Transition {
    Transition {
        warning: false,
        reason,
        message,
    }
}

fn warned(reason: &'static str, version: &str, message: Option<&str>) -> Transition {
    Transition {
        warning: true,
        reason,
        message: format!("{version}: {}", message.unwrap_or_default()),
    }
}

fn status_of<'a>(entry: Option<&'a UpgradeHistory>, type_: &str) -> Option<&'a str> {
    let conditions = entry?.conditions.as_deref()?;
    condition::find(conditions, type_).map(|condition| condition.status.as_str())
}

fn message_of<'a>(entry: Option<&'a UpgradeHistory>, type_: &str, status: &str) -> Option<&'a str> {
    let conditions = entry?.conditions.as_deref()?;
    let condition = condition::find(conditions, type_).filter(|condition| condition.status == status)?;
    // That a step has only started is not worth a word.
    condition
        .message
        .as_deref()
        .filter(|message| !message.starts_with(type_))
}
