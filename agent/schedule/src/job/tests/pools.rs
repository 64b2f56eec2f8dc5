//! Machine config pools (Maintenance schedules, section 3.5).

mod left_behind;

use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::schedule::HookEvent;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt;

use super::fixture::*;
use super::world::World;
use crate::job::lock::JobRef;
use crate::job::{JobStep, JobWrite, Need};

const UNPAUSE: HookEvent = HookEvent::MachineConfigPoolUnpause;

/// A cluster with a pool `worker` that is upgraded later.
fn world(min: Option<&str>, max: Option<&str>) -> World {
    let mut job = job("j");
    job.spec.config.machine_config_pools = Some(vec![delay("worker", min, max)]);
    World::new([job]).with_pools([pool("master"), pool("worker")])
}

fn is_paused(world: &World, pool: &str) -> bool {
    world.pools[pool].spec.paused == Some(true)
}

fn mark<'a>(world: &'a World, pool: &str) -> Option<&'a str> {
    world.pools[pool]
        .annotations()
        .get(UPGRADE_LOCK_ANNOTATION)
        .map(String::as_str)
}

fn pools_condition(world: &World) -> Option<String> {
    world.condition("j", "MachineConfigPoolsPaused")
}

#[test]
fn a_pool_is_paused_before_the_upgrade_and_unpaused_after_its_delay() {
    let mut world = world(Some("4h"), None);
    // It is paused before the cluster is asked for anything.
    world.reconcile_before("j", |write| matches!(write, JobWrite::SetDesiredUpdate { .. }));
    assert!(is_paused(&world, "worker") && !is_paused(&world, "master"));
    world.settle("j");
    assert_eq!(mark(&world, "worker"), Some("maintenance/j"));
    assert_eq!(pools_condition(&world).as_deref(), Some("True/DelaySet"));
    assert!(world.has_said(JobStep::MachineConfigPoolsPaused));
    world.update();
    let decision = world.settle("j");
    assert_eq!(
        world.condition("j", "UpgradeCompleted").as_deref(),
        Some("True/Completed")
    );
    assert_eq!(world.condition("j", "Paused").as_deref(), Some("True/DelaySet"));
    assert_eq!(decision.wake, Some(START + hours(4)));
    assert!(world.has_said(JobStep::UpgradePaused));
    world.now = START + hours(4);
    world.settle("j");
    assert!(!is_paused(&world, "worker"));
    assert_eq!(mark(&world, "worker"), None);
    assert_eq!(pools_condition(&world).as_deref(), Some("False/DelaySet"));
    // Its nodes are waited for.
    assert_eq!(world.condition("j", "Paused").as_deref(), Some("False/DelaySet"));
    assert_eq!(world.end("j"), None);
    world.update_nodes();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

#[test]
fn which_pools_are_delayed() {
    let entry = |selector: Option<LabelSelector>, min: Option<&str>, max: Option<&str>| {
        let mut entry = delay("worker", min, max);
        entry.match_labels = selector;
        entry
    };
    let worker = || Some(selector("pool", "worker"));
    for (case, entries, paused, condition) in [
        ("no entries", vec![], "", "False/NoManagedPools"),
        (
            "no delay",
            vec![entry(worker(), None, None)],
            "",
            "False/NoManagedPools",
        ),
        (
            "zero",
            vec![entry(worker(), Some("0s"), Some("0"))],
            "",
            "False/NoManagedPools",
        ),
        (
            "absent selects none",
            vec![entry(None, Some("1h"), None)],
            "",
            "False/NoManagedPools",
        ),
        (
            "empty selects all",
            vec![entry(Some(LabelSelector::default()), Some("1h"), None)],
            "master worker",
            "True/DelaySet",
        ),
        (
            "some",
            vec![entry(worker(), Some("1h"), None)],
            "worker",
            "True/DelaySet",
        ),
        (
            "only delayMax",
            vec![entry(worker(), None, Some("1h"))],
            "",
            "False/DelaySet",
        ),
        (
            "none there",
            vec![entry(Some(selector("pool", "infra")), Some("1h"), None)],
            "",
            "False/NoManagedPools",
        ),
    ] {
        let mut world = world(None, None);
        let config = &mut world.jobs.get_mut("j").unwrap().spec.config;
        config.machine_config_pools = Some(entries);
        world.settle("j");
        let names = world.pools.values().filter(|pool| pool.spec.paused == Some(true));
        let names: Vec<_> = names.map(ResourceExt::name_any).collect();
        assert_eq!(names.join(" "), paused, "{case}");
        assert_eq!(pools_condition(&world).as_deref(), Some(condition), "{case}");
    }
}

/// Of several entries for a pool the latest delayMin and the earliest delayMax count: the original pauses and unpauses it in turn.
#[test]
fn several_entries_for_a_pool_do_not_fight() {
    let mut world = world(Some("1h"), None);
    let config = &mut world.jobs.get_mut("j").unwrap().spec.config;
    config.machine_config_pools = Some(vec![
        delay("worker", Some("1h"), Some("8h")),
        delay("worker", Some("3h"), Some("6h")),
    ]);
    world.settle("j");
    world.now = START + hours(2);
    world.settle("j");
    assert!(is_paused(&world, "worker"));
    world.now = START + hours(3);
    world.settle("j");
    assert!(!is_paused(&world, "worker"));
}

/// Measured from startAfter, strictly: at exactly delayMax it may still be unpaused.
#[test]
fn a_pool_that_is_still_paused_at_delay_max_fails_it_without_hooks() {
    let mut world = world(Some("2h"), Some("3h")).with_hooks([hook("hangs", &[UNPAUSE])]);
    world.settle("j");
    world.update();
    world.now = START + hours(2);
    let decision = world.settle("j");
    assert_eq!(world.hook_jobs.len(), 1);
    assert!(decision.wake.unwrap() <= START + hours(3) + minutes(1));
    world.now = START + hours(3);
    world.settle("j");
    assert_eq!(world.end("j"), None);
    world.now += jiff::SignedDuration::from_secs(1);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("UnpausingPoolsExpired"));
    assert!(is_paused(&world, "worker"));
    assert_eq!(world.lock(), None);
}

