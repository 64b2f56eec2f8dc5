//! A cluster is one upgrade's from its first work to its recorded end.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::names::REVISION_ANNOTATION;
use drydock_e2e::hub_fleet::{
    HubFleet, RECORD, UPGRADE, WEEK, action, is_true, is_work, minutes, spec_of, with,
};
use kube_sandbox::access::{Key, Kind, Removal, Selection};
use kube_sandbox::server::{RequestInfo, Verb};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, MANIFEST_WORK};
use ocm_sandbox::spokes::{Stage, StageOutcome, StubWorkAgentSettings, image_of};
use serde_json::{Value, json};

/// The upgrades that have works without an outcome on a cluster.
async fn at_work(light: &HubFleet, cluster: &str) -> BTreeSet<String> {
    let mut by_upgrade: BTreeMap<String, bool> = BTreeMap::new();
    for (_, upgrade, state) in light.works_of(cluster).await.unwrap() {
        *by_upgrade.entry(upgrade).or_default() |= !state.is_empty();
    }
    let open = by_upgrade.into_iter().filter(|(_, ended)| !ended);
    open.map(|(upgrade, _)| upgrade).collect()
}

fn newer(spec: Value) -> Value {
    with(spec, &json!({"clusterVersion": {"version": "4.14.13"}}))
}

