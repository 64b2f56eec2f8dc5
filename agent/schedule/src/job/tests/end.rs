//! How it ends (Maintenance schedules, sections 3.2, 3.4 and 3.5).

use drydock_api::schedule::HookEvent;
use kube::ResourceExt;

use super::fixture::*;
use super::world::World;
use crate::job::{JobStep, Need};

/// Measured from startAfter, strictly.
#[test]
fn it_times_out_after_upgrade_timeout() {
    let mut world = World::new([job("j")]);
    let decision = world.settle("j");
    assert!(decision.wake.is_some());
    world.now = START + hours(12);
    world.settle("j");
    assert_eq!(world.end("j"), None);
    world.now += jiff::SignedDuration::from_secs(1);
    let decision = world.settle("j");
    assert_eq!(world.condition("j", "Failed").as_deref(), Some("True/TimedOut"));
    assert_eq!((world.lock(), decision.wake), (None, None));
    // What the cluster was asked for stays.
    assert!(world.cluster.spec.desired_update.is_some());
    assert!(world.has_said(JobStep::UpgradeFailed));
}

/// A diverging point: the original never times out while a Start hook hangs, nor while nothing else happens.
#[test]
fn every_state_that_waits_has_a_deadline() {
    let hanging = |event| World::new([job("j")]).with_hooks([hook("hangs", &[event])]);
    let mut locked = World::new([job("j")]);
    locked.cluster.metadata.annotations =
        Some(labels("managedupgrade.appuio.io/upgrade-job", "someone.else/x"));
    let mut busy = World::new([job("j")]);
    let status = busy.cluster.status.get_or_insert_default();
    status.history.insert(0, history("4.16.3", "Partial", START));
    let mut unreadable = World::new([job("j")]);
    unreadable.unreadable = vec![Need::ClusterVersion, Need::Pools, Need::Hooks, Need::HookJobs];
    let mut completed = hanging(HookEvent::UpgradeComplete);
    completed.settle("j");
    completed.update();
    let person = World::new([job("j")]).with_pools([paused(outdated(pool("worker")))]);
    let mut asked = World::new([job("j")]);
    asked.settle("j");
    let mut unhealthy = World::new([job("j")]);
    unhealthy.operators = vec![operator("dns", "Degraded", "True")];
    for (case, mut world) in [
        ("a Start hook hangs", hanging(HookEvent::Start)),
        ("an UpgradeComplete hook hangs", completed),
        ("somebody has the lock", locked),
        ("another update is under way", busy),
        ("nothing can be read", unreadable),
        ("a person has paused a pool", person),
        ("the cluster does nothing", asked),
        ("the cluster is unhealthy", unhealthy),
    ] {
        let mut wakes = 0;
        while world.end("j").is_none() {
            let decision = world.settle("j");
            if world.end("j").is_some() {
                break;
            }
            let wake = decision.wake.unwrap_or_else(|| panic!("{case} has no deadline"));
            assert!(wake > world.now, "{case} spins");
            world.now = wake;
            wakes += 1;
            assert!(wakes < 2_000, "{case} does not end");
        }
        assert!(world.now <= START + hours(12) + minutes(1), "{case}");
        world.unreadable.clear();
        world.settle("j");
        assert_ne!(world.lock(), Some("maintenance/j"), "{case}");
    }
}

/// A diverging point: the original looks at the time only once Start hooks have ended.
#[test]
fn the_timeout_counts_although_a_start_hook_hangs() {
    let mut world = World::new([job("j")]).with_hooks([hook("hangs", &[HookEvent::Start])]);
    let decision = world.settle("j");
    assert!(decision.wake.is_some());
    world.now = START + hours(12) + minutes(1);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
    assert!(
        world
            .message("j", "Failed")
            .contains("hooks have not ended: hangs")
    );
}

#[test]
fn what_has_ended_stays_so() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.update();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
    let before = world.jobs["j"].status.clone();
    world.windows = vec![window("xmas")];
    world.operators = vec![operator("dns", "Degraded", "True")];
    for time in [hours(5), hours(100)] {
        world.now += time;
        world.settle("j");
        assert_eq!(world.jobs["j"].status, before);
    }
}

