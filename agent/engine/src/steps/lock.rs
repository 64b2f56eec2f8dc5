//! The lock of the cluster: of an UpgradeJob and an UpgradeConfig only one upgrades it (Maintenance schedules, section 2.7). It is taken
//! before anything else is done, and free again when nothing is under way. An update that is under way without it is waited for, too.

use drydock_api::names::UPGRADE_LOCK_ANNOTATION;

use super::{StepContext, StepOutcome};
use crate::command::Command;
use crate::facts::{Facts, UpdateRequest, UpgradeLock};

/// Goes on with the lock. An upgrade that has commenced by the status goes on whoever has it, and takes it where nobody has; what others have
/// asked of the cluster is no upgrade of this UpgradeConfig as long as they have it.
pub(super) fn take(situation: &StepContext<'_>) -> StepOutcome {
    let (facts, target) = (situation.facts, situation.target);
    let has_commenced = matches!(facts.request, UpdateRequest::Commenced(_));
    let other = facts.other_update(target);
    match facts.lock() {
        // Who asks in the meantime without the lock is waited for, as long as nothing has commenced.
        UpgradeLock::Ours if !has_commenced && !facts.has_commenced(target) && other.is_some() => {
            waits_for(other)
        }
        UpgradeLock::Ours => StepOutcome::Done,
        UpgradeLock::Held(_) if has_commenced => StepOutcome::Done,
        UpgradeLock::Held(by) => StepOutcome::Waiting(Some(format!(
            "waiting for {by}, which has the lock of the cluster: annotation {UPGRADE_LOCK_ANNOTATION} of ClusterVersion"
        ))),
        UpgradeLock::Free if other.is_some() && !has_commenced => waits_for(other),
        UpgradeLock::Free => StepOutcome::Asks(Command::TakeLock(facts.key.clone())),
    }
}

fn waits_for(other: Option<&str>) -> StepOutcome {
    let other = other.unwrap_or("another release");
    StepOutcome::Waiting(Some(format!(
        "waiting for the update of the cluster to {other}, which is under way"
    )))
}

/// The write that frees it, if this UpgradeConfig has it.
pub(crate) fn release(facts: &Facts) -> Option<Command> {
    (facts.lock() == UpgradeLock::Ours).then_some(Command::ReleaseLock)
}
