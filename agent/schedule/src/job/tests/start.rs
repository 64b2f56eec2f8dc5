//! Until it starts (Maintenance schedules, sections 2.6, 2.8 and 3.2).

use drydock_api::schedule::{HookEvent, UpgradeJob};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::fixture::*;
use super::world::World;
use crate::job::{JobStep, Need};

fn at(minutes_after_start: i64) -> World {
    let mut world = World::new([job("j")]);
    world.now = START + minutes(minutes_after_start);
    world
}

#[test]
fn before_its_start_it_waits_until_then() {
    let mut world = at(-30);
    let decision = world.settle("j");
    assert_eq!(decision.wake, Some(START));
    assert_eq!(world.condition("j", "Started"), None);
    assert_eq!(
        world.jobs["j"].status.as_ref().unwrap().observed_generation,
        Some(1)
    );
    assert!(world.has_said(JobStep::UpgradeScheduled));
}

/// Strictly after startBefore it has expired; at exactly startBefore it starts.
#[test]
fn it_starts_up_to_start_before_and_expires_after_it() {
    for (minute, second, end, started) in [
        (0, 0, None, Some("True/Started")),
        (60, 0, None, Some("True/Started")),
        (60, 1, Some("Expired"), None),
    ] {
        let mut world = at(minute);
        world.now += jiff::SignedDuration::from_secs(second);
        world.settle("j");
        assert_eq!(world.end("j").as_deref(), end, "{minute}:{second}");
        assert_eq!(
            world.condition("j", "Started").as_deref(),
            started,
            "{minute}:{second}"
        );
    }
}

#[test]
fn a_window_at_the_start_skips_it_without_lock_and_start() {
    let mut world = at(0).with_hooks([hook("notify", &[HookEvent::Success, HookEvent::Finish])]);
    world.windows = vec![window("xmas")];
    world.settle("j");
    assert_eq!(world.condition("j", "Succeeded").as_deref(), Some("True/Skipped"));
    assert_eq!(world.condition("j", "Started"), None);
    assert_eq!(world.lock(), None);
    let message = world.message("j", "Succeeded");
    assert!(
        message.contains("xmas") && message.contains("holidays"),
        "{message}"
    );
    let env = |name: &str, variable: &str| {
        let spec = world.hook_jobs[name].spec.clone().unwrap();
        let env = spec.template.spec.unwrap().containers[0].env.clone().unwrap();
        env.into_iter()
            .find(|known| known.name == variable)
            .unwrap()
            .value
    };
    for event in ["success", "finish"] {
        let reason = env(&format!("j-hook-{event}-notify"), "EVENT_reason");
        assert_eq!(reason.as_deref(), Some("\"Skipped\""), "{event}");
    }
}

/// The skip is looked at before the expiry: an expired UpgradeJob in a window is Skipped.
#[test]
fn an_expired_one_in_a_window_is_skipped() {
    let mut world = at(90);
    world.windows = vec![window("xmas")];
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Skipped"));
}

#[test]
fn nothing_is_skipped_before_its_start_or_after_it_has_started() {
    let mut world = at(-30);
    world.windows = vec![window("xmas")];
    world.settle("j");
    assert_eq!(world.end("j"), None);
    let mut world = at(0);
    world.settle("j");
    world.windows = vec![window("xmas")];
    world.settle("j");
    assert_eq!(world.end("j"), None);
}

#[test]
fn windows_are_in_force_from_start_to_end_for_those_that_they_select() {
    let bounds = |start: i64, end: i64| {
        let mut window = window("w");
        window.spec.start = Time(START + minutes(start));
        window.spec.end = Time(START + minutes(end));
        window
    };
    let selecting = |value: &str| {
        let mut window = window("w");
        window.spec.job_selector = Some(selector("tier", value));
        window
    };
    let mut none = window("w");
    none.spec.job_selector = None;
    for (case, window, skipped) in [
        ("ends at the start", bounds(-60, 0), true),
        ("begins at the start", bounds(0, 60), true),
        ("ended before", bounds(-60, -1), false),
        ("begins later", bounds(1, 60), false),
        ("ends before it begins", bounds(60, -60), false),
        ("selects it", selecting("prod"), true),
        ("selects others", selecting("dev"), false),
        ("selects nothing", none, false),
    ] {
        let mut world = at(0);
        world.jobs.get_mut("j").unwrap().metadata.labels = Some(labels("tier", "prod"));
        world.windows = vec![window];
        world.settle("j");
        let end = world.end("j");
        assert_eq!(end.as_deref(), skipped.then_some("Skipped"), "{case}");
    }
}

