//! Notifications (Maintenance schedules, section 6, and the design document: every step is notified, a skipped upgrade says why).

use drydock_api::schedule::JobNotification;
use serde_json::json;

use super::fixture::*;
use super::world::World;
use crate::job::notification::payload;

fn world(receivers: Vec<JobNotification>) -> World {
    let mut job = job("j");
    job.spec.config.notifications = Some(receivers);
    World::new([job])
}

fn raised(world: &World) -> Vec<String> {
    let status = world.jobs["j"].status.clone().unwrap();
    let notifications = status.notifications.unwrap_or_default();
    notifications.into_iter().map(|raised| raised.event).collect()
}

/// What the receiver gets of the newest notification.
fn newest(world: &World) -> serde_json::Value {
    let job = &world.jobs["j"];
    let notifications = job.status.as_ref().unwrap().notifications.as_ref().unwrap();
    let payload = payload(
        job,
        notifications.last().unwrap(),
        &receiver(),
        Some(OLD.to_owned()),
    );
    json!(payload)
}

#[test]
fn every_step_is_notified_once() {
    let mut world = world(vec![receiver()]);
    world.settle("j");
    world.update();
    world.settle("j");
    world.settle("j");
    assert_eq!(
        raised(&world),
        [
            "UpgradeScheduled",
            "UpgradeStarted",
            "PreHealthCheckCompleted",
            "UpgradeCommenced",
            "UpgradeCompleted",
            "PostHealthCheckCompleted",
            "UpgradeSucceeded",
        ]
    );
    assert_eq!(
        newest(&world),
        json!({
            "version": OLD,
            "type": "UpgradeSucceeded",
            "status": "True",
            "reason": "Succeeded",
            "message": "the cluster has been upgraded to 4.16.5",
            "desiredVersion": { "version": NEW, "image": image(NEW) },
            "annotations": { "cluster": "c-one" },
        })
    );
}

#[test]
fn a_skipped_upgrade_says_why() {
    let mut suspended = world(vec![receiver()]);
    suspended.windows = vec![window("xmas")];
    suspended.settle("j");
    let mut withdrawn = world(vec![receiver()]);
    withdrawn.cluster.status.as_mut().unwrap().available_updates = Vec::new().into();
    withdrawn.settle("j");
    let mut unhealthy = world(vec![receiver()]);
    unhealthy.operators = vec![operator("dns", "Degraded", "True")];
    unhealthy.settle("j");
    unhealthy.now += minutes(61);
    unhealthy.settle("j");
    for (world, reason, message) in [
        (suspended, "Skipped", "holidays"),
        (withdrawn, "UpgradeWithdrawn", "not among the available updates"),
        (unhealthy, "ClusterUnhealthy", "dns is degraded"),
    ] {
        let payload = newest(&world);
        assert_eq!(payload["type"], "UpgradeSkipped");
        assert_eq!(payload["reason"], reason);
        let text = payload["message"].as_str().unwrap();
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn only_what_a_receiver_wants_is_kept() {
    let mut some = receiver();
    some.events = Some(vec!["UpgradeStarted".to_owned()]);
    for (receivers, expected) in [(vec![some], vec!["UpgradeStarted"]), (vec![], vec![])] {
        let mut world = world(receivers);
        world.settle("j");
        assert_eq!(raised(&world), expected);
    }
}

/// What has been sent is written by others, and stays.
#[test]
fn what_is_known_of_a_delivery_is_kept() {
    let mut world = world(vec![receiver()]);
    world.settle("j");
    let job = world.jobs.get_mut("j").unwrap();
    let notifications = job.status.as_mut().unwrap().notifications.as_mut().unwrap();
    notifications[0].delivered_to = Some(vec!["digest".to_owned()]);
    let before = notifications.clone();
    world.update();
    world.settle("j");
    let status = world.jobs["j"].status.clone().unwrap();
    assert_eq!(status.notifications.unwrap()[..before.len()], before);
}

#[test]
fn a_wait_is_notified_with_its_reason() {
    let mut world = world(vec![receiver()]);
    world.cluster.metadata.annotations =
        Some(labels("managedupgrade.appuio.io/upgrade-job", "someone.else/x"));
    world.settle("j");
    let payload = newest(&world);
    assert_eq!(payload["type"], "UpgradeWaiting");
    assert_eq!(payload["reason"], "LockHeld");
    assert!(payload["message"].as_str().unwrap().contains("someone.else/x"));
}

/// What comes again is news: another reason at once, the same words an hour later; and the list stays short.
#[test]
fn what_happens_again_is_notified_again() {
    let mut world = world(vec![receiver()]);
    let waits = |world: &World| {
        let raised = raised(world);
        raised.iter().filter(|event| *event == "UpgradeWaiting").count()
    };
    let lock = |world: &mut World, holder: Option<&str>| {
        world.cluster.metadata.annotations =
            holder.map(|holder| labels("managedupgrade.appuio.io/upgrade-job", holder));
        world.unreadable = vec![crate::job::Need::Pools];
        world.settle("j");
        world.unreadable.clear();
    };
    lock(&mut world, None);
    assert_eq!(waits(&world), 1);
    world.cluster.metadata.annotations =
        Some(labels("managedupgrade.appuio.io/upgrade-job", "someone.else/x"));
    world.settle("j");
    assert_eq!(waits(&world), 2, "for another reason");
    for _ in 0..3 {
        world.now += minutes(1);
        lock(&mut world, Some("someone.else/x"));
        world.settle("j");
    }
    assert_eq!(waits(&world), 2, "not each minute");
    world.now += minutes(61);
    lock(&mut world, Some("someone.else/x"));
    assert_eq!(waits(&world), 3);
    for _ in 0..200 {
        world.now += minutes(3);
        lock(&mut world, Some("someone.else/x"));
        world.settle("j");
    }
    assert!(raised(&world).len() <= 64);
}
