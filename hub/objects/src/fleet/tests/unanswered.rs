//! Writes whose answers were lost, or that were not made after all.

use drydock_api::names::EndState;
use drydock_rollout::{Finish, RetryToken};

use super::*;

/// A cluster whose upgrade is under way, with the action that commits its failure.
fn under_way() -> (TestFleet, Arc<Work>, Action) {
    let mut fleet = TestFleet::new(&["c01"]);
    let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    fleet.written(&start);
    fleet.see_work("c01", &start.1);
    // Its time is over.
    fleet.pass(10 * 3600);
    let planned = fleet.plan();
    let mut finishes =
        planned.plan.actions.into_iter().filter(
            |action| matches!(action, Action::FinishWork(finish) if finish.outcome == EndState::Failed),
        );
    let finish = finishes.next().unwrap();
    (fleet, start.1, finish)
}

fn in_flight(fleet: &mut TestFleet) -> usize {
    let planned = fleet.plan();
    planned.plan.report.counts.in_flight
}

#[test]
fn a_slot_is_not_free_while_it_is_not_known_whether_the_outcome_was_written() {
    let (mut fleet, _, finish) = under_way();
    let _change = fleet.fleet.unknown(&finish, fleet.now);
    assert_eq!(in_flight(&mut fleet), 1);
}

#[test]
fn a_failure_that_is_confirmed_by_reading_is_a_failure_all_the_while() {
    let (mut fleet, _, finish) = under_way();
    let (action, version) = (&finish, fleet.version + 1);
    let _change = fleet.fleet.written(action, None, Some(version), fleet.now);
    fleet.pass(61);
    let planned = fleet.plan();
    assert!(
        planned
            .plan
            .actions
            .iter()
            .any(|action| matches!(action, Action::ConfirmWork { .. })),
        "{:?}",
        planned.plan.actions
    );
    let report = planned.plan.report;
    assert_eq!((report.counts.failed, report.failed.len()), (1, 1));
    assert!(
        report.failed[0].1.to_string().contains("took too long"),
        "{:?}",
        report.failed
    );
}

#[test]
fn a_write_that_was_not_made_leaves_the_one_before_it() {
    let mut fleet = TestFleet::new(&["c01"]);
    let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    fleet.written(&start);
    // The watch has not brought the work yet when its time is over.
    fleet.pass(59);
    let finish = Action::FinishWork(Box::new(Finish {
        cluster: "c01".into(),
        kind: WorkKind::Cluster,
        uid: start.1.uid.clone(),
        method: None,
        outcome: EndState::Failed,
        reason: "UpgradeTimedOut",
        message: "".into(),
        started_at: fleet.now,
        at: fleet.now,
        retry: RetryToken::default(),
        unverified: false,
    }));
    let _change = fleet.fleet.abandoned(&finish);
    let planned = fleet.plan();
    assert!(
        planned
            .plan
            .actions
            .iter()
            .all(|action| action.starts().is_none()),
        "{:?}",
        planned.plan.actions
    );
}

