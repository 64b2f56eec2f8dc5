//! Clusters that start only if they fit, by what is on record.

use drydock_rollout::Reason;

use super::*;

/// One window a day, from noon.
fn strategy(fleet: &mut TestFleet, generation: i64, duration: &str) {
    let mut object = fleet.upgrade("spring", UID, generation, "all");
    object.spec.upgrade_strategy = serde_json::from_value(json!({
        "maxConcurrency": 10, "startOnlyIfItFits": true,
        "startWindows": [{"cron": "0 12 * * *", "duration": duration}],
    }))
    .unwrap();
    let _change = fleet.fleet.set_upgrade(&Arc::new(object));
}

/// A rollout in which 20 clusters were upgraded in ten minutes each, on a page of an upgrade that is over.
fn quick_upgrades() -> Value {
    let entries: Vec<Value> = (0..20)
        .map(|number| {
            json!({
                "cluster": format!("other-{number}"), "outcome": "Complete", "reason": "Upgraded", "message": "",
                "from": "4.14.8", "to": "4.14.10", "started": "2026-02-01T11:00:00Z", "completed": "2026-02-01T11:10:00Z",
                "stages": {"upgrade": 600},
            })
        })
        .collect();
    json!({
        "metadata": {"labels": {UPGRADE_UID_LABEL: "winter-uid"}},
        "spec": {
            "upgrade": {
                "name": "winter", "uid": "winter-uid", "target": "4.14.10", "goal": "g", "rolloutSince": "2026-02-01T11:00:00Z",
            },
            "entries": entries,
        },
    })
}

fn waits(fleet: &mut TestFleet) -> Option<Reason> {
    let planned = fleet.plan();
    let starts = planned
        .plan
        .actions
        .iter()
        .any(|action| action.starts().is_some());
    let waiting = planned.plan.report.first_wait.filter(|_| !starts);
    assert_ne!(starts, waiting.is_some());
    waiting.map(|(_, reason)| reason)
}

#[test]
fn a_cluster_starts_if_what_is_on_record_says_that_it_fits() {
    let mut fleet = TestFleet::new(&["c01"]);
    strategy(&mut fleet, 2, "1h");
    let Some(reason @ Reason::NeverFits { expected, .. }) = waits(&mut fleet) else {
        panic!("published durations are longer than an hour");
    };
    assert!(reason.to_string().contains("assumed"), "{reason}");
    fleet.see::<ManagedClustersUpgradeRecord>("default", "winter-1", Some(quick_upgrades()));
    fleet.pass(599);
    let before = waits(&mut fleet);
    assert_eq!(before.as_ref(), Some(&reason), "it is computed every ten minutes");
    fleet.pass(1);
    assert_eq!(waits(&mut fleet), None, "it took {expected} before");
}

#[test]
fn a_window_that_has_too_little_left_is_waited_for_until_it_opens_again() {
    let mut fleet = TestFleet::new(&["c01"]);
    fleet.see::<ManagedClustersUpgradeRecord>("default", "winter-1", Some(quick_upgrades()));
    strategy(&mut fleet, 2, "1h");
    fleet.pass(55 * 60);
    let opens = "2026-03-02T12:00:00Z".parse().unwrap();
    let planned = fleet.plan();
    let (_, reason) = planned.plan.report.first_wait.clone().unwrap();
    assert!(
        matches!(reason, Reason::DoesNotFit { until: Some(until), .. } if until == opens),
        "{reason:?}"
    );
    assert!(!reason.to_string().contains("assumed"), "{reason}");
    assert_eq!(planned.plan.wake, Some(opens), "it looks again when it may start");
    fleet.now = opens;
    assert_eq!(waits(&mut fleet), None);
}

#[test]
fn an_edit_or_a_new_cluster_is_not_waited_for() {
    let mut fleet = TestFleet::new(&["c01"]);
    strategy(&mut fleet, 2, "1h");
    assert!(matches!(waits(&mut fleet), Some(Reason::NeverFits { .. })));
    strategy(&mut fleet, 3, "8h");
    let starts = fleet.starts();
    assert_eq!(starts.len(), 1);
    fleet.written(&starts[&ClusterName::from("c01")]);
    fleet.see::<ManagedCluster>("", "c02", Some(cluster()));
    fleet.select("all", &["c01", "c02"]);
    assert_eq!(
        fleet.starts().keys().collect::<Vec<_>>(),
        [&ClusterName::from("c02")]
    );
    assert_eq!(fleet.entry_counts()["expectations"], 2);
}
