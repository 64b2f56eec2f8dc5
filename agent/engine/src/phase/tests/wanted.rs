//! What there should be on the cluster, and what is measured.

use super::*;

#[test]
fn silences_of_a_control_plane_that_never_ends_end_in_time() {
    let mut agent = upgrading(true, false);
    assert_eq!(agent.silent().len(), 1);
    for _ in 0..6 {
        agent.wait(10);
        agent.look();
    }
    assert_eq!(agent.silent().len(), 1);
    agent.wait(31);
    agent.look();
    assert_eq!(agent.silent(), [""; 0]);
    assert_eq!(
        agent.measures(),
        [
            "upgradeoperator_controlplane_timeout",
            "drydock_agent_step_overdue"
        ]
    );
}

#[test]
fn a_release_that_the_cluster_refuses_is_measured_and_not_silent_for_ever() {
    let mut agent = upgrading(false, false);
    commence(&mut agent.seen);
    agent.cluster().history.remove(0);
    agent.cluster().desired = Some("4.14.9".to_owned());
    agent.cluster().refusal = Some("RetrievePayload: it cannot be verified".to_owned());
    agent.look();
    assert_eq!(agent.silent().len(), 1);
    agent.wait(91);
    agent.look();
    assert_eq!(agent.silent(), [""; 0]);
    assert!(agent.measures().contains(&"upgradeoperator_controlplane_timeout"));
}

#[test]
fn extra_workers_go_whichever_way_they_are_not_wanted_any_more() {
    type Change = fn(&mut Agent);
    let ways: [(&str, Change); 6] = [
        ("not asked for", |agent| {
            agent.seen.spec.capacity_reservation = Some(false);
        }),
        ("put off", |agent| {
            agent.seen.spec.upgrade_at = (START + SignedDuration::from_hours(9)).to_string();
        }),
        ("another version, which fails", |agent| {
            agent.seen.spec.desired.version = Some("4.14.99".to_owned());
        }),
        ("deleted", |agent| {
            agent.seen.deleting_since = Some(agent.seen.now);
        }),
        ("its window is over", |agent| agent.wait(121)),
        ("changed below the agent", |agent| {
            agent.cluster().history[0].version = "4.14.13".to_owned();
        }),
    ];
    for (way, change) in ways {
        let mut agent = with_an_extra_worker();
        agent.unhealthy = vec![UnhealthyOperator {
            name: "etcd".to_owned(),
            why: "degraded".to_owned(),
        }];
        change(&mut agent);
        let mut commands = Vec::new();
        for _ in 0..3 {
            commands.extend(agent.pass().commands);
        }
        let deleted = Command::DeleteMachineSet("w-upgrade".to_owned());
        assert!(commands.contains(&deleted), "{way}: {commands:?}");
        agent.capacity.copies.clear();
        for _ in 0..3 {
            agent.look();
        }
        assert_eq!(agent.status.made, None, "{way}");
    }
}

#[test]
fn extra_workers_go_though_nothing_says_any_more_that_they_were_made() {
    let deleted = Command::DeleteMachineSet("w-upgrade".to_owned());
    for is_running in [false, true] {
        let mut agent = with_an_extra_worker();
        // Deleted with its finalizer and created again, or restored without its status.
        agent.status = UpgradeConfigStatus::default();
        agent.seen.spec.capacity_reservation = Some(false);
        if !is_running {
            agent.seen.now = START - SignedDuration::from_hours(5);
        }
        let commands: Vec<Command> = (0..3).flat_map(|_| agent.pass().commands).collect();
        assert!(commands.contains(&deleted), "{commands:?}");
        let is_made = |agent: &Agent| {
            let mut made = agent.status.made.iter().flatten();
            made.any(|made| *made == MadeResource::MachineSets)
        };
        assert!(is_made(&agent));
        agent.capacity.copies.clear();
        for _ in 0..3 {
            agent.look();
        }
        assert!(!is_made(&agent));
    }
}

#[test]
fn an_extra_machine_that_never_goes_is_measured() {
    let mut agent = with_an_extra_worker();
    commence(&mut agent.seen);
    agent.cluster().history[0].completed = true;
    agent.capacity.machines = vec![ExtraMachine {
        name: "w-upgrade-1".to_owned(),
        set: Some("w-upgrade".to_owned()),
        node: None,
        is_ready: false,
        failure: None,
    }];
    agent.look();
    assert_eq!(agent.measures(), [""; 0]);
    agent.wait(60 * 24);
    agent.look();
    let measured = agent.measures();
    for name in ["upgradeoperator_node_drain_timeout", "drydock_agent_step_overdue"] {
        assert!(measured.contains(&name), "{measured:?}");
    }
}

#[test]
fn a_check_that_has_passed_or_is_over_is_not_measured_any_more() {
    let unhealthy = vec![UnhealthyOperator {
        name: "etcd".to_owned(),
        why: "degraded".to_owned(),
    }];
    let failed = "upgradeoperator_healthcheck_failed";
    let mut early = Agent::new();
    early.seen.now = START - SignedDuration::from_hours(5);
    early.seen.in_force.configuration.feature_gate.enabled = vec!["PreHealthCheck".to_owned()];
    early.unhealthy.clone_from(&unhealthy);
    early.look();
    let of_new = crate::metrics::wanted(&early.seen, &early.status);
    let mut states: Vec<&str> = of_new
        .keys()
        .filter(|(kind, _)| *kind == crate::metrics::MetricKind::HealthCheckFailed)
        .map(|(_, labels)| labels[1].as_str())
        .collect();
    states.dedup();
    assert_eq!(states, ["New"]);
    early.unhealthy.clear();
    early.seen.now = START;
    early.look();
    assert!(!early.measures().contains(&failed));
    let mut late = Agent::new();
    late.unhealthy = unhealthy;
    late.look();
    late.look();
    assert!(late.measures().contains(&failed));
    late.wait(121);
    late.look();
    assert_eq!(late.entry().phase, UpgradePhase::Failed);
    assert!(!late.measures().contains(&failed));
}
