//! What keeps further clusters from starting, and how failed ones start over.

use std::collections::BTreeMap;
use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::RETRY_ANNOTATION;
use drydock_api::ocm::ManagedCluster;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::local_fleet::LocalFleet;
use drydock_sandbox::test_env::TestEnvSettings;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);

fn clusters(count: usize) -> TestEnvSettings {
    let mut settings = TestEnvSettings::demo(count, 5);
    for cluster in &mut settings.clusters {
        cluster.agent = false;
    }
    settings
}

/// The sample upgrade of these clusters, dev1 being the canary, with this laid over its strategy.
fn upgrade(settings: &TestEnvSettings, strategy: &Value) -> ManagedClustersUpgrade {
    let mut upgrade = serde_json::to_value(fleet::upgrade(&settings.clusters).unwrap()).unwrap();
    for (field, value) in strategy.as_object().unwrap() {
        upgrade["spec"]["upgradeStrategy"][field] = value.clone();
    }
    serde_json::from_value(upgrade).unwrap()
}

fn condition(upgrade: &ManagedClustersUpgrade, type_: &str) -> (String, String, String) {
    let conditions = upgrade.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let found = conditions
        .iter()
        .find(|condition| condition.type_ == type_)
        .unwrap();
    (found.status.clone(), found.reason.clone(), found.message.clone())
}

async fn read(hub: &Client) -> ManagedClustersUpgrade {
    fleet::upgrades(hub).get(fleet::UPGRADE).await.unwrap()
}

/// When each cluster's upgrade work was made.
async fn starts(hub: &Client) -> BTreeMap<String, Timestamp> {
    let works = fleet::works(hub).await.unwrap();
    let kind = |name: &str| name.ends_with("-cluster-upgrade");
    works
        .iter()
        .filter(|work| kind(&work.name_any()))
        .map(|work| (work.namespace().unwrap(), work.creation_timestamp().unwrap().0))
        .collect()
}

