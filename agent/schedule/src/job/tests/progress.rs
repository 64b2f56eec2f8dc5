//! The steps of an upgrade (Maintenance schedules, sections 3.1 to 3.3).

use drydock_api::openshift::cluster_version::DesiredUpdate;
use drydock_api::schedule::{DesiredVersion, HookEvent, UpgradeJobStatus};
use serde_json::json;

use super::fixture::*;
use super::world::World;
use crate::job::{JobStep, JobWrite, Need};

fn conditions(world: &World) -> Vec<String> {
    let status = world.jobs["j"].status.clone().unwrap();
    let conditions = status.conditions.unwrap_or_default();
    conditions
        .iter()
        .map(|condition| format!("{}={}/{}", condition.type_, condition.status, condition.reason))
        .collect()
}

#[test]
fn an_upgrade_goes_through_all_its_conditions() {
    let mut world = World::new([job("j")]).with_pools([pool("master"), pool("worker")]);
    world.settle("j");
    assert_eq!(
        conditions(&world),
        [
            "Started=True/Started",
            "MachineConfigPoolsPaused=False/NoManagedPools",
            "PreHealthCheckDone=True/Completed",
            "UpgradeCompleted=False/InProgress",
        ]
    );
    let asked = world.cluster.spec.desired_update.clone().unwrap();
    assert_eq!(
        (asked.version.as_deref(), asked.image),
        (Some(NEW), Some(image(NEW)))
    );
    assert_eq!(world.lock(), Some("maintenance/j"));
    world.begin_update();
    world.now += hours(1);
    world.complete_update();
    world.settle("j");
    // Nodes of pools that are not paused are waited for.
    assert_eq!(
        world.condition("j", "UpgradeCompleted").as_deref(),
        Some("False/InProgress")
    );
    assert!(world.message("j", "UpgradeCompleted").contains("master, worker"));
    world.update_nodes();
    let decision = world.settle("j");
    assert_eq!(
        conditions(&world)[3..],
        [
            "UpgradeCompleted=True/Completed",
            "PostHealthCheckDone=True/Completed",
            "Paused=False/DelaySet",
            "Succeeded=True/Succeeded",
        ]
    );
    assert_eq!((world.lock(), decision.wake), (None, None));
    for step in [
        JobStep::UpgradeStarted,
        JobStep::PreHealthCheckCompleted,
        JobStep::UpgradeCommenced,
        JobStep::UpgradeCompleted,
        JobStep::PostHealthCheckCompleted,
        JobStep::UpgradeSucceeded,
    ] {
        let said = world.said.iter().filter(|event| event.step == step).count();
        assert_eq!(said, 1, "{step:?}");
    }
}

#[test]
fn what_the_cluster_has_been_asked_for_is_kept_whatever_becomes_of_the_spec() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.begin_update();
    let mut other = world.jobs["j"].spec.desired_version.clone().unwrap();
    other.version = Some("4.99.1".to_owned());
    other.image = Some(image("4.99.1"));
    for edited in [None, Some(DesiredVersion::default()), Some(other)] {
        world.jobs.get_mut("j").unwrap().spec.desired_version = edited;
        world.settle("j");
        let asked = world.cluster.spec.desired_update.clone().unwrap();
        assert_eq!(asked.version.as_deref(), Some(NEW));
        assert_eq!(
            world.condition("j", "UpgradeCompleted").as_deref(),
            Some("False/InProgress")
        );
        let message = world.message("j", "UpgradeCompleted");
        assert!(
            message.contains("has been changed since, which is ignored"),
            "{message}"
        );
        assert_eq!((world.lock(), world.end("j")), (Some("maintenance/j"), None));
    }
    world.complete_update();
    world.update_nodes();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
    assert!(world.message("j", "Succeeded").contains(NEW));
}

