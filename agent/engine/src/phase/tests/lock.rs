//! One upgrade at a time on a cluster, whoever makes it.

use super::*;

/// An agent that has to take the lock itself.
fn agent() -> Agent {
    Agent {
        is_lock_granted: false,
        ..Agent::new()
    }
}

fn held_by(agent: &mut Agent, holder: &str, uid: Option<&str>) {
    agent.cluster().lock = Some(LockHolder {
        holder: holder.to_owned(),
        uid: uid.map(str::to_owned),
    });
}

#[test]
fn the_lock_is_taken_before_anything_is_done() {
    let mut agent = agent();
    agent.look();
    let take = [Command::TakeLock(agent.seen.key.clone())];
    assert_eq!(agent.look().0, take);
    // That of a namesake that is gone is as good as none.
    let holder = agent.seen.key.holder.clone();
    held_by(&mut agent, &holder, Some("another"));
    assert_eq!(agent.look().0, take);
    held_by(&mut agent, &holder, Some("1"));
    let (commands, _) = agent.look();
    assert!(
        matches!(&commands[..], [Command::SetDesiredUpdate { .. }]),
        "{commands:?}"
    );
}

#[test]
fn who_waits_for_the_lock_says_for_whom_and_does_nothing() {
    let mut agent = agent();
    held_by(&mut agent, "maintenance/nights-4-14-12-1", Some("7"));
    agent.look();
    assert_eq!(agent.look().0, []);
    let (status, why) = agent.says(ConditionType::StartedNotificationSent);
    assert_eq!(status, "False");
    assert!(
        why.contains("waiting for UpgradeJob maintenance/nights-4-14-12-1"),
        "{why}"
    );
    let warned = agent
        .published
        .iter()
        .filter(|reason| **reason == "WaitingForLock");
    assert_eq!(warned.count(), 1, "{:?}", agent.published);
}

/// It is the condition that is read first, on the hub above all.
#[test]
fn what_waits_stays_first_when_the_upgrade_is_reported_to_be_late() {
    let mut agent = agent();
    held_by(&mut agent, "maintenance/nights-4-14-12-1", Some("7"));
    agent.look();
    agent.look();
    agent.wait(31);
    agent.look();
    let conditions = agent.entry().conditions.as_deref().unwrap();
    let newest: Vec<&str> = conditions
        .iter()
        .take(2)
        .map(|condition| condition.type_.as_str())
        .collect();
    assert_eq!(newest, ["StartedNotificationSent", "UpgradeDelayedCheck"]);
}

#[test]
fn what_has_commenced_goes_on_whoever_has_the_lock() {
    let mut agent = upgrading(true, false);
    agent.is_lock_granted = false;
    held_by(&mut agent, "maintenance/one", None);
    agent.cluster().history[0].completed = true;
    agent.workers(3, 3);
    for _ in 0..3 {
        agent.look();
    }
    assert_eq!(agent.entry().phase, UpgradePhase::Upgraded);
}

#[test]
fn the_lock_is_free_again_once_nothing_is_under_way() {
    let mut agent = agent();
    let key = agent.seen.key.clone();
    held_by(&mut agent, &key.holder, Some(&key.uid));
    agent.seen.spec.upgrade_at = "2099-01-01T00:00:00Z".to_owned();
    let decision = agent.pass();
    assert_eq!(decision.commands, [Command::ReleaseLock]);
    assert!(decision.needs_finalizer);
    agent.cluster().lock = None;
    let decision = agent.pass();
    assert!(decision.commands.is_empty() && !decision.needs_finalizer);
}

#[test]
fn an_update_that_somebody_else_has_begun_is_waited_for() {
    let mut agent = agent();
    let begun = HistoryEntry {
        version: "4.14.11".to_owned(),
        image: String::new(),
        completed: false,
        started: None,
    };
    agent.cluster().history.insert(0, begun);
    agent.look();
    assert_eq!(agent.look().0, []);
    let (_, why) = agent.says(ConditionType::StartedNotificationSent);
    assert!(
        why.contains("waiting for the update of the cluster to 4.14.11, which is under way"),
        "{why}"
    );
    agent.cluster().history[0].completed = true;
    assert_eq!(agent.look().0, [Command::TakeLock(agent.seen.key.clone())]);
}

#[test]
fn what_the_holder_of_the_lock_has_asked_for_is_not_this_upgrade() {
    let mut agent = agent();
    held_by(&mut agent, "maintenance/one", Some("7"));
    commence(&mut agent.seen);
    agent.look();
    assert_eq!(agent.look().0, []);
    let (status, why) = agent.says(ConditionType::StartedNotificationSent);
    assert_eq!(status, "False");
    assert!(why.contains("UpgradeJob maintenance/one"), "{why}");
}

/// What an UpgradeJob has begun, which somebody has deleted then, is taken over with its lock, or not at all.
#[test]
fn an_update_that_is_under_way_already_is_taken_over_with_the_lock() {
    let mut agent = agent();
    held_by(&mut agent, "maintenance/a", None);
    agent.look();
    agent.look();
    commence(&mut agent.seen);
    agent.cluster().lock = None;
    assert_eq!(agent.look().0, [Command::TakeLock(agent.seen.key.clone())]);
    held_by(&mut agent, "maintenance/b", None);
    assert_eq!(agent.look().0, []);
    let (_, why) = agent.says(ConditionType::StartedNotificationSent);
    assert!(why.contains("maintenance/b"), "{why}");
    // One that has commenced takes a lock that is lost.
    let mut commenced = upgrading(true, false);
    commenced.is_lock_granted = false;
    commenced.cluster().lock = None;
    assert_eq!(
        commenced.look().0,
        [Command::TakeLock(commenced.seen.key.clone())]
    );
}

