//! Edits of the spec, and of ClusterVersion by others.

use super::*;

#[test]
fn an_edit_before_commencement_counts_and_one_after_it_is_refused() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    agent.seen.spec.upgrade_at = (START + SignedDuration::from_hours(4)).to_string();
    agent.look();
    assert_eq!(
        agent.entry().phase,
        UpgradePhase::Pending,
        "it waits for its new time"
    );
    agent.seen.spec.upgrade_at = START.to_string();
    agent.look();
    commence(&mut agent.seen);
    agent.look();
    agent.seen.spec.desired.version = Some("4.14.13".to_owned());
    agent.look();
    assert_eq!(
        agent.entry().version.as_deref(),
        Some("4.14.12"),
        "there is no way back"
    );
    assert!(
        agent
            .says(ConditionType::UpgradeConfigAccepted)
            .1
            .contains("the change of spec.desired.version to 4.14.13 is ignored")
    );
    agent.cluster().history[0].completed = true;
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgraded);
    agent.look();
    assert_eq!(
        agent.entry().version.as_deref(),
        Some("4.14.13"),
        "and now it is its turn"
    );
}

#[test]
fn what_the_cluster_refuses_has_not_begun_and_can_be_edited_until_it_does() {
    for (is_begun, expected) in [(false, "4.14.13"), (true, "4.14.12")] {
        let mut agent = Agent::new();
        agent.look();
        agent.look();
        commence(&mut agent.seen);
        agent.cluster().refusal = Some("RetrievePayload: it cannot be verified".to_owned());
        if !is_begun {
            agent.cluster().desired = Some("4.14.9".to_owned());
            agent.cluster().history.remove(0);
        }
        agent.look();
        agent.seen.spec.desired.version = Some("4.14.13".to_owned());
        agent.look();
        assert_eq!(agent.entry().version.as_deref(), Some(expected));
    }
}

#[test]
fn an_edit_after_commencement_is_refused_field_by_field_and_forgotten_when_it_is_taken_back() {
    let mut agent = upgrading(true, false);
    agent.seen.spec.pdb_force_drain_timeout = 5;
    agent.look();
    let (status, message) = agent.says(ConditionType::UpgradeConfigAccepted);
    assert_eq!(status, "False");
    assert!(
        message.contains("the change of spec.PDBForceDrainTimeout to 5 is ignored"),
        "{message}"
    );
    agent.seen.spec.pdb_force_drain_timeout = 60;
    agent.look();
    assert_eq!(agent.says(ConditionType::UpgradeConfigAccepted).0, "True");
}

#[test]
fn the_spec_is_noted_before_cluster_version_is_written() {
    let mut agent = Agent::new();
    agent.look();
    let (commands, _) = agent.look();
    assert!(matches!(&commands[..], [Command::SetDesiredUpdate { .. }]));
    assert_eq!(agent.entry().accepted_spec.as_ref(), Some(&agent.seen.spec));
    assert_eq!(agent.says(ConditionType::UpgradeCommenced).0, "False");
}

/// What somebody else has ClusterVersion ask for.
fn release(version: &str) -> crate::facts::ReleaseRef {
    crate::facts::ReleaseRef {
        version: version.to_owned(),
        image: String::new(),
    }
}

#[test]
fn what_somebody_else_asks_of_cluster_version_is_reported_and_not_overwritten() {
    let mut agent = upgrading(true, false);
    let began = agent.entry().start_time.clone();
    agent.cluster().asked = Some(release("4.14.13"));
    agent.cluster().desired = Some("4.14.13".to_owned());
    for _ in 0..3 {
        assert_eq!(agent.look().0, []);
    }
    let (_, message) = agent.says(ConditionType::ControlPlaneUpgraded);
    assert!(
        message.contains("somebody has changed ClusterVersion"),
        "{message}"
    );
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    assert_eq!(agent.entry().start_time, began);
    // The cluster comes to the other release: this upgrade is over, and says so.
    let mut other = agent.cluster().history[0].clone();
    other.version = "4.14.13".to_owned();
    other.completed = true;
    agent.cluster().history.insert(0, other);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Failed);
    let (_, message) = agent.says(ConditionType::FailedUpgrade);
    assert!(message.contains("ClusterVersion to 4.14.13"), "{message}");
}

/// Somebody asked for another release, which the cluster refused, and cleared it: the cluster had taken up neither.
#[test]
fn a_release_that_was_not_taken_up_is_asked_for_again_once_nothing_else_is() {
    let mut agent = upgrading(true, false);
    agent.workers(3, 3);
    agent.cluster().history.remove(0);
    agent.cluster().desired = Some("4.14.9".to_owned());
    agent.cluster().asked = Some(release("4.14.13"));
    agent.cluster().refusal = Some("RetrievePayload: it cannot be verified".to_owned());
    for _ in 0..2 {
        assert_eq!(agent.look().0, []);
    }
    let (_, message) = agent.says(ConditionType::ControlPlaneUpgraded);
    assert!(message.contains("asks for 4.14.13"), "{message}");
    (agent.cluster().asked, agent.cluster().refusal) = (None, None);
    let asks = Command::SetDesiredUpdate {
        version: Some("4.14.12".to_owned()),
        image: None,
    };
    assert_eq!(agent.look().0, [asks]);
}

