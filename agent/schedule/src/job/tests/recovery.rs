//! A process may end between any two writes: the end is the same.

use drydock_api::schedule::{HookEvent, HookRun};
use kube::ResourceExt;

use super::fixture::*;
use super::world::World;

/// Everything that is left of a maintenance.
fn summary(world: &World) -> Vec<String> {
    let status = world.jobs["j"].status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let mut lines: Vec<String> = conditions
        .iter()
        .map(|condition| {
            format!(
                "{}={}/{}: {}",
                condition.type_, condition.status, condition.reason, condition.message
            )
        })
        .collect();
    lines.extend(world.tracker("j").iter().map(|entry| format!("{entry:?}")));
    lines.extend(world.pools.values().map(|pool| {
        format!(
            "{} {:?} {:?}",
            pool.name_any(),
            pool.spec.paused,
            pool.annotations()
        )
    }));
    let mut created = world.created.clone();
    created.sort();
    lines.extend(created.iter().map(|created| format!("{created:?}")));
    lines.extend(
        world
            .hook_jobs
            .values()
            .map(|job| format!("{:?}", job.finalizers())),
    );
    lines.push(format!(
        "{:?} {:?}",
        world.lock(),
        world.cluster.spec.desired_update
    ));
    lines
}

fn begin() -> World {
    let mut job = job("j");
    job.spec.config.machine_config_pools = Some(vec![delay("worker", Some("2h"), None)]);
    job.spec.config.pause_machine_config_pools_on_failure = Some(pause_on_failure());
    job.spec.config.notifications = Some(vec![receiver()]);
    let mut once = hook("once", &[HookEvent::Start, HookEvent::Failure]);
    once.spec.run = Some(HookRun::Next);
    let always = hook(
        "always",
        &[
            HookEvent::Create,
            HookEvent::Start,
            HookEvent::UpgradeComplete,
            HookEvent::MachineConfigPoolUnpause,
            HookEvent::Success,
            HookEvent::Finish,
        ],
    );
    let mut world = World::new([job])
        .with_hooks([once, always])
        .with_pools([pool("master"), pool("worker")]);
    world.now = START - minutes(30);
    world
}

fn hooks(world: &mut World) {
    world.settle("j");
    world.end_hooks("hook", "Complete");
    world.settle("j");
}

fn success(world: &mut World) {
    hooks(world);
    world.now = START;
    hooks(world);
    world.update();
    hooks(world);
    world.now = START + hours(2);
    hooks(world);
    world.update_nodes();
    hooks(world);
}

fn failure(world: &mut World) {
    hooks(world);
    world.now = START;
    hooks(world);
    world.begin_update();
    world.complete_update();
    world.settle("j");
    world.now = START + hours(13);
    hooks(world);
}

#[test]
fn a_crash_between_any_two_writes_reaches_the_same_end() {
    for (name, script, end) in [
        ("success", success as fn(&mut World), "Succeeded"),
        ("failure", failure, "TimedOut"),
    ] {
        let mut expected = begin();
        script(&mut expected);
        assert_eq!(expected.end("j").as_deref(), Some(end));
        let expected = summary(&expected);
        let mut crashes = 0;
        loop {
            let mut world = begin();
            world.crash_after = Some(crashes);
            script(&mut world);
            assert_eq!(summary(&world), expected, "{name}: {crashes}");
            if world.crash_after.is_some() {
                break;
            }
            crashes += 1;
        }
        assert!(crashes > 20, "{name} has only {crashes} writes");
    }
}