#[tokio::test(start_paused = true)]
async fn two_upgrades_never_work_on_one_cluster_at_once_operators_included() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let operators = json!({"ocpOperators": {"approveAllUpgrades": true}});
    let names = ["c01", "c02"];
    light
        .upgrade("old", with(spec_of(&names), &operators))
        .await
        .unwrap();
    minutes(20).await;
    light.upgrade("new", newer(spec_of(&names))).await.unwrap();
    for minute in 0..600 {
        minutes(1).await;
        for name in names {
            let open = at_work(&light, name).await;
            assert!(open.len() <= 1, "after {minute} min on {name}: {open:?}");
        }
    }
    light.until_complete("new").await.unwrap();
    assert_eq!(
        (light.version("c01"), light.version("c02")),
        ("4.14.13".into(), "4.14.13".into())
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_failed_goes_to_the_later_upgrade_and_the_older_one_lets_go_for_good() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Fails);
    });
    light.upgrade("old", spec_of(&["c01", "c02"])).await.unwrap();
    let failed = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| is_true(status, "Failed");
    light.until("old", WEEK, failed).await.unwrap();
    minutes(720).await;
    assert_eq!(
        light.asked()["c01"],
        ["4.14.12"],
        "no retry that nobody asked for"
    );
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Succeeds);
    });
    light.upgrade("new", newer(spec_of(&["c01"]))).await.unwrap();
    light.until_complete("new").await.unwrap();
    minutes(720).await;
    assert_eq!(light.asked()["c01"], ["4.14.12", "4.14.13"]);
    // The older one still says that the cluster failed under it, and to whom it was left.
    let old = light.status("old").await.unwrap();
    assert_eq!(old.clusters_summery.unwrap().failed, 1);
    let (_, _, message) = light.condition("old", "InProgress").await.unwrap();
    assert!(
        message.contains("1 cluster left to the later upgrade default/new"),
        "{message}"
    );
    // Deleting the later one gives nothing back.
    light.delete("new").await.unwrap();
    minutes(2 * 24 * 60).await;
    assert_eq!(light.asked()["c01"], ["4.14.12", "4.14.13"]);
    assert_eq!(light.version("c01"), "4.14.13");
    let (_, _, message) = light.condition("old", "InProgress").await.unwrap();
    assert!(
        message.contains("1 cluster left to the later upgrade default/new, which is deleted"),
        "{message}"
    );
    assert_eq!(
        light
            .status("old")
            .await
            .unwrap()
            .clusters_summery
            .unwrap()
            .failed,
        1
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn deleting_the_later_upgrade_does_not_take_clusters_back_to_an_older_image() {
    let mut light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let by_image = |version: &str| json!({"clusterVersion": {"channel": null, "version": version, "image": image_of(version)}});
    light
        .upgrade("old", with(spec_of(&["c01"]), &by_image("4.14.12")))
        .await
        .unwrap();
    light.until_complete("old").await.unwrap();
    light
        .upgrade("new", with(spec_of(&["c01"]), &by_image("4.14.13")))
        .await
        .unwrap();
    light.until_complete("new").await.unwrap();
    light.delete("new").await.unwrap();
    minutes(2 * 24 * 60).await;
    light.restart_hub().await.unwrap();
    minutes(2 * 24 * 60).await;
    assert_eq!(light.asked()["c01"], ["4.14.12", "4.14.13"]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_on_the_earlier_upgrade_is_the_exception_and_never_asks_for_an_older_version() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Fails);
    });
    light.upgrade("old", spec_of(&["c01"])).await.unwrap();
    let failed = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| is_true(status, "Failed");
    light.until("old", WEEK, failed).await.unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Succeeds);
    });
    light.upgrade("new", newer(spec_of(&["c01"]))).await.unwrap();
    light.until_complete("new").await.unwrap();
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "please"}}});
    light.edit("old", retry).await.unwrap();
    light.until_complete("old").await.unwrap();
    assert_eq!(light.asked()["c01"], ["4.14.12", "4.14.13"]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_restored_under_another_uid_continues_where_its_works_and_records_are() {
    let mut light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let one = json!({"upgradeStrategy": {"maxConcurrency": 1}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02", "c03"]), &one))
        .await
        .unwrap();
    while !light.asked().contains_key("c02") {
        minutes(1).await;
    }
    minutes(5).await;
    light.kill_hub().await;
    light.spokes.cut_off(true);
    let backup = lose_all(&light).await;
    minutes(10).await;
    put_back(&light, backup).await;
    light.spokes.cut_off(false);
    light.start_hub().unwrap();
    light.until_complete("spring").await.unwrap();
    assert_eq!(
        light.spokes.asked().len(),
        3,
        "each was asked once: {:?}",
        light.asked()
    );
    let entries = light.entries().await.unwrap();
    assert_eq!(entries.len(), 3, "{entries:#?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn works_that_are_restored_before_their_upgrade_is_seen_again_are_nobody_elses() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    while !light.asked().contains_key("c01") {
        minutes(1).await;
    }
    minutes(5).await;
    light.spokes.cut_off(true);
    let backup = lose_all(&light).await;
    let is_create = |asked: &RequestInfo<'_>| is_work(asked, Verb::Create);
    light.refuse("not now", is_create);
    light.upgrade("autumn", newer(spec_of(&["c01"]))).await.unwrap();
    minutes(5).await;
    light.refuse("not now", move |asked| {
        let is_upgrade = asked
            .kind
            .is_some_and(|kind| kind.plural == "managedclustersupgrades");
        is_create(asked) || is_upgrade && matches!(asked.verb, Verb::List | Verb::Watch)
    });
    light.server.cut_watches(|_, _| true);
    put_back(&light, backup).await;
    light.spokes.cut_off(false);
    minutes(10).await;
    light.accept();
    light.until_complete("spring").await.unwrap();
    light.until_complete("autumn").await.unwrap();
    assert_eq!(light.asked()["c01"], ["4.14.12", "4.14.13"]);
    let entries = light.entries().await.unwrap();
    let outcomes = entries
        .iter()
        .map(|(upgrade, entry)| (upgrade.as_str(), entry.outcome.as_str()));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [("spring", "Complete"), ("autumn", "Complete")]
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_deleted_and_created_again_has_nothing_of_the_work_that_still_goes() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let one = json!({"upgradeStrategy": {"maxConcurrency": 1, "clusterUpgradeTimeout": "2h"}});
    let spec = with(spec_of(&["c01", "c02"]), &one);
    light.upgrade("spring", spec.clone()).await.unwrap();
    while !light.asked().contains_key("c01") {
        minutes(1).await;
    }
    // The work agent of the cluster does not remove its finalizer yet.
    let keep = json!({"metadata": {"finalizers": ["example.com/keep"]}});
    let works = light.works().await.unwrap();
    let key = works.iter().map(|work| work.key()).next().unwrap();
    let kind = &MANIFEST_WORK;
    light.user.merge_patch(kind, &key, keep).await.unwrap();
    light.delete("spring").await.unwrap();
    minutes(10).await;
    assert!(light.find("spring").await.unwrap().is_none());
    light.upgrade("spring", newer(spec)).await.unwrap();
    minutes(150).await;
    let (state, reason, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!(
        (state.as_str(), reason.as_str()),
        ("NotStarted", "ReplacingOldWork"),
        "{message}"
    );
    assert!(
        light.asked().contains_key("c02"),
        "no slot is taken: {:?}",
        light.asked()
    );
    let free = json!({"metadata": {"finalizers": null}});
    light.user.merge_patch(kind, &key, free).await.unwrap();
    light.until_complete("spring").await.unwrap();
    assert_eq!(light.asked()["c01"].last().unwrap(), "4.14.13");
    let entries = light.entries().await.unwrap();
    let outcomes: Vec<&str> = entries.iter().map(|(_, entry)| entry.outcome.as_str()).collect();
    assert_eq!(outcomes.len(), 3, "{entries:#?}");
    light.shut_down().await;
}

/// All upgrades, records and works are backed up and lost.
async fn lose_all(light: &HubFleet) -> Vec<(Kind, Value)> {
    let mut backup = Vec::new();
    for kind in [UPGRADE, RECORD, MANIFEST_WORK] {
        let kind = &kind;
        for object in light.user.list(kind, &Selection::everything()).await.unwrap() {
            let key = object.key();
            let kept = json!({"metadata": {"finalizers": null}});
            light.user.merge_patch(kind, &key, kept).await.unwrap();
            light.user.delete(kind, &key, &Removal::default()).await.unwrap();
            let mut value = object.value().clone();
            let metadata = value["metadata"].as_object_mut().unwrap();
            for field in [
                "uid",
                "resourceVersion",
                "generation",
                "creationTimestamp",
                "deletionTimestamp",
            ] {
                metadata.remove(field);
            }
            value.as_object_mut().unwrap().remove("status");
            backup.push((kind.clone(), value));
        }
    }
    backup
}

/// What was lost is restored as a backup restores it: with new uids and without status.
async fn put_back(light: &HubFleet, backup: Vec<(Kind, Value)>) {
    for (kind, value) in backup {
        light.user.create(&kind, value).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn how_clusters_ended_outlives_the_upgrade() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c02", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Fails);
    });
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    let over = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
        status
            .clusters_summery
            .is_some_and(|summary| summary.complete + summary.failed == 2)
    };
    light.until("spring", WEEK, over).await.unwrap();
    light.delete("spring").await.unwrap();
    minutes(10).await;
    assert!(light.find("spring").await.unwrap().is_none());
    assert!(light.works().await.unwrap().is_empty());
    let entries = light.entries().await.unwrap();
    let mut ends: Vec<(&str, &str, &str)> = entries
        .iter()
        .map(|(_, entry)| {
            (
                entry.cluster.as_str(),
                entry.outcome.as_str(),
                entry.reason.as_str(),
            )
        })
        .collect();
    ends.sort_unstable();
    assert_eq!(
        ends,
        [
            ("c01", "Complete", "Upgraded"),
            ("c02", "Failed", "InvalidTarget")
        ]
    );
    let pages = light.user.list(&RECORD, &Selection::everything()).await.unwrap();
    assert_eq!(pages[0]["spec"]["upgrade"]["deleted"], true);
    // One of the same name has nothing to do with it.
    light.upgrade("spring", spec_of(&["c02"])).await.unwrap();
    light.spokes.with("c02", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Succeeds);
    });
    light.until_complete("spring").await.unwrap();
    assert_eq!(light.asked()["c02"].len(), 2);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_deleted_midway_is_on_record_as_abandoned() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    minutes(20).await;
    light.delete("spring").await.unwrap();
    minutes(5).await;
    assert!(light.find("spring").await.unwrap().is_none());
    let entries = light.entries().await.unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].1.outcome, "Abandoned", "{entries:?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_version_that_changes_under_a_finished_cluster_is_on_record() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    light
        .spokes
        .with("c01", |cluster, now| cluster.upgraded_outside("4.14.20", now));
    minutes(10).await;
    let entries = light.entries().await.unwrap();
    let (_, newest) = entries.last().unwrap();
    assert_eq!(
        (newest.outcome.as_str(), newest.to.as_str()),
        ("Drifted", "4.14.20")
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_shows_ever_other_versions_has_one_entry_that_is_seldom_written() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    let status = light.status("spring").await.unwrap();
    // For three hours.
    for patch in 0..360 {
        let version = format!("4.15.{patch}");
        light
            .spokes
            .with("c01", |cluster, now| cluster.upgraded_outside(&version, now));
        tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    }
    minutes(61).await;
    let entries = light.entries().await.unwrap();
    let ended: Vec<(&str, Option<&str>, &str)> = entries
        .iter()
        .map(|(_, entry)| (entry.outcome.as_str(), entry.from.as_deref(), entry.to.as_str()))
        .collect();
    assert_eq!(
        ended,
        [
            ("Complete", Some("4.14.9"), "4.14.12"),
            ("Drifted", Some("4.14.12"), "4.15.359")
        ]
    );
    let pages = light.user.list(&RECORD, &Selection::everything()).await.unwrap();
    let writes = pages[0]["metadata"]["generation"].as_i64().unwrap();
    assert!((3..=7).contains(&writes), "{writes} writes in four hours");
    let events = light.events().await.unwrap();
    let count = events
        .iter()
        .filter(|(reason, _)| reason == "ClusterDrifted")
        .count();
    assert!((2..=5).contains(&count), "{count} Events in four hours");
    assert_eq!(light.status("spring").await.unwrap(), status, "it is frozen");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_work_that_nobody_owns_any_more_is_recorded_by_who_replaces_it() {
    let mut light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("old", spec_of(&["c01"])).await.unwrap();
    light.until_complete("old").await.unwrap();
    light.kill_hub().await;
    // The upgrade goes without its hub: somebody takes its finalizer off, and its records are lost.
    let key = Key::namespaced("default", "old");
    let bare = json!({"metadata": {"finalizers": null}});
    light.user.merge_patch(&UPGRADE, &key, bare).await.unwrap();
    light.delete("old").await.unwrap();
    for page in light.user.list(&RECORD, &Selection::everything()).await.unwrap() {
        light
            .user
            .delete(&RECORD, &page.key(), &Removal::default())
            .await
            .unwrap();
    }
    light.start_hub().unwrap();
    light.upgrade("new", newer(spec_of(&["c01"]))).await.unwrap();
    light.until_complete("new").await.unwrap();
    let entries = light.entries().await.unwrap();
    let versions: Vec<&str> = entries.iter().map(|(_, entry)| entry.to.as_str()).collect();
    assert_eq!(versions, ["4.14.12", "4.14.13"], "{entries:#?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_leaves_the_goal_of_a_complete_upgrade_as_it_is_takes_nothing_back() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let by_image = |version: &str| json!({"clusterVersion": {"channel": null, "version": null, "image": image_of(version)}});
    light
        .upgrade("old", with(spec_of(&["c01"]), &by_image("4.14.12")))
        .await
        .unwrap();
    light.until_complete("old").await.unwrap();
    let began = light.status("old").await.unwrap().start_time;
    light
        .upgrade("new", with(spec_of(&["c01"]), &by_image("4.14.13")))
        .await
        .unwrap();
    light.until_complete("new").await.unwrap();
    for strategy in [
        json!({"maxConcurrency": 7}),
        json!({"clusterUpgradeTimeout": "5h"}),
    ] {
        let edit = json!({"spec": {"upgradeStrategy": strategy}});
        light.edit("old", edit).await.unwrap();
        minutes(600).await;
    }
    assert_eq!(light.asked()["c01"], ["4.14.12", "4.14.13"]);
    assert_eq!(light.status("old").await.unwrap().start_time, began);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_on_record_once_though_the_revision_was_taken_off_its_work() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    let key = Key::namespaced("c01", "c01-cluster-upgrade");
    let none = json!({"metadata": {"annotations": {REVISION_ANNOTATION: null}}});
    light.user.merge_patch(&MANIFEST_WORK, &key, none).await.unwrap();
    minutes(600).await;
    let entries = light.entries().await.unwrap();
    assert_eq!(entries.len(), 1, "{entries:#?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_claim_lags_behind_its_record_is_read_before_it_is_asked() {
    for fails in [false, true] {
        let light = HubFleet::start(1, StubWorkAgentSettings::default())
            .await
            .unwrap();
        let mut spec = newer(spec_of(&["c01"]));
        if fails {
            // After the platform has come to the target.
            spec = with(spec, &json!({"postUpgradeAction": action("after")}));
            light.spokes.with("c01", |cluster, _| {
                cluster.always(Stage::Job, StageOutcome::Fails);
            });
        }
        light.upgrade("new", spec).await.unwrap();
        let ended = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
            is_true(status, if fails { "Failed" } else { "Complete" })
        };
        light.until("new", WEEK, ended).await.unwrap();
        // What the cluster claims is what it ran before.
        let mut cluster = light
            .user
            .get(&MANAGED_CLUSTER, &Key::cluster("c01"))
            .await
            .unwrap()
            .value()
            .clone();
        cluster["status"]["clusterClaims"] = json!([{"name": "version.openshift.io", "value": "4.14.9"}]);
        light
            .user
            .replace_status(&MANAGED_CLUSTER, cluster)
            .await
            .unwrap();
        light.delete("new").await.unwrap();
        minutes(10).await;
        light.upgrade("old", spec_of(&["c01"])).await.unwrap();
        light.until_complete("old").await.unwrap();
        assert_eq!(light.asked()["c01"], ["4.14.13"], "fails: {fails}");
        light.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_a_moment_that_has_not_come_takes_no_cluster_and_no_time() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let forged = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgradeRecord",
        "metadata": {
            "name": "forged-1", "namespace": "default", "labels": {"drydock.dev/upgrade-uid": "forged"},
        },
        "spec": {
            "upgrade": {
                "name": "forged", "uid": "forged", "rolloutSince": "2099-01-01T00:00:00Z", "target": "4.14.18", "goal": "x",
            },
            "entries": [{
                "cluster": "c01", "outcome": "Complete", "reason": "Upgraded", "message": "", "to": "4.14.18",
                "started": "2099-01-01T00:00:00Z", "completed": "2099-01-01T00:00:00Z",
            }],
        },
    });
    light.user.create(&RECORD, forged).await.unwrap();
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    assert_eq!(light.version("c01"), "4.14.12");
    let entries = light.entries().await.unwrap();
    let ours = entries.iter().filter(|(upgrade, _)| upgrade != "forged");
    for (_, entry) in ours {
        assert!(entry.started.as_deref().unwrap() < "2027", "{entry:?}");
    }
    light.shut_down().await;
}
