//! What an UpgradeJob would do, compared with what it does.

use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::schedule::{DesiredVersion, HookEvent, HookRun};
use serde_json::json;

use super::fixture::*;
use super::world::World;
use crate::job::lock::JobRef;
use crate::job::simulation::{Outcome, Simulation, listed, simulate};
use crate::job::{JobObservation, Need};

/// Everything that a pass may need.
fn needs() -> Vec<Need> {
    let holder = JobRef {
        namespace: NAMESPACE.to_owned(),
        name: "other".to_owned(),
    };
    vec![
        Need::Hooks,
        Need::HookJobs,
        Need::Windows,
        Need::ClusterVersion,
        Need::Pools,
        Need::Operators,
        Need::Alerts,
        Need::Holder(holder),
    ]
}

fn simulated(world: &World) -> Simulation {
    simulate(world.observe("j", &needs()))
}

fn world() -> World {
    World::new([job("j")]).with_pools([pool("master"), pool("worker")])
}

fn with(change: impl FnOnce(&mut World)) -> World {
    let mut world = world();
    change(&mut world);
    world
}

/// Another UpgradeJob has the lock, and has ended like this.
fn lock(world: &mut World, end: Option<&str>) {
    let mut other = job("other");
    let conditions = end.map(|end| {
        json!([{"type": end, "status": "True", "reason": end, "message": "", "lastTransitionTime": START}])
    });
    other.status = Some(serde_json::from_value(json!({ "conditions": conditions })).unwrap());
    world.jobs.insert("other".to_owned(), other);
    world.cluster.metadata.annotations = Some(labels(UPGRADE_LOCK_ANNOTATION, "maintenance/other"));
}

fn delayed_worker(world: &mut World) {
    let config = &mut world.jobs.get_mut("j").unwrap().spec.config;
    config.machine_config_pools = Some(vec![delay("worker", Some("3h"), None)]);
}

fn without_upgrade(world: &mut World) {
    world.jobs.get_mut("j").unwrap().spec.desired_version = None;
}

fn steps(simulation: &Simulation) -> Vec<&'static str> {
    simulation.steps.iter().map(|event| event.step.name()).collect()
}

/// An outcome in short.
fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::NotYet { .. } => "not yet".to_owned(),
        Outcome::Ends(end) => format!("ends {}", end.reason),
        Outcome::Waits(waiting) => format!("waits {}", waiting.reason),
        Outcome::Unhealthy(check) => format!("unhealthy {}", check.type_),
        Outcome::HooksRun { hooks } => format!("hooks {hooks}"),
        Outcome::AsksFor(release) => format!("asks {}", release.version.as_deref().unwrap()),
        Outcome::UnderWay(stage) => format!("under way {}", stage.type_),
        Outcome::NotKnown(needs) => format!("not known {needs:?}"),
    }
}

/// What has become of it, in the same words.
fn happened(world: &World) -> String {
    let is_true = |type_| {
        world
            .condition("j", type_)
            .filter(|known| known.starts_with("True/"))
    };
    let is_false = |type_| {
        world
            .condition("j", type_)
            .filter(|known| known.starts_with("False/"))
    };
    if let Some(end) = world.end("j") {
        return format!("ends {end}");
    }
    if let Some(waiting) = is_true("Waiting") {
        return format!("waits {}", waiting.trim_start_matches("True/"));
    }
    if is_false("PreHealthCheckDone").is_some() {
        return "unhealthy PreHealthCheckDone".to_owned();
    }
    match &world.cluster.spec.desired_update {
        Some(asked) => format!("asks {}", asked.version.as_deref().unwrap()),
        None => "not yet".to_owned(),
    }
}

