//! The phases and the steps.

use super::*;
use drydock_api::insights::{PlanAsker, PlannedUpdate};

#[test]
fn a_new_upgrade_waits_for_its_time_and_then_tells_the_cluster_channel_and_release() {
    let mut agent = Agent::new();
    agent.seen.now = START - SignedDuration::from_mins(3);
    agent.cluster().channel = "stable-4.13".to_owned();
    assert_eq!(wait_of(&agent.look()), Some(EACH_MINUTE));
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.entry().preceding_version.as_deref(), Some("4.14.9"));
    assert_eq!(
        wait_of(&agent.look()),
        Some(Duration::from_mins(3)),
        "at its time exactly"
    );
    agent.seen.now = START;
    assert_eq!(agent.look().0, [Command::SetChannel("stable-4.14".to_owned())]);
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    agent.cluster().channel = "stable-4.14".to_owned();
    let release = Command::SetDesiredUpdate {
        version: Some("4.14.12".to_owned()),
        image: None,
    };
    assert_eq!(agent.look().0, [release]);
    assert_eq!(agent.published, ["UpgradeStarted"]);
}

#[test]
fn the_steps_follow_each_other_and_each_is_reported_once() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    commence(&mut agent.seen);
    assert_eq!(wait_of(&agent.look()), Some(EACH_MINUTE));
    assert_eq!(
        agent.says(ConditionType::ControlPlaneUpgraded),
        ("False".to_owned(), "ControlPlaneUpgraded has started".to_owned())
    );
    agent.wait(30);
    agent.look();
    assert_eq!(
        agent.says(ConditionType::ControlPlaneUpgraded).1,
        "ControlPlaneUpgraded still in progress"
    );
    agent.workers(3, 0);
    agent.look();
    assert!(agent.entry().worker_start_time.is_some());
    agent.cluster().history[0].completed = true;
    agent.look();
    assert_eq!(agent.says(ConditionType::WorkerNodesUpgraded).0, "False");
    agent.workers(3, 3);
    agent.wait(20);
    assert_eq!(wait_of(&agent.look()), Some(AT_ONCE), "how it went is asked");
    assert_eq!(wait_of(&agent.look()), None);
    assert_eq!(agent.entry().phase, UpgradePhase::Upgraded);
    assert!(agent.entry().complete_time.is_some() && agent.entry().worker_complete_time.is_some());
    let once = agent.status.clone();
    agent.wait(600);
    agent.look();
    assert_eq!(agent.status, once, "nothing changes any more");
    assert_eq!(
        agent.published,
        [
            "UpgradeStarted",
            "ControlPlaneUpgradeStarted",
            "ControlPlaneUpgradeFinished",
            "WorkerUpgradeFinished",
            "UpgradeCompleted"
        ]
    );
}

#[test]
fn an_unhealthy_operator_blocks_the_upgrade_until_its_window_is_over() {
    let mut agent = Agent::new();
    agent.look();
    agent.unhealthy = vec![UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded: a member is down".to_owned(),
    }];
    assert_eq!(wait_of(&agent.look()), Some(EACH_MINUTE));
    let (status, message) = agent.says(ConditionType::ClusterHealthyBeforeUpgrade);
    assert_eq!(
        (
            status.as_str(),
            message.contains("etcd is degraded: a member is down")
        ),
        ("False", true),
        "{message}"
    );
    agent.wait(31);
    agent.look();
    agent.wait(60);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    agent.wait(60);
    agent.look();
    assert_eq!(
        wait_of(&agent.look()),
        None,
        "the lock is free, and nothing is left to do"
    );
    assert_eq!(agent.entry().phase, UpgradePhase::Failed);
    assert_eq!(
        agent.published,
        [
            "UpgradeStarted",
            "HealthCheckFailed",
            "UpgradeDelayed",
            "UpgradeFailed"
        ]
    );
}

