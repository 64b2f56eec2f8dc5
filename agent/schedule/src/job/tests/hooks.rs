//! Hooks (Maintenance schedules, section 3.6).

use drydock_api::fact::Unread;
use drydock_api::names::HOOK_JOB_FINALIZER;
use drydock_api::schedule::{HookClaim, HookEvent, HookRun};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::fixture::*;
use super::world::World;
use crate::job::{JobObservation, JobStep, decide};

fn world(hooks: impl IntoIterator<Item = drydock_api::schedule::UpgradeJobHook>) -> World {
    World::new([job("j")]).with_hooks(hooks)
}

#[test]
fn hooks_run_for_the_events_and_jobs_that_they_select() {
    let selecting = |value: &str| {
        let mut hook = hook("h", &[HookEvent::Start]);
        hook.spec.selector = Some(selector("tier", value));
        hook
    };
    let mut broken = hook("h", &[HookEvent::Start]);
    broken.spec.selector = Some(invalid_selector());
    for (case, hook, runs) in [
        ("all", hook("h", &[HookEvent::Start]), true),
        (
            "of several events",
            hook("h", &[HookEvent::Create, HookEvent::Start]),
            true,
        ),
        ("another event", hook("h", &[HookEvent::Finish]), false),
        ("selects it", selecting("prod"), true),
        ("selects others", selecting("dev"), false),
        ("cannot be used", broken, false),
    ] {
        let mut world = world([hook]);
        world.jobs.get_mut("j").unwrap().metadata.labels = Some(labels("tier", "prod"));
        world.settle("j");
        world.end_hooks("create", "Complete");
        world.settle("j");
        assert_eq!(world.hook_jobs.contains_key("j-hook-start-h"), runs, "{case}");
    }
}

/// It may be meant for this UpgradeJob; nobody would know that it was left out.
#[test]
fn a_hook_whose_selector_cannot_be_used_fails() {
    let mut broken = hook("h", &[HookEvent::Start]);
    broken.spec.selector = Some(invalid_selector());
    let mut ignored = world([broken.clone()]);
    ignored.settle("j");
    assert_eq!(ignored.lock(), Some("maintenance/j"));
    let entry = &ignored.tracker("j")[0];
    assert_eq!(entry.status.as_deref(), Some("failed"));
    assert!(entry.message.as_deref().unwrap().contains("spec.selector"));
    let mut aborts = world([aborting(broken)]);
    aborts.settle("j");
    assert_eq!(
        (aborts.end("j").as_deref(), aborts.lock()),
        (Some("HookFailed"), None)
    );
}

#[test]
fn all_hooks_of_an_event_start_together_and_all_must_end() {
    let mut world = world([
        hook("one", &[HookEvent::Start]),
        aborting(hook("two", &[HookEvent::Start])),
    ]);
    world.settle("j");
    assert_eq!(world.hook_jobs.len(), 2);
    world.end_hooks("two", "Complete");
    world.settle("j");
    assert_eq!(world.lock(), None);
    world.end_hooks("one", "Complete");
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
}

#[test]
fn failures_abort_or_are_ignored_for_the_events_that_can_change_the_outcome() {
    for event in [HookEvent::Create, HookEvent::Start, HookEvent::UpgradeComplete] {
        for aborts in [true, false] {
            let hook = hook("h", &[event]);
            let hook = if aborts { aborting(hook) } else { hook };
            let mut world = world([hook]);
            world.settle("j");
            world.update();
            world.settle("j");
            world.end_hooks("h", "Failed");
            world.settle("j");
            world.update();
            world.settle("j");
            let expected = if aborts { "HookFailed" } else { "Succeeded" };
            assert_eq!(world.end("j").as_deref(), Some(expected), "{event:?} {aborts}");
            assert!(world.has_said(JobStep::HookFailed));
            assert_eq!(world.lock(), None);
        }
    }
}

