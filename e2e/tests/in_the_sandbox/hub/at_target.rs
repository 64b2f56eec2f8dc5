//! Clusters that run the target before anything is asked of them.

use std::time::Duration;

use drydock_e2e::hub_fleet::{HubFleet, Joining, RECORD, WEEK, action, is_true, minutes, spec_of, with};
use kube_sandbox::access::{Key, Removal, Selection};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, NAMESPACE};
use ocm_sandbox::spokes::{Stage, StageOutcome, StagePlan, StubWorkAgentSettings};
use serde_json::json;

async fn claims(light: &HubFleet, name: &str, version: &str) {
    let key = Key::cluster(name);
    let mut cluster = light
        .user
        .get(&MANAGED_CLUSTER, &key)
        .await
        .unwrap()
        .value()
        .clone();
    cluster["status"]["clusterClaims"] = json!([{"name": "version.openshift.io", "value": version}]);
    light
        .user
        .replace_status(&MANAGED_CLUSTER, cluster)
        .await
        .unwrap();
}

/// What the records say: cluster, outcome, reason, the versions and whether an attempt was begun.
async fn records(light: &HubFleet) -> Vec<(String, String, String, String, String, bool)> {
    let entries = light.entries().await.unwrap();
    let found = entries.into_iter().map(|(_, entry)| {
        let from = entry.from.unwrap_or_default();
        let began = entry.started.is_some();
        (entry.cluster, entry.outcome, entry.reason, from, entry.to, began)
    });
    found.collect()
}

fn already(cluster: &str, version: &str) -> (String, String, String, String, String, bool) {
    let text = |text: &str| text.to_owned();
    let (outcome, reason) = (text("Complete"), text("AlreadyAtTarget"));
    (
        text(cluster),
        outcome,
        reason,
        text(version),
        text(version),
        false,
    )
}

async fn notes_of(light: &HubFleet, reason: &str) -> Vec<String> {
    let events = light.events().await.unwrap();
    let found = events.into_iter().filter(|(found, _)| found == reason);
    let mut notes: Vec<String> = found.map(|(_, note)| note).collect();
    notes.sort();
    notes
}

