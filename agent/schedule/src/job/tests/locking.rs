//! One upgrade at a time (Maintenance schedules, sections 2.7 and 11).

use drydock_api::fact::Unread;
use drydock_api::names::{UPGRADE_LOCK_ANNOTATION, UPGRADE_LOCK_OWNER_ANNOTATION};
use serde_json::json;

use super::fixture::*;
use super::world::World;
use crate::job::lock::{HolderState, JobRef, LockState, ObservedHolder, assess, free_if_stale, key};
use crate::job::{JobStep, JobWrite, Need};
use drydock_api::lock::LockKey;

fn locked(holder: &str, owner: Option<&str>) -> drydock_api::openshift::ClusterVersion {
    let mut cluster = cluster_version();
    let mut annotations = labels(UPGRADE_LOCK_ANNOTATION, holder);
    if let Some(owner) = owner {
        annotations.extend(labels(UPGRADE_LOCK_OWNER_ANNOTATION, owner));
    }
    cluster.metadata.annotations = Some(annotations);
    cluster
}

fn other() -> JobRef {
    JobRef {
        namespace: "ns".to_owned(),
        name: "other".to_owned(),
    }
}

fn holder(state: HolderState) -> ObservedHolder {
    ObservedHolder { job: other(), state }
}

fn present(uid: &str, has_ended: bool) -> ObservedHolder {
    holder(HolderState::Present {
        uid: uid.to_owned(),
        has_ended,
    })
}

/// The first word of whose the lock is, for the UpgradeJob `j`.
fn state(holder: &str, owner: Option<&str>, known: &Result<ObservedHolder, Unread>) -> String {
    let key = key(&job("j"));
    let state = format!("{:?}", assess(&locked(holder, owner), &key, known));
    state.split('(').next().unwrap_or_default().to_owned()
}

#[test]
fn a_lock_is_free_or_ours_by_name_and_uid() {
    let ours = "maintenance/j";
    for (case, holder, owner, expected) in [
        ("empty", "", None, "Free"),
        ("ours", ours, Some("maintenance/j uid-j"), "Ours"),
        ("ours by the original", ours, None, "Free"),
        ("an earlier namesake", ours, Some("maintenance/j uid-x"), "Stale"),
        ("unknown", "ns/other", None, "Ask"),
        (
            "another engine",
            "upgradeconfig.upgrade.managed.openshift.io/c",
            None,
            "Held",
        ),
        ("no name", "someone", None, "Held"),
    ] {
        assert_eq!(state(holder, owner, &Err(Unread::NotAsked)), expected, "{case}");
    }
    let key = key(&job("j"));
    let free = assess(&cluster_version(), &key, &Err(Unread::NotAsked));
    assert_eq!(free, LockState::Free);
}

#[test]
fn the_lock_of_another_is_stale_once_it_is_gone_created_anew_or_has_ended() {
    let known = Some("ns/other 1");
    // The original took the lock after us, and left our annotation.
    let earlier = Some("ns/x 9");
    let failed = Err(Unread::Failed("x".to_owned()));
    for (case, owner, holder, expected) in [
        ("gone", None, Ok(holder(HolderState::Absent)), "Stale"),
        ("runs", None, Ok(present("1", false)), "Held"),
        ("runs, with its UID", known, Ok(present("1", false)), "Held"),
        ("ended", None, Ok(present("1", true)), "Stale"),
        ("another UID", known, Ok(present("2", false)), "Stale"),
        ("taken by the original", earlier, Ok(present("2", false)), "Held"),
        ("unreadable", None, failed, "Held"),
    ] {
        assert_eq!(state("ns/other", owner, &holder), expected, "{case}");
    }
    let key = key(&job("j"));
    // What is known of another UpgradeJob says nothing of this one.
    let known = Ok(ObservedHolder {
        job: JobRef::of(&job("x")),
        state: HolderState::Absent,
    });
    assert_eq!(
        assess(&locked("ns/other", None), &key, &known),
        LockState::Ask(other())
    );
}