/// The original lists each failure twice.
#[test]
fn the_message_joins_the_failures_each_once() {
    let mut world = world([
        aborting(hook("a", &[HookEvent::Start])),
        aborting(hook("b", &[HookEvent::Start])),
    ]);
    world.settle("j");
    world.end_hooks("hook", "Failed");
    world.settle("j");
    let message = world.message("j", "Failed");
    assert_eq!(
        message,
        "hooks failed for Start: UpgradeJobHook a: the reason why; UpgradeJobHook b: the reason why"
    );
}

#[test]
fn a_hook_that_runs_for_the_next_one_is_claimed_for_good() {
    let mut once = hook("once", &[HookEvent::Start, HookEvent::Finish]);
    once.spec.run = Some(HookRun::Next);
    let mut world = World::new([job("first"), job("second")]).with_hooks([once]);
    // The claim is written before anything runs.
    let mut claimed_first = false;
    for _ in 0..4 {
        world.reconcile("first");
        let is_claimed = world.hooks["once"].status.is_some();
        claimed_first |= is_claimed && world.hook_jobs.is_empty();
    }
    assert!(claimed_first);
    let claim = world.hooks["once"].status.clone().unwrap().claimed_by;
    let expected = HookClaim {
        api_version: "managedupgrade.appuio.io/v1beta1".to_owned(),
        kind: "UpgradeJob".to_owned(),
        name: "first".to_owned(),
        uid: "uid-first".to_owned(),
    };
    assert_eq!(claim, Some(expected));
    world.settle("first");
    world.settle("second");
    assert_eq!(world.names_of_hook_jobs(), ["first-hook-start-once"]);
    world.jobs.remove("first");
    world.settle("second");
    assert!(!world.hook_jobs.contains_key("second-hook-start-once"));
}

#[test]
fn of_two_that_claim_a_hook_at_once_it_runs_for_one() {
    let mut once = hook("once", &[HookEvent::Start]);
    once.spec.run = Some(HookRun::Next);
    let mut world = World::new([job("first"), job("second")]).with_hooks([once]);
    let first = world.decide("first").writes;
    let second = world.decide("second").writes;
    assert!(world.apply(&first[0]) && !world.apply(&second[0]));
    world.settle("second");
    world.settle("first");
    assert_eq!(world.names_of_hook_jobs(), ["first-hook-start-once"]);
    assert_eq!(world.lock(), Some("maintenance/second"));
}

/// A diverging point: a hook that is created while the original runs does run for what has passed.
#[test]
fn hooks_that_come_late_never_join_what_has_passed() {
    let late = |event| {
        let mut hook = aborting(hook("late", &[event]));
        hook.metadata.creation_timestamp = Some(Time(START + minutes(1)));
        hook
    };
    for event in [HookEvent::Create, HookEvent::Start, HookEvent::UpgradeComplete] {
        // Another hook makes the event wait, or nothing does.
        for others in [vec![hook("other", &[event])], Vec::new()] {
            let mut world = world(others);
            world.settle("j");
            world.end_hooks("create", "Complete");
            world.end_hooks("start", "Complete");
            world.settle("j");
            world.begin_update();
            world.complete_update();
            world.settle("j");
            world.now = START + minutes(2);
            world.hooks.insert("late".to_owned(), late(event));
            world.settle("j");
            world.end_hooks("other", "Complete");
            world.update_nodes();
            world.settle("j");
            assert!(
                !world.hook_jobs.keys().any(|name| name.ends_with("late")),
                "{event:?}"
            );
            assert_eq!(world.end("j").as_deref(), Some("Succeeded"), "{event:?}");
        }
    }
}

/// An edit cannot join either: which hooks run is decided once.
#[test]
fn a_hook_that_is_edited_does_not_join_what_has_been_announced() {
    let mut world = world([
        hook("one", &[HookEvent::Start]),
        hook("two", &[HookEvent::Finish]),
    ]);
    world.settle("j");
    world.hooks.get_mut("two").unwrap().spec.events = Some(vec![HookEvent::Start]);
    world.settle("j");
    assert_eq!(world.names_of_hook_jobs(), ["j-hook-start-one"]);
    // Nor does an edit of its failure policy stop a maintenance that has gone on.
    world.end_hooks("one", "Failed");
    world.settle("j");
    world.hooks.get_mut("one").unwrap().spec.failure_policy =
        Some(drydock_api::schedule::HookFailurePolicy::Abort);
    world.settle("j");
    assert_eq!(world.end("j"), None);
}

