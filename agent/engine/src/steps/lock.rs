//! The lock of the cluster: of an UpgradeJob and an UpgradeConfig only one upgrades it (Maintenance schedules, section 2.7). It is taken
//! before anything else is done, and free again when nothing is under way. An update that is under way without it is waited for, too.

use drydock_api::names::UPGRADE_LOCK_ANNOTATION;

use super::{StepContext, StepOutcome};
use crate::command::Command;
use crate::facts::{Facts, UpdateRequest, UpgradeLock, Workers};

/// Goes on with the lock. An upgrade that has commenced by the status goes on whoever has it, and takes it where nobody has; what others have
/// asked of the cluster is no upgrade of this UpgradeConfig as long as they have it.
pub(super) fn take(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let has_commenced = matches!(facts.request, UpdateRequest::Commenced(_));
    match facts.lock() {
        UpgradeLock::Ours => others(situation).unwrap_or(StepOutcome::Done),
        UpgradeLock::Held(_) if has_commenced => StepOutcome::Done,
        UpgradeLock::Held(by) => StepOutcome::Waiting(Some(format!(
            "waiting for {by}, which has the lock of the cluster: annotation {UPGRADE_LOCK_ANNOTATION} of ClusterVersion"
        ))),
        UpgradeLock::Free => {
            others(situation).unwrap_or_else(|| StepOutcome::Asks(Command::TakeLock(facts.key.clone())))
        }
    }
}

/// What is under way without the lock and is waited for, as long as nothing has commenced: an update to another release, and its nodes. Those that
/// are paused, or get stuck, are not.
fn others(situation: &StepContext<'_>) -> Option<StepOutcome> {
    let (facts, target) = (situation.facts, situation.target);
    let is_asked = facts.has_commenced(target);
    let has_commenced = matches!(facts.request, UpdateRequest::Commenced(_));
    if has_commenced || (is_asked && facts.lock() == UpgradeLock::Ours) {
        return None;
    }
    let what = if let Some(other) = facts.other_update(target) {
        format!("the update of the cluster to {other}, which is under way")
    } else if !is_asked && facts.known_workers().is_some_and(Workers::are_being_updated) {
        "the update of the cluster, whose MachineConfigPool worker is being updated".to_owned()
    } else {
        return None;
    };
    Some(StepOutcome::Waiting(Some(format!("waiting for {what}"))))
}

/// The write that frees it, if this UpgradeConfig has it.
pub(crate) fn release(facts: &Facts) -> Option<Command> {
    (facts.lock() == UpgradeLock::Ours).then_some(Command::ReleaseLock)
}