/// A diverging point: entries with only delayMax unpause pools in the original, whoever has paused them.
#[test]
fn a_pool_that_a_person_has_paused_is_never_unpaused() {
    for (min, max) in [(Some("2h"), None), (None, Some("3h")), (Some("2h"), Some("3h"))] {
        let mut world = world(min, max);
        world.set_paused("worker", true);
        world.settle("j");
        assert_eq!(mark(&world, "worker"), None);
        world.update();
        world.settle("j");
        assert_eq!(world.condition("j", "Paused").as_deref(), Some("True/DelaySet"));
        assert!(world.message("j", "Paused").contains("not by an UpgradeJob"));
        for hour in [2, 3, 4, 13] {
            world.now = START + hours(hour);
            world.settle("j");
            assert!(is_paused(&world, "worker"), "{min:?} {max:?}");
        }
        let expected = if max.is_some() {
            "UnpausingPoolsExpired"
        } else {
            "TimedOut"
        };
        assert_eq!(world.end("j").as_deref(), Some(expected));
        assert!(
            !world
                .written
                .iter()
                .any(|write| matches!(write, JobWrite::UnpausePool(_)))
        );
    }
}

/// One pool is delayed, and somebody has paused another: both are named.
#[test]
fn pools_that_a_person_has_paused_are_named_beside_those_that_are_delayed() {
    let mut both = job("j");
    both.spec.config.machine_config_pools = Some(vec![
        delay("worker", Some("2h"), Some("5h")),
        delay("infra", Some("2h"), Some("5h")),
    ]);
    let mut world = World::new([both]).with_pools([outdated(pool("worker")), outdated(pool("infra"))]);
    world.set_paused("infra", true);
    world.settle("j");
    let paused = world.message("j", "MachineConfigPoolsPaused");
    assert!(
        paused.contains("paused to be upgraded later: worker from 2026-"),
        "{paused}"
    );
    assert!(paused.contains("infra (not by an UpgradeJob"), "{paused}");
}

/// A person who pauses a pool at the moment when it is to be paused wins: the version of the pool is a precondition.
#[test]
fn a_person_wins_the_race_for_a_pool() {
    let mut world = world(Some("2h"), None);
    let pause = world.reconcile_before("j", |write| matches!(write, JobWrite::PausePool { .. }));
    world.set_paused("worker", true);
    assert!(!world.apply(&pause));
    world.settle("j");
    assert_eq!(mark(&world, "worker"), None);
}