/// The update to the target is offered no more once the cluster is on its way to it.
#[test]
fn an_update_to_the_target_that_is_under_way_is_followed_though_nothing_asks_for_it() {
    let mut agent = Agent::new();
    let begun = HistoryEntry {
        completed: false,
        version: "4.14.12".to_owned(),
        ..agent.cluster().history[0].clone()
    };
    agent.cluster().history.insert(0, begun);
    agent.cluster().desired = Some("4.14.12".to_owned());
    agent.cluster().offered.clear();
    for _ in 0..3 {
        agent.look();
    }
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    let (status, message) = agent.says(ConditionType::ControlPlaneUpgraded);
    assert_eq!(status, "False", "{message}");
}

#[test]
fn an_upgrade_continues_to_its_end_when_what_cluster_version_asks_for_is_cleared() {
    let mut agent = upgrading(true, false);
    agent.cluster().asked = None;
    for _ in 0..3 {
        assert_eq!(agent.look().0, []);
    }
    let (_, message) = agent.says(ConditionType::ControlPlaneUpgraded);
    assert!(!message.contains("somebody"), "{message}");
    agent.cluster().history[0].completed = true;
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading, "workers are left");
    agent.workers(3, 3);
    agent.look();
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgraded);
}

#[test]
fn a_deletion_does_not_wait_for_a_release_that_the_cluster_refuses() {
    let mut agent = upgrading(false, false);
    agent.cluster().asked = Some(release("4.14.12"));
    agent.cluster().refusal = Some("RetrievePayload: the signature cannot be verified".to_owned());
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    agent.seen.deleting_since = Some(agent.seen.now);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Failed);
    let (_, message) = agent.says(ConditionType::FailedUpgrade);
    assert!(message.contains("the signature cannot be verified"), "{message}");
}

#[test]
fn what_an_earlier_upgrade_config_asked_for_and_the_cluster_refuses_has_not_commenced() {
    let mut agent = Agent::new();
    agent.cluster().asked = Some(release("4.14.12"));
    agent.cluster().refusal = Some("RetrievePayload: the signature cannot be verified".to_owned());
    agent.seen.spec.capacity_reservation = Some(true);
    agent.capacity.originals = vec![machine_set("w")];
    agent.look();
    let decision = agent.pass();
    assert!(
        matches!(&decision.commands[..], [Command::CreateMachineSet(_)]),
        "{:?}",
        decision.commands
    );
    assert_eq!(agent.says(ConditionType::ComputeCapacityReserved).0, "False");
}

#[test]
fn an_upgrade_config_that_is_being_deleted_says_that_it_waits_for_the_end() {
    let mut agent = upgrading(true, false);
    agent.seen.deleting_since = Some(agent.seen.now);
    agent.seen.spec.desired.version = Some("4.14.13".to_owned());
    agent.look();
    let (status, message) = agent.says(ConditionType::UpgradeConfigAccepted);
    assert_eq!(status, "False");
    assert!(message.contains("is being deleted"), "{message}");
    assert_eq!(agent.entry().version.as_deref(), Some("4.14.12"));
}

#[test]
fn not_to_say_that_no_extra_workers_are_wanted_is_no_change() {
    let mut agent = Agent::new();
    agent.seen.spec.capacity_reservation = Some(false);
    agent.look();
    agent.look();
    commence(&mut agent.seen);
    agent.look();
    agent.seen.spec.capacity_reservation = None;
    agent.look();
    let conditions = agent.entry().conditions.as_deref().unwrap();
    assert!(condition::find(conditions, ConditionType::UpgradeConfigAccepted).is_none());
}

/// It is offered until the cluster is on its way there: from then on its history says which version the image has.
#[test]
fn an_image_that_is_offered_no_more_is_the_same_upgrade() {
    let mut agent = Agent::new();
    let image = format!("quay.io/x/y@sha256:{}", "0".repeat(64));
    agent.cluster().offered[1].image.clone_from(&image);
    agent.seen.spec.desired.version = None;
    agent.seen.spec.desired.channel = None;
    agent.seen.spec.desired.image = Some(image.clone());
    agent.look();
    let asks = Command::SetVersion {
        version: "4.14.12".to_owned(),
        image: image.clone(),
    };
    assert_eq!(agent.look().0, [asks]);
    agent.seen.spec.desired.version = Some("4.14.12".to_owned());
    agent.seen.version_of = Some(image.clone());
    for _ in 0..3 {
        agent.look();
    }
    let phase = |agent: &Agent| {
        agent
            .status
            .history
            .as_ref()
            .unwrap()
            .iter()
            .map(|entry| (entry.version.clone(), entry.phase))
            .collect::<Vec<_>>()
    };
    let before = phase(&agent);
    assert_eq!(before.len(), 1);
    agent.cluster().asked = Some(ReleaseRef {
        version: String::new(),
        image: image.clone(),
    });
    agent.cluster().offered.clear();
    agent.look();
    assert_eq!(phase(&agent).len(), 1, "{:?}", phase(&agent));
    let now = agent.seen.now;
    agent.cluster().history.insert(
        0,
        HistoryEntry {
            version: "4.14.12".to_owned(),
            image,
            completed: false,
            started: Some(now),
        },
    );
    agent.cluster().desired = Some("4.14.12".to_owned());
    agent.look();
    assert_eq!(phase(&agent).len(), 1, "{:?}", phase(&agent));
    assert_eq!(phase(&agent)[0].0.as_deref(), Some("4.14.12"));
}
