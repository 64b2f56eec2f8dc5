//! An UpgradeJob that has ended: its last hooks run, its pools are put in order, and the lock becomes free
//! (Maintenance schedules, sections 3.2 and 3.5). Nothing here changes the outcome.

use drydock_api::fact::Unread;
use drydock_api::names::PAUSED_ON_FAILURE_ANNOTATION;
use drydock_api::openshift::MachineConfigPool;
use drydock_api::schedule::HookEvent;
use jiff::SignedDuration;
use kube::ResourceExt;

use super::Need;
use super::condition::{JobCondition, JobReason};
use super::event::JobStep;
use super::hooks::{self, HookProgress, Occasion};
use super::lock::{self, LockState};
use super::pass::Pass;
use super::write::{JobWrite, ObservedVersion, PoolMark};
use super::{pools, update};
use crate::instants::{just_after, later};
use crate::selector::Selection;

/// How long pools that cannot be paused, or read, keep a failed UpgradeJob from giving the lock back.
const PAUSE_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

/// Until how long after the end hooks are chosen that could not be read, or had to be claimed. Later an edit of a hook would make it run
/// for every UpgradeJob of the past.
const HOOKS_TIMEOUT: SignedDuration = SignedDuration::from_hours(1);

/// Does what is left to do.
pub(super) fn clean_up(pass: &mut Pass<'_>) {
    let has_succeeded = pass.is_true(JobCondition::Succeeded);
    let outcome = if has_succeeded {
        HookEvent::Success
    } else {
        HookEvent::Failure
    };
    for event in [outcome, HookEvent::Finish] {
        let occasion = Occasion {
            event,
            reason: pass.end().map(|end| end.reason.clone()).unwrap_or_default(),
            pool: None,
            since: pass.ended_at(),
        };
        let is_recent = pass.now() <= later(pass.ended_at(), HOOKS_TIMEOUT);
        if is_recent || hooks::is_announced(pass, &occasion) {
            // Nobody waits for them.
            hooks::run(pass, &occasion);
        }
    }
    let is_settled = if has_succeeded { unpause(pass) } else { pause(pass) };
    if is_settled {
        lock::release(pass);
    }
}

/// The pools, if they can be read.
fn read_pools<'a>(pass: &mut Pass<'a>) -> Option<&'a [MachineConfigPool]> {
    match &pass.seen.pools {
        Ok(pools) => Some(pools),
        Err(Unread::NotAsked) => {
            pass.need(Need::Pools);
            None
        }
        Err(Unread::Failed(_)) => {
            pass.poll();
            None
        }
    }
}

/// Unpauses the pools that the UpgradeJob has paused, after their hooks, which delay it until its time is over, and no longer. Says
/// whether the lock may go.
fn unpause(pass: &mut Pass<'_>) -> bool {
    let ends_by = pass.settings.ends_by.max(pass.ended_at());
    let is_late = pass.now() > ends_by;
    let Some(pools) = read_pools(pass) else {
        return is_late;
    };
    let since = pass.ended_at();
    let mut is_settled = true;
    for pool in pools {
        if !pools::is_own(pass, pool) {
            continue;
        }
        is_settled = false;
        let occasion = pools::occasion(pool, JobReason::Completed.name(), since);
        let is_waiting = pools::is_paused(pool) && hooks::run(pass, &occasion) == HookProgress::Running;
        if !is_waiting || is_late {
            pass.write(JobWrite::UnpausePool(ObservedVersion::of(pool)));
        } else {
            pass.wake_at(just_after(ends_by));
        }
    }
    if is_settled && pass.is_true(JobCondition::MachineConfigPoolsPaused) {
        pass.record(
            JobCondition::MachineConfigPoolsPaused,
            false,
            JobReason::DelaySet,
            JobStep::MachineConfigPoolsUnpaused,
            "no machine config pool is paused any more",
        );
    }
    is_settled || is_late
}

