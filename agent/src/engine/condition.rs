//! How a step's condition is kept (agent 3): newest first, times set once, nothing touched that says it already.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::UpgradeCondition;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The step is done.
pub(crate) fn done(conditions: &mut Vec<UpgradeCondition>, type_: &str, now: Timestamp) {
    if find(conditions, type_).is_some_and(|condition| condition.status == TRUE) {
        return;
    }
    set(
        conditions,
        type_,
        TRUE,
        &format!("{type_} done"),
        format!("{type_} is completed"),
        now,
    );
    let condition = entry(conditions, type_, now);
    condition.complete_time.get_or_insert(Time(now));
}

/// The step waits, for what `why` says.
pub(crate) fn waits(
    conditions: &mut Vec<UpgradeCondition>,
    type_: &str,
    why: Option<String>,
    now: Timestamp,
) {
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
}

/// Sets a condition of any kind; its times move only with what it says.
pub(crate) fn set(
    conditions: &mut Vec<UpgradeCondition>,
    type_: &str,
    status: &str,
    reason: &str,
    message: String,
    now: Timestamp,
) {
    let condition = entry(conditions, type_, now);
    if condition.status != status {
        status.clone_into(&mut condition.status);
        condition.last_transition_time = Some(Time(now));
    }
    let (reason, message) = (Some(reason.to_owned()), Some(message));
    if (&condition.reason, &condition.message) != (&reason, &message) {
        condition.reason = reason;
        condition.message = message;
        condition.last_probe_time = Some(Time(now));
    }
}

/// The condition of a type.
pub(crate) fn find<'a>(conditions: &'a [UpgradeCondition], type_: &str) -> Option<&'a UpgradeCondition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The condition of a type, made at the front if it is not there.
fn entry<'a>(
    conditions: &'a mut Vec<UpgradeCondition>,
    type_: &str,
    now: Timestamp,
) -> &'a mut UpgradeCondition {
    let at = conditions.iter().position(|condition| condition.type_ == type_);
    let at = at.unwrap_or_else(|| {
        let new = UpgradeCondition {
            type_: type_.to_owned(),
            start_time: Some(Time(now)),
            ..UpgradeCondition::default()
        };
        conditions.insert(0, new);
        0
    });
    &mut conditions[at]
}
