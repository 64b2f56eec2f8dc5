//! A refused write is remembered while somebody wants it.

use drydock_api::names::EndState;
use drydock_rollout::{ClusterState, Finish, RetryToken, WorkFeedback};

use super::*;

/// A fleet of one cluster whose start was just refused, with what was refused.
fn refused() -> (TestFleet, Action) {
    let mut fleet = TestFleet::new(&["c01"]);
    let (action, _) = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    assert!(fleet.refuse(&action, "not in this quarter"));
    assert_eq!(fleet.plan().refusals, 1);
    (fleet, action)
}

fn finish(at: Timestamp) -> Action {
    Action::FinishWork(Box::new(Finish {
        cluster: "c01".into(),
        kind: WorkKind::Pre,
        uid: Uid::new("pre"),
        method: None,
        outcome: EndState::Failed,
        reason: "PreActionFailed",
        message: "".into(),
        started_at: at,
        at,
        retry: RetryToken::default(),
        unverified: false,
    }))
}

/// What happens, how, and whether the refusal is remembered.
type Case = (&'static str, fn(&mut TestFleet, &Action), bool);

const CASES: [Case; 13] = [
    ("nothing", |_, _| {}, true),
    (
        "it is refused again",
        |fleet, action| {
            fleet.pass(60);
            fleet.refuse(action, "not in this quarter");
            fleet.pass(599);
        },
        true,
    ),
    ("a minute passes", |fleet, _| fleet.pass(60), true),
    (
        "nobody tries again for ten minutes",
        |fleet, _| fleet.pass(600),
        false,
    ),
    (
        "it is written",
        |fleet, action| {
            let _change = fleet
                .fleet
                .written(action, Some(Uid::new("w")), Some(100), fleet.now);
        },
        false,
    ),
    (
        "the attempt ends on a work",
        |fleet, _| {
            fleet.pass(1);
            let _change = fleet
                .fleet
                .written(&finish(fleet.now), None, Some(100), fleet.now);
        },
        false,
    ),
    (
        "the attempt ends on a record",
        |fleet, _| {
            let at = fleet.now;
            fleet.see::<ManagedClustersUpgradeRecord>("default", "spring-1", Some(record("c01", at)));
        },
        false,
    ),
    (
        "an earlier attempt is recorded",
        |fleet, _| {
            let at = fleet.now - SignedDuration::from_secs(1);
            fleet.see::<ManagedClustersUpgradeRecord>("default", "spring-1", Some(record("c01", at)));
        },
        true,
    ),
    (
        "the cluster is not selected any more",
        |fleet, _| fleet.select("all", &[]),
        false,
    ),
    (
        "the cluster is neither there nor selected any more",
        |fleet, _| {
            fleet.see::<ManagedCluster>("", "c01", None);
            fleet.select("all", &[]);
        },
        false,
    ),
    (
        "the spec is edited",
        |fleet, _| fleet.set_upgrade(UID, 2, "all"),
        true,
    ),
    (
        "the upgrade is made anew",
        |fleet, _| fleet.set_upgrade("another", 1, "all"),
        false,
    ),
    (
        "the upgrade is gone",
        |fleet, _| {
            let _change = fleet.fleet.remove_upgrade(&key());
        },
        false,
    ),
];

#[test]
fn a_refusal_is_forgotten_when_its_attempt_is_over_or_nobody_wants_it() {
    for (what, happens, is_remembered) in CASES {
        let (mut fleet, action) = refused();
        happens(&mut fleet, &action);
        let planned = fleet.fleet.plan(&key(), fleet.now);
        let expected = usize::from(is_remembered);
        assert_eq!(
            fleet.entry_counts().get("refusals").copied().unwrap_or(0),
            expected,
            "{what}"
        );
        assert_eq!(planned.map_or(0, |planned| planned.refusals), expected, "{what}");
    }
}

#[test]
fn an_upgrade_looks_again_when_a_refusal_is_forgotten() {
    let (mut fleet, _) = refused();
    // Nothing is tried again without the set's binding.
    fleet.see::<ManagedClusterSetBinding>("default", "fleet", None);
    let forgotten = fleet.now + SignedDuration::from_mins(10);
    let mut looks = 0;
    while let Some(wake) = fleet.plan().plan.wake.filter(|wake| *wake <= forgotten) {
        looks += 1;
        assert!(looks < 10 && wake > fleet.now, "{wake}");
        fleet.now = wake;
    }
    assert_eq!(fleet.now, forgotten);
    assert_eq!(fleet.plan().refusals, 0);
}

#[test]
fn a_refused_change_or_deletion_goes_with_its_work() {
    for delete in [false, true] {
        let mut fleet = TestFleet::new(&["c01"]);
        let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
        fleet.written(&start);
        fleet.see_work("c01", &start.1);
        let (cluster, kind, uid) = ("c01".into(), WorkKind::Cluster, start.1.uid.clone());
        let action = if delete {
            Action::DeleteWork { cluster, kind, uid }
        } else {
            Action::LabelWork {
                cluster,
                kind,
                uid,
                has_ended: false,
            }
        };
        fleet.refuse(&action, "no");
        assert_eq!(fleet.plan().refusals, 1);
        let mut deleting = (*start.1).clone();
        deleting.deleting = true;
        fleet.see_work("c01", &Arc::new(deleting));
        fleet.remove_work("c01");
        assert_eq!(fleet.entry_counts().get("refusals"), None, "delete: {delete}");
    }
}

#[test]
fn the_same_words_are_news_once_and_an_unavailable_server_after_half_a_minute() {
    let (mut fleet, action) = refused();
    for (words, is_to_be_reported) in [("not in this quarter", false), ("quota", true), ("quota", false)] {
        fleet.pass(1);
        assert_eq!(fleet.refuse(&action, words), is_to_be_reported, "{words}");
    }
    let mut reported = Vec::new();
    for second in (0..90).step_by(15) {
        let upgrade = key();
        let refused = RefusedAction {
            upgrade: &upgrade,
            action: &action,
            cause: RefusalCause::Unavailable,
            words: "try again",
        };
        fleet.pass(15);
        if fleet.fleet.refused(&refused, fleet.now).1 {
            reported.push(second);
        }
    }
    assert_eq!(reported.len(), 1, "{reported:?}");
}

#[test]
fn a_refused_write_that_is_about_no_cluster_is_reported_until_one_is_made() {
    let mut fleet = TestFleet::new(&[]);
    let mark = Action::MarkPage {
        name: "spring-1".into(),
        closed: false,
    };
    for (action, is_record) in [(Action::AddFinalizer, false), (mark, true)] {
        assert!(fleet.refuse(&action, "no"));
        assert!(!fleet.refuse(&action, "no"), "the same words");
        assert_eq!(fleet.refuse(&action, "never"), !is_record, "other words");
        let _change = fleet.fleet.forget_refusal(&key(), &action);
        let left = fleet.entry_counts();
        assert!(!left.keys().any(|part| part.contains("refusals")), "{left:?}");
        assert_eq!(fleet.refuse(&action, "never"), !is_record, "again");
        let _change = fleet.fleet.forget_refusal(&key(), &action);
        fleet.pass(3600);
        assert!(fleet.refuse(&action, "never"), "an hour later");
        let _change = fleet.fleet.forget_refusal(&key(), &action);
    }
}

#[test]
fn each_of_two_upgrades_that_a_write_is_refused_to_waits_since_its_own_first_attempt() {
    let (mut fleet, action) = refused();
    let first = fleet.now;
    fleet.set_named_upgrade("autumn", "autumn-uid", 1, "all");
    let autumn = UpgradeKey::new("default", "autumn");
    for minute in 1..30 {
        for upgrade in [&autumn, &key()] {
            fleet.pass(30);
            let refused = RefusedAction {
                upgrade,
                action: &action,
                cause: RefusalCause::NameTaken,
                words: "not in this quarter",
            };
            let (_change, is_new) = fleet.fleet.refused(&refused, fleet.now);
            assert_eq!(is_new, minute == 1 && *upgrade == autumn, "{upgrade}, {minute}");
        }
        let known = &fleet.fleet.clusters[&ClusterName::from("c01")];
        let since = |uid: &str| {
            let mut own = known
                .refusals
                .values()
                .filter(|refusal| refusal.upgrade == Uid::new(uid));
            own.next().unwrap().since
        };
        assert_eq!(since(UID), first);
        assert_eq!(since("autumn-uid"), first + SignedDuration::from_secs(30));
    }
}

#[test]
fn a_hub_that_starts_again_takes_refusals_over_from_the_status() {
    let (fleet, _) = refused();
    let object = (*fleet.fleet.object(&key()).unwrap()).clone();
    let mut object = serde_json::to_value(&object).unwrap();
    merge(
        &mut object,
        json!({"status": {"clusters": [{
            "name": "c01", "state": "PreAction", "reason": "WriteRefused",
            "message": "the work of the upgrade cannot be written: not in this quarter", "since": "2026-03-01T09:00:00Z",
        }, {
            "name": "gone", "state": "Initialized", "reason": "WriteRefused", "message": "no", "since": "2026-03-01T09:00:00Z",
        }]}}),
    );
    let mut again = TestFleet::new(&["c01"]);
    let _change = again.fleet.remove_upgrade(&key());
    let _change = again
        .fleet
        .set_upgrade(&Arc::new(serde_json::from_value(object).unwrap()));
    assert_eq!(again.plan().refusals, 1);
    let known = &again.fleet.clusters[&ClusterName::from("c01")];
    let ((_, kind, _), refusal) = known.refusals.iter().next().unwrap();
    assert_eq!(
        (*kind, &*refusal.words, refusal.since),
        (
            WorkKind::Cluster,
            "not in this quarter",
            "2026-03-01T09:00:00Z".parse().unwrap()
        )
    );
    for kind in [WorkKind::Cluster, WorkKind::Operators] {
        let _change = again.fleet.confirm_work(&ClusterName::from("gone"), kind, None);
    }
    assert_eq!(
        again.fleet.clusters.len(),
        1,
        "nothing is remembered of a cluster that is gone"
    );
}

#[test]
fn a_work_that_follows_on_an_action_and_is_refused_is_so_since_the_first_attempt() {
    let mut fleet = TestFleet::new(&["c01"]);
    let (start, work) = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    let _change = fleet.fleet.abandoned(&start);
    let done = Work {
        available: true,
        feedback: WorkFeedback::ActionJobs(Vec::new()),
        ..(*work).clone()
    };
    let name = ClusterName::from("c01");
    let _change = fleet.fleet.set_work(&name, WorkKind::Pre, Arc::new(done), 1000);
    let first = fleet.now;
    for _ in 0..3 {
        let follows = fleet.plan().plan.actions.remove(0);
        assert!(follows.starts().is_some(), "{follows:?}");
        fleet.refuse(&follows, "no");
        fleet.pass(60);
    }
    let planned = fleet.plan();
    let status = &planned.plan.report.attention[0].1;
    assert_eq!(
        (status.state, status.since),
        (ClusterState::PreAction, Some(first))
    );
}

#[test]
fn records_that_are_refused_page_by_page_are_reported_once_an_hour() {
    let mut fleet = TestFleet::new(&["c01"]);
    let mut reported = 0;
    for attempt in 0..120 {
        let name = format!("spring-{}", attempt % 2);
        let words = format!("{name} is denied");
        let action = Action::MarkPage {
            name: name.into(),
            closed: false,
        };
        let refused = RefusedAction {
            upgrade: &key(),
            action: &action,
            cause: RefusalCause::Other,
            words: &words,
        };
        let (_change, is_new) = fleet.fleet.refused(&refused, fleet.now);
        reported += usize::from(is_new);
        fleet.pass(59);
    }
    assert_eq!(reported, 2, "in two hours");
}

#[test]
fn what_an_upgrade_left_whose_namespace_is_gone_hinders_nobody() {
    let mut fleet = TestFleet::new(&["c01"]);
    let (start, work) = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    let _change = fleet.fleet.abandoned(&start);
    let left = Work {
        uid: Uid::new("left"),
        owner: drydock_rollout::Owner {
            uid: Uid::new("gone-uid"),
            upgrade: Some(UpgradeKey::new("gone", "spring")),
        },
        ..(*work).clone()
    };
    fleet.see_work("c01", &Arc::new(left));
    let action =
        |fleet: &mut TestFleet, is: fn(&Action) -> bool| fleet.plan().plan.actions.into_iter().find(is);
    let record = action(&mut fleet, |action| matches!(action, Action::WritePage(_))).unwrap();
    let refused = RefusedAction {
        upgrade: &key(),
        action: &record,
        cause: RefusalCause::NamespaceMissing,
        words: "namespaces \"gone\" not found",
    };
    let (_change, _is_new) = fleet.fleet.refused(&refused, fleet.now);
    let plan = fleet.plan().plan;
    assert_eq!(
        plan.report.records_refused, None,
        "it is no refusal of its own records"
    );
    let deletes = |action: &Action| matches!(action, Action::DeleteWork { .. });
    assert!(plan.actions.iter().any(deletes), "{:?}", plan.actions);
}