/// A diverging point: the original passes over a window whose selector it cannot read.
#[test]
fn a_window_whose_selector_cannot_be_used_counts() {
    let mut world = at(0);
    let mut broken = window("w");
    broken.spec.job_selector = Some(invalid_selector());
    world.windows = vec![broken];
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Skipped"));
    assert!(
        world
            .message("j", "Succeeded")
            .contains("its selector cannot be used")
    );
}

#[test]
fn windows_that_cannot_be_read_hold_it_until_it_expires() {
    let mut world = at(0);
    world.unreadable = vec![Need::Windows];
    let decision = world.settle("j");
    assert_eq!(world.condition("j", "Started"), None);
    assert_eq!(
        world.condition("j", "Waiting").as_deref(),
        Some("True/Unreadable")
    );
    assert!(decision.wake.is_some());
    world.now = START + minutes(61);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Expired"));
}

#[test]
fn a_spec_that_cannot_be_used_holds_it_until_it_is_corrected_or_expires() {
    let mut world = at(0);
    let spec = &mut world.jobs.get_mut("j").unwrap().spec;
    spec.config.upgrade_timeout = "soon".to_owned();
    spec.config.machine_config_pools = Some(vec![delay("worker", Some("later"), None)]);
    world.settle("j");
    assert_eq!(
        world.condition("j", "Waiting").as_deref(),
        Some("True/InvalidSpec")
    );
    let message = world.message("j", "Waiting");
    for path in [
        "spec.config.upgradeTimeout",
        "spec.config.machineConfigPools[0].delayUpgrade.delayMin",
    ] {
        assert!(message.contains(path), "{message}");
    }
    let mut late = world.clone();
    late.now = START + minutes(61);
    late.settle("j");
    assert_eq!(late.end("j").as_deref(), Some("Expired"));
    let config = &mut world.jobs.get_mut("j").unwrap().spec.config;
    config.upgrade_timeout = "12h".to_owned();
    config.machine_config_pools = None;
    world.settle("j");
    assert_eq!(world.condition("j", "Started").as_deref(), Some("True/Started"));
    assert_eq!(
        world.condition("j", "Waiting").as_deref(),
        Some("False/NotWaiting")
    );
}

#[test]
fn times_that_contradict_each_other_cannot_be_used() {
    let held = |edit: fn(&mut UpgradeJob)| {
        let mut world = at(-30);
        edit(world.jobs.get_mut("j").unwrap());
        world.settle("j");
        assert_eq!(
            world.condition("j", "Waiting").as_deref(),
            Some("True/InvalidSpec")
        );
        world
    };
    let mut world = held(|job| job.spec.start_before = Time(START - minutes(1)));
    let message = world.message("j", "Waiting");
    assert!(
        message.contains("spec.startBefore is before spec.startAfter"),
        "{message}"
    );
    world.now = START;
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Expired"));
    let world = held(|job| job.spec.config.upgrade_timeout = "-1h".to_owned());
    let message = world.message("j", "Waiting");
    assert!(
        message.contains("spec.config.upgradeTimeout: -1h is negative"),
        "{message}"
    );
}

#[test]
fn create_hooks_run_while_it_waits_and_must_end_before_it_starts() {
    let mut world = at(-30).with_hooks([hook("announce", &[HookEvent::Create])]);
    world.settle("j");
    assert_eq!(world.hook_jobs.len(), 1);
    world.now = START;
    world.settle("j");
    assert_eq!(world.condition("j", "Started"), None);
    world.end_hooks("announce", "Complete");
    world.settle("j");
    assert_eq!(world.condition("j", "Started").as_deref(), Some("True/Started"));
}

/// What is available later is left to the next maintenance.
#[test]
fn a_newer_release_does_not_replace_the_one_that_was_pinned() {
    let mut world = at(-30);
    world.settle("j");
    let status = world.cluster.status.get_or_insert_default();
    status.available_updates.push(release("4.16.6"));
    world.now = START;
    world.settle("j");
    let asked = world.cluster.spec.desired_update.clone().unwrap();
    assert_eq!(asked.version.as_deref(), Some(NEW));
}

/// A diverging point: a Create hook that hangs delays the expiry of the original.
#[test]
fn a_create_hook_that_hangs_does_not_delay_the_expiry() {
    let mut world = at(0).with_hooks([hook("announce", &[HookEvent::Create])]);
    let decision = world.settle("j");
    assert!(
        decision.wake.unwrap() <= START + minutes(61),
        "{:?}",
        decision.wake
    );
    world.now = START + minutes(61);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Expired"));
    assert!(world.message("j", "Failed").contains("announce"));
}