/// While pools are still to be upgraded UpgradeComplete has passed.
#[test]
fn a_hook_that_is_edited_does_not_join_an_upgrade_that_is_complete() {
    let mut world =
        world([aborting(hook("h", &[HookEvent::Create]))]).with_pools([paused(outdated(pool("worker")))]);
    world.settle("j");
    world.end_hooks("create", "Complete");
    world.settle("j");
    world.update();
    world.settle("j");
    assert_eq!(world.condition("j", "Paused").as_deref(), Some("True/DelaySet"));
    world.hooks.get_mut("h").unwrap().spec.events = Some(vec![HookEvent::UpgradeComplete]);
    world.settle("j");
    assert_eq!(world.names_of_hook_jobs(), ["j-hook-create-h"]);
    world.set_paused("worker", false);
    world.update_nodes();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

/// All hooks of an event start together: none before one that has to be claimed is claimed.
#[test]
fn a_hook_that_is_claimed_starts_with_the_others() {
    let mut once = hook("once", &[HookEvent::Start]);
    once.spec.run = Some(HookRun::Next);
    let mut world = world([once, hook("always", &[HookEvent::Start])]);
    for _ in 0..4 {
        world.reconcile("j");
        assert_ne!(world.tracker("j").len(), 1, "one of them starts alone");
    }
    world.settle("j");
    assert_eq!(
        world.names_of_hook_jobs(),
        ["j-hook-start-always", "j-hook-start-once"]
    );
}

#[test]
fn a_finished_job_may_go_once_its_end_is_recorded_and_is_not_run_again() {
    let mut world = world([hook("h", &[HookEvent::Start])]);
    world.settle("j");
    assert_eq!(world.tracker("j")[0].status.as_deref(), Some("active"));
    assert_eq!(
        world.hook_jobs["j-hook-start-h"].finalizers(),
        [HOOK_JOB_FINALIZER]
    );
    world.end_hooks("h", "Complete");
    // The process ends when the status is written.
    world.reconcile_until("j", 1);
    assert_eq!(world.tracker("j")[0].status.as_deref(), Some("complete"));
    assert_eq!(
        world.hook_jobs["j-hook-start-h"].finalizers(),
        [HOOK_JOB_FINALIZER]
    );
    world.settle("j");
    assert!(world.hook_jobs["j-hook-start-h"].finalizers().is_empty());
    world.delete_hook_jobs("h");
    assert!(world.hook_jobs.is_empty());
    world.settle("j");
    assert_eq!(world.created.len(), 1);
    assert_eq!(world.tracker("j")[0].status.as_deref(), Some("complete"));
}

/// A Job that is deleted never ends by itself: its controller leaves it alone.
#[test]
fn a_job_that_is_deleted_before_its_end_has_failed() {
    for force in [false, true] {
        let mut world = world([aborting(hook("h", &[HookEvent::Start]))]);
        world.settle("j");
        if force {
            world.hook_jobs.clear();
        } else {
            world.delete_hook_jobs("h");
        }
        world.settle("j");
        assert_eq!(world.end("j").as_deref(), Some("HookFailed"));
        assert!(world.hook_jobs.is_empty());
        assert_eq!(world.created.len(), 1);
    }
}

#[test]
fn a_job_that_was_announced_is_created_after_a_crash() {
    let mut world = world([hook("h", &[HookEvent::Start])]);
    world.reconcile_until("j", 1);
    assert_eq!(world.tracker("j")[0].status, None);
    assert!(world.hook_jobs.is_empty());
    world.settle("j");
    assert_eq!(world.hook_jobs.len(), 1);
}

#[test]
fn of_a_hook_that_is_deleted_the_end_is_waited_for() {
    let mut world = world([aborting(hook("h", &[HookEvent::Start]))]);
    world.settle("j");
    world.hooks.clear();
    world.settle("j");
    assert_eq!(world.lock(), None, "its Job still runs");
    // Whether that aborts is not known any more.
    let name = world.hook_jobs.keys().next().unwrap().clone();
    world.end_hooks(&name, "Failed");
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
    // Even where its Job was not created yet.
    let mut world = self::world([hook("h", &[HookEvent::Start])]);
    world.reconcile_until("j", 1);
    world.hooks.clear();
    world.settle("j");
    assert_eq!(world.tracker("j")[0].status.as_deref(), Some("failed"));
    assert_eq!(world.lock(), Some("maintenance/j"));
}

#[test]
fn a_hook_without_a_job_fails() {
    let mut empty = aborting(hook("h", &[HookEvent::Start]));
    empty.spec.template = None;
    let mut world = world([empty]);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("HookFailed"));
    assert!(
        world
            .message("j", "Failed")
            .contains("spec.template.spec is missing")
    );
}