#[test]
fn a_cluster_that_somebody_sends_elsewhere_in_mid_upgrade_is_left_to_them() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.begin_update();
    world.settle("j");
    // A rollback, as oc does it; the cluster takes it up.
    world.now += minutes(10);
    let back = DesiredUpdate {
        version: Some("4.14.1".to_owned()),
        ..DesiredUpdate::default()
    };
    world.cluster.spec.desired_update = Some(back.clone());
    let status = world.cluster.status.get_or_insert_default();
    let mut entries: Vec<_> = status.history.iter().cloned().collect();
    entries.insert(0, history("4.14.1", "Partial", world.now));
    status.history = entries.into();
    world.touch_cluster();
    world.settle("j");
    assert_eq!(world.cluster.spec.desired_update, Some(back));
    let message = world.message("j", "UpgradeCompleted");
    assert!(
        message.contains("has been replaced by one to 4.14.1"),
        "{message}"
    );
    assert_eq!((world.lock(), world.end("j")), (Some("maintenance/j"), None));
}

#[test]
fn what_a_status_claims_before_anything_was_asked_for_does_not_count() {
    let mut forged = job("j");
    forged.status = Some(UpgradeJobStatus {
        requested_version: Some(DesiredVersion {
            version: Some("4.99.1".to_owned()),
            ..DesiredVersion::default()
        }),
        ..UpgradeJobStatus::default()
    });
    let mut world = World::new([forged]);
    world.settle("j");
    let asked = world.cluster.spec.desired_update.clone().unwrap();
    assert_eq!(asked.version.as_deref(), Some(NEW));
}

/// The original's definition prunes fields of the status that it does not know.
#[test]
fn an_upgrade_that_is_under_way_is_awaited_though_nothing_says_its_release() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.begin_update();
    for _ in 0..3 {
        let job = world.jobs.get_mut("j").unwrap();
        job.spec.desired_version = None;
        job.status.as_mut().unwrap().requested_version = None;
        world.settle("j");
        assert_eq!((world.lock(), world.end("j")), (Some("maintenance/j"), None));
    }
    world.complete_update();
    world.update_nodes();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

/// A job without a release runs the whole flow and its hooks, and never sets UpgradeCompleted.
#[test]
fn without_a_release_only_hooks_run() {
    let mut noop = job("j");
    noop.spec.desired_version = None;
    let events = [HookEvent::Start, HookEvent::UpgradeComplete];
    let mut world = World::new([noop]).with_hooks([hook("h", &events)]);
    world.settle("j");
    world.end_hooks("start", "Complete");
    world.settle("j");
    world.end_hooks("upgradecomplete", "Complete");
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
    assert_eq!(world.condition("j", "UpgradeCompleted"), None);
    assert_eq!(world.cluster.spec.desired_update, None);
    assert_eq!(world.lock(), None);
}

#[test]
fn a_release_that_is_not_available_with_version_and_image_is_withdrawn() {
    let world = || World::new([job("j")]);
    let mut other_image = world();
    let status = other_image.cluster.status.get_or_insert_default();
    status.available_updates[0].image = Some("another".to_owned());
    let mut conditional = world();
    let status = conditional.cluster.status.get_or_insert_default();
    status.conditional_updates = serde_json::from_value(json!([{ "release": release(NEW) }])).unwrap();
    status.available_updates = Vec::new().into();
    let mut unchecked = other_image.clone();
    unchecked
        .jobs
        .get_mut("j")
        .unwrap()
        .spec
        .desired_version_check_availability = Some(false);
    let mut asked = other_image.clone();
    asked.cluster.spec.desired_update = Some(DesiredUpdate {
        version: Some(NEW.to_owned()),
        image: Some(image(NEW)),
        ..DesiredUpdate::default()
    });
    for (case, mut world, end) in [
        ("available", world(), None),
        ("another image", other_image, Some("UpgradeWithdrawn")),
        ("conditional", conditional, Some("UpgradeWithdrawn")),
        ("not checked", unchecked, None),
        ("asked for already", asked, None),
    ] {
        world.settle("j");
        assert_eq!(world.end("j").as_deref(), end, "{case}");
        assert_eq!(
            world.cluster.spec.desired_update.is_some(),
            end.is_none(),
            "{case}"
        );
    }
}