#[test]
fn a_cluster_that_makes_no_progress_says_why_in_the_condition_of_the_step_that_waits() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    commence(&mut agent.seen);
    agent.cluster().refusal = Some("InvalidClusterVersion: no such release".to_owned());
    agent.look();
    let (status, message) = agent.says(ConditionType::ControlPlaneUpgraded);
    assert_eq!(
        (status.as_str(), message.as_str()),
        (
            "False",
            "the cluster does not make progress: InvalidClusterVersion: no such release"
        )
    );
    agent.cluster().refusal = None;
    agent.look();
    assert_eq!(
        agent.says(ConditionType::ControlPlaneUpgraded).1,
        "ControlPlaneUpgraded still in progress"
    );
}

#[test]
fn an_upgrade_of_aro_has_no_window() {
    let mut agent = Agent::new();
    agent.seen.spec.upgrade_type = UpgradeType::Aro;
    agent.unhealthy = vec![UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    agent.look();
    agent.look();
    agent.wait(60 * 24);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
}

#[test]
fn upgradeable_false_blocks_a_minor_upgrade_and_no_patch() {
    let block = Some(("AdminAckRequired".to_owned(), "ask first".to_owned()));
    let mut patch = Agent::new();
    patch.cluster().not_upgradeable.clone_from(&block);
    patch.look();
    assert!(!patch.look().0.is_empty());
    let mut minor = Agent::new();
    minor.cluster().not_upgradeable = block;
    minor.seen.spec.desired.version = Some("4.15.2".to_owned());
    minor.seen.spec.desired.channel = Some("stable-4.15".to_owned());
    minor.look();
    assert_eq!(wait_of(&minor.look()), Some(EACH_MINUTE));
    assert!(
        minor
            .says(ConditionType::IsClusterUpgradable)
            .1
            .contains("AdminAckRequired: ask first")
    );
}

#[test]
fn what_is_invalid_stays_pending_with_a_condition_and_starts_when_it_is_fixed() {
    let mut agent = Agent::new();
    agent.seen.spec.desired.version = Some("4.14.40".to_owned());
    agent.look();
    assert_eq!(wait_of(&agent.look()), Some(RESYNC));
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.says(ConditionType::UpgradeConfigValidated).0, "False");
    assert_eq!(agent.published, ["InvalidUpgradeConfig"]);
    agent.seen.spec.desired.version = Some("4.14.12".to_owned());
    agent.look();
    assert!(!agent.look().0.is_empty());
}

#[test]
fn an_agent_that_finds_the_upgrade_commenced_continues_with_it() {
    let mut agent = Agent::new();
    commence(&mut agent.seen);
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    assert_eq!(agent.entry().preceding_version.as_deref(), Some("4.14.9"));
    assert_eq!(
        agent.says(ConditionType::ClusterHealthyBeforeUpgrade).0,
        "True",
        "what precedes the commencement is over"
    );
}

#[test]
fn health_is_looked_at_hours_ahead_only_with_the_feature_and_blocks_nothing() {
    let mut agent = Agent::new();
    agent.seen.now = START - SignedDuration::from_hours(5);
    agent.seen.in_force.configuration.feature_gate.enabled = vec!["PreHealthCheck".to_owned()];
    agent.unhealthy = vec![UnhealthyOperator {
        name: "dns".to_owned(),
        why: "not available: x".to_owned(),
    }];
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.published, ["HealthCheckFailed"]);
}

#[test]
fn the_times_of_workers_are_reported_whatever_of_their_pool_was_seen() {
    let mut some = upgrading(true, false);
    some.workers(3, 2);
    some.look();
    assert!(some.entry().worker_start_time.is_some());
    let mut none = Agent::new();
    none.look();
    none.look();
    commence(&mut none.seen);
    none.cluster().history[0].completed = true;
    none.look();
    let entry = none.entry();
    assert!(entry.worker_start_time.is_some() && entry.worker_complete_time.is_some());
}