#[test]
fn the_tracker_is_sorted_by_hook_event_and_key() {
    let events = [HookEvent::Start, HookEvent::Create];
    let mut world = world([hook("b", &events), hook("a", &events)]);
    world.settle("j");
    world.end_hooks("create", "Complete");
    world.settle("j");
    let entries = world.tracker("j").into_iter();
    let keys: Vec<_> = entries
        .map(|entry| {
            format!(
                "{}/{}",
                entry.upgrade_job_hook.unwrap(),
                entry.hook_event.unwrap()
            )
        })
        .collect();
    assert_eq!(keys, ["a/Create", "a/Start", "b/Create", "b/Start"]);
}

#[test]
fn without_the_hooks_nothing_goes_on() {
    let mut seen = JobObservation::new(job("j"), START - minutes(10));
    seen.hooks = Ok(Vec::new());
    seen.hook_jobs = Err(Unread::Failed("x".to_owned()));
    let decision = decide(&seen);
    let conditions = decision.status.conditions.unwrap_or_default();
    assert!(drydock_api::conditions::is_true(&conditions, "Waiting"));
    assert!(decision.wake.is_some() && decision.writes.is_empty());
}

#[test]
fn whether_a_hook_can_be_used_is_said_in_its_status() {
    let usable = hook("h", &[HookEvent::Start]);
    let mut selector = usable.clone();
    selector.spec.selector = Some(invalid_selector());
    let mut template = usable.clone();
    template.spec.template = None;
    let mut deep = usable.clone();
    let levels = "[".repeat(1000) + &"]".repeat(1000);
    let text = format!(r#"{{"spec":{{"template":{levels}}}}}"#);
    deep.spec.template = Some(serde_json::from_str(&text).unwrap());
    let silent = hook("h", &[]);
    for (hook, expected) in [
        (deep, "False/InvalidTemplate"),
        (usable, "True/Usable"),
        (selector, "False/InvalidSelector"),
        (template, "False/InvalidTemplate"),
        (silent, "False/NoEvents"),
    ] {
        let status = super::super::hooks::hook_status(&hook, START);
        let ready = &status.conditions.unwrap()[0];
        assert_eq!(format!("{}/{}", ready.status, ready.reason), expected);
    }
}

/// One that a server will never take is not created for ever.
#[test]
fn a_job_that_the_server_refuses_has_failed() {
    let mut world = world([aborting(hook("h", &[HookEvent::Start]))]);
    world.refused = vec![crate::job::write::WrittenKind::Job];
    world.settle("j");
    assert_eq!(world.end("j"), None);
    let name = "j-hook-start-h".to_owned();
    let refused = [(name, "spec.template: Invalid value".to_owned())];
    world.refused_hook_jobs = refused.into();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("HookFailed"));
    assert!(world.message("j", "Failed").contains("Invalid value"));
}
