//! The lock of the cluster: of an UpgradeJob and an UpgradeConfig only one upgrades it (Maintenance schedules, section 2.7). It is taken
//! before anything else is done, and free again when nothing is under way.

use drydock_api::names::UPGRADE_LOCK_ANNOTATION;

use super::{StepContext, StepOutcome};
use crate::command::Command;
use crate::facts::{Facts, UpgradeLock};

/// Goes on with the lock.
pub(super) fn take(situation: &StepContext<'_>) -> StepOutcome {
    match situation.facts.lock() {
        UpgradeLock::Ours => StepOutcome::Done,
        UpgradeLock::Free => StepOutcome::Asks(Command::TakeLock(situation.facts.key.clone())),
        UpgradeLock::Held(by) => StepOutcome::Waiting(Some(format!(
            "waiting for {by}, which has the lock of the cluster: annotation {UPGRADE_LOCK_ANNOTATION} of ClusterVersion"
        ))),
    }
}

/// The write that frees it, if this UpgradeConfig has it.
pub(crate) fn release(facts: &Facts) -> Option<Command> {
    (facts.lock() == UpgradeLock::Ours).then_some(Command::ReleaseLock)
}