async fn fleet(versions: &[(&str, &str)]) -> HubFleet {
    let light = HubFleet::start(0, StubWorkAgentSettings::default())
        .await
        .unwrap();
    for (name, version) in versions {
        let joining = Joining {
            version,
            ..Joining::new(name)
        };
        light.join(&joining).await.unwrap();
    }
    light
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_runs_the_target_is_on_record_and_not_reported_as_upgraded() {
    let light = fleet(&[("c01", "4.14.12"), ("c02", "4.14.13")]).await;
    light
        .upgrade("spring", spec_of(&["c01", "c02", "c03"]))
        .await
        .unwrap();
    let status = light.until_complete("spring").await.unwrap();
    minutes(600).await;
    assert_eq!(
        records(&light).await,
        [already("c01", "4.14.12"), already("c02", "4.14.13")]
    );
    let (.., message) = light.condition("spring", "Complete").await.unwrap();
    assert_eq!(
        message,
        "all 2 clusters run 4.14.12 or newer; 2 of them did before"
    );
    assert_eq!(
        notes_of(&light, "ClusterCompleted").await,
        ["c01: already runs 4.14.12", "c02: already runs 4.14.13"]
    );
    assert!(light.asked().is_empty());
    let page = &light.user.list(&RECORD, &Selection::everything()).await.unwrap()[0];
    let since = status.start_time.unwrap().0.to_string();
    assert_eq!(page["spec"]["upgrade"]["rolloutSince"], since.as_str());
    // Neither an edit that leaves the goal as it is nor a cluster that is selected later adds one.
    let edit = json!({"spec": {"upgradeStrategy": {"maxConcurrency": 7}}});
    light.edit("spring", edit).await.unwrap();
    minutes(10).await;
    light
        .join(&Joining {
            version: "4.14.12",
            ..Joining::new("c03")
        })
        .await
        .unwrap();
    minutes(10).await;
    assert_eq!(records(&light).await.len(), 2);
    // Another goal does.
    let edit = json!({"spec": {"clusterVersion": {"version": "4.14.11"}}});
    light.edit("spring", edit).await.unwrap();
    minutes(10).await;
    assert!(is_true(&light.status("spring").await.unwrap(), "Complete"));
    let records = records(&light).await;
    assert_eq!(records[2..4], records[..2]);
    assert_eq!(records[4..], [already("c03", "4.14.12")]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_ran_the_target_and_says_otherwise_later_is_not_started() {
    let light = fleet(&[("c01", "4.14.12"), ("c02", "4.14.9")]).await;
    light.spokes.with("c02", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Hangs);
    });
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    minutes(10).await;
    claims(&light, "c01", "4.14.9").await;
    minutes(30).await;
    assert!(!light.asked().contains_key("c01"), "{:?}", light.asked());
    let records = records(&light).await;
    assert_eq!(records[0], already("c01", "4.14.12"));
    assert_eq!(
        (records[1].1.as_str(), records[1].4.as_str()),
        ("Drifted", "4.14.9")
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_retried_cluster_that_another_upgrade_completed_is_on_record() {
    let light = fleet(&[("c01", "4.14.9")]).await;
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Fails);
    });
    light.upgrade("one", spec_of(&["c01"])).await.unwrap();
    light
        .until("one", WEEK, |status| is_true(status, "Failed"))
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Succeeds);
    });
    let newer = json!({"clusterVersion": {"version": "4.14.13"}});
    light
        .upgrade("two", with(spec_of(&["c01"]), &newer))
        .await
        .unwrap();
    light.until_complete("two").await.unwrap();
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "again"}}});
    light.edit("one", retry).await.unwrap();
    light.until_complete("one").await.unwrap();
    minutes(10).await;
    let records = records(&light).await;
    assert_eq!(records.last(), Some(&already("c01", "4.14.13")), "{records:#?}");
    let completed = notes_of(&light, "ClusterCompleted").await;
    assert!(
        completed.contains(&"c01: already runs 4.14.13".to_owned()),
        "{completed:?}"
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_retried_cluster_that_another_upgrade_completed_is_not_prepared_for_an_update_again() {
    let light = fleet(&[("c01", "4.14.9")]).await;
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Fails);
    });
    let stages = json!({
        "preUpgradeAction": action("before"), "ocpOperators": {"approveAllUpgrades": true}, "postUpgradeAction": action("after"),
    });
    light
        .upgrade("one", with(spec_of(&["c01"]), &stages))
        .await
        .unwrap();
    light
        .until("one", WEEK, |status| is_true(status, "Failed"))
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Succeeds);
    });
    light.upgrade("two", spec_of(&["c01"])).await.unwrap();
    light.until_complete("two").await.unwrap();
    let began = || async {
        let started = notes_of(&light, "ClusterStarted").await;
        started
            .iter()
            .filter(|note| note.contains("pre-upgrade action"))
            .count()
    };
    assert_eq!(began().await, 1);
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "again"}}});
    light.edit("one", retry).await.unwrap();
    light.until_complete("one").await.unwrap();
    minutes(10).await;
    assert_eq!(began().await, 1);
    let followed = notes_of(&light, "ClusterPostAction").await;
    assert_eq!(followed.len(), 1, "{followed:?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_recorded_while_the_upgrade_is_paused() {
    let light = fleet(&[("c01", "4.14.12"), ("c02", "4.14.9")]).await;
    let paused = with(spec_of(&["c01", "c02"]), &json!({"paused": true}));
    light.upgrade("spring", paused).await.unwrap();
    minutes(30).await;
    assert!(records(&light).await.is_empty());
    light
        .edit("spring", json!({"spec": {"paused": false}}))
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    assert_eq!(records(&light).await.len(), 2);
    let (.., message) = light.condition("spring", "Complete").await.unwrap();
    assert_eq!(
        message,
        "all 2 clusters run 4.14.12 or newer; 1 of them did before"
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_joins_again_with_the_version_before_has_drifted() {
    let light = fleet(&[("c01", "4.14.9"), ("c02", "4.14.9")]).await;
    light.spokes.with("c02", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Hangs);
    });
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    minutes(120).await;
    assert_eq!(records(&light).await[0].1, "Complete");
    light
        .user
        .delete(&MANAGED_CLUSTER, &Key::cluster("c01"), &Removal::default())
        .await
        .unwrap();
    light
        .user
        .delete(&NAMESPACE, &Key::cluster("c01"), &Removal::default())
        .await
        .unwrap();
    minutes(10).await;
    light.join(&Joining::new("c01")).await.unwrap();
    minutes(30).await;
    let entries = light.entries().await.unwrap();
    let drifted = entries.iter().find(|(_, entry)| entry.outcome == "Drifted");
    let (_, drifted) = drifted.unwrap_or_else(|| panic!("{entries:?}"));
    assert_eq!((drifted.cluster.as_str(), drifted.to.as_str()), ("c01", "4.14.9"));
    light.shut_down().await;
}

