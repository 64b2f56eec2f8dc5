//! Machine config pools: some are upgraded later than the others (Maintenance schedules, section 3.5). A pool that a person has paused
//! has no mark, and is never unpaused.

use std::collections::BTreeSet;

use drydock_api::conditions::AnyCondition;
use drydock_api::fact::Unread;
use drydock_api::openshift::MachineConfigPool;
use drydock_api::schedule::HookEvent;
use jiff::Timestamp;
use kube::ResourceExt;

use super::Need;
use super::condition::{Failure, JobCondition, JobReason};
use super::event::JobStep;
use super::hooks::{self, HookProgress, Occasion};
use super::lock::{self, HolderState};
use super::pass::{Flow, NEXT, Pass, STOP};
use super::pausing_job::{PausingJob, mark};
use super::write::{JobWrite, ObservedVersion, PoolMark};
use crate::instants::just_after;

/// The reason that hooks are given where the delay of a pool is over.
const DELAY_REACHED: &str = "DelayReached";

/// Is the pool paused?
pub(super) fn is_paused(pool: &MachineConfigPool) -> bool {
    pool.spec.paused == Some(true)
}

/// Does the pool have nodes that are not updated?
pub(super) fn is_outdated(pool: &MachineConfigPool) -> bool {
    let status = pool.status.as_ref();
    let count = |count: Option<i64>| count.unwrap_or_default();
    status.is_some_and(|status| count(status.machine_count) != count(status.updated_machine_count))
}

/// Names of pools, for people.
pub(super) fn names<'a>(pools: impl IntoIterator<Item = &'a MachineConfigPool>) -> String {
    let names: BTreeSet<String> = pools.into_iter().map(ResourceExt::name_any).collect();
    Vec::from_iter(names).join(", ")
}

/// A pool that is delayed, and its times.
struct Delayed<'a> {
    pool: &'a MachineConfigPool,
    until: Timestamp,
    at_most: Option<Timestamp>,
}

fn delayed<'a>(pass: &Pass<'_>, pools: &'a [MachineConfigPool]) -> Vec<Delayed<'a>> {
    let of = |pool: &'a MachineConfigPool| {
        let (until, at_most) = pass.settings.delay_of(pool.labels())?;
        Some(Delayed { pool, until, at_most })
    };
    pools.iter().filter_map(of).collect()
}

/// Pauses the pools that are delayed, and unpauses them when their time has come. Goes on as soon as all are paused that must be.
pub(super) fn manage(pass: &mut Pass<'_>, pools: &[MachineConfigPool]) -> Flow {
    let delayed = delayed(pass, pools);
    expire(pass, &delayed)?;
    let mut kept: Vec<&MachineConfigPool> = Vec::new();
    let mut are_paused = true;
    for Delayed { pool, until, at_most } in &delayed {
        if pass.now() < *until {
            pass.wake_at(*until);
            are_paused &= pause(pass, pool);
            // Those that a person has paused stay so, and are not ours.
            if mark(pool).is_some() || !is_paused(pool) {
                kept.push(pool);
            }
        } else if !unpause(pass, pool, *until)? {
            kept.push(pool);
        }
        if let Some(at_most) = at_most.filter(|_| is_paused(pool)) {
            pass.wake_at(just_after(at_most));
        }
    }
    for pool in left_over(pass, pools, &delayed) {
        let now = pass.now();
        // Those of one that is gone were never this one's to keep.
        if !unpause(pass, pool, now)? && is_own(pass, pool) {
            kept.push(pool);
        }
    }
    let is_by_person = |pool: &&MachineConfigPool| is_paused(pool) && mark(pool).is_none();
    let by_person: Vec<_> = delayed
        .iter()
        .map(|delayed| delayed.pool)
        .filter(is_by_person)
        .collect();
    record(pass, delayed.is_empty(), &kept, &by_person);
    if are_paused { NEXT } else { STOP }
}