#[test]
fn last_hooks_run_for_the_outcome_and_change_nothing() {
    let events = [HookEvent::Success, HookEvent::Failure, HookEvent::Finish];
    for (fails, expected, end) in [
        (false, ["j-hook-finish-h", "j-hook-success-h"], "Succeeded"),
        (true, ["j-hook-failure-h", "j-hook-finish-h"], "TimedOut"),
    ] {
        let mut world = World::new([job("j")]).with_hooks([aborting(hook("h", &events))]);
        world.settle("j");
        if fails {
            world.now = START + hours(13);
        } else {
            world.update();
        }
        world.settle("j");
        assert_eq!(world.names_of_hook_jobs(), expected);
        // The lock does not wait for them.
        assert_eq!(world.lock(), None);
        world.end_hooks("h", "Failed");
        world.settle("j");
        assert_eq!(world.end("j").as_deref(), Some(end));
        let states: Vec<_> = world
            .tracker("j")
            .into_iter()
            .filter_map(|entry| entry.status)
            .collect();
        assert_eq!(states, ["failed", "failed"]);
    }
}

/// Hooks that were created after the end are not run for it.
#[test]
fn hooks_that_come_after_the_end_do_not_run() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.update();
    world.settle("j");
    let mut late = hook("late", &[HookEvent::Success, HookEvent::Finish]);
    late.metadata.creation_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(
        world.now + minutes(1),
    ));
    world.hooks.insert("late".to_owned(), late);
    world.now += minutes(2);
    world.settle("j");
    assert!(world.hook_jobs.is_empty());
}

/// An edit of a hook does not run it for the UpgradeJobs of the past.
#[test]
fn hooks_that_are_edited_long_after_the_end_do_not_run() {
    let mut world = World::new([job("j")]).with_hooks([hook("h", &[HookEvent::Create])]);
    world.settle("j");
    world.end_hooks("h", "Complete");
    world.settle("j");
    world.update();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
    world.now += minutes(61);
    world.hooks.get_mut("h").unwrap().spec.events = Some(vec![HookEvent::Finish]);
    world.settle("j");
    assert_eq!(world.created.len(), 1);
}

/// Those that could not be read at the end run later.
#[test]
fn hooks_that_could_not_be_read_at_the_end_run_later() {
    let mut world = World::new([job("j")]).with_hooks([hook("h", &[HookEvent::Finish])]);
    world.settle("j");
    world.unreadable = vec![Need::Hooks];
    world.now = START + hours(13);
    let decision = world.settle("j");
    assert!(world.end("j").is_some() && decision.wake.is_some());
    world.unreadable.clear();
    world.now += minutes(5);
    world.settle("j");
    assert_eq!(world.names_of_hook_jobs(), ["j-hook-finish-h"]);
}

