//! What the status of an UpgradeSuspensionWindow says (Maintenance schedules, sections 1.4, 2.8 and 11).

use drydock_api::conditions::{self, DesiredCondition, FALSE, TRUE};
use drydock_api::schedule::{
    UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow, UpgradeSuspensionWindowStatus, condition,
};
use jiff::Timestamp;

use crate::selector::Selection;
use crate::suspension::{LONGEST_REASON, matching};

/// The status that a window should have. `configs` and `jobs` are those of its namespace, or more.
///
/// The original computes it only when the window itself changes.
pub fn status<'a>(
    window: &UpgradeSuspensionWindow,
    configs: impl IntoIterator<Item = &'a UpgradeConfig>,
    jobs: impl IntoIterator<Item = &'a UpgradeJob>,
    now: Timestamp,
) -> UpgradeSuspensionWindowStatus {
    let namespace = &window.metadata.namespace;
    let configs = configs
        .into_iter()
        .filter(|config| config.metadata.namespace == *namespace);
    let jobs = jobs
        .into_iter()
        .filter(|job| job.metadata.namespace == *namespace);
    let mut status = matching(window, configs, jobs);
    let generation = window.metadata.generation;
    status.observed_generation = generation;
    let (is_ready, reason, message) = readiness(window);
    let wanted = DesiredCondition {
        type_: condition::READY,
        status: if is_ready { TRUE } else { FALSE },
        reason,
        message: &message,
        observed_generation: generation,
    };
    conditions::set(status.conditions.get_or_insert_default(), &wanted, now);
    status
}

fn readiness(window: &UpgradeSuspensionWindow) -> (bool, &'static str, String) {
    let spec = &window.spec;
    let selectors = [
        ("configSelector", &spec.config_selector),
        ("jobSelector", &spec.job_selector),
    ];
    for (field, selector) in selectors {
        if let Err(invalid) = Selection::or_nothing(selector.as_ref()) {
            let message = format!(
                "spec.{field} cannot be used and is taken to select everything, correct it: {invalid}"
            );
            return (false, "InvalidSelector", message);
        }
    }
    if spec.start.0 >= spec.end.0 {
        let message = "spec.start is not before spec.end: the window is never in force, correct it";
        return (false, "NeverInForce", message.to_owned());
    }
    let reason: String = spec.reason.chars().take(LONGEST_REASON).collect();
    let message = format!("in force from {} until {}: {reason}", spec.start.0, spec.end.0);
    (true, "Usable", message)
}