#[test]
fn the_desired_update_is_written_whole() {
    let mut forced = job("j");
    forced.spec.desired_version.as_mut().unwrap().force = Some(true);
    let mut world = World::new([forced]);
    world.cluster.spec.desired_update = serde_json::from_value(json!({
        "version": OLD, "image": "x", "acceptRisks": [{ "name": "Risk" }], "architecture": "Multi",
    }))
    .unwrap();
    world.settle("j");
    let update = json!(world.cluster.spec.desired_update);
    assert_eq!(
        update,
        json!({ "version": NEW, "image": image(NEW), "force": true })
    );
}

/// A diverging point: an entry from before says only that the cluster has run the release once.
#[test]
fn only_what_completes_after_the_cluster_was_asked_counts() {
    let mut world = World::new([job("j")]);
    let status = world.cluster.status.get_or_insert_default();
    status.history.push(history(NEW, "Completed", START - hours(200)));
    world.settle("j");
    assert_eq!(
        world.condition("j", "UpgradeCompleted").as_deref(),
        Some("False/InProgress")
    );
    world.begin_update();
    world.settle("j");
    assert_eq!(
        world.condition("j", "UpgradeCompleted").as_deref(),
        Some("False/InProgress")
    );
    world.now += hours(1);
    world.complete_update();
    // Somebody goes on to another release before we look.
    let status = world.cluster.status.get_or_insert_default();
    status.history.insert(0, history("4.16.6", "Partial", world.now));
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

#[test]
fn what_has_begun_is_not_asked_for_again() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.begin_update();
    // Somebody clears the desired update: the cluster goes on.
    world.cluster.spec.desired_update = None;
    world.touch_cluster();
    world.settle("j");
    assert_eq!(world.end("j"), None);
    assert_eq!(world.cluster.spec.desired_update, None);
    world.now += hours(1);
    world.complete_update();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

#[test]
fn why_the_cluster_makes_no_progress_is_said() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    let status = world.cluster.status.get_or_insert_default();
    status.conditions = serde_json::from_value(json!([
        { "type": "ReleaseAccepted", "status": "False", "reason": "PreconditionChecks", "message": "not upgradeable" },
    ]))
    .unwrap();
    world.settle("j");
    let message = world.message("j", "UpgradeCompleted");
    assert!(
        message.contains("PreconditionChecks: not upgradeable"),
        "{message}"
    );
}

/// What somebody else has just asked for has no entry in the history yet.
#[test]
fn what_others_have_just_asked_for_is_waited_for_unless_it_is_refused() {
    let mut idle = job("j");
    idle.spec.desired_version = None;
    for job in [job("j"), idle] {
        let mut world = World::new([job]);
        world.cluster.spec.desired_update = Some(DesiredUpdate {
            version: Some("4.17.0".to_owned()),
            ..DesiredUpdate::default()
        });
        world.settle("j");
        assert_eq!(
            world.condition("j", "Waiting").as_deref(),
            Some("True/UpgradeInProgress")
        );
        assert!(world.message("j", "Waiting").contains("4.17.0"));
        let desired = world.cluster.spec.desired_update.as_ref();
        assert_eq!(
            desired.and_then(|desired| desired.version.as_deref()),
            Some("4.17.0")
        );
        let status = world.cluster.status.get_or_insert_default();
        status.conditions =
            serde_json::from_value(json!([{ "type": "Invalid", "status": "True", "reason": "NotFound" }]))
                .unwrap();
        world.settle("j");
        assert_eq!(world.condition("j", "Started").as_deref(), Some("True/Started"));
    }
}

/// The history has the image from where it was fetched.
#[test]
fn an_old_request_for_what_runs_by_another_image_holds_nothing() {
    let mut world = World::new([job("j")]);
    world.cluster.spec.desired_update = Some(DesiredUpdate {
        version: Some(OLD.to_owned()),
        image: Some("mirror.example.com/release@sha256:old".to_owned()),
        ..DesiredUpdate::default()
    });
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
}