#[test]
fn pools_are_paused_on_failure_once_and_a_person_may_unpause_them() {
    let mut failing = job("j");
    failing.spec.config.pause_machine_config_pools_on_failure = Some(pause_on_failure());
    let pools = [
        pool("updated"),
        outdated(pool("worker")),
        paused(outdated(pool("person"))),
    ];
    let mut world = World::new([failing]).with_pools(pools);
    world.settle("j");
    world.now = START + hours(13);
    world.settle("j");
    assert_eq!(
        world.condition("j", "MachineConfigPoolsPaused").as_deref(),
        Some("True/PausedOnFailure")
    );
    let paused = |world: &World| {
        let paused = world.pools.values().filter(|pool| pool.spec.paused == Some(true));
        paused.map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    assert_eq!(paused(&world), ["person", "worker"]);
    // Not the mark by which pools are unpaused again.
    let worker = world.pools["worker"].annotations();
    assert!(!worker.contains_key("managedupgrade.appuio.io/upgrade-job"));
    assert_eq!(world.lock(), None);
    world.set_paused("worker", false);
    world.settle("j");
    assert_eq!(paused(&world), ["person"]);
}

/// A pool that cannot be unpaused keeps the lock until the time of the UpgradeJob is over, and no longer.
#[test]
fn a_pool_that_cannot_be_unpaused_keeps_the_lock_no_longer_than_its_time() {
    let mut delaying = job("j");
    delaying.spec.config.machine_config_pools = Some(vec![delay("worker", Some("1h"), None)]);
    let mut world = World::new([delaying]).with_pools([pool("worker")]);
    world.settle("j");
    world.refused = vec![crate::job::write::WrittenKind::MachineConfigPool];
    world.update();
    // The nodes need no update: the pool is unpaused at the end.
    world.pools.get_mut("worker").unwrap().status = pool("worker").status;
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
    assert_eq!(world.lock(), Some("maintenance/j"));
    world.now = START + hours(12);
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
    world.now += jiff::SignedDuration::from_secs(1);
    world.settle("j");
    assert_eq!(world.lock(), None);
    assert_eq!(world.pools["worker"].spec.paused, Some(true));
}

/// A person who unpauses one pool while another still has to be paused is respected, too.
#[test]
fn a_pool_is_paused_on_failure_only_once_whatever_comes_between() {
    let mut failing = job("j");
    failing.spec.config.pause_machine_config_pools_on_failure = Some(pause_on_failure());
    let mut world = World::new([failing]).with_pools([outdated(pool("a")), outdated(pool("b"))]);
    world.settle("j");
    world.now = START + hours(13);
    // The status, and the first pool.
    world.reconcile_until("j", 2);
    assert_eq!(world.pools["a"].spec.paused, Some(true));
    world.set_paused("a", false);
    world.settle("j");
    assert_eq!(world.pools["a"].spec.paused, Some(false));
    assert_eq!(world.pools["b"].spec.paused, Some(true));
}

#[test]
fn the_guard_is_set_although_nothing_was_paused_or_could_be() {
    let failing = || {
        let mut job = job("j");
        job.spec.config.pause_machine_config_pools_on_failure = Some(pause_on_failure());
        job
    };
    let mut none = World::new([failing()]).with_pools([pool("worker")]);
    let mut refused = World::new([failing()]).with_pools([outdated(pool("worker"))]);
    refused.refused = vec![crate::job::write::WrittenKind::MachineConfigPool];
    for (case, world) in [("none", &mut none), ("refused", &mut refused)] {
        world.settle("j");
        world.now = START + hours(13);
        world.settle("j");
        world.now += minutes(11);
        let decision = world.settle("j");
        assert_eq!(
            world.condition("j", "MachineConfigPoolsPaused").as_deref(),
            Some("True/PausedOnFailure"),
            "{case}"
        );
        assert_eq!((world.lock(), decision.wake), (None, None), "{case}");
    }
    assert!(
        refused
            .message("j", "MachineConfigPoolsPaused")
            .contains("could not be paused: worker")
    );
}

/// One that fails while it waits does not pause the pools of the upgrade that it waits for.
#[test]
fn pools_of_another_upgrade_are_not_paused() {
    let mut waiting = job("j");
    waiting.spec.config.pause_machine_config_pools_on_failure = Some(pause_on_failure());
    let mut world = World::new([waiting, job("other")]).with_pools([outdated(pool("worker"))]);
    world.settle("other");
    assert_eq!(world.lock(), Some("maintenance/other"));
    world.settle("j");
    world.now = START + hours(13);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
    assert_ne!(world.pools["worker"].spec.paused, Some(true));
    assert_eq!(world.lock(), Some("maintenance/other"));
}

/// Nobody has the lock of an update that an MCU or a person has asked for.
#[test]
fn pools_of_an_update_without_a_lock_are_not_paused() {
    let mut waiting = job("j");
    waiting.spec.config.pause_machine_config_pools_on_failure = Some(pause_on_failure());
    let mut world = World::new([waiting]).with_pools([outdated(pool("worker"))]);
    let status = world.cluster.status.get_or_insert_default();
    status
        .history
        .insert(0, history("4.16.3", "Partial", START - hours(1)));
    world.settle("j");
    world.now = START + hours(13);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
    assert_ne!(world.pools["worker"].spec.paused, Some(true));
    let message = world.message("j", "MachineConfigPoolsPaused");
    assert!(message.contains("updated by somebody else"), "{message}");
}

/// Somebody has sent the cluster elsewhere in mid-upgrade: what is updated now is theirs.
#[test]
fn pools_of_what_has_superseded_it_are_not_paused() {
    let mut superseded = job("j");
    superseded.spec.config.pause_machine_config_pools_on_failure = Some(pause_on_failure());
    let mut world = World::new([superseded]).with_pools([pool("worker")]);
    world.settle("j");
    world.begin_update();
    world.settle("j");
    world.cluster.spec.desired_update =
        serde_json::from_value(serde_json::json!({ "version": "4.16.3" })).unwrap();
    world.begin_update();
    let worker = world.pools["worker"].clone();
    world.pools.insert("worker".to_owned(), outdated(worker));
    world.now = START + hours(13);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
    assert_ne!(world.pools["worker"].spec.paused, Some(true));
}