/// Pools that no entry of the spec selects, and that this UpgradeJob has paused, or one that is gone. Those of one that has failed are for a
/// person to unpause.
fn left_over<'a>(
    pass: &mut Pass<'_>,
    pools: &'a [MachineConfigPool],
    delayed: &[Delayed<'_>],
) -> Vec<&'a MachineConfigPool> {
    let is_delayed = |pool: &MachineConfigPool| {
        let name = pool.name_any();
        delayed.iter().any(|delayed| delayed.pool.name_any() == name)
    };
    let others = pools.iter().filter(|pool| !is_delayed(pool));
    others.filter(|pool| is_abandoned(pass, pool)).collect()
}

/// Unpauses the pools of this UpgradeJob that are due, and of those that are gone, while this one waits for somebody else: nobody else would, and they
/// may be waited for. Pools that this one delays stay paused until then.
pub(super) fn unpause_due(pass: &mut Pass<'_>, pools: &[MachineConfigPool]) -> Flow {
    for pool in pools.iter().filter(|pool| is_paused(pool)) {
        let due = pass.settings.delay_of(pool.labels()).map(|(until, _)| until);
        if let Some(until) = due.filter(|until| *until > pass.now()) {
            pass.wake_at(until);
        } else if is_abandoned(pass, pool) {
            let since = due.unwrap_or(pass.now());
            unpause(pass, pool, since)?;
        }
    }
    NEXT
}

/// Waits for an UpgradeJob under way that has paused pools. It has lost the lock of the cluster, as somebody has taken that off, and gets it again; so does this one where it has paused some.
pub(super) fn wait_for_pausing_job(pass: &mut Pass<'_>, pools: &[MachineConfigPool]) -> Flow {
    if pools.iter().any(|pool| is_paused(pool) && is_own(pass, pool)) {
        return NEXT;
    }
    for pool in pools.iter().filter(|pool| is_paused(pool)) {
        let by = PausingJob::of(pool).filter(|by| by.job != pass.job_ref());
        let Some(by) = by else {
            continue;
        };
        match state(pass, &by) {
            None => return STOP,
            Some(HolderState::Present { has_ended: false, .. }) => {
                let name = pool.name_any();
                let message = format!(
                    "waits for UpgradeJob {}, which has paused machine config pool {name}",
                    by.job
                );
                return pass.wait_for(JobReason::UpgradeInProgress, &message);
            }
            Some(HolderState::Absent | HolderState::Present { .. }) => {}
        }
    }
    NEXT
}

/// Has this UpgradeJob paused the pool?
pub(super) fn is_own(pass: &Pass<'_>, pool: &MachineConfigPool) -> bool {
    PausingJob::of(pool).is_some_and(|by| by.is(&lock::key(&pass.seen.job)))
}

/// Has this UpgradeJob paused the pool, or one that is gone?
fn is_abandoned(pass: &mut Pass<'_>, pool: &MachineConfigPool) -> bool {
    let Some(by) = PausingJob::of(pool) else {
        return false;
    };
    // A namesake with another UID is gone.
    by.job == pass.job_ref() || state(pass, &by) == Some(HolderState::Absent)
}

/// Is the pool paused by an UpgradeJob that is gone, or is that not known?
fn may_be_abandoned(pass: &mut Pass<'_>, pool: &MachineConfigPool) -> bool {
    let by = PausingJob::of(pool).filter(|_| !is_own(pass, pool));
    by.is_some_and(|by| {
        by.job == pass.job_ref() || !matches!(state(pass, &by), Some(HolderState::Present { .. }))
    })
}

/// What has become of another UpgradeJob that has paused a pool; none if that is not known.
fn state(pass: &mut Pass<'_>, by: &PausingJob) -> Option<HolderState> {
    match pass.seen.pausing_jobs.get(&by.job) {
        Some(Ok(found)) => Some(by.state(found)),
        None | Some(Err(Unread::NotAsked)) => {
            pass.need(Need::PausingJob(by.job.clone()));
            None
        }
        Some(Err(Unread::Failed(_))) => {
            pass.poll();
            None
        }
    }
}