#[test]
fn a_paused_outdated_pool_that_no_entry_matches_pauses_it_until_it_times_out() {
    let mut world = world(None, None);
    world.set_paused("worker", true);
    world.settle("j");
    world.update();
    let decision = world.settle("j");
    assert_eq!(world.condition("j", "Paused").as_deref(), Some("True/DelaySet"));
    assert!(decision.wake.unwrap() <= START + hours(12) + minutes(1));
    let mut later = world.clone();
    later.now = START + hours(13);
    later.settle("j");
    assert_eq!(later.end("j").as_deref(), Some("TimedOut"));
    world.set_paused("worker", false);
    world.update_nodes();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

#[test]
fn a_pool_that_needs_no_update_is_unpaused_at_success_with_reason_completed() {
    let mut world = world(Some("5h"), None).with_hooks([hook("silence", &[UNPAUSE])]);
    world.settle("j");
    world.begin_update();
    world.complete_update();
    // The update changed nothing for its nodes.
    for pool in world.pools.values_mut() {
        pool.status.as_mut().unwrap().updated_machine_count = Some(3);
    }
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
    assert!(is_paused(&world, "worker"));
    let job = world.hook_jobs.values().next().unwrap();
    let environment = serde_json::json!(job.spec).to_string();
    assert!(
        environment.contains(r#""EVENT_reason","value":"\"Completed\"""#),
        "{environment}"
    );
    assert!(environment.contains(r#""EVENT_pool","value":"\"worker\"""#));
    assert_eq!(world.lock(), Some("maintenance/j"));
    // It cannot change the outcome any more, and keeps the pool for a while only.
    let mut hanging = world.clone();
    hanging.now = START + hours(12) + minutes(1);
    hanging.settle("j");
    assert!(!is_paused(&hanging, "worker"));
    assert_eq!(hanging.lock(), None);
    world.end_hooks("silence", "Failed");
    world.settle("j");
    assert!(!is_paused(&world, "worker"));
    assert_eq!(mark(&world, "worker"), None);
    assert_eq!(pools_condition(&world).as_deref(), Some("False/DelaySet"));
    assert_eq!(
        (world.end("j").as_deref(), world.lock()),
        (Some("Succeeded"), None)
    );
}

/// A diverging point: in the original the second pool waits for ever, as the Job of the first has its name.
#[test]
fn two_delayed_pools_and_one_hook_do_not_block_each_other() {
    let mut world = world(Some("2h"), None).with_hooks([hook("silence", &[UNPAUSE])]);
    let config = &mut world.jobs.get_mut("j").unwrap().spec.config;
    let entries = config.machine_config_pools.as_mut().unwrap();
    entries.push(delay("master", Some("2h"), None));
    world.settle("j");
    world.update();
    world.now = START + hours(2);
    world.settle("j");
    assert_eq!(world.hook_jobs.len(), 2);
    world.end_hooks("master", "Complete");
    world.settle("j");
    assert!(!is_paused(&world, "master") && is_paused(&world, "worker"));
    world.end_hooks("worker", "Complete");
    world.settle("j");
    world.update_nodes();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
    let keys: Vec<_> = world
        .tracker("j")
        .into_iter()
        .filter_map(|entry| entry.tracking_key)
        .collect();
    assert_eq!(keys, ["master", "worker"]);
}

#[test]
fn an_aborting_unpause_hook_fails_it_and_the_pool_stays_paused() {
    let mut world = world(Some("2h"), None).with_hooks([aborting(hook("silence", &[UNPAUSE]))]);
    world.settle("j");
    world.update();
    world.now = START + hours(2);
    world.settle("j");
    world.end_hooks("silence", "Failed");
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("HookFailed"));
    assert!(is_paused(&world, "worker"));
    // It is reported, by our explicit choice.
    assert_eq!(pools_condition(&world).as_deref(), Some("True/DelaySet"));
    assert!(
        world
            .message("j", "MachineConfigPoolsPaused")
            .contains("these stayed paused: worker")
    );
    assert_eq!(world.lock(), None);
}

/// A diverging point: that they stay paused is said, and that one that pauses pools on failure leaves them as they are.
#[test]
fn a_failure_leaves_delayed_pools_paused_and_names_them() {
    for (pauses, reason) in [(false, "True/DelaySet"), (true, "True/PausedOnFailure")] {
        let mut world = world(Some("14h"), None);
        let config = &mut world.jobs.get_mut("j").unwrap().spec.config;
        config.pause_machine_config_pools_on_failure = pauses.then(pause_on_failure);
        world.settle("j");
        world.update();
        world.now = START + hours(13);
        world.settle("j");
        assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
        world.now = START + hours(15);
        world.settle("j");
        assert!(is_paused(&world, "worker"), "{pauses}");
        assert_eq!(pools_condition(&world).as_deref(), Some(reason));
        let message = world.message("j", "MachineConfigPoolsPaused");
        assert!(message.contains("these stayed paused: worker"), "{message}");
    }
}

#[test]
fn the_next_one_takes_over_what_a_failed_one_has_paused() {
    let mut world = world(Some("2h"), None);
    world.settle("j");
    world.update();
    world.now = START + hours(2);
    let mut next = job("next");
    next.spec.start_after.0 = START + hours(24);
    next.spec.start_before.0 = START + hours(25);
    next.spec.config = world.jobs["j"].spec.config.clone();
    world.jobs.insert("next".to_owned(), next);
    world.refused = vec![crate::job::write::WrittenKind::MachineConfigPool];
    world.now = START + hours(13);
    world.settle("j");
    world.refused.clear();
    assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
    world.now = START + hours(24);
    world.settle("next");
    assert_eq!(mark(&world, "worker"), Some("maintenance/next"));
    world.now = START + hours(26);
    world.settle("next");
    world.update_nodes();
    world.settle("next");
    assert!(!is_paused(&world, "worker"));
    assert_eq!(world.end("next").as_deref(), Some("Succeeded"));
}

/// A spec is edited, or a pool's labels are: nothing that was paused is forgotten.
#[test]
fn a_pool_that_is_no_longer_selected_is_unpaused() {
    let mut world = world(Some("2h"), None);
    world.settle("j");
    assert!(is_paused(&world, "worker"));
    world.jobs.get_mut("j").unwrap().spec.config.machine_config_pools = None;
    world.settle("j");
    assert!(!is_paused(&world, "worker"));
    assert_eq!(mark(&world, "worker"), None);
}

#[test]
fn a_pool_that_a_person_unpauses_after_its_delay_only_loses_its_mark() {
    let mut world = world(Some("2h"), None).with_hooks([hook("silence", &[UNPAUSE])]);
    world.settle("j");
    world.now = START + hours(2);
    world.set_paused("worker", false);
    world.settle("j");
    assert_eq!(mark(&world, "worker"), None);
    assert!(world.hook_jobs.is_empty());
}

#[test]
fn a_maintenance_without_a_release_ends_before_pools_that_it_does_not_delay() {
    let mut world = world(Some("2h"), None);
    world.jobs.get_mut("j").unwrap().spec.desired_version = None;
    let updating = world.pools["worker"].clone();
    world.pools.insert("worker".to_owned(), outdated(updating));
    world.settle("j");
    assert_eq!(world.condition("j", "Paused").as_deref(), Some("True/DelaySet"));
    world.pools.insert("infra".to_owned(), outdated(pool("infra")));
    world.now = START + hours(2);
    world.settle("j");
    assert_eq!(world.end("j"), None, "its own pool is waited for");
    world
        .pools
        .get_mut("worker")
        .unwrap()
        .status
        .as_mut()
        .unwrap()
        .updated_machine_count = Some(3);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

/// Its hooks, and its health checks, are not for the middle of somebody else's update.
#[test]
fn a_maintenance_without_a_release_waits_for_the_nodes_of_an_update_before_it_begins() {
    let mut world = world(None, None).with_pools([outdated(pool("infra"))]);
    world.jobs.get_mut("j").unwrap().spec.desired_version = None;
    world.settle("j");
    assert_eq!(
        world.condition("j", "Waiting").as_deref(),
        Some("True/UpgradeInProgress")
    );
    world.update_nodes();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}
