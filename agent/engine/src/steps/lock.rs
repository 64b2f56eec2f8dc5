//! The lock of the cluster: of an UpgradeJob and an UpgradeConfig only one upgrades it (Maintenance schedules, section 2.7). It is taken
//! before anything else is done, and free again when nothing is under way. An update that is under way without it is waited for, too.

use drydock_api::names::{UPGRADE_LOCK_ANNOTATION, WORKER_POOL};

use super::{StepContext, StepOutcome};
use crate::command::Command;
use crate::facts::{Facts, Need, UpdateRequest, UpgradeLock, Workers};

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

/// What is under way without the lock and is waited for, as long as nothing has commenced: an update to another release, its nodes, and an UpgradeJob that
/// has lost the lock. Pools that are paused by nobody who will unpause them, or get stuck, are not waited for.
fn others(situation: &StepContext<'_>) -> Option<StepOutcome> {
    let (facts, target) = (situation.facts, situation.target);
    let is_ours = facts.lock() == UpgradeLock::Ours;
    let is_asked = facts.has_commenced(target);
    let has_commenced = matches!(facts.request, UpdateRequest::Commenced(_));
    if has_commenced || (is_asked && is_ours) {
        return None;
    }
    if let Some(other) = facts.other_update(target) {
        return Some(waits_for(&format!(
            "the update of the cluster to {other}, which is under way"
        )));
    }
    if !is_asked && facts.known_workers().is_some_and(Workers::are_being_updated) {
        return Some(waits_for_pools(WORKER_POOL));
    }
    if is_ours {
        return None;
    }
    let pools = match &facts.seen.pools {
        Ok(pools) => pools,
        Err(unread) => {
            return Some(StepOutcome::unread(
                Need::Pools,
                "the machine config pools",
                unread,
            ));
        }
    };
    let kept = pools
        .iter()
        .find_map(|pool| Some((pool.kept_by.as_ref()?, &pool.name)));
    if let Some((job, pool)) = kept {
        return Some(waits_for(&format!(
            "UpgradeJob {job}, which has paused machine config pool {pool}"
        )));
    }
    let updating = pools.iter().filter(|pool| pool.is_being_updated && !is_asked);
    let updating: Vec<&str> = updating.map(|pool| pool.name.as_str()).collect();
    (!updating.is_empty()).then(|| waits_for_pools(&updating.join(", ")))
}

fn waits_for(what: &str) -> StepOutcome {
    StepOutcome::Waiting(Some(format!("waiting for {what}")))
}

fn waits_for_pools(names: &str) -> StepOutcome {
    waits_for(&format!(
        "the update of the cluster, whose machine config pools are being updated: {names}"
    ))
}

/// The write that frees it, if this UpgradeConfig has it.
pub(crate) fn release(facts: &Facts) -> Option<Command> {
    (facts.lock() == UpgradeLock::Ours).then_some(Command::ReleaseLock)
}