/// The UpgradeJob fails if a pool is still paused after its time, without hooks.
fn expire(pass: &mut Pass<'_>, delayed: &[Delayed<'_>]) -> Flow {
    let is_late = |delayed: &&Delayed<'_>| delayed.at_most.is_some_and(|at_most| pass.now() > at_most);
    let is_stuck = |pool: &MachineConfigPool| is_paused(pool) && (mark(pool).is_some() || is_outdated(pool));
    let late = delayed.iter().filter(is_late).map(|delayed| delayed.pool);
    let late: Vec<&MachineConfigPool> = late.filter(|pool| is_stuck(pool)).collect();
    if late.is_empty() {
        return NEXT;
    }
    let message = format!("still paused at delayMax: {}", described(pass, &late));
    pass.fail(Failure::UnpausingPoolsExpired, &message)
}

/// Pauses a pool, or takes it over from an UpgradeJob that is no longer there. Says whether it is paused.
fn pause(pass: &mut Pass<'_>, pool: &MachineConfigPool) -> bool {
    let own = lock::key(&pass.seen.job);
    let is_other = mark(pool).is_some() && !is_own(pass, pool);
    if !is_paused(pool) || is_other {
        pass.write(JobWrite::PausePool {
            pool: ObservedVersion::of(pool),
            mark: PoolMark::Delay(own),
        });
    }
    is_paused(pool)
}

/// Unpauses a pool after its hooks have run. Says whether it is not paused any more, or not by an UpgradeJob.
fn unpause(
    pass: &mut Pass<'_>,
    pool: &MachineConfigPool,
    since: Timestamp,
) -> std::ops::ControlFlow<(), bool> {
    use std::ops::ControlFlow::{Break, Continue};
    if mark(pool).is_none() {
        return Continue(true);
    }
    if !is_paused(pool) {
        // A person has unpaused it.
        pass.write(JobWrite::UnpausePool(ObservedVersion::of(pool)));
        return Continue(true);
    }
    match hooks::run(pass, &occasion(pool, DELAY_REACHED, since)) {
        HookProgress::Running => Continue(false),
        HookProgress::Finished => {
            if let Some(by) = mark(pool).filter(|_| !is_own(pass, pool)) {
                let message = format!(
                    "unpauses machine config pool {}, which UpgradeJob {by} had paused, which does not exist any more",
                    pool.name_any()
                );
                pass.say(JobStep::MachineConfigPoolsUnpaused, &message);
            }
            pass.write(JobWrite::UnpausePool(ObservedVersion::of(pool)));
            Continue(false)
        }
        HookProgress::Aborted(why) => {
            let message = format!("machine config pool {} stays paused: {why}", pool.name_any());
            pass.fail(Failure::HookFailed, &message)?;
            Break(())
        }
    }
}

/// The event that a pool is unpaused.
pub(super) fn occasion<'a>(pool: &'a MachineConfigPool, reason: &str, since: Timestamp) -> Occasion<'a> {
    Occasion {
        event: HookEvent::MachineConfigPoolUnpause,
        reason: reason.to_owned(),
        pool: pool.metadata.name.as_deref(),
        since,
    }
}

fn record(
    pass: &mut Pass<'_>,
    has_none: bool,
    kept: &[&MachineConfigPool],
    by_person: &[&MachineConfigPool],
) {
    let type_ = JobCondition::MachineConfigPoolsPaused;
    let others = match by_person {
        [] => String::new(),
        pools => format!("; paused as well: {}", described(pass, pools)),
    };
    if !kept.is_empty() {
        let names = with_times(pass, kept);
        let hooks = hooks::running_for(&pass.tracker, HookEvent::MachineConfigPoolUnpause);
        let hooks = hooks.map_or_else(String::new, |hooks| format!("; hooks have not ended: {hooks}"));
        let message = format!("paused to be upgraded later: {names}{hooks}{others}");
        let step = JobStep::MachineConfigPoolsPaused;
        pass.record(type_, true, JobReason::DelaySet, step, &message);
    } else if has_none {
        let message = "no machine config pool is upgraded later";
        pass.set(type_, false, JobReason::NoManagedPools, message);
    } else if pass.is_true(type_) {
        let message = format!("the UpgradeJob has unpaused its machine config pools{others}");
        let step = JobStep::MachineConfigPoolsUnpaused;
        pass.record(type_, false, JobReason::DelaySet, step, &message);
    } else {
        let message = format!("the UpgradeJob pauses no machine config pool at present{others}");
        pass.set(type_, false, JobReason::DelaySet, &message);
    }
}