#[test]
fn other_upgrades_have_keys_that_are_no_upgrade_jobs() {
    let key = LockKey::of_upgrade_config("config", "7");
    assert_eq!(key.holder, "upgradeconfig.upgrade.managed.openshift.io/config");
    assert_eq!(JobRef::parse(&key.holder), None);
    let cluster = locked(&key.holder, Some(&key.owner()));
    assert_eq!(assess(&cluster, &key, &Err(Unread::NotAsked)), LockState::Ours);
    for value in ["a/b/c", "a", "/b", "a/", ""] {
        assert_eq!(JobRef::parse(value), None, "{value}");
    }
}

#[test]
fn who_waits_says_for_whom_and_goes_on_when_the_lock_is_free() {
    let mut world = World::new([job("first"), job("second")]);
    world.settle("first");
    let decision = world.settle("second");
    assert_eq!(
        world.condition("second", "Started").as_deref(),
        Some("True/Started")
    );
    assert_eq!(
        world.condition("second", "Waiting").as_deref(),
        Some("True/LockHeld")
    );
    assert!(
        world
            .message("second", "Waiting")
            .contains("UpgradeJob maintenance/first")
    );
    assert!(world.has_said(JobStep::UpgradeWaiting));
    assert!(decision.wake.unwrap() <= world.now + minutes(1));
    world.update();
    world.settle("first");
    world.settle("second");
    assert_eq!(
        world.condition("second", "Waiting").as_deref(),
        Some("False/NotWaiting")
    );
    assert_eq!(world.end("second").as_deref(), Some("Succeeded"));
    assert_eq!(world.lock(), None);
}

#[test]
fn a_lock_that_is_not_that_of_an_upgrade_job_is_waited_for() {
    let mut world = World::new([job("j")]);
    let holder = "upgradeconfig.upgrade.managed.openshift.io/config";
    world.cluster = locked(holder, None);
    world.settle("j");
    let why = world.message("j", "Waiting");
    assert!(
        why.contains("UpgradeConfig config of upgrade.managed.openshift.io"),
        "{why}"
    );
    world.now = START + hours(13);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("TimedOut"));
    assert!(
        world
            .message("j", "Failed")
            .contains("UpgradeConfig config of upgrade.managed.openshift.io")
    );
    assert_eq!(world.lock(), Some(holder));
}

/// A diverging point: in the original every later UpgradeJob fails with TimedOut.
#[test]
fn the_lock_of_a_deleted_one_is_taken_over() {
    let mut world = World::new([job("first"), job("second")]);
    world.settle("first");
    world.jobs.remove("first");
    // It had asked for the same release.
    world.settle("second");
    assert_eq!(world.lock(), Some("maintenance/second"));
    assert!(world.has_said(JobStep::UpgradeLockTakenOver));
}

#[test]
fn a_namesake_does_not_inherit_the_lock() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    let mut anew = job("j");
    anew.metadata.uid = Some("uid-anew".to_owned());
    world.jobs.insert("j".to_owned(), anew);
    world.settle("j");
    assert!(world.has_said(JobStep::UpgradeLockTakenOver));
    let owner = &world.cluster.metadata.annotations.as_ref().unwrap()[UPGRADE_LOCK_OWNER_ANNOTATION];
    assert_eq!(owner, "maintenance/j uid-anew");
}

/// Of two that want it at the same moment one gets it: the version of ClusterVersion is a precondition.
#[test]
fn only_one_of_two_takes_the_lock() {
    let mut world = World::new([job("first"), job("second")]);
    let taking = |world: &mut World, name: &str| {
        let take = |write: &JobWrite| matches!(write, JobWrite::TakeLock { .. });
        world.reconcile_before(name, take)
    };
    let one = taking(&mut world, "first");
    let other = taking(&mut world, "second");
    assert!(world.apply(&one));
    assert!(!world.apply(&other));
    assert_eq!(world.lock(), Some("maintenance/first"));
}

/// A diverging point: the original retargets a cluster whose upgrade timed out and goes on.
#[test]
fn an_update_that_goes_on_without_a_lock_is_waited_for() {
    let mut world = World::new([job("j")]);
    let status = world.cluster.status.get_or_insert_default();
    status
        .history
        .insert(0, history("4.16.3", "Partial", START - hours(1)));
    world.settle("j");
    assert_eq!(
        world.condition("j", "Waiting").as_deref(),
        Some("True/UpgradeInProgress")
    );
    assert!(world.message("j", "Waiting").contains("4.16.3"));
    assert_eq!(world.cluster.spec.desired_update, None);
    world.complete_update();
    world.settle("j");
    assert!(world.cluster.spec.desired_update.is_some());
}