/// Whoever has upgraded it, nobody knows since when it runs well: an upgrade that was deleted and made anew, or somebody by hand.
#[tokio::test(start_paused = true)]
async fn a_canary_that_runs_the_target_already_soaks_from_when_it_was_found() {
    let mut light = fleet(&[("c01", "4.14.12"), ("c02", "4.14.9")]).await;
    let is_canary = json!({"matchExpressions": [{"key": "name", "operator": "In", "values": ["c01"]}]});
    let strategy = json!({"canaryClusters": {"clusterSelector": is_canary, "soakTime": "3h"}});
    let spec = with(spec_of(&["c01", "c02"]), &json!({"upgradeStrategy": strategy}));
    light.upgrade("spring", spec).await.unwrap();
    minutes(60).await;
    let begun = light.status("spring").await.unwrap().start_time;
    assert!(begun.is_some());
    assert_eq!(records(&light).await, [already("c01", "4.14.12")]);
    // Whoever comes after knows it, too.
    light.restart_hub().await.unwrap();
    minutes(115).await;
    assert!(!light.asked().contains_key("c02"), "{:?}", light.asked());
    let (_, reason, _) = light.condition("spring", "InProgress").await.unwrap();
    assert_eq!(reason, "CanarySoaking");
    // One that is in trouble does not soak.
    light.available("c01", false).await.unwrap();
    minutes(30).await;
    assert!(!light.asked().contains_key("c02"), "{:?}", light.asked());
    light.available("c01", true).await.unwrap();
    minutes(170).await;
    assert!(!light.asked().contains_key("c02"), "{:?}", light.asked());
    minutes(15).await;
    assert!(light.asked().contains_key("c02"));
    assert_eq!(light.status("spring").await.unwrap().start_time, begun);
    light.shut_down().await;
}

/// The attempt asks for nothing while the update goes on that the first had asked for: it takes no credit for it, and does not say that there was none.
#[tokio::test(start_paused = true)]
async fn a_cluster_whose_update_is_under_way_already_has_not_run_the_target_before() {
    let light = fleet(&[("c01", "4.14.9")]).await;
    light.spokes.with("c01", |cluster, _| {
        cluster.plan_update(StagePlan {
            takes: Duration::from_hours(4),
            outcome: StageOutcome::Succeeds,
        });
    });
    let soon = json!({"upgradeStrategy": {"clusterUpgradeTimeout": "2h"}});
    light
        .upgrade("spring", with(spec_of(&["c01"]), &soon))
        .await
        .unwrap();
    light
        .until("spring", WEEK, |status| is_true(status, "Failed"))
        .await
        .unwrap();
    let longer = json!({
        "metadata": {"annotations": {"drydock.dev/retry": "again"}},
        "spec": {"upgradeStrategy": {"clusterUpgradeTimeout": "5h"}},
    });
    light.edit("spring", longer).await.unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(10).await;
    let text = str::to_owned;
    let last = ("c01", "Complete", "UpdatedOtherwise", "4.14.9", "4.14.12");
    let (cluster, outcome, reason, from, to) = last;
    let expected = (
        text(cluster),
        text(outcome),
        text(reason),
        text(from),
        text(to),
        true,
    );
    assert_eq!(records(&light).await.last(), Some(&expected));
    let (.., message) = light.condition("spring", "Complete").await.unwrap();
    assert_eq!(message, "1 of 1 cluster upgraded to 4.14.12");
    assert!(notes_of(&light, "ClusterCompleted").await.contains(&text(
        "c01: came to 4.14.12 by an update that this attempt had not asked for"
    )));
    light.shut_down().await;
}