/// Injects a failure mode into a cluster, or lifts what there is.
async fn fault(hub: &Client, cluster: &str, code: &Value) {
    let patch = json!({"metadata": {"annotations": {"sandbox.drydock.dev/fault": code}}});
    Api::<ManagedCluster>::all(hub.clone())
        .patch(cluster, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

async fn retry(hub: &Client, moment: &str) {
    let patch = json!({"metadata": {"annotations": {RETRY_ANNOTATION: moment}}});
    fleet::upgrades(hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn canaries_soak_before_any_other_cluster_starts() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = json!({
        "clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "2h",
    });
    let strategy = json!({"canaryClusters": canaries});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let soaking = fleet::until(&hub, "soaking", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    });
    let soaking = soaking.await.unwrap();
    assert!(
        condition(&soaking, "InProgress")
            .2
            .contains("must stay healthy until")
    );
    let since = fleet.clock.now();
    // The canary falls silent for a while: its health counts from the moment that it is back.
    tokio::time::sleep(HOUR).await;
    assert!(fleet.env.set_connected("dev1", false));
    tokio::time::sleep(HOUR / 2).await;
    let (_, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!(reason, "CanarySoaking");
    assert!(message.contains("and are not: dev1"), "{message}");
    assert!(fleet.env.set_connected("dev1", true));
    let done = fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    let starts = starts(&hub).await;
    for other in ["dev2", "dev3"] {
        let waited = starts[other].duration_since(since);
        assert!(
            waited >= SignedDuration::from_mins(90 + 120),
            "{other} waited {waited}"
        );
        assert!(
            waited < SignedDuration::from_mins(90 + 130),
            "{other} waited {waited}"
        );
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn canaries_soak_for_a_new_target_although_others_were_started_for_the_old_one() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = json!({
        "clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "2h",
    });
    let strategy = json!({"canaryClusters": canaries, "maxConcurrency": 1});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    fleet::until(&hub, "the canary complete", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    // The next one hangs, and fails for the old target while the new one is asked for.
    fault(&hub, "dev2", &json!("F1")).await;
    fleet::until(&hub, "dev2 in flight", 6 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "ManagedClustersUpgradeInProgress"
    })
    .await
    .unwrap();
    let patch = Patch::Merge(json!({"spec": {"clusterVersion": {"version": "4.14.13"}}}));
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &patch)
        .await
        .unwrap();
    fleet::until(&hub, "the canary complete again", 12 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    let since = fleet.clock.now();
    tokio::time::sleep(HOUR).await;
    assert!(
        !starts(&hub).await.contains_key("dev3"),
        "it waits for the canary"
    );
    tokio::time::sleep(2 * HOUR).await;
    let waited = starts(&hub).await["dev3"].duration_since(since);
    assert!(waited > SignedDuration::from_mins(110), "dev3 waited {waited}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_goal_that_the_canaries_have_already_passed_shortens_no_soak() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = json!({
        "clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "2h",
    });
    let strategy = json!({"canaryClusters": canaries});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    fleet::until(&hub, "soaking", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    let since = fleet.clock.now();
    tokio::time::sleep(HOUR / 2).await;
    // The canary runs what is newer than that: it needs nothing.
    let patch = Patch::Merge(json!({"spec": {"clusterVersion": {"version": "4.14.10"}}}));
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &patch)
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(condition(&read(&hub).await, "InProgress").1, "CanarySoaking");
    fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    let waited = starts(&hub).await["dev2"].duration_since(since);
    assert!(waited > SignedDuration::from_mins(110), "dev2 waited {waited}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_is_named_later_soaks_although_others_were_started() {
    let settings = clusters(4);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canaries = |names: &[&str]| {
        let named = json!({"key": "name", "operator": "In", "values": names});
        json!({"canaryClusters": {"clusterSelector": {"matchExpressions": [named]}, "soakTime": "2h"}, "maxConcurrency": 1})
    };
    fleet::start(&hub, &upgrade(&settings, &canaries(&["dev1"])))
        .await
        .unwrap();
    fleet::until(&hub, "the canary complete", 6 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    fleet::until(&hub, "dev2 in flight", 6 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "ManagedClustersUpgradeInProgress"
    })
    .await
    .unwrap();
    let patch = Patch::Merge(json!({"spec": {"upgradeStrategy": canaries(&["dev1", "dev3"])}}));
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &patch)
        .await
        .unwrap();
    fleet::until(&hub, "the second canary complete", 12 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").1 == "CanarySoaking"
    })
    .await
    .unwrap();
    let since = fleet.clock.now();
    assert!(starts(&hub).await.contains_key("dev3"), "the second canary");
    let done = fleet::until(&hub, "complete", 24 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    let waited = starts(&hub).await["dev4"].duration_since(since);
    assert!(waited > SignedDuration::from_mins(110), "dev4 waited {waited}");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_spent_failure_budget_stops_the_rest_until_a_retry() {
    let settings = clusters(5);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    for cluster in ["dev2", "dev3"] {
        fault(&hub, cluster, &json!(Fault::UnknownUpdate.code())).await;
    }
    let strategy = json!({"maxFailures": 2, "maxConcurrency": 1});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let spent = fleet::until(&hub, "spent", 12 * HOUR, |upgrade| {
        upgrade.status.is_some() && condition(upgrade, "InProgress").1 == "FailureBudgetSpent"
    });
    spent.await.unwrap();
    tokio::time::sleep(12 * HOUR).await;
    assert_eq!(starts(&hub).await.len(), 3, "the canary and the two that failed");
    // Fixed and retried, by whatever word, all of them go through.
    for cluster in ["dev2", "dev3"] {
        fault(&hub, cluster, &Value::Null).await;
    }
    tokio::time::sleep(HOUR / 60).await;
    retry(&hub, "tomorrow").await;
    let done = fleet::until(&hub, "complete", 48 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    assert_eq!(
        done.await.unwrap().status.unwrap().progress.as_deref(),
        Some("5/5")
    );
    fleet.shut_down().await.unwrap();
}

/// The post-upgrade action of the sample with a Job that ends so.
fn post_action(upgrade: &ManagedClustersUpgrade, outcome: &str) -> Value {
    let mut action = json!(upgrade.spec.post_upgrade_action);
    let manifests = action.pointer_mut("/manifestWork/workload/manifests").unwrap();
    let mut manifests = manifests.as_array_mut().unwrap().iter_mut();
    let job = manifests.find(|manifest| manifest["kind"] == "Job").unwrap();
    job["metadata"]["annotations"] = json!({"sandbox.drydock.dev/outcome": outcome});
    action
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_a_failed_post_action_repeats_that_action_only() {
    let settings = clusters(1);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let mut upgrade = upgrade(&settings, &json!({}));
    upgrade.spec.post_upgrade_action = serde_json::from_value(post_action(&upgrade, "fail")).unwrap();
    fleet::start(&hub, &upgrade).await.unwrap();
    let failed = fleet::until(&hub, "failed", 12 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Failed")
    });
    let failed = failed.await.unwrap();
    assert!(
        condition(&failed, "Failed").2.contains("post-upgrade action"),
        "{failed:?}"
    );
    let before = starts(&hub).await;
    let patch = json!({
        "metadata": {"annotations": {RETRY_ANNOTATION: fleet.clock.now().to_string()}},
        "spec": {"postUpgradeAction": post_action(&upgrade, "succeed")},
    });
    tokio::time::sleep(HOUR / 60).await;
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    let done = fleet::until(&hub, "complete", HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    assert_eq!(starts(&hub).await, before, "the upgrade itself is not repeated");
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clusters_start_only_while_a_window_is_open() {
    let settings = clusters(4);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    // Virtual time begins on 2026-01-05 at 08:00 UTC, a Monday.
    let windows = json!([{"cron": "0 22 * * 1-5", "duration": "2h", "timeZone": "Europe/Berlin"}]);
    let strategy = json!({"startWindows": windows, "maxConcurrency": 1});
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let (status, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "AwaitingStartWindow")
    );
    assert!(message.contains("2026-01-05T21:00:00Z"), "{message}");
    let done = fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    for (cluster, start) in starts(&hub).await {
        let hour = start.to_zoned(jiff::tz::TimeZone::UTC).hour();
        assert!((21..23).contains(&hour), "{cluster} started at {start}");
    }
    fleet.shut_down().await.unwrap();
}

/// How often the hub has written the upgrade's status.
fn status_writes(fleet: &LocalFleet) -> u64 {
    let requests = fleet.hub_server().unwrap().requests();
    let is_status =
        |resource: &str| resource.starts_with("managedclustersupgrades") && resource.ends_with("/status");
    let written = requests.iter().filter(|(key, _)| is_status(&key.resource));
    written.map(|(_, count)| count).sum()
}

/// Triggers the hub, by changes of a cluster that mean nothing.
async fn wake(hub: &Client, times: u32) {
    for number in 0..times {
        let patch = json!({"metadata": {"labels": {"change": number.to_string()}}});
        Api::<ManagedCluster>::all(hub.clone())
            .patch("dev1", &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
        tokio::time::sleep(HOUR / 60).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_without_changes_is_not_written_and_a_retried_upgrade_is_frozen_again() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    fault(&hub, "dev2", &json!(Fault::UnknownUpdate.code())).await;
    fleet::start(&hub, &upgrade(&settings, &json!({}))).await.unwrap();
    let failed = fleet::until(&hub, "failed", 12 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Failed")
    });
    failed.await.unwrap();
    tokio::time::sleep(HOUR).await;
    let before = status_writes(&fleet);
    wake(&hub, 10).await;
    assert_eq!(status_writes(&fleet), before, "a failed cluster is no change");
    fault(&hub, "dev2", &Value::Null).await;
    tokio::time::sleep(HOUR / 60).await;
    retry(
        &hub,
        &(fleet.clock.now() + SignedDuration::from_millis(1_234)).to_string(),
    )
    .await;
    let done = fleet::until(&hub, "complete", 12 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    });
    done.await.unwrap();
    // Nothing is left to retry: the upgrade is complete as it was, and follows the fleet no more.
    retry(
        &hub,
        &(fleet.clock.now() + SignedDuration::from_millis(1_234)).to_string(),
    )
    .await;
    tokio::time::sleep(HOUR).await;
    let before = status_writes(&fleet);
    let patch = json!({"metadata": {"labels": {"name": "other"}}});
    Api::<ManagedCluster>::all(hub.clone())
        .patch("dev2", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(status_writes(&fleet), before, "a complete upgrade is frozen");
    assert_eq!(read(&hub).await.status.unwrap().progress.as_deref(), Some("2/2"));
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closed_start_times_of_some_clusters_hold_back_no_others() {
    let mut settings = clusters(5);
    for (number, cluster) in settings.clusters.iter_mut().enumerate() {
        let region = ["eu", "us"][number % 2];
        cluster.labels.insert("region".to_owned(), region.to_owned());
    }
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    // Virtual time begins on 2026-01-05 at 08:00 UTC. Canaries are not in the way: there are none.
    let of = |region: &str| json!({"matchLabels": {"region": region}});
    let strategy = json!({
        "canaryClusters": null, "maxConcurrency": 1,
        "startWindows": [
            {"cron": "0 22 * * *", "duration": "4h", "clusterSelector": of("eu")},
            {"cron": "0 8 * * *", "duration": "12h", "clusterSelector": of("us")},
        ],
        "freezes": [{"from": "2026-01-05T00:00:00Z", "to": "2026-01-06T12:00:00Z", "reason": "stocktaking",
            "clusterSelector": of("eu")}],
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let of_us = settings
        .clusters
        .iter()
        .filter(|cluster| cluster.labels["region"] == "us")
        .count();
    fleet::until(&hub, "those of us complete", 20 * HOUR, |upgrade| {
        complete(upgrade) == of_us
    })
    .await
    .unwrap();
    tokio::time::sleep(HOUR).await;
    // All that is left is frozen: a halt, which says so.
    let (status, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Frozen"));
    // The freeze ends at noon, and the windows of these clusters open at 22:00.
    let says = "frozen: stocktaking; the next cluster may start at 2026-01-06T22:00:00Z";
    assert_eq!(message, says);
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    for (cluster, start) in starts(&hub).await {
        let is_us = settings
            .clusters
            .iter()
            .any(|known| known.name == *cluster && known.labels["region"] == "us");
        let hour = start.to_zoned(jiff::tz::TimeZone::UTC).hour();
        if is_us {
            assert!((8..20).contains(&hour), "{cluster} started at {start}");
        } else {
            assert!(!(2..22).contains(&hour), "{cluster} started at {start}");
            assert!(
                start >= "2026-01-06T22:00:00Z".parse().unwrap(),
                "{cluster} started at {start}"
            );
        }
    }
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_is_frozen_is_said_to_hold_back_the_rollout() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let canary = json!({"matchLabels": {"name": "dev1"}});
    let freeze = |from: &str, to: &str| json!({"from": from, "to": to, "reason": "payroll", "clusterSelector": canary});
    // The second freeze begins before the first one ends.
    let strategy = json!({
        "canaryClusters": {"clusterSelector": canary},
        "freezes": [freeze("2026-01-05T00:00:00Z", "2026-01-05T12:00:00Z"),
            freeze("2026-01-05T11:00:00Z", "2026-01-05T15:30:00Z")],
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let (status, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Frozen"));
    assert_eq!(
        message,
        "frozen: payroll; the next cluster may start at 2026-01-05T15:30:00Z"
    );
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    let begun = starts(&hub).await;
    assert!(
        begun
            .values()
            .all(|start| *start >= "2026-01-05T15:30:00Z".parse().unwrap()),
        "{begun:?}"
    );
    fleet.shut_down().await.unwrap();
}

fn complete(upgrade: &ManagedClustersUpgrade) -> usize {
    let summary = upgrade.status.as_ref().and_then(|status| status.clusters_summery);
    summary.map_or(0, |summary| usize::try_from(summary.complete).unwrap())
}

/// Writes the calendar of freezes, or another one.
async fn write_calendar(hub: &Client, labels: &Value, text: &str) {
    let maps: Api<ConfigMap> = Api::namespaced(hub.clone(), "default");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "holidays", "labels": labels},
        "data": {"calendar.ics": text},
    });
    let parameters = PatchParams::apply("user").force();
    maps.patch("holidays", &parameters, &Patch::Apply(map))
        .await
        .unwrap();
}

fn calendar(event: &str) -> String {
    format!("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n")
}

#[tokio::test(start_paused = true)]
async fn a_calendar_freezes_the_fleet_and_one_that_cannot_be_read_does_too_until_it_is_corrected() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let strategy = json!({
        "canaryClusters": null, "maxConcurrency": 1,
        "freezeCalendar": {"configMap": {"name": "holidays", "key": "calendar.ics"}, "timeZone": "Europe/Zurich"},
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let halted = async |why: &str| {
        tokio::time::sleep(HOUR).await;
        let (status, reason, message) = condition(&read(&hub).await, "InProgress");
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", "FreezeCalendarUnreadable")
        );
        assert!(message.contains(why), "{message}");
        assert!(starts(&hub).await.is_empty());
    };
    halted("there is no ConfigMap default/holidays with the label drydock.dev/freeze-calendar").await;
    let days = "DTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=DAILY;COUNT=6\r\nSUMMARY:New Year\r\n";
    write_calendar(&hub, &json!({}), &calendar(days)).await;
    halted("there is no ConfigMap default/holidays").await;
    let label = json!({"drydock.dev/freeze-calendar": ""});
    write_calendar(
        &hub,
        &label,
        &calendar("DTSTART;VALUE=DATE:20260101\r\nRRULE:FREQ=HOURLY\r\n"),
    )
    .await;
    halted(
        "ConfigMap default/holidays, key calendar.ics: event \"1\": RRULE: FREQ=\"HOURLY\" is not understood",
    )
    .await;

    write_calendar(&hub, &label, &calendar(days)).await;
    tokio::time::sleep(HOUR).await;
    let (_, reason, message) = condition(&read(&hub).await, "InProgress");
    assert_eq!(reason, "Frozen");
    // Six days of Zurich.
    assert_eq!(
        message,
        "frozen: New Year; the next cluster may start at 2026-01-06T23:00:00Z"
    );
    fleet::until(&hub, "one is under way", 240 * HOUR, |upgrade| {
        condition(upgrade, "InProgress").0 == "True"
    })
    .await
    .unwrap();

    // What has begun goes on, and nothing else begins.
    let always = "DTSTART;VALUE=DATE:20260101\r\nDURATION:P1D\r\nRRULE:FREQ=DAILY\r\nSUMMARY:Audit\r\n";
    tokio::time::sleep(HOUR / 6).await;
    write_calendar(&hub, &label, &calendar(always)).await;
    tokio::time::sleep(24 * HOUR).await;
    assert_eq!(complete(&read(&hub).await), 1);
    write_calendar(&hub, &label, &calendar(days)).await;
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_calendar_that_cannot_be_read_is_reported_while_canaries_soak() {
    let settings = clusters(2);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    let label = json!({"drydock.dev/freeze-calendar": ""});
    let days = calendar("DTSTART;VALUE=DATE:20251224\r\n");
    write_calendar(&hub, &label, &days).await;
    let strategy = json!({
        "canaryClusters": {"clusterSelector": {"matchLabels": {"name": "dev1"}}, "soakTime": "48h"},
        "freezeCalendar": {"configMap": {"name": "holidays", "key": "calendar.ics"}},
    });
    fleet::start(&hub, &upgrade(&settings, &strategy)).await.unwrap();
    let until = async |reason: &str| {
        fleet::until(&hub, reason, 6 * HOUR, |upgrade| {
            upgrade.status.is_some() && condition(upgrade, "InProgress").1 == reason
        })
        .await
        .unwrap();
    };
    until("CanarySoaking").await;
    write_calendar(&hub, &label, "nothing that is a calendar").await;
    until("FreezeCalendarUnreadable").await;
    write_calendar(&hub, &label, &days).await;
    until("CanarySoaking").await;
    assert_eq!(starts(&hub).await.len(), 1);
    fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clusters_start_only_while_enough_is_left_of_their_window() {
    let settings = clusters(3);
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    // Nothing is on record: by published figures, more than one upgrade in ten takes longer than an hour.
    let window = |duration: &str| {
        json!({
            "canaryClusters": null, "maxConcurrency": 1, "startOnlyIfItFits": true,
            "startWindows": [{"cron": "0 8 * * *", "duration": duration}],
        })
    };
    fleet::start(&hub, &upgrade(&settings, &window("1h")))
        .await
        .unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let found = read(&hub).await;
    let (status, reason, message) = condition(&found, "InProgress");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NotStarted"));
    let (_, rest) = message.split_once("it never starts: it takes ").unwrap();
    assert!(
        rest.contains("p90, assumed")
            && rest.ends_with("longer than 1h; lengthen one, or unset startOnlyIfItFits"),
        "{message}"
    );
    let entries = found.status.unwrap().clusters.unwrap();
    assert_eq!(entries.len(), 3);
    assert!(
        entries
            .iter()
            .all(|entry| entry.reason.as_deref() == Some("NeverFits")),
        "{entries:?}"
    );

    let patch = json!({"spec": {"upgradeStrategy": window("4h")}});
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    fleet::until(&hub, "complete", 240 * HOUR, |upgrade| {
        fleet::is_true(upgrade, "Complete")
    })
    .await
    .unwrap();
    let begun = starts(&hub).await;
    assert_eq!(begun.len(), 3);
    for (cluster, start) in begun {
        let hour = start.to_zoned(jiff::tz::TimeZone::UTC).hour();
        assert!((8..11).contains(&hour), "{cluster} started at {start}");
    }
    fleet.shut_down().await.unwrap();
}