/// The other update must not stop one that has asked, and the same release may be under way already.
#[test]
fn the_same_release_under_way_is_not_waited_for() {
    let mut world = World::new([job("j")]);
    let status = world.cluster.status.get_or_insert_default();
    status
        .history
        .insert(0, history(NEW, "Partial", START - hours(1)));
    world.cluster.spec.desired_update =
        serde_json::from_value(json!({ "version": NEW, "image": image(NEW) })).unwrap();
    world.settle("j");
    assert_eq!(
        world.condition("j", "UpgradeCompleted").as_deref(),
        Some("False/InProgress")
    );
}

#[test]
fn a_lock_that_is_lost_is_taken_again_or_waited_for() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.begin_update();
    world.cluster.metadata.annotations = None;
    world.touch_cluster();
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
}

#[test]
fn one_that_is_being_deleted_frees_the_lock_and_does_nothing_else() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    let before = world.written.len();
    world.jobs.get_mut("j").unwrap().metadata.deletion_timestamp =
        Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(world.now));
    world.settle("j");
    assert_eq!(world.lock(), None);
    assert!(matches!(world.written[before..], [JobWrite::ReleaseLock(_)]));
}

#[test]
fn a_lock_that_nobody_waits_for_is_freed() {
    let gone = Ok(holder(HolderState::Absent));
    let write = free_if_stale(&locked("ns/other", None), &gone);
    assert!(matches!(write, Ok(Some(JobWrite::ReleaseLock(_)))));
    assert_eq!(free_if_stale(&cluster_version(), &gone), Ok(None));
    assert_eq!(
        free_if_stale(&locked("ns/other", None), &Ok(present("1", false))),
        Ok(None)
    );
    assert_eq!(
        free_if_stale(&locked("ns/other", None), &Err(Unread::NotAsked)),
        Err(other())
    );
}

#[test]
fn a_holder_that_cannot_be_read_is_waited_for() {
    let mut world = World::new([job("j")]);
    world.cluster = locked("ns/other", None);
    world.unreadable = vec![Need::Holder(other())];
    world.settle("j");
    assert_eq!(world.condition("j", "Waiting").as_deref(), Some("True/LockHeld"));
}

/// An MCU asks for a version alone, and the cluster finds its image: what it goes to is this release, and has not been withdrawn.
#[test]
fn the_same_release_asked_for_by_its_version_alone_is_this_ones() {
    for is_completed in [false, true] {
        let mut world = World::new([job("j")]);
        world.cluster.spec.desired_update = serde_json::from_value(json!({ "version": NEW })).unwrap();
        let status = world.cluster.status.get_or_insert_default();
        let mut entry = history(NEW, "Partial", START - hours(1));
        entry.image = Some(image(NEW));
        status.history.insert(0, entry);
        status.available_updates = Vec::new().into();
        if is_completed {
            world.complete_update();
        }
        world.settle("j");
        let end = is_completed.then_some("Succeeded");
        assert_eq!(world.end("j").as_deref(), end, "{:?}", world.jobs["j"].status);
    }
}

/// Nobody has the lock for nodes that are still being updated; a pool that is degraded may never be done, and a delayed one is paused.
#[test]
fn nodes_of_another_update_are_waited_for() {
    let mut world = World::new([job("j")]).with_pools([outdated(pool("worker"))]);
    world.settle("j");
    assert_eq!(
        world.condition("j", "Waiting").as_deref(),
        Some("True/UpgradeInProgress")
    );
    assert!(world.message("j", "Waiting").contains("worker"));
    assert_eq!(world.cluster.spec.desired_update, None);
    let conditions = json!([{ "type": "NodeDegraded", "status": "True", "reason": "", "message": "" }]);
    let status = world.pools.get_mut("worker").unwrap().status.as_mut().unwrap();
    status.conditions = serde_json::from_value(conditions).unwrap();
    world.settle("j");
    assert!(world.cluster.spec.desired_update.is_some());
}