/// How a hub learns that a work is gone before the watch says so.
type Disappearance = (&'static str, fn(&mut TestFleet, &Action));

#[test]
fn what_a_late_watch_brings_of_a_work_that_is_gone_is_passed_over() {
    let name = ClusterName::from("c01");
    let gone_by: [Disappearance; 2] = [
        ("it was read by name", |fleet, _| {
            let _change = fleet
                .fleet
                .confirm_work(&ClusterName::from("c01"), WorkKind::Cluster, None);
        }),
        ("a write found nothing", |fleet, finish| {
            let _change = fleet.fleet.written(finish, None, None, fleet.now);
        }),
    ];
    for (how, goes) in gone_by {
        let (mut fleet, work, finish) = under_way();
        goes(&mut fleet, &finish);
        fleet.see_work("c01", &work);
        assert_eq!(in_flight(&mut fleet), 0, "{how}");
        // Another one counts.
        let another = Work {
            uid: Uid::new("another"),
            ..(*work).clone()
        };
        fleet.see_work("c01", &Arc::new(another));
        let known = &fleet.fleet.clusters[&name];
        assert!(known.works.get(WorkKind::Cluster).is_some() && known.gone.is_empty());
    }
}

#[test]
fn a_work_that_only_the_status_tells_of_is_looked_for_before_anybody_starts_its_cluster() {
    let is_refused = json!({"reason": "WriteRefused", "message": "no"});
    for (selected_by_both, said) in [(true, json!({})), (false, json!({})), (true, is_refused)] {
        let mut fleet = TestFleet::new(&["c01"]);
        let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
        let work = start.1;
        // Another process takes over after somebody took the label off by which works are listed.
        let mut next = TestFleet::new(&["c01"]);
        let mut status = json!({"clusters": [{"name": "c01", "state": "PartialUpgrade"}]});
        merge(&mut status["clusters"][0], said);
        next.fleet.upgrades.clear();
        next.set_upgrade_with_status(UID, if selected_by_both { "all" } else { "none" }, status);
        next.set_named_upgrade("summer", "summer-uid", 1, "all");
        let summer = UpgradeKey::new("default", "summer");
        let plan = next.fleet.plan(&summer, next.now).unwrap().plan;
        let confirms = |plan: &drydock_rollout::Plan| {
            let mut actions = plan.actions.iter();
            actions.any(|action| {
                matches!(
                    action,
                    Action::ConfirmWork {
                        kind: WorkKind::Cluster,
                        ..
                    }
                )
            })
        };
        assert!(confirms(&plan), "{:?}", plan.actions);
        assert_eq!(plan.actions.iter().find_map(Action::starts), None);
        let mut found = (*work).clone();
        found.labelled = false;
        let name = ClusterName::from("c01");
        let _change = next
            .fleet
            .confirm_work(&name, WorkKind::Cluster, Some(Arc::new(found)));
        let _change = next.fleet.confirm_work(&name, WorkKind::Operators, None);
        let plan = next.fleet.plan(&summer, next.now).unwrap().plan;
        assert_eq!(
            plan.actions.iter().find_map(Action::starts),
            None,
            "{:?}",
            plan.actions
        );
        let plan = next.plan().plan;
        assert!(
            plan.actions
                .iter()
                .any(|action| matches!(action, Action::LabelWork { .. })),
            "{:?}",
            plan.actions
        );
    }
}

#[test]
fn a_work_that_only_the_status_tells_of_holds_its_slot_until_it_was_looked_for() {
    let mut fleet = TestFleet::new(&["c01", "c02"]);
    let mut object = serde_json::to_value(&*fleet.fleet.object(&key()).unwrap()).unwrap();
    fleet.fleet.upgrades.clear();
    merge(
        &mut object,
        json!({
            "spec": {"upgradeStrategy": {"maxConcurrency": 1}},
            "status": {"clusters": [{"name": "c01", "state": "PartialUpgrade"}]},
        }),
    );
    let object = Arc::new(serde_json::from_value(object).unwrap());
    let _change = fleet.fleet.set_upgrade(&object);
    assert!(fleet.starts().is_empty(), "c01 may be in flight");
    for kind in [WorkKind::Cluster, WorkKind::Operators] {
        let _change = fleet.fleet.confirm_work(&ClusterName::from("c01"), kind, None);
    }
    assert_eq!(fleet.starts().len(), 1);
}

#[test]
fn the_upgrade_work_before_a_post_action_is_looked_for_before_anything_is_deleted() {
    let mut fleet = TestFleet::new(&["c01"]);
    let (_, work) = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    let post = Work {
        uid: Uid::new("post"),
        ..(*work).clone()
    };
    // Another process takes over after somebody took the label off by which the upgrade work is listed.
    let mut next = TestFleet::new(&["c01"]);
    next.fleet.upgrades.clear();
    next.set_named_upgrade("summer", "summer-uid", 1, "all");
    let _change = next
        .fleet
        .set_work(&ClusterName::from("c01"), WorkKind::Post, Arc::new(post), 1);
    let summer = UpgradeKey::new("default", "summer");
    let actions = next.fleet.plan(&summer, next.now).unwrap().plan.actions;
    let confirms = |action: &Action| matches!(action, Action::ConfirmWork { .. });
    assert!(actions.iter().any(confirms), "{actions:?}");
    let deletes = |action: &Action| matches!(action, Action::DeleteWork { .. });
    assert!(!actions.iter().any(deletes), "{actions:?}");
}

#[test]
fn a_work_that_somebody_gives_to_another_upgrade_stays_where_it_was_and_is_labelled_again() {
    for (uid, upgrade) in [
        ("nobody", Some(UpgradeKey::new("t2", "nobody"))),
        ("summer-uid", Some(UpgradeKey::new("default", "summer"))),
        ("", None),
    ] {
        let mut fleet = TestFleet::new(&["c01"]);
        let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
        let work = Arc::clone(&start.1);
        fleet.written(&start);
        fleet.see_work("c01", &work);
        fleet.set_named_upgrade("summer", "summer-uid", 1, "all");
        let mut given_away = (*work).clone();
        given_away.owner = drydock_rollout::Owner {
            uid: Uid::new(uid),
            upgrade: upgrade.clone(),
        };
        fleet.see_work("c01", &Arc::new(given_away));
        let plan = fleet.plan().plan;
        assert!(plan.report.left_to.is_empty(), "{:?}", plan.report.left_to);
        let labels = |action: &Action| matches!(action, Action::LabelWork { .. });
        assert!(plan.actions.iter().any(labels), "{uid}: {:?}", plan.actions);
    }
}

#[test]
fn a_work_that_only_the_status_tells_of_and_that_is_gone_hinders_nobody() {
    let mut fleet = TestFleet::new(&["c01"]);
    fleet.fleet.upgrades.clear();
    let status = json!({"clusters": [{"name": "c01", "state": "PreAction"}]});
    fleet.set_upgrade_with_status(UID, "all", status);
    assert!(fleet.starts().is_empty());
    let _change = fleet
        .fleet
        .confirm_work(&ClusterName::from("c01"), WorkKind::Pre, None);
    assert_eq!(fleet.starts().len(), 1);
}

#[test]
fn a_work_that_only_the_status_tells_of_is_looked_for_where_nobody_selects_its_cluster() {
    let mut fleet = TestFleet::new(&["c01"]);
    fleet.fleet.upgrades.clear();
    let status = json!({"clusters": [{"name": "c01", "state": "PartialUpgrade"}]});
    fleet.set_upgrade_with_status(UID, "none", status);
    let plan = fleet.plan().plan;
    assert!(
        plan.actions
            .iter()
            .any(|action| matches!(action, Action::ConfirmWork { .. })),
        "{:?}",
        plan.actions
    );
}