#[test]
fn what_would_happen_is_what_happens() {
    let cases = vec![
        ("healthy", world(), "asks 4.16.5"),
        (
            "too early",
            with(|world| world.now = START - minutes(1)),
            "not yet",
        ),
        (
            "the last moment",
            with(|world| world.now = START + hours(1)),
            "asks 4.16.5",
        ),
        (
            "too late",
            with(|world| world.now = START + minutes(61)),
            "ends Expired",
        ),
        (
            "holidays",
            with(|world| world.windows = vec![window("w")]),
            "ends Skipped",
        ),
        (
            "withdrawn",
            with(|world| world.cluster.status.as_mut().unwrap().available_updates = Vec::new().into()),
            "ends UpgradeWithdrawn",
        ),
        (
            "a degraded operator",
            with(|world| world.operators = vec![operator("dns", "Degraded", "True")]),
            "unhealthy PreHealthCheckDone",
        ),
        ("locked", with(|world| lock(world, None)), "waits LockHeld"),
        (
            "a stale lock",
            with(|world| lock(world, Some("Failed"))),
            "asks 4.16.5",
        ),
        (
            "another update",
            with(|world| {
                let status = world.cluster.status.as_mut().unwrap();
                status.history.insert(0, history("4.16.9", "Partial", START));
            }),
            "waits UpgradeInProgress",
        ),
        ("nothing to upgrade", with(without_upgrade), "ends Succeeded"),
        ("a pool that is delayed", with(delayed_worker), "asks 4.16.5"),
        (
            "what cannot be read",
            with(|world| world.unreadable = vec![Need::Pools]),
            "waits Unreadable",
        ),
    ];
    for (case, mut world, expected) in cases {
        let simulation = simulated(&world);
        assert_eq!(short(&simulation.outcome), expected, "{case}");
        world.settle("j");
        assert_eq!(happened(&world), expected, "{case}: what happens");
    }
}

#[test]
fn the_steps_are_said_in_order_and_nothing_is_left_of_them() {
    let world = world();
    let simulation = simulated(&world);
    assert_eq!(
        steps(&simulation),
        [
            "UpgradeScheduled",
            "UpgradeStarted",
            "PreHealthCheckCompleted",
            "UpgradeCommenced"
        ]
    );
    let release = DesiredVersion {
        version: Some(NEW.to_owned()),
        image: Some(image(NEW)),
        ..DesiredVersion::default()
    };
    assert_eq!(simulation.outcome, Outcome::AsksFor(release));
    assert_eq!((world.lock(), &world.jobs["j"].status), (None, &None));
}

#[test]
fn hooks_are_taken_to_succeed_unless_they_run_already() {
    let hooked = || {
        let mut once = aborting(hook("once", &[HookEvent::Start]));
        once.spec.run = Some(HookRun::Next);
        world().with_hooks([hook("early", &[HookEvent::Create]), once])
    };
    let simulation = simulated(&hooked());
    assert_eq!(short(&simulation.outcome), "asks 4.16.5");
    let hooks: Vec<&str> = simulation.hooks.iter().map(String::as_str).collect();
    assert_eq!(hooks, ["early", "once"]);

    let mut world = hooked();
    world.settle("j");
    let simulation = simulated(&world);
    assert_eq!(short(&simulation.outcome), "hooks early");
    assert!(simulation.hooks.is_empty());
    world.end_hooks("early", "Complete");
    world.settle("j");
    assert_eq!(short(&simulated(&world).outcome), "hooks once");
    world.end_hooks("once", "Failed");
    assert_eq!(short(&simulated(&world).outcome), "ends HookFailed");
}

#[test]
fn an_upgrade_that_is_under_way_says_where_it_is() {
    let mut world = world();
    world.settle("j");
    world.begin_update();
    let simulation = simulated(&world);
    assert_eq!(short(&simulation.outcome), "under way UpgradeCompleted");
    world.complete_update();
    let Outcome::UnderWay(stage) = simulated(&world).outcome else {
        panic!("it is under way");
    };
    assert!(stage.message.contains("master, worker"), "{}", stage.message);
    world.set_paused("worker", true);
    world.update_nodes();
    let Outcome::UnderWay(stage) = simulated(&world).outcome else {
        panic!("it is under way");
    };
    assert_eq!((stage.type_.as_str(), stage.status.as_str()), ("Paused", "True"));
    world.set_paused("worker", false);
    world.update_nodes();
    assert_eq!(short(&simulated(&world).outcome), "ends Succeeded");
}

#[test]
fn what_nobody_has_read_is_named() {
    let seen = JobObservation::new(job("j"), START);
    let outcome = simulate(seen).outcome;
    let needs = [Need::Windows].into();
    assert_eq!(listed(&needs), "not read: the UpgradeSuspensionWindows");
    assert_eq!(outcome, Outcome::NotKnown(needs));
}
