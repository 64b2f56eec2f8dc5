//! An UpgradeJob that has started (Maintenance schedules, section 3.2): each step goes on where an earlier pass has done it.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{DesiredVersion, HookEvent};

use super::Need;
use super::condition::{Failure, JobCondition, JobReason};
use super::event::JobStep;
use super::health::{self, Stage};
use super::hooks::{self, HookProgress, Occasion};
use super::pass::{Flow, NEXT, Pass, STOP};
use super::update::{self, Progress};
use super::write::{self, JobWrite, ObservedVersion};
use super::{lock, pending, pools};
use crate::instants::just_after;

/// Goes on until the UpgradeJob has ended.
pub(super) fn advance(pass: &mut Pass<'_>) -> Flow {
    // Ahead of everything that may hang.
    time_out(pass)?;
    pending::usable(pass)?;
    let is_past_start = pass.find(JobCondition::MachineConfigPoolsPaused).is_some();
    if !is_past_start {
        run_hooks(pass, HookEvent::Start, JobReason::Started, JobCondition::Started)?;
    }
    let seen = pass.seen;
    let cluster = pass.read(&seen.cluster_version, Need::ClusterVersion, "ClusterVersion")?;
    let pools = pass.read(&seen.pools, Need::Pools, "the machine config pools")?;
    if hold_lock(pass, cluster, pools).is_break() || wait_for_others(pass, cluster, pools).is_break() {
        // Who has the lock may wait for just these pools.
        pools::unpause_due(pass, pools)?;
        return STOP;
    }
    pools::manage(pass, pools)?;
    health::check(pass, Stage::Before, cluster)?;
    let target = target(pass, cluster);
    if let Some(target) = &target {
        upgrade(pass, cluster, target, pools)?;
    }
    health::check(pass, Stage::After, cluster)?;
    let is_past_completion = pass.find(JobCondition::Paused).is_some();
    if !is_past_completion {
        let since = JobCondition::PostHealthCheckDone;
        run_hooks(pass, HookEvent::UpgradeComplete, JobReason::Completed, since)?;
    }
    pools::finish(pass, pools)?;
    let message = match &target {
        Some(target) => format!("the cluster has been upgraded to {}", update::describe(target)),
        None => "the maintenance is done; there was nothing to upgrade".to_owned(),
    };
    pass.succeed(JobReason::Succeeded, JobStep::UpgradeSucceeded, &message)
}

/// `upgradeTimeout` after `startAfter` it may still end well.
fn time_out(pass: &mut Pass<'_>) -> Flow {
    let ends_by = pass.settings.ends_by;
    if pass.now() <= ends_by {
        pass.wake_at(just_after(ends_by));
        return NEXT;
    }
    let why = pass.blocked_by().unwrap_or_default();
    pass.fail(Failure::TimedOut, &format!("not done by {ends_by}{why}"))
}

/// Runs hooks for an event that happened when a condition became true.
fn run_hooks(pass: &mut Pass<'_>, event: HookEvent, reason: JobReason, since: JobCondition) -> Flow {
    let occasion = Occasion {
        event,
        reason: reason.name().to_owned(),
        pool: None,
        since: pass.since(since, TRUE).unwrap_or(pass.now()),
    };
    match hooks::run(pass, &occasion) {
        HookProgress::Finished => NEXT,
        HookProgress::Running => STOP,
        HookProgress::Aborted(why) => pass.fail(Failure::HookFailed, &why),
    }
}

/// The release to upgrade to. The original's definition does not keep what the status says of it: where the spec does not say it any more either, it
/// is what the cluster is asked for.
fn target(pass: &Pass<'_>, cluster: &ClusterVersion) -> Option<DesiredVersion> {
    let target = pass.settings.target.clone();
    let is_under_way = pass.since(JobCondition::UpgradeCompleted, FALSE).is_some();
    target.or_else(|| update::asked(cluster).filter(|_| is_under_way))
}

/// Goes on with the lock of the cluster. Whoever has paused pools and is under way gets it first, and so does an upgrade of the hub that keeps
/// this one from being planned: each would wait for the other.
fn hold_lock(pass: &mut Pass<'_>, cluster: &ClusterVersion, pools: &[MachineConfigPool]) -> Flow {
    if let Some(obstacle) = health::planned_otherwise(pass, cluster)? {
        lock::release(pass);
        return pass.wait_for(JobReason::PlannedOtherwise, &obstacle);
    }
    if lock::is_free(pass, cluster) {
        pools::wait_for_pausing_job(pass, pools)?;
    }
    lock::hold(pass, cluster)
}