#[test]
fn the_release_says_whether_it_is_for_several_architectures() {
    let mut multi = job("j");
    let target = multi.spec.desired_version.as_mut().unwrap();
    target.version = Some(OLD.to_owned());
    target.image = None;
    target.architecture = Some("Multi".to_owned());
    multi.spec.desired_version_check_availability = Some(false);
    let mut world = World::new([multi]);
    world.settle("j");
    assert_eq!(
        world.condition("j", "UpgradeCompleted").as_deref(),
        Some("False/InProgress")
    );
    let status = world.cluster.status.get_or_insert_default();
    status.desired = serde_json::from_value(json!({ "version": OLD, "architecture": "Multi" })).unwrap();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

#[test]
fn times_of_transition_move_only_with_the_status() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    let times = |world: &World| {
        let status = world.jobs["j"].status.clone().unwrap();
        let conditions = status.conditions.unwrap().into_iter();
        conditions
            .map(|condition| condition.last_transition_time.0)
            .collect::<Vec<_>>()
    };
    let before = times(&world);
    world.now += minutes(10);
    world.begin_update();
    let writes = world.written.len();
    world.settle("j");
    assert_eq!(times(&world), before);
    assert_eq!(world.written.len(), writes);
    let status = world.jobs["j"].status.clone().unwrap();
    assert!(
        status
            .conditions
            .unwrap()
            .iter()
            .all(|condition| condition.observed_generation == Some(1))
    );
}

/// A condition that becomes something else is news; that its message changes is none.
#[test]
fn a_change_of_status_or_reason_is_said_once() {
    let said = |world: &World, step: JobStep| world.said.iter().filter(|event| event.step == step).count();
    let mut world = World::new([job("j"), job("other")]);
    world.settle("other");
    world.settle("j");
    assert_eq!(world.condition("j", "Waiting").as_deref(), Some("True/LockHeld"));
    assert_eq!(said(&world, JobStep::UpgradeWaiting), 1);
    // Another reason, for the same status.
    world.unreadable = vec![Need::ClusterVersion];
    world.settle("j");
    assert_eq!(
        world.condition("j", "Waiting").as_deref(),
        Some("True/Unreadable")
    );
    assert_eq!(said(&world, JobStep::UpgradeWaiting), 2);
    // Another status, for the same reason.
    let mut delaying = job("j");
    delaying.spec.config.machine_config_pools = Some(vec![delay("worker", Some("1h"), None)]);
    let mut world = World::new([delaying]).with_pools([pool("worker"), pool("infra")]);
    world.settle("j");
    assert_eq!(said(&world, JobStep::MachineConfigPoolsPaused), 1);
    assert_eq!(said(&world, JobStep::MachineConfigPoolsUnpaused), 0);
    world.now = START + hours(1);
    world.settle("j");
    assert_eq!(
        world.condition("j", "MachineConfigPoolsPaused").as_deref(),
        Some("False/DelaySet")
    );
    assert_eq!(said(&world, JobStep::MachineConfigPoolsUnpaused), 1);
    // Another message only.
    world.begin_update();
    world.complete_update();
    world.settle("j");
    assert!(world.message("j", "UpgradeCompleted").contains("infra, worker"));
    assert_eq!(said(&world, JobStep::UpgradeCommenced), 1);
}

#[test]
fn the_cluster_is_asked_only_after_the_status_says_so() {
    let mut world = World::new([job("j")]);
    for _ in 0..10 {
        let decision = world.decide("j");
        let asks = decision
            .writes
            .iter()
            .any(|write| matches!(write, JobWrite::SetDesiredUpdate { .. }));
        let conditions = decision.status.conditions.unwrap_or_default();
        let announced = drydock_api::conditions::is_false(&conditions, "UpgradeCompleted");
        assert!(!asks || announced);
        world.reconcile("j");
    }
    assert!(world.cluster.spec.desired_update.is_some());
}