/// Names of pools that this UpgradeJob delays, with the time from which on each is upgraded.
fn with_times(pass: &Pass<'_>, pools: &[&MachineConfigPool]) -> String {
    let named = |pool: &&MachineConfigPool| {
        let name = pool.name_any();
        match pass.settings.delay_of(pool.labels()) {
            Some((until, _)) if until > pass.now() => format!("{name} from {until} on"),
            _ => name,
        }
    };
    let names: BTreeSet<String> = pools.iter().map(named).collect();
    Vec::from_iter(names).join(", ")
}

/// The pools that are not paused and not updated.
pub(super) fn updating(pools: &[MachineConfigPool]) -> Vec<&MachineConfigPool> {
    let is_updating = |pool: &&MachineConfigPool| !is_paused(pool) && is_outdated(pool);
    pools.iter().filter(is_updating).collect()
}

/// Those of them that are to be waited for: a degraded one may never be done, and one that the UpgradeJob delays is paused.
pub(super) fn getting_on<'a>(pass: &Pass<'_>, pools: &'a [MachineConfigPool]) -> Vec<&'a MachineConfigPool> {
    let is_degraded = |pool: &MachineConfigPool| {
        let conditions = pool.status.as_ref().map(|status| &status.conditions);
        let mut degraded = conditions.into_iter().flatten();
        degraded.any(|condition| condition.type_().ends_with("Degraded") && condition.is_true())
    };
    let is_delayed = |pool: &MachineConfigPool| pass.settings.delay_of(pool.labels()).is_some();
    let others = updating(pools).into_iter();
    others
        .filter(|pool| !is_degraded(pool) && !is_delayed(pool))
        .collect()
}

/// Goes on once no pool is left to be updated, nor one to be unpaused of an UpgradeJob that is gone: nobody would do that afterwards. Where nothing was
/// upgraded, pools that are not ours to delay may take their time.
pub(super) fn finish(pass: &mut Pass<'_>, pools: &[MachineConfigPool]) -> Flow {
    let mut paused: Vec<_> = pools.iter().filter(|pool| is_paused(pool)).collect();
    paused.retain(|pool| is_outdated(pool) || may_be_abandoned(pass, pool));
    let type_ = JobCondition::Paused;
    if !paused.is_empty() {
        let message = format!(
            "waits for paused machine config pools: {}",
            described(pass, &paused)
        );
        let step = JobStep::UpgradePaused;
        pass.record(type_, true, JobReason::DelaySet, step, &message);
        return STOP;
    }
    let is_upgrade = pass.settings.target.is_some();
    let mut left = updating(pools);
    left.retain(|pool| is_upgrade || pass.settings.delay_of(pool.labels()).is_some());
    let message = if left.is_empty() {
        "no machine config pool is left to be upgraded".to_owned()
    } else {
        format!(
            "machine config pools are being upgraded: {}",
            names(left.iter().copied())
        )
    };
    pass.set(type_, false, JobReason::DelaySet, &message);
    if left.is_empty() { NEXT } else { STOP }
}

fn described(pass: &Pass<'_>, pools: &[&MachineConfigPool]) -> String {
    let has_ended = |pool: &MachineConfigPool| {
        let by = PausingJob::of(pool)?;
        let found = pass.seen.pausing_jobs.get(&by.job)?.as_ref().ok()?;
        Some(matches!(
            by.state(found),
            HolderState::Present { has_ended: true, .. }
        ))
    };
    let mut parts: Vec<String> = pools
        .iter()
        .map(|pool| match mark(pool) {
            Some(by) if has_ended(pool) == Some(true) => {
                format!(
                    "{} (by UpgradeJob {by}, which has failed: unpause it)",
                    pool.name_any()
                )
            }
            Some(by) if is_own(pass, pool) => {
                format!("{} (by UpgradeJob {by})", with_times(pass, &[pool]))
            }
            Some(by) => format!("{} (by UpgradeJob {by})", pool.name_any()),
            None => format!("{} (not by an UpgradeJob: unpause it)", pool.name_any()),
        })
        .collect();
    parts.sort();
    parts.join(", ")
}
