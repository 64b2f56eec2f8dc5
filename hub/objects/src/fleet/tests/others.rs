//! Works and records of other upgrades than the one that is looked at.

use drydock_api::names::EndState;
use drydock_rollout::{AttemptOutcome, Owner, RetryToken, WorkFeedback};

use super::*;

/// A work that another upgrade has made on `c01`.
fn work_of(fleet: &mut TestFleet, owner: Owner, kind: &str) -> Work {
    let (start, mut work) = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    let _change = fleet.fleet.abandoned(&start);
    let changed = Arc::make_mut(&mut work);
    changed.owner = owner;
    changed.uid = Uid::new(kind);
    (*work).clone()
}

fn owner(uid: &str, upgrade: Option<UpgradeKey>) -> Owner {
    Owner {
        uid: Uid::new(uid),
        upgrade,
    }
}

#[test]
fn an_upgrade_one_of_whose_works_somebody_deletes_is_still_at_work() {
    let mut fleet = TestFleet::new(&["c01"]);
    let autumn = UpgradeKey::new("default", "autumn");
    let upgrade = work_of(&mut fleet, owner("autumn-uid", Some(autumn)), "cluster");
    fleet.set_named_upgrade("autumn", "autumn-uid", 1, "none");
    let action = Work {
        uid: Uid::new("pre"),
        feedback: WorkFeedback::ActionJobs(Vec::new()),
        ..upgrade.clone()
    };
    let deleted = Work {
        deleting: true,
        ..upgrade
    };
    let name = ClusterName::from("c01");
    fleet.see_work("c01", &Arc::new(deleted));
    let _change = fleet.fleet.set_work(&name, WorkKind::Pre, Arc::new(action), 1000);
    let actions = fleet.plan().plan.actions;
    assert!(
        actions.iter().all(|action| action.cluster().is_none()),
        "{actions:?}"
    );
}

/// The pages that the upgrade writes next.
fn written_pages(fleet: &mut TestFleet) -> Vec<(String, Option<String>)> {
    let actions = fleet.plan().plan.actions;
    let pages = actions.iter().filter_map(|action| match action {
        Action::WritePage(write) => Some((
            write.name.to_string(),
            write.append_to.as_deref().map(str::to_owned),
        )),
        _ => None,
    });
    pages.collect()
}

/// What an upgrade that is gone has left on `c01`: a work with its outcome.
fn left_by(fleet: &mut TestFleet, owner: Owner) -> Work {
    let mut work = work_of(fleet, owner, "cluster");
    work.outcome = Some(Arc::new(AttemptOutcome {
        state: EndState::Complete,
        reason: "Upgraded".into(),
        message: "".into(),
        at: Some(fleet.now),
        retry: RetryToken::default(),
    }));
    fleet.see_work("c01", &Arc::new(work.clone()));
    work
}

#[test]
fn what_an_upgrade_of_another_namespace_has_left_goes_on_its_newest_page() {
    let mut fleet = TestFleet::new(&["c01"]);
    let work = left_by(&mut fleet, owner("gone", Some(UpgradeKey::new("team", "winter"))));
    let before = written_pages(&mut fleet);
    assert_eq!(before.len(), 1, "{before:?}");
    let (page, append_to) = &before[0];
    assert!(
        append_to.is_none() && page.starts_with("winter-") && page.ends_with("-1"),
        "{before:?}"
    );
    // One of that name has been there all the while; another upgrade writes on it, too.
    let revision = work.revision.as_ref().unwrap();
    for entries in [1, 2] {
        let entry = json!({
            "cluster": "c99", "outcome": "Complete", "reason": "Upgraded", "message": "", "to": "4.14.12",
            "completed": fleet.now.to_string(),
        });
        let record = json!({
            "metadata": {"labels": {UPGRADE_UID_LABEL: "gone"}},
            "spec": {
                "upgrade": {
                    "name": "winter", "uid": "gone", "target": "4.14.12", "goal": revision.goal.fingerprint(),
                    "rolloutSince": revision.rollout_since.to_string(),
                },
                "entries": vec![entry; entries],
            },
        });
        fleet.see::<ManagedClustersUpgradeRecord>("team", page, Some(record));
        let version = fleet.version.to_string();
        assert_eq!(written_pages(&mut fleet), [(page.clone(), Some(version))]);
    }
}