/// Pauses pools because the UpgradeJob has failed, each once, and says which stay paused. Says whether the lock may go.
fn pause(pass: &mut Pass<'_>) -> bool {
    let paused = pass.find(JobCondition::MachineConfigPoolsPaused);
    if paused.is_some_and(|paused| paused.reason == JobReason::PausedOnFailure.name()) {
        return true;
    }
    let settings = pass.settings;
    let pools = read_pools(pass);
    let Some(selection) = &settings.pause_on_failure else {
        report(pass, pools.unwrap_or_default());
        return true;
    };
    let deadline = later(pass.ended_at(), PAUSE_TIMEOUT);
    let is_late = pass.now() > deadline;
    let Some(pools) = pools else {
        pass.wake_at(just_after(deadline));
        return is_late;
    };
    let is_others = match is_locked_by_other(pass) {
        Some(true) => Some("another upgrade has the lock of the cluster"),
        Some(false) => others_update(pass).then_some("the cluster is being updated by somebody else"),
        None => return is_late,
    };
    if let Some(why) = is_others {
        let message = format!("no machine config pool was paused, as {why}");
        let reason = JobReason::PausedOnFailure;
        pass.set(JobCondition::MachineConfigPoolsPaused, true, reason, &message);
        return true;
    }
    let left = to_pause(pass, selection, pools);
    if left.is_empty() || is_late {
        settle(pass, pools, &left);
        return true;
    }
    for pool in left {
        pass.write(JobWrite::PausePool {
            pool: ObservedVersion::of(pool),
            mark: PoolMark::Failure(pass.uid().to_owned()),
        });
    }
    pass.wake_at(just_after(deadline));
    false
}

/// Whether somebody else upgrades the cluster, whose pools these are now; none if that is not known.
fn is_locked_by_other(pass: &mut Pass<'_>) -> Option<bool> {
    let cluster = match &pass.seen.cluster_version {
        Ok(cluster) => cluster,
        Err(Unread::NotAsked) => {
            pass.need(Need::ClusterVersion);
            return None;
        }
        Err(Unread::Failed(_)) => {
            pass.poll();
            return None;
        }
    };
    match lock::assess(cluster, &lock::key(&pass.seen.job), &pass.seen.holder) {
        LockState::Held(_) => Some(true),
        LockState::Free | LockState::Ours | LockState::Stale(_) => Some(false),
        LockState::Ask(job) => {
            pass.need(Need::Holder(job));
            None
        }
    }
}

/// Does somebody update the cluster without its lock: to another release, or while this one has asked nothing of it?
fn others_update(pass: &Pass<'_>) -> bool {
    let has_asked = pass.find(JobCondition::UpgradeCompleted).is_some();
    let own = pass.settings.target.as_ref().filter(|_| has_asked);
    let cluster = pass.seen.cluster_version.as_ref().ok();
    cluster.is_some_and(|cluster| update::other_update(cluster, own).is_some())
}

/// The pools that are neither paused nor updated, and were not paused before: if they were, a person has unpaused them.
fn to_pause<'a>(
    pass: &Pass<'_>,
    selection: &Selection,
    pools: &'a [MachineConfigPool],
) -> Vec<&'a MachineConfigPool> {
    let updating = pools::updating(pools).into_iter();
    updating
        .filter(|pool| selection.selects(pool.labels()) && !was_paused(pass, pool))
        .collect()
}

fn was_paused(pass: &Pass<'_>, pool: &MachineConfigPool) -> bool {
    let mark = pool.annotations().get(PAUSED_ON_FAILURE_ANNOTATION);
    mark.is_some_and(|uid| uid == pass.uid())
}

fn settle(pass: &mut Pass<'_>, pools: &[MachineConfigPool], left: &[&MachineConfigPool]) {
    let paused = pools::names(pools.iter().filter(|pool| was_paused(pass, pool)));
    let mut message = if paused.is_empty() {
        "no machine config pool had to be paused".to_owned()
    } else {
        format!("paused, as the UpgradeJob failed: {paused}; unpause them when the cause is found")
    };
    if !left.is_empty() {
        message = format!(
            "{message}; could not be paused: {}",
            pools::names(left.iter().copied())
        );
    }
    if let Some(kept) = kept(pass, pools) {
        message = format!("{message}; {kept}");
    }
    pass.record(
        JobCondition::MachineConfigPoolsPaused,
        true,
        JobReason::PausedOnFailure,
        JobStep::MachineConfigPoolsPaused,
        &message,
    );
}

/// Pools that were paused for a delay stay paused: whether they are to be upgraded now is for a person to decide.
fn report(pass: &mut Pass<'_>, pools: &[MachineConfigPool]) {
    if let Some(kept) = kept(pass, pools) {
        pass.set(
            JobCondition::MachineConfigPoolsPaused,
            true,
            JobReason::DelaySet,
            &kept,
        );
    }
}

fn kept(pass: &Pass<'_>, pools: &[MachineConfigPool]) -> Option<String> {
    let is_kept = |pool: &&MachineConfigPool| pools::is_own(pass, pool) && pools::is_paused(pool);
    let names = pools::names(pools.iter().filter(is_kept));
    (!names.is_empty()).then(|| {
        format!("when the UpgradeJob failed, these stayed paused: {names}; unpause them, or the next UpgradeJob that delays them does")
    })
}