#[test]
fn a_condition_that_is_not_true_any_more_has_no_time_of_completion() {
    let mut agent = Agent::new();
    agent.look();
    agent.look();
    let healthy = ConditionType::ClusterHealthyBeforeUpgrade;
    let completed = |agent: &Agent| {
        let conditions = agent.entry().conditions.as_deref().unwrap();
        condition::find(conditions, healthy)
            .unwrap()
            .complete_time
            .clone()
    };
    let first = completed(&agent).unwrap();
    agent.unhealthy = vec![UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    agent.wait(5);
    agent.look();
    assert_eq!(completed(&agent), None);
    agent.unhealthy.clear();
    agent.wait(5);
    agent.look();
    assert!(completed(&agent).unwrap().0 > first.0);
}

#[test]
fn what_waits_is_looked_at_and_says_so() {
    let mut agent = upgrading(true, false);
    let probed = |agent: &Agent| {
        let conditions = agent.entry().conditions.as_deref().unwrap();
        let condition = condition::find(conditions, ConditionType::ControlPlaneUpgraded).unwrap();
        condition.last_probe_time.clone().unwrap().0
    };
    agent.wait(1);
    agent.look();
    let before = probed(&agent);
    agent.wait(1);
    agent.look();
    assert_eq!(probed(&agent), before, "not each minute");
    agent.wait(10);
    agent.look();
    assert_eq!(probed(&agent), agent.seen.now);
}

/// What the cluster has had, and been brought back from, before the upgrade began is not what comes of it.
#[test]
fn a_cluster_that_had_the_target_before_and_was_brought_back_is_upgraded_again() {
    let mut agent = Agent::new();
    let before = agent.seen.now - jiff::SignedDuration::from_hours(24);
    let past = |version: &str, started, completed| HistoryEntry {
        version: version.to_owned(),
        image: String::new(),
        completed,
        started: Some(started),
    };
    agent.cluster().history = vec![
        past("4.14.9", before, true),
        past("4.14.12", before, true),
        past("4.14.9", before, true),
    ];
    agent.look();
    agent.look();
    // It is asked for, and the cluster has not taken it up.
    agent.cluster().asked = Some(ReleaseRef {
        version: "4.14.12".to_owned(),
        image: String::new(),
    });
    let says = |agent: &mut Agent| {
        agent.look();
        agent.look();
        let phase = agent.entry().phase;
        (phase, agent.says(ConditionType::ControlPlaneUpgraded).0)
    };
    let goes_on = (UpgradePhase::Upgrading, "False".to_owned());
    assert_eq!(says(&mut agent), goes_on);
    let now = agent.seen.now;
    agent.cluster().history.insert(0, past("4.14.12", now, false));
    assert_eq!(says(&mut agent), goes_on);
    agent.cluster().history[0].completed = true;
    assert_eq!(says(&mut agent).1, "True");
}

/// The hub reads the first conditions: a later step that has begun, and waits for an earlier one, is not what the upgrade waits for.
#[test]
fn a_step_that_waits_again_is_named_before_those_that_began_after_it() {
    let mut agent = Agent::new();
    agent.broken.insert(Need::Silences);
    let first = |agent: &mut Agent| {
        agent.look();
        agent.look();
        let entry = agent.entry();
        entry.conditions.as_ref().unwrap()[0].type_.clone()
    };
    let silences = ConditionType::ControlPlaneMaintenanceWindowCreated.name();
    assert_eq!(first(&mut agent), silences);
    agent.unhealthy = vec![UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    let health = ConditionType::ClusterHealthyBeforeUpgrade.name();
    assert_eq!(first(&mut agent), health);
    agent.unhealthy.clear();
    assert_eq!(first(&mut agent), silences);
}

/// An agent that looks at the UpdatePlan.
fn with_plan() -> Agent {
    let mut agent = Agent::new();
    agent.seen.in_force.configuration.health_check.check_update_plan = true;
    agent
}

fn degraded() -> UnhealthyOperator {
    UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }
}

/// Why the cluster may not be upgraded yet, and the reason of that.
fn waits_for(agent: &Agent) -> (String, String) {
    let conditions = agent.entry().conditions.as_deref().unwrap_or_default();
    let health = condition::find(conditions, ConditionType::ClusterHealthyBeforeUpgrade).unwrap();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&health.message), text(&health.reason))
}

