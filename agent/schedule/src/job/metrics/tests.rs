//! The series that follow from UpgradeJobs, machine config pools and ClusterVersion.

use drydock_api::openshift::MachineConfigPool;
use drydock_api::schedule::HookEvent;
use serde_json::json;

use super::*;
use crate::job::tests::fixture::{
    NEW, START, cluster_version, delay, history, hook, hours, image, job, outdated, paused, pool,
};
use crate::job::tests::world::World;

fn value(samples: &[Sample], family: &Family, labels: &[&str]) -> Option<f64> {
    let mut found = samples
        .iter()
        .filter(|sample| sample.family == family && sample.labels == labels);
    found.next().map(|sample| sample.value)
}

#[test]
fn the_state_of_an_upgrade_job_with_all_its_labels() {
    let mut world = World::new([job("j")]);
    let samples = |world: &World| of_jobs(&[world.jobs["j"].clone()], &[]);
    let state = |world: &World| {
        let samples = samples(world);
        let sample = samples
            .into_iter()
            .find(|sample| *sample.family == STATE)
            .unwrap();
        assert_eq!(sample.labels.len(), STATE.labels.len());
        sample.labels
    };
    let expected = |state: &str, reason: &str| {
        let image = image(NEW);
        [
            "j",
            "2026-01-13T21:00:00Z",
            "2026-01-13T22:00:00Z",
            "false",
            &image,
            NEW,
            state,
            reason,
            "false",
            "maintenance",
        ]
        .map(str::to_owned)
        .to_vec()
    };
    assert_eq!(state(&world), expected("pending", ""));
    world.pools.insert("w".to_owned(), paused(pool("w")));
    world.settle("j");
    assert_eq!(state(&world), expected("active", ""));
    world.update();
    world.settle("j");
    assert_eq!(state(&world), expected("paused", ""));
    world.now = START + hours(13);
    world.settle("j");
    assert_eq!(state(&world), expected("failed", "TimedOut"));
    let start = seconds(START);
    let labels = ["j", "maintenance"];
    assert_eq!(value(&samples(&world), &START_AFTER, &labels), Some(start));
    assert_eq!(
        value(&samples(&world), &START_BEFORE, &labels),
        Some(start + 3600.0)
    );
}

#[test]
fn an_upgrade_job_matches_disruptive_hooks_of_its_namespace() {
    let mut disruptive = hook("h", &[HookEvent::Start]);
    disruptive.spec.disruptive = Some(true);
    let label = |hook: &UpgradeJobHook| {
        let samples = of_jobs(&[job("j")], std::slice::from_ref(hook));
        samples[0].labels[8].clone()
    };
    assert_eq!(label(&disruptive), "true");
    assert_eq!(label(&hook("h", &[HookEvent::Start])), "false");
    disruptive.metadata.namespace = Some("other".to_owned());
    assert_eq!(label(&disruptive), "false");
}

#[test]
fn the_cluster_is_upgrading_while_the_release_or_a_pool_is_not_completed() {
    let upgrading = |asked: Option<&str>, pools: &[MachineConfigPool]| {
        let mut cluster = cluster_version();
        cluster.spec.desired_update = asked.map(|version| {
            serde_json::from_value(json!({ "version": version, "image": image(version) })).unwrap()
        });
        let status = cluster.status.get_or_insert_default();
        status.history.insert(0, history("4.16.9", "Completed", START));
        value(&of_cluster(Some(&cluster), pools), &CLUSTER_UPGRADING, &[])
    };
    assert_eq!(upgrading(None, &[]), Some(0.0), "never upgraded");
    assert_eq!(upgrading(Some("4.16.9"), &[]), Some(0.0));
    assert_eq!(upgrading(Some(NEW), &[]), Some(1.0));
    assert_eq!(upgrading(None, &[outdated(pool("w"))]), Some(1.0));
    assert_eq!(upgrading(None, &[paused(outdated(pool("w")))]), Some(0.0));
}

/// A diverging point: without the object the original answers the whole scrape with an error.
#[test]
fn a_missing_object_makes_no_series_and_breaks_none() {
    let samples = of_cluster(None, &[outdated(pool("a")), paused(outdated(pool("b")))]);
    assert_eq!(value(&samples, &CLUSTER_UPGRADING, &[]), None);
    assert_eq!(value(&samples, &POOLS_UPGRADING, &["a"]), Some(1.0));
    assert_eq!(value(&samples, &POOLS_UPGRADING, &["b"]), Some(0.0));
    assert_eq!(value(&samples, &POOLS_PAUSED, &["b"]), Some(1.0));
}

#[test]
fn how_many_machines_of_a_pool_are_updated() {
    let mut pool_one = outdated(pool("a"));
    pool_one.status.as_mut().unwrap().updated_machine_count = Some(1);
    let mut unknown = pool("b");
    unknown.status = None;
    let samples = of_cluster(None, &[pool_one, unknown]);
    assert_eq!(value(&samples, &POOL_MACHINES, &["a"]), Some(3.0));
    assert_eq!(value(&samples, &POOL_UPDATED_MACHINES, &["a"]), Some(1.0));
    assert_eq!(value(&samples, &POOL_UPDATED_MACHINES, &["b"]), None);
}

#[test]
fn an_upgrade_job_that_waits_says_why_and_no_longer() {
    let mut world = World::new([job("first"), job("second")]);
    world.settle("first");
    let samples = |world: &World| of_jobs(world.jobs.values(), &[]);
    let labels = ["second", "LockHeld", "maintenance"];
    assert_eq!(value(&samples(&world), &WAITING, &labels), None);
    world.settle("second");
    assert_eq!(value(&samples(&world), &WAITING, &labels), Some(1.0));
    world.update();
    world.settle("first");
    world.settle("second");
    let waiting = |sample: &Sample| sample.family == &WAITING;
    assert!(!samples(&world).iter().any(waiting));
}

#[test]
fn each_hook_says_how_far_it_is_for_its_event() {
    let mut world = World::new([job("j")]).with_hooks([hook("h", &[HookEvent::Start])]);
    let state = |world: &World| {
        let mut samples = of_jobs(world.jobs.values(), &[]).into_iter();
        samples
            .find(|sample| sample.family == &HOOK_STATE)
            .map(|sample| sample.labels.join(" "))
    };
    assert_eq!(state(&world), None);
    // The process ends before the Job is created.
    world.reconcile_until("j", 1);
    assert_eq!(state(&world).as_deref(), Some("j h Start  pending maintenance"));
    world.settle("j");
    assert_eq!(state(&world).as_deref(), Some("j h Start  active maintenance"));
    world.end_hooks("h", "Failed");
    world.settle("j");
    assert_eq!(state(&world).as_deref(), Some("j h Start  failed maintenance"));
}

#[test]
fn a_hook_for_a_pool_names_the_pool() {
    let mut delaying = job("j");
    delaying.spec.config.machine_config_pools = Some(vec![delay("worker", Some("1h"), None)]);
    let mut world = World::new([delaying])
        .with_hooks([hook("h", &[HookEvent::MachineConfigPoolUnpause])])
        .with_pools([pool("worker")]);
    world.settle("j");
    world.now = START + hours(1);
    world.settle("j");
    let samples = of_jobs(world.jobs.values(), &[]);
    let labels = [
        "j",
        "h",
        "MachineConfigPoolUnpause",
        "worker",
        "active",
        "maintenance",
    ];
    assert_eq!(value(&samples, &HOOK_STATE, &labels), Some(1.0));
}