#[test]
fn what_an_upgrade_that_nothing_names_has_left_is_put_on_record() {
    let mut fleet = TestFleet::new(&["c01"]);
    left_by(&mut fleet, owner("gone", None));
    let planned = fleet.plan();
    let mut pages = planned.plan.actions.iter().filter_map(|action| match action {
        Action::WritePage(write) => Some(crate::record::new_page("default", write)),
        _ => None,
    });
    let page = pages.next().unwrap();
    let name = page["metadata"]["name"].as_str().unwrap().to_owned();
    fleet.see::<ManagedClustersUpgradeRecord>("default", &name, Some(page));
    let actions = fleet.plan().plan.actions;
    assert!(
        actions
            .iter()
            .any(|action| matches!(action, Action::DeleteWork { .. })),
        "{actions:?}"
    );
}

#[test]
fn what_a_restored_upgrade_has_on_record_is_so_although_its_work_names_its_former_uid() {
    let mut fleet = TestFleet::new(&["c01"]);
    let autumn = UpgradeKey::new("default", "autumn");
    let work = left_by(&mut fleet, owner("former", Some(autumn)));
    fleet.set_named_upgrade("autumn", "restored", 1, "none");
    let (revision, started) = (work.revision.as_ref().unwrap(), work.attempt_since());
    let page = json!({
        "metadata": {"labels": {UPGRADE_UID_LABEL: "restored"}},
        "spec": {
            "upgrade": {
                "name": "autumn", "uid": "restored", "target": "4.14.12", "goal": revision.goal.fingerprint(),
                "rolloutSince": revision.rollout_since.to_string(),
            },
            "entries": [{
                "cluster": "c01", "outcome": "Complete", "reason": "Upgraded", "message": "", "to": "4.14.12",
                "started": started.to_string(), "completed": fleet.now.to_string(),
            }],
        },
    });
    let waits = fleet.plan().plan.actions;
    assert!(waits.is_empty(), "{waits:?}");
    fleet.see::<ManagedClustersUpgradeRecord>("default", "autumn-1", Some(page));
    let actions = fleet.plan().plan.actions;
    assert!(matches!(&actions[..], [Action::DeleteWork { .. }]), "{actions:?}");
}

#[test]
fn a_canary_is_awaited_while_its_start_by_a_later_upgrade_may_yet_be_refused() {
    let mut fleet = TestFleet::new(&["c00", "c01", "c02"]);
    let mut canary = cluster();
    merge(&mut canary, json!({"metadata": {"labels": {"canary": "yes"}}}));
    let mut complete = canary.clone();
    complete["status"]["clusterClaims"] = json!([{"name": "version.openshift.io", "value": "4.14.12"}]);
    fleet.see::<ManagedCluster>("", "c00", Some(complete));
    fleet.see::<ManagedCluster>("", "c01", Some(canary));
    let mut spring = fleet.upgrade("spring", UID, 2, "all");
    let strategy = json!({"maxConcurrency": 10, "canaryClusters": {"clusterSelector": {"matchLabels": {"canary": "yes"}}}});
    spring.spec.upgrade_strategy = serde_json::from_value(strategy).unwrap();
    let since = fleet.now;
    spring.status = serde_json::from_value(json!({"observedGeneration": 2, "startTime": since})).unwrap();
    spring.spec.paused = Some(true);
    let _change = fleet.fleet.set_upgrade(&Arc::new(spring.clone()));
    fleet.pass(60);
    fleet.select("one", &["c01"]);
    fleet.set_named_upgrade("autumn", "autumn-uid", 1, "one");
    let autumn = UpgradeKey::new("default", "autumn");
    let planned = fleet.fleet.plan(&autumn, fleet.now).unwrap();
    let start = planned
        .plan
        .actions
        .iter()
        .find(|action| action.starts().is_some());
    let start = start.unwrap().clone();
    spring.spec.paused = None;
    spring.metadata.generation = Some(3);
    fleet.version += 1;
    spring.metadata.resource_version = Some(fleet.version.to_string());
    let _change = fleet.fleet.set_upgrade(&Arc::new(spring));
    assert_eq!(fleet.starts().into_keys().collect::<Vec<_>>(), []);

    let work = Uid::new("c01-work");
    fleet.version += 1;
    let _change = fleet
        .fleet
        .written(&start, Some(work), Some(fleet.version), fleet.now);
    let started: Vec<_> = fleet.starts().into_keys().collect();
    assert_eq!(started, [ClusterName::from("c02")]);
}