/// Informers are asked each few minutes: that is no news, and hides nothing.
#[test]
fn what_held_an_upgrade_holds_it_until_informers_have_answered_anew() {
    let mut agent = with_plan();
    agent.update_plan = UpdatePlanState::Held("Pool worker is paused".to_owned());
    agent.look();
    agent.look();
    let held = waits_for(&agent);
    assert_eq!(held.1, "RisksNotAccepted");
    for state in [
        UpdatePlanState::Outdated(PlanAsker::Cluster),
        UpdatePlanState::Outdated(PlanAsker::Hub),
        UpdatePlanState::Collecting,
    ] {
        agent.update_plan = state;
        agent.look();
        assert_eq!(waits_for(&agent), held);
    }
    agent.unhealthy = vec![degraded()];
    for state in [
        UpdatePlanState::Outdated(PlanAsker::Cluster),
        UpdatePlanState::Collecting,
    ] {
        agent.update_plan = state;
        agent.look();
        let (message, reason) = waits_for(&agent);
        assert!(message.contains("etcd is degraded"), "{message}");
        assert_eq!(reason, "RisksNotAccepted");
    }
    agent.update_plan = UpdatePlanState::Startable;
    agent.look();
    assert_eq!(waits_for(&agent).1, "ClusterHealthyBeforeUpgrade not done");
}

#[test]
fn an_upgrade_commences_once_its_update_plan_lets_it_where_that_is_asked_for() {
    let mut agent = with_plan();
    agent.unhealthy = vec![degraded()];
    agent.look();
    let waits = |agent: &Agent| agent.says(ConditionType::ClusterHealthyBeforeUpgrade).1;
    assert_eq!(
        agent.look().0,
        [],
        "nobody is asked while something else is in the way"
    );
    assert!(waits(&agent).contains("etcd is degraded"), "{}", waits(&agent));
    agent.unhealthy.clear();
    let offered = |release: &&ReleaseRef| release.version == "4.14.12";
    let offered = agent.cluster().all_offered().find(offered).cloned();
    let update = PlannedUpdate {
        offered: offered.map(|offered| offered.image),
        ..PlannedUpdate::to_version("4.14.12")
    };
    let request = |asker| Command::RequestUpdatePlan {
        update: Box::new(update.clone()),
        asker,
    };
    assert_eq!(agent.look().0, [request(PlanAsker::Cluster)]);
    for (state, words, reason) in [
        (
            UpdatePlanState::Collecting,
            "informers are being asked about the update to 4.14.12",
            "ClusterHealthyBeforeUpgrade not done",
        ),
        // By that the hub tells who waits for somebody to accept something.
        (
            UpdatePlanState::Held("Pool worker is paused".to_owned()),
            "the update to 4.14.12 may not start: Pool worker is paused",
            "RisksNotAccepted",
        ),
    ] {
        agent.update_plan = state;
        assert_eq!(agent.look().0, []);
        assert!(waits(&agent).contains(words), "{}", waits(&agent));
        assert_eq!(waits_for(&agent).1, reason);
    }
    // What held it may be corrected since.
    for asker in [PlanAsker::Cluster, PlanAsker::Hub] {
        agent.update_plan = UpdatePlanState::Outdated(asker);
        assert_eq!(agent.look().0, [request(asker)]);
    }
    agent.broken.insert(Need::UpdatePlan);
    assert_eq!(agent.look().0, []);
    assert!(waits(&agent).contains("cannot check whether the update to 4.14.12 may start: forbidden"));
    agent.broken.clear();
    agent.update_plan = UpdatePlanState::Startable;
    agent.look();
    assert!(
        agent
            .look()
            .0
            .iter()
            .any(|command| matches!(command, Command::SetDesiredUpdate { .. } | Command::SetChannel(_)))
    );
}
