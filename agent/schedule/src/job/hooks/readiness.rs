//! Whether a hook can be used: its own status.

use drydock_api::conditions::{self, DesiredCondition, FALSE, TRUE};
use drydock_api::schedule::{UpgradeJobHook, UpgradeJobHookStatus};
use jiff::Timestamp;

use super::hook_job::TemplateError;
use crate::selector::Selection;

/// The status of a hook, with its condition Ready. The claim stays as it is.
pub fn status(hook: &UpgradeJobHook, now: Timestamp) -> UpgradeJobHookStatus {
    let mut status = hook.status.clone().unwrap_or_default();
    let (ready, reason, message) = assess(hook);
    status.observed_generation = hook.metadata.generation;
    let wanted = DesiredCondition {
        type_: "Ready",
        status: if ready { TRUE } else { FALSE },
        reason,
        message: &message,
        observed_generation: hook.metadata.generation,
    };
    conditions::set(status.conditions.get_or_insert_default(), &wanted, now);
    status
}

fn assess(hook: &UpgradeJobHook) -> (bool, &'static str, String) {
    if let Err(error) = Selection::or_everything(hook.spec.selector.as_ref()) {
        return (false, "InvalidSelector", format!("spec.selector: {error}"));
    }
    if let Err(error) = TemplateError::check(hook) {
        return (false, "InvalidTemplate", error.to_string());
    }
    if hook.spec.events.iter().flatten().next().is_none() {
        return (
            false,
            "NoEvents",
            "spec.events is empty: the hook never runs".to_owned(),
        );
    }
    (
        true,
        "Usable",
        "the hook can be used; the server checks its Job in full when that is created".to_owned(),
    )
}
