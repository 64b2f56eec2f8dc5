//! Pre- and post-upgrade actions are of one attempt.

use std::collections::BTreeSet;

use drydock_api::names::{KIND_LABEL, WorkKind};
use drydock_e2e::hub_fleet::{HubFleet, WEEK, action, is_true, minutes, spec_of, with};
use jiff::SignedDuration;
use kube_sandbox::access::Key;
use ocm_sandbox::kinds::MANIFEST_WORK;
use ocm_sandbox::spokes::{Stage, StageOutcome, StubWorkAgentSettings};
use serde_json::json;

fn failed(status: &drydock_api::mcu::ManagedClustersUpgradeStatus) -> bool {
    is_true(status, "Failed")
}

#[tokio::test(start_paused = true)]
async fn a_job_that_an_earlier_attempt_has_orphaned_is_no_backup_for_the_next_target() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let backup = with(
        action("backup"),
        &json!({"manifestWork": {"deleteOption": {"propagationPolicy": "Orphan"}}}),
    );
    light
        .upgrade(
            "spring",
            with(spec_of(&["c01"]), &json!({"preUpgradeAction": backup})),
        )
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    assert!(light.spokes.with("c01", |cluster, _| {
        cluster.object("Job", "default", "backup").is_some()
    }));
    let next = json!({"spec": {"clusterVersion": {"version": "4.14.13"}}});
    light.edit("spring", next).await.unwrap();
    light.until("spring", WEEK, failed).await.unwrap();
    let (_, reason, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!(reason, "PreActionFailed");
    assert!(
        message.contains("Job default/backup") && message.contains("another attempt"),
        "{message}"
    );
    assert_eq!(
        light.asked()["c01"],
        ["4.14.12"],
        "without a backup nothing is upgraded"
    );
    // Once the Job is out of the way, a retry makes a new one.
    light.spokes.with("c01", |cluster, _| {
        cluster.remove_object("Job", "default", "backup");
    });
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "1"}}});
    light.edit("spring", retry).await.unwrap();
    light.until_complete("spring").await.unwrap();
    assert_eq!(light.asked()["c01"], ["4.14.12", "4.14.13"]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn the_job_of_a_failed_pre_action_makes_room_for_that_of_a_retry() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Job, StageOutcome::Fails);
    });
    light
        .upgrade(
            "spring",
            with(spec_of(&["c01"]), &json!({"preUpgradeAction": action("backup")})),
        )
        .await
        .unwrap();
    light.until("spring", WEEK, failed).await.unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Job, StageOutcome::Succeeds);
    });
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "1"}}});
    light.edit("spring", retry).await.unwrap();
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_users_configuration_with_wildcards_does_not_hide_how_the_job_ended() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let wildcards = with(
        action("backup"),
        &json!({"manifestWork": {"manifestConfigs": [{
            "resourceIdentifier": {"group": "batch", "resource": "jobs", "name": "*", "namespace": "*"},
            "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "active", "path": ".status.active"}]}],
        }]}}),
    );
    light
        .upgrade(
            "spring",
            with(spec_of(&["c01"]), &json!({"preUpgradeAction": wildcards})),
        )
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_pre_action_that_outlasts_the_window_waits_for_the_next_one() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Job, StageOutcome::Hangs);
    });
    // Virtual time begins at 8 o'clock.
    let strategy = json!({"startWindows": [{"cron": "0 8 * * *", "duration": "1h"}]});
    let backup = with(action("backup"), &json!({"timeout": "4h"}));
    let change = json!({"preUpgradeAction": backup, "upgradeStrategy": strategy});
    light
        .upgrade("spring", with(spec_of(&["c01"]), &change))
        .await
        .unwrap();
    minutes(120).await;
    light
        .spokes
        .with("c01", |cluster, _| cluster.end_job("default", "backup"));
    minutes(60).await;
    assert!(light.asked().is_empty(), "outside of the window");
    let (state, reason, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!(
        (state.as_str(), reason.as_str()),
        ("PreAction", "AwaitingStartWindow")
    );
    assert!(message.contains("2026-01-06T08:00:00Z"), "{message}");
    light.until_complete("spring").await.unwrap();
    let (_, asked) = light.spokes.asked().remove(0);
    let opened = light.at(SignedDuration::from_hours(24));
    assert!(
        asked.at >= opened && asked.at < opened + SignedDuration::from_hours(1),
        "{asked:?}"
    );
    // How long the action took is not known: the night is no part of it, and forecasts would take it for that.
    let (_, entry) = light.entries().await.unwrap().remove(0);
    let stages = entry.stages.unwrap();
    assert_eq!(stages.pre_action, None);
    assert!(stages.upgrade.is_some());
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_pre_upgrade_action_runs_once_although_a_work_of_the_last_attempt_comes_to_light() {
    let mut light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let operators = json!({"clusterVersion": null, "ocpOperators": {"approveAllUpgrades": true}});
    light
        .upgrade("spring", with(spec_of(&["c01"]), &operators))
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    light.kill_hub().await;
    let key = Key::namespaced("c01", WorkKind::Operators.work_name(&"c01".into()));
    let bare = json!({"metadata": {"labels": {KIND_LABEL: null}}});
    light.user.merge_patch(&MANIFEST_WORK, &key, bare).await.unwrap();
    let next = json!({"preUpgradeAction": action("before"), "ocpOperators": {
        "approveAllUpgrades": null, "include": [{"name": "logging", "namespace": "openshift-logging"}],
    }});
    light.edit("spring", json!({"spec": next})).await.unwrap();
    light.start_hub().unwrap();
    let mut seen = BTreeSet::new();
    for _minute in 0..300 {
        minutes(1).await;
        let works = light.works().await.unwrap();
        let pre = works
            .iter()
            .filter(|work| work.label(KIND_LABEL) == Some(WorkKind::Pre.as_str()));
        seen.extend(pre.map(|work| work.uid().to_owned()));
    }
    assert_eq!(seen.len(), 1, "works of the pre-upgrade action: {seen:?}");
    light.shut_down().await;
}
