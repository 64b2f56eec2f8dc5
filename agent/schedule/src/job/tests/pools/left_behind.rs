//! Pools that an UpgradeJob has paused which is gone, has failed or has lost the lock.

use super::*;

/// The UpgradeJob `j` was upgrading the cluster, with a pool paused, when a person deleted it; the next one delays no pool.
#[test]
fn a_pool_of_a_deleted_upgrade_job_is_unpaused_by_the_next() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    world.settle("j");
    world.jobs.remove("j");
    world.jobs.insert("k".to_owned(), job("k"));
    world.said.clear();
    world.settle("k");
    assert!(!is_paused(&world, "worker"));
    assert_eq!(mark(&world, "worker"), None);
    // It says what it did, and not that it keeps a pool.
    let condition = world.condition("k", "MachineConfigPoolsPaused");
    assert_eq!(condition.as_deref(), Some("False/NoManagedPools"));
    assert!(!world.has_said(JobStep::MachineConfigPoolsPaused));
    let said = world
        .said
        .iter()
        .find(|event| event.step == JobStep::MachineConfigPoolsUnpaused);
    assert!(
        said.unwrap()
            .message
            .contains("worker, which UpgradeJob maintenance/j had paused")
    );
    world.update_nodes();
    world.settle("k");
    assert_eq!(world.end("k").as_deref(), Some("Succeeded"));
}

/// The hooks ahead of it take their time, and nobody but the next UpgradeJob would unpause it: not even one of the same name would, later.
#[test]
fn a_pool_of_a_deleted_upgrade_job_is_unpaused_before_the_next_has_ended() {
    for next in ["j", "k"] {
        let mut world = world(Some("4h"), None).with_hooks([hook("silence", &[UNPAUSE])]);
        world.settle("j");
        world.update();
        let status = world.pools.get_mut("worker").unwrap().status.as_mut();
        status.unwrap().updated_machine_count = Some(3);
        world.jobs.remove("j");
        let mut anew = job(next);
        anew.metadata.uid = Some("anew".to_owned());
        world.jobs.insert(next.to_owned(), anew);
        world.settle(next);
        assert_eq!(world.end(next), None, "its hook has not ended");
        assert_eq!(world.condition(next, "Paused").as_deref(), Some("True/DelaySet"));
        world.end_hooks("silence", "Complete");
        world.settle(next);
        assert_eq!(world.end(next).as_deref(), Some("Succeeded"));
        assert!(!is_paused(&world, "worker"));
        assert_eq!(mark(&world, "worker"), None);
    }
}

/// Whether the pools of one that has failed are to be upgraded now is for a person to decide.
#[test]
fn a_pool_of_a_failed_upgrade_job_stays_paused_and_the_next_says_so() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    world.now = START + hours(13);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
    let mut next = job("k");
    next.spec.start_after.0 = world.now;
    next.spec.start_before.0 = world.now + hours(10);
    world.jobs.insert("k".to_owned(), next);
    world.settle("k");
    assert!(is_paused(&world, "worker"));
    let message = world.message("k", "Paused");
    assert!(
        message.contains("worker (by UpgradeJob maintenance/j, which has failed: unpause it)"),
        "{message}"
    );
}

/// A server that does not answer is no reason to unpause anything.
#[test]
fn a_pool_stays_paused_while_nobody_knows_what_became_of_its_upgrade_job() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    let own = JobRef {
        namespace: "maintenance".to_owned(),
        name: "j".to_owned(),
    };
    world.unreadable = vec![Need::PausingJob(own)];
    world.jobs.remove("j");
    world.jobs.insert("k".to_owned(), job("k"));
    let decision = world.settle("k");
    assert!(is_paused(&world, "worker"));
    assert!(decision.wake.unwrap() <= world.now + minutes(1));
    world.unreadable.clear();
    world.settle("k");
    assert!(!is_paused(&world, "worker"));
}

/// An UpgradeConfig of the other engine has the lock, and waits for workers that a deleted UpgradeJob has paused.
#[test]
fn a_pool_of_a_deleted_upgrade_job_is_unpaused_by_one_that_waits_for_the_lock() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    world.jobs.remove("j");
    world.hold_lock("upgradeconfig.upgrade.managed.openshift.io/managed-upgrade-config");
    world.jobs.insert("k".to_owned(), job("k"));
    world.settle("k");
    let waiting = world.condition("k", "Waiting");
    assert_eq!(waiting.as_deref(), Some("True/LockHeld"));
    assert!(!is_paused(&world, "worker"));
    assert_eq!(mark(&world, "worker"), None);
}

#[test]
fn a_pool_that_the_waiting_upgrade_job_delays_too_is_unpaused_then() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    let mut next = world.jobs["j"].clone();
    next.metadata = job("k").metadata;
    next.status = None;
    world.jobs.remove("j");
    world.hold_lock("upgradeconfig.upgrade.managed.openshift.io/managed-upgrade-config");
    world.jobs.insert("k".to_owned(), next);
    let decision = world.settle("k");
    assert!(is_paused(&world, "worker"));
    assert!(decision.wake.unwrap() <= START + hours(4));
    world.now = START + hours(4);
    world.settle("k");
    assert!(!is_paused(&world, "worker"));
}

/// It holds the pool's mark under its name, and is gone all the same: the one made anew would wait for `k`, and `k` for its pool.
#[test]
fn a_pool_of_a_namesake_that_was_made_anew_is_unpaused_by_the_next() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    let mut anew = world.jobs["j"].clone();
    anew.metadata.uid = Some("anew".to_owned());
    anew.status = None;
    world.jobs.insert("j".to_owned(), anew);
    world.jobs.insert("k".to_owned(), job("k"));
    world.settle("k");
    assert_eq!(world.lock(), Some("maintenance/k"));
    world.settle("j");
    world.settle("k");
    assert!(!is_paused(&world, "worker"));
    world.update_nodes();
    world.settle("k");
    assert_eq!(world.end("k").as_deref(), Some("Succeeded"));
}

/// A person takes the lock off in mid-run: the next UpgradeJob must not get in between, as each would wait for the other.
#[test]
fn who_has_paused_pools_gets_a_lost_lock_again_before_others() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    world.settle("j");
    world.jobs.insert("k".to_owned(), job("k"));
    world.take_off_lock();
    world.settle("k");
    assert_eq!(world.lock(), None);
    assert_eq!(
        world.condition("k", "Waiting").as_deref(),
        Some("True/UpgradeInProgress")
    );
    let message = world.message("k", "Waiting");
    assert!(
        message.contains("waits for UpgradeJob maintenance/j, which has paused machine config pool worker"),
        "{message}"
    );
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
}

/// Who has the lock may wait for just this pool: somebody has given it away in mid-run.
#[test]
fn a_pool_that_is_due_is_unpaused_while_somebody_else_has_the_lock() {
    let mut world = world(Some("4h"), None);
    world.settle("j");
    world.update();
    world.hold_lock("upgradeconfig.upgrade.managed.openshift.io/managed-upgrade-config");
    let decision = world.settle("j");
    assert!(is_paused(&world, "worker"));
    assert!(decision.wake.unwrap() <= START + hours(4));
    world.now = START + hours(4);
    world.settle("j");
    assert!(!is_paused(&world, "worker"));
    assert_eq!(mark(&world, "worker"), None);
}
