//! What cannot be read or written.

use super::*;

#[test]
fn machine_sets_that_cannot_be_read_keep_nothing_from_going_on() {
    let mut agent = Agent::new();
    agent.seen.spec.capacity_reservation = Some(true);
    agent.broken.insert(Need::Capacity);
    agent.look();
    agent.look();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
    assert!(
        agent
            .says(ConditionType::ComputeCapacityReserved)
            .1
            .contains("MachineSets cannot be read: forbidden")
    );
    agent.wait(31);
    assert!(
        !agent.look().0.is_empty(),
        "it continues without them, as it does where they do not come in time"
    );
    assert!(agent.measures().contains(&"upgradeoperator_scaling_failed"));
}

#[test]
fn a_write_that_is_refused_is_reported_and_tried_again_later() {
    let mut agent = with_an_extra_worker();
    agent.capacity.copies.clear();
    let words = "writing MachineSet w-upgrade for extra workers: exceeded quota".to_owned();
    agent.seen.refusals.insert(Write::MachineSet, words);
    let decision = agent.pass();
    assert_eq!(decision.wait, Some(EACH_MINUTE));
    let (_, message) = agent.says(ConditionType::ComputeCapacityReserved);
    assert!(message.contains("exceeded quota"), "{message}");
}

#[test]
fn while_cluster_version_cannot_be_read_the_window_counts_and_the_reason_is_reported() {
    let mut agent = Agent::new();
    agent.unhealthy = vec![UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    agent.look();
    agent.look();
    agent.seen.cluster = Err(Unread::Failed("forbidden".to_owned()));
    agent.wait(10);
    agent.pass();
    assert_eq!(
        agent.says(ConditionType::ClusterHealthyBeforeUpgrade).1,
        "ClusterVersion version cannot be read: forbidden"
    );
    agent.wait(120);
    agent.pass();
    assert_eq!(agent.entry().phase, UpgradePhase::Failed);
    let mut commenced = upgrading(true, false);
    commenced.seen.cluster = Err(Unread::Failed("forbidden".to_owned()));
    commenced.wait(60 * 48);
    commenced.pass();
    assert_eq!(commenced.entry().phase, UpgradePhase::Upgrading);
    assert!(
        commenced
            .measures()
            .contains(&"upgradeoperator_controlplane_timeout")
    );
}

#[test]
fn without_any_good_configuration_nothing_commences_and_what_has_commenced_continues() {
    let problem = crate::facts::ConfigurationProblem {
        reason: "InvalidConfiguration",
        message: "it is not valid YAML".to_owned(),
        is_unknown: true,
    };
    let mut waiting = Agent::new();
    waiting.seen.in_force.problem = Some(problem.clone());
    waiting.look();
    assert_eq!(waiting.look().0, []);
    assert_eq!(waiting.says(ConditionType::ConfigurationAccepted).0, "False");
    let mut commenced = upgrading(true, false);
    commenced.seen.in_force.problem = Some(problem);
    commenced.cluster().history[0].completed = true;
    commenced.workers(3, 3);
    commenced.look();
    commenced.look();
    assert_eq!(commenced.entry().phase, UpgradePhase::Upgraded);
}

#[test]
fn a_finalizer_that_is_refused_is_reported_by_the_step_that_waits_for_it() {
    let mut agent = Agent::new();
    agent.look();
    let why = "admission webhook denied the request".to_owned();
    agent
        .seen
        .refusals
        .insert(crate::facts::Write::UpgradeConfig, why);
    agent.pass();
    let conditions = agent.entry().conditions.clone().unwrap();
    let waiting: Vec<String> = conditions
        .into_iter()
        .filter(|condition| condition.status == "False")
        .filter_map(|condition| condition.message)
        .collect();
    assert!(
        waiting
            .iter()
            .any(|message| message.ends_with("written: admission webhook denied the request")),
        "{waiting:?}"
    );
    agent.seen.refusals.clear();
    agent.pass();
    let conditions = agent.entry().conditions.clone().unwrap();
    assert!(
        conditions
            .iter()
            .all(|condition| condition.reason.as_deref() != Some("UpgradeConfigNotWritten")),
        "{conditions:?}"
    );
}

#[test]
fn a_policy_of_ocm_never_becomes_a_local_one() {
    let mut agent = Agent::new();
    agent.seen.origin = Origin::Ocm;
    agent.look();
    assert_eq!(agent.look().0, []);
    assert_eq!(agent.entry().phase, UpgradePhase::Pending);
    assert_eq!(agent.says(ConditionType::PolicyRefreshed).0, "False");
}

/// A node begins to be drained, and a pod keeps it.
fn drains(agent: &mut Agent) {
    agent.nodes = vec![ObservedNode {
        name: "w".to_owned(),
        is_worker: true,
        cordon: Some(Cordon {
            since: Some(agent.seen.now),
        }),
        mco_works: true,
        drain_mark: "drain-1".to_owned(),
        ..ObservedNode::default()
    }];
    agent.pods = vec![ObservedPod {
        name: "holds".to_owned(),
        node: "w".to_owned(),
        ..ObservedPod::default()
    }];
}

#[test]
fn a_drain_that_lasts_longer_than_pods_may_take_is_said() {
    let mut agent = upgrading(true, true);
    drains(&mut agent);
    for (minutes, says) in [(44, "still in progress"), (3, "node w is being drained since")] {
        for _ in 0..minutes {
            agent.wait(1);
            agent.look();
        }
        let (_, message) = agent.says(ConditionType::WorkerNodesUpgraded);
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn a_worker_that_does_not_come_back_is_named_until_it_does() {
    let mut agent = upgrading(true, true);
    let unready = ObservedNode {
        name: "w".to_owned(),
        is_worker: true,
        unready_since: Some(agent.seen.now),
        ..ObservedNode::default()
    };
    let ready = ObservedNode {
        unready_since: None,
        ..unready.clone()
    };
    // What is read each minute is said with the next pass.
    for (node, minutes, says) in [
        (unready.clone(), 14, "still in progress"),
        (unready, 3, "node w is not ready since 2"),
        (ready, 2, "still in progress"),
    ] {
        agent.nodes = vec![node];
        for _ in 0..minutes {
            agent.wait(1);
            agent.look();
        }
        // Between two checks nodes are not read.
        agent.seen.drain_check_due = false;
        agent.look();
        agent.seen.drain_check_due = true;
        let (_, message) = agent.says(ConditionType::WorkerNodesUpgraded);
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(agent.status.unready, None);
}

#[test]
fn drains_are_helped_whatever_step_waits() {
    for (what, control_plane_done, broken) in [
        ("the control plane is not done", false, None),
        ("silences cannot be read", true, Some(Need::Silences)),
    ] {
        let mut agent = upgrading(true, control_plane_done);
        agent.broken.extend(broken);
        drains(&mut agent);
        let mut forced = Vec::new();
        for minute in 0..50 {
            agent.wait(1);
            let (commands, _) = agent.look();
            if commands
                .iter()
                .any(|command| matches!(command, Command::ActOnPods(_)))
            {
                forced.push(minute);
            }
        }
        assert_eq!(forced.first(), Some(&45), "{what}");
    }
}

#[test]
fn no_number_that_is_accepted_is_too_large_to_count_with() {
    let most = i32::MAX;
    let text = format!(
        "configManager: {{watchInterval: {most}}}
maintenance: {{controlPlaneTime: {most}}}
scale: {{timeOut: {most}}}
upgradeWindow: {{delayTrigger: {most}, timeOut: {most}}}
nodeDrain: {{timeOut: {most}, expectedNodeDrainTime: {most}}}
extDependencyAvailabilityChecks: {{http: {{timeout: {most}}}}}
"
    );
    let mut agent = Agent::new();
    agent.seen.in_force.configuration = crate::configuration::parse(&text).unwrap();
    agent.seen.spec.pdb_force_drain_timeout = most;
    agent.seen.spec.capacity_reservation = Some(true);
    agent.capacity.originals = vec![machine_set("w")];
    for _ in 0..3 {
        agent.pass();
        agent.measures();
    }
    agent.capacity.originals.clear();
    agent.look();
    commence(&mut agent.seen);
    agent.workers(500, 0);
    agent.nodes = vec![ObservedNode {
        name: "w".to_owned(),
        is_worker: true,
        cordon: Some(Cordon { since: None }),
        mco_works: true,
        ..ObservedNode::default()
    }];
    for _ in 0..3 {
        agent.look();
        agent.wait(60 * 24 * 365);
        agent.measures();
    }
    agent.cluster().history[0].completed = true;
    agent.look();
    agent.measures();
    assert_eq!(agent.entry().phase, UpgradePhase::Upgrading);
}

#[test]
fn workers_whose_pool_is_paused_are_waited_for_and_who_paused_it_is_named() {
    for (by, words) in [
        (PausedBy::SomebodyElse, "MachineConfigPool worker is paused: "),
        (
            PausedBy::UpgradeJob("maintenance/j".to_owned()),
            "MachineConfigPool worker is paused by UpgradeJob maintenance/j: ",
        ),
    ] {
        let mut agent = Agent::new();
        agent.look();
        agent.look();
        commence(&mut agent.seen);
        agent.workers(3, 0);
        agent.cluster().history[0].completed = true;
        let workers = agent.seen.workers.as_mut().unwrap().as_mut().unwrap();
        workers.paused = Some(by);
        agent.look();
        let (status, message) = agent.says(ConditionType::WorkerNodesUpgraded);
        assert_eq!(status, "False");
        assert!(message.contains(words), "{message}");
    }
}
