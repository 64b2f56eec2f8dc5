//! What a change of the status means to a user: reported once, because the status remembers it.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{UpgradeConfigStatus, UpgradeHistory, UpgradePhase};

use super::NOT_AN_UPGRADE;
use super::upgrading::DELAYED;
use crate::condition::{self, ConditionType};
use crate::notification::{self, UpgradeEvent};
use crate::steps::STEPS;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Whether it is a warning.
    pub warning: bool,
    /// In CamelCase.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// What keeps an upgrade waiting beside its steps, and is worth a word when it begins or changes.
const WARNED: [(ConditionType, &str); 5] = [
    (ConditionType::PolicyRefreshed, "PolicyNotRefreshed"),
    (ConditionType::ClusterHealthyAhead, "HealthCheckFailed"),
    (ConditionType::UpgradeConfigValidated, "InvalidUpgradeConfig"),
    (ConditionType::UpgradeConfigAccepted, "InvalidChange"),
    (ConditionType::ConfigurationAccepted, "ConfigurationNotAccepted"),
];

/// What is new in `after`.
pub fn of(before: &UpgradeConfigStatus, after: &UpgradeConfigStatus) -> Vec<Transition> {
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
    for step in &STEPS {
        let type_ = step.condition;
        let is_new = status_of(Some(entry), type_) == Some(TRUE) && status_of(known, type_) != Some(TRUE);
        if let Some(end) = step.milestone.filter(|_| is_new) {
            transitions.push(normal(end.reason, format!("{}: {version}", end.text)));
        }
    }
    let steps = STEPS
        .iter()
        .filter_map(|step| Some((step.condition, step.warned?)));
    for (type_, reason) in steps.chain(WARNED) {
        let message = message_of(Some(entry), type_, FALSE);
        if message.is_some() && message != message_of(known, type_, FALSE) {
            let is_no_upgrade = reason_of(entry, type_) == Some(NOT_AN_UPGRADE);
            let reason = if is_no_upgrade { NOT_AN_UPGRADE } else { reason };
            transitions.push(warned(reason, version, message));
        }
    }
    let delay = |entry: Option<&UpgradeHistory>| {
        let conditions = entry?.conditions.as_deref()?;
        let check = condition::find(conditions, ConditionType::UpgradeDelayedCheck)?;
        (check.reason.as_deref() == Some(DELAYED)).then(|| check.message.clone())?
    };
    if let (Some(message), None) = (delay(Some(entry)), delay(known)) {
        transitions.push(warned("UpgradeDelayed", version, Some(&message)));
    }
    for event in [UpgradeEvent::Skipped, UpgradeEvent::ScaleSkipped] {
        let raised = |entry: &UpgradeHistory| notification::description(entry, event).map(str::to_owned);
        if let (Some(message), None) = (raised(entry), known.and_then(raised)) {
            transitions.push(warned("ExtraWorkersSkipped", version, Some(&message)));
        }
    }
    let forced =
        |entry: &UpgradeHistory| notification::description(entry, UpgradeEvent::Delayed).map(str::to_owned);
    if let (Some(message), None, None) = (forced(entry), known.and_then(forced), delay(Some(entry))) {
        transitions.push(warned("DrainForced", version, Some(&message)));
    }
    let has_failed = |entry: &UpgradeHistory| entry.phase == UpgradePhase::Failed;
    if has_failed(entry) && !known.is_some_and(has_failed) {
        transitions.push(warned(
            "UpgradeFailed",
            version,
            message_of(Some(entry), ConditionType::FailedUpgrade, TRUE),
        ));
    }
    transitions
}

fn normal(reason: &'static str, message: String) -> Transition {
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

fn reason_of(entry: &UpgradeHistory, type_: ConditionType) -> Option<&str> {
    let conditions = entry.conditions.as_deref().unwrap_or_default();
    condition::find(conditions, type_)?.reason.as_deref()
}

fn status_of(entry: Option<&UpgradeHistory>, type_: ConditionType) -> Option<&str> {
    let conditions = entry?.conditions.as_deref()?;
    condition::find(conditions, type_).map(|condition| condition.status.as_str())
}

fn message_of<'a>(entry: Option<&'a UpgradeHistory>, type_: ConditionType, status: &str) -> Option<&'a str> {
    let conditions = entry?.conditions.as_deref()?;
    let condition = condition::find(conditions, type_).filter(|condition| condition.status == status)?;
    // That a step has only started is not worth a word.
    condition
        .message
        .as_deref()
        .filter(|message| !message.starts_with(type_.name()))
}