#[test]
fn an_update_that_somebody_else_has_just_asked_for_is_waited_for() {
    let mut agent = agent();
    agent.cluster().asked = Some(ReleaseRef {
        version: "4.14.11".to_owned(),
        image: String::new(),
    });
    agent.look();
    assert_eq!(agent.look().0, []);
    let (_, why) = agent.says(ConditionType::StartedNotificationSent);
    assert!(
        why.contains("waiting for the update of the cluster to 4.14.11"),
        "{why}"
    );
    agent.cluster().refusal = Some("it is not signed".to_owned());
    assert_eq!(agent.look().0, [Command::TakeLock(agent.seen.key.clone())]);
}

/// It has the lock already and waits for something else when somebody asks without it.
#[test]
fn an_update_that_somebody_asks_for_meanwhile_is_waited_for_with_the_lock_too() {
    let mut agent = Agent::new();
    agent.unhealthy = vec![UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    agent.look();
    agent.look();
    assert!(agent.seen.cluster.as_ref().unwrap().lock.is_some());
    agent.unhealthy.clear();
    agent.cluster().asked = Some(ReleaseRef {
        version: "4.14.11".to_owned(),
        image: String::new(),
    });
    assert_eq!(agent.look().0, []);
    let (_, why) = agent.says(ConditionType::StartedNotificationSent);
    assert!(
        why.contains("waiting for the update of the cluster to 4.14.11"),
        "{why}"
    );
}

/// An image has no version until it has begun, and may have been mirrored: what is known of it counts.
#[test]
fn an_update_that_is_asked_for_by_image_alone_is_waited_for() {
    let waits_for = |image: &str, offered: Option<&str>| {
        let mut agent = agent();
        let image = image.to_owned();
        agent.cluster().history[0].image = "registry/release@sha256:running".to_owned();
        agent.cluster().offered.extend(offered.map(|version| ReleaseRef {
            version: version.to_owned(),
            image: image.clone(),
        }));
        agent.cluster().asked = Some(ReleaseRef {
            version: String::new(),
            image,
        });
        agent.look();
        let (commands, _) = agent.look();
        commands.is_empty()
    };
    assert!(waits_for("registry/release@sha256:other", None));
    assert!(waits_for("registry/release@sha256:other", Some("4.14.13")));
    // The one that is asked for, and the one that runs.
    assert!(!waits_for("registry/release@sha256:other", Some("4.14.12")));
    assert!(!waits_for("registry/release@sha256:running", None));
    assert!(!waits_for("", None));
}

#[test]
fn the_nodes_of_an_update_before_are_waited_for() {
    let mut agent = agent();
    agent.workers(3, 1);
    agent.look();
    assert_eq!(agent.look().0, []);
    let (_, why) = agent.says(ConditionType::StartedNotificationSent);
    assert!(
        why.contains("whose machine config pools are being updated: worker"),
        "{why}"
    );
    // Nobody waits for a pool that is paused, or stuck.
    let take = [Command::TakeLock(agent.seen.key.clone())];
    let mut workers = |paused: Option<PausedBy>, degraded: Option<&str>| {
        let pool = agent.seen.workers.as_mut().unwrap().as_mut().unwrap();
        (pool.paused, pool.degraded) = (paused, degraded.map(str::to_owned));
        agent.look().0
    };
    assert_eq!(workers(Some(PausedBy::SomebodyElse), None), take);
    assert_eq!(workers(None, None), []);
    assert_eq!(workers(None, Some("node a: no space left")), take);
}

/// The lock is free because a person has taken it off an UpgradeJob, or because nobody has it for the nodes that are left.
#[test]
fn other_pools_and_who_has_paused_them_are_waited_for_before_the_lock_is_taken() {
    let mut agent = agent();
    let infra = |is_being_updated, kept_by: Option<&str>| ObservedPool {
        name: "infra".to_owned(),
        is_being_updated,
        kept_by: kept_by.map(str::to_owned),
    };
    agent.look();
    agent.pools = vec![infra(false, Some("maintenance/a"))];
    assert_eq!(agent.look().0, []);
    let (_, why) = agent.says(ConditionType::StartedNotificationSent);
    let expected = "waiting for UpgradeJob maintenance/a, which has paused machine config pool infra";
    assert_eq!(why, expected);
    agent.pools = vec![infra(true, None)];
    assert_eq!(agent.look().0, []);
    let (_, why) = agent.says(ConditionType::StartedNotificationSent);
    assert!(why.contains("are being updated: infra"), "{why}");
    agent.broken.insert(Need::Pools);
    assert_eq!(agent.look().0, []);
    agent.broken.clear();
    agent.pools = vec![infra(false, None)];
    assert_eq!(agent.look().0, [Command::TakeLock(agent.seen.key.clone())]);
}