/// An update that nobody holds the lock for is waited for, too: it would be abandoned half-way. Its nodes are part of it.
fn wait_for_others(pass: &mut Pass<'_>, cluster: &ClusterVersion, pools: &[MachineConfigPool]) -> Flow {
    if pass.find(JobCondition::UpgradeCompleted).is_some() {
        return NEXT;
    }
    if let Some(other) = update::other_update(cluster, pass.settings.target.as_ref()) {
        let message = format!("waits for the update of the cluster to {other}, which is under way");
        return pass.wait_for(JobReason::UpgradeInProgress, &message);
    }
    let is_begun = pass.find(JobCondition::MachineConfigPoolsPaused).is_some();
    let asks = pass.settings.target.as_ref();
    if is_begun || asks.is_some_and(|target| update::is_asked(cluster, target)) {
        return NEXT;
    }
    let others = pools::getting_on(pass, pools);
    if others.is_empty() {
        return NEXT;
    }
    let message = format!(
        "waits for the update of the cluster, whose machine config pools are being updated: {}",
        pools::names(others)
    );
    pass.wait_for(JobReason::UpgradeInProgress, &message)
}

/// Goes on once the cluster, and all pools that are not paused, run the release.
fn upgrade(
    pass: &mut Pass<'_>,
    cluster: &ClusterVersion,
    target: &DesiredVersion,
    pools: &[MachineConfigPool],
) -> Flow {
    let type_ = JobCondition::UpgradeCompleted;
    if pass.is_true(type_) {
        return NEXT;
    }
    let edited = if pass.settings.is_edited {
        "; spec.desiredVersion has been changed since, which is ignored: create another UpgradeJob"
    } else {
        ""
    };
    let name = update::describe(target).to_owned();
    match update::progress(cluster, target, pass.since(type_, FALSE)) {
        Progress::NotAsked => ask(pass, cluster, target),
        Progress::UnderWay(trouble) => {
            let trouble = trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
            let message = format!("the cluster is being updated to {name}{trouble}{edited}");
            commence(pass, target, &message)
        }
        Progress::Superseded(other) => {
            let why = "what somebody else asks for in mid-upgrade is not overridden";
            let message = format!(
                "the update to {name} has been replaced by one to {other}: {why}; ask for {name} again, or delete the UpgradeJob"
            );
            commence(pass, target, &message)
        }
        Progress::Completed => {
            let left = pools::updating(pools);
            if !left.is_empty() {
                let left = pools::names(left);
                let what = "machine config pools are being upgraded";
                return commence(
                    pass,
                    target,
                    &format!("{name} is installed; {what}: {left}{edited}"),
                );
            }
            let message = format!("the cluster runs {name}");
            pass.record(
                type_,
                true,
                JobReason::Completed,
                JobStep::UpgradeCompleted,
                &message,
            );
            NEXT
        }
    }
}

/// The upgrade is under way.
fn commence(pass: &mut Pass<'_>, target: &DesiredVersion, message: &str) -> Flow {
    pass.requested = Some(target.clone());
    let (type_, step) = (JobCondition::UpgradeCompleted, JobStep::UpgradeCommenced);
    pass.record(type_, false, JobReason::InProgress, step, message);
    STOP
}

/// Asks the cluster for the release, if it is still available.
fn ask(pass: &mut Pass<'_>, cluster: &ClusterVersion, target: &DesiredVersion) -> Flow {
    let name = update::describe(target).to_owned();
    if pass.settings.check_availability && !update::is_available(cluster, target) {
        let message = format!("{name} is not among the available updates of the cluster any more");
        return pass.fail(Failure::UpgradeWithdrawn, &message);
    }
    pass.write(JobWrite::SetDesiredUpdate {
        cluster_version: ObservedVersion::of(cluster),
        update: target.clone(),
        stale_fields: write::stale_fields(cluster),
    });
    commence(pass, target, &format!("the cluster is asked for {name}"))
}
