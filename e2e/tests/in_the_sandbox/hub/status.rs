//! What the status says, and how much of it there is.

use drydock_api::conditions;
use drydock_api::mcu::ManagedClustersUpgradeStatus;
use drydock_api::names::{HUB_MANAGER, STARTED_BY_ANNOTATION};
use drydock_e2e::hub_fleet::{HubFleet, RECORD, UPGRADE, WEEK, is_true, minutes, spec_of, with};
use kube_sandbox::access::{Key, Removal, Selection};
use ocm_sandbox::kinds::MANIFEST_WORK;
use ocm_sandbox::spokes::{Stage, StageOutcome, StubWorkAgentSettings};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn the_status_stays_small_whatever_clusters_say() {
    let light = HubFleet::start(120, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let words = "警告".repeat(20_000);
    light.server.set_fault_hook(None);
    light
        .upgrade(
            "spring",
            with(
                spec_of(&[]),
                &json!({
                    "clusterSelector": {"matchExpressions": null}, "upgradeStrategy": {"maxConcurrency": 120},
                }),
            ),
        )
        .await
        .unwrap();
    minutes(2).await;
    let works = light
        .user
        .list(&MANIFEST_WORK, &Selection::everything())
        .await
        .unwrap();
    assert_eq!(works.len(), 120);
    for work in works {
        // Whoever can write a status can write this.
        let mut status = work.value().clone();
        let generation = status["metadata"]["generation"].clone();
        status["status"] = json!({"conditions": [{
            "type": "Applied", "status": "False", "reason": "AppliedManifestWorkFailed", "observedGeneration": generation,
            "message": words, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]});
        light.user.replace_status(&MANIFEST_WORK, status).await.unwrap();
    }
    minutes(1).await;
    let status = light.status("spring").await.unwrap();
    let size = serde_json::to_vec(&status).unwrap().len();
    assert!(size < 64 * 1024, "{size} bytes");
    let named = status.clusters.as_ref().map_or(0, Vec::len) as i64;
    assert_eq!(named + status.clusters_not_listed.unwrap_or(0), 120);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_a_complete_upgrade_begins_a_new_rollout_and_keeps_the_old_one_on_record() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    let first = light
        .until_complete("spring")
        .await
        .unwrap()
        .start_time
        .unwrap()
        .0;
    // An edit that changes nothing that is asked for.
    light
        .edit(
            "spring",
            json!({"spec": {"upgradeStrategy": {"maxConcurrency": 7}}}),
        )
        .await
        .unwrap();
    minutes(10).await;
    let status = light.status("spring").await.unwrap();
    assert!(is_true(&status, "Complete"));
    assert_eq!(status.start_time.map(|time| time.0), Some(first));
    minutes(600).await;
    light
        .edit(
            "spring",
            json!({"spec": {"clusterVersion": {"version": "4.14.13"}}}),
        )
        .await
        .unwrap();
    minutes(30).await;
    let second = light
        .until_complete("spring")
        .await
        .unwrap()
        .start_time
        .unwrap()
        .0;
    assert!(
        second > first + jiff::SignedDuration::from_hours(10),
        "{first} {second}"
    );
    let entries = light.entries().await.unwrap();
    let versions: Vec<&str> = entries.iter().map(|(_, entry)| entry.to.as_str()).collect();
    assert_eq!(versions, ["4.14.12", "4.14.13"]);
    light.shut_down().await;
}

/// What started keeps its target to its end: nobody should take the upgrade's for it.
#[tokio::test(start_paused = true)]
async fn a_cluster_in_flight_says_its_own_target_where_the_upgrade_has_another_since() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Hangs);
    });
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    minutes(30).await;
    let own = "its own target is 4.14.12, with which it started";
    let (state, _, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!(state, "PartialUpgrade");
    assert!(!message.contains(own), "{message}");
    let edit = json!({"spec": {"clusterVersion": {"version": "4.14.13"}}});
    light.edit("spring", edit).await.unwrap();
    minutes(5).await;
    let (state, _, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!(state, "PartialUpgrade");
    assert!(message.contains(own), "{message}");
    light.shut_down().await;
}

/// Who edits the target in mid-rollout has started nothing of what goes on to the target before.
#[tokio::test(start_paused = true)]
async fn what_started_is_on_record_as_started_by_who_had_asked_for_it() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Hangs);
    });
    let paused = with(spec_of(&["c01"]), &json!({"paused": true}));
    light.upgrade("spring", paused).await.unwrap();
    let by = |who: &str, spec: serde_json::Value| json!({"metadata": {"annotations": {STARTED_BY_ANNOTATION: who}}, "spec": spec});
    light
        .edit("spring", by("alice", json!({"paused": false})))
        .await
        .unwrap();
    minutes(30).await;
    let newer = json!({"clusterVersion": {"version": "4.14.13"}});
    light.edit("spring", by("bob", newer)).await.unwrap();
    light
        .until("spring", WEEK, |status| is_true(status, "Failed"))
        .await
        .unwrap();
    let pages = light.user.list(&RECORD, &Selection::everything()).await.unwrap();
    let of = |page: &serde_json::Value| {
        let upgrade = &page["spec"]["upgrade"];
        let text = |name: &str| upgrade[name].as_str().unwrap_or_default().to_owned();
        (text("target"), text("startedBy"))
    };
    let first = of(pages[0].value());
    assert!(first.0.starts_with("4.14.12"), "{first:?}");
    assert_eq!(first.1, "alice");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_with_the_longest_name_has_events_records_and_a_placement() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let name = format!("{}.{}", "a".repeat(63), "b".repeat(189));
    assert_eq!(name.len(), 253);
    light.upgrade(&name, spec_of(&["c01"])).await.unwrap();
    light.until_complete(&name).await.unwrap();
    minutes(5).await;
    let events = light.events().await.unwrap();
    assert!(
        events
            .iter()
            .any(|(reason, _)| reason == "ManagedClustersUpgradeComplete"),
        "{events:?}"
    );
    assert_eq!(light.entries().await.unwrap().len(), 1);
    light.delete(&name).await.unwrap();
    minutes(5).await;
    assert!(light.find(&name).await.unwrap().is_none());
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_else_upgraded_meanwhile_needs_no_slot() {
    let light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let one = json!({"paused": true, "upgradeStrategy": {"maxConcurrency": 1}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02", "c03"]), &one))
        .await
        .unwrap();
    minutes(5).await;
    for name in ["c01", "c02", "c03"] {
        light
            .spokes
            .with(name, |cluster, now| cluster.upgraded_outside("4.14.12", now));
    }
    minutes(5).await;
    light
        .edit("spring", json!({"spec": {"paused": false}}))
        .await
        .unwrap();
    light
        .until("spring", WEEK, |status| is_true(status, "Complete"))
        .await
        .unwrap();
    assert!(light.asked().is_empty());
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_hub_asks_for_nothing() {
    let light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light
        .upgrade("spring", spec_of(&["c01", "c02", "c03"]))
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(60).await;
    let asked = || -> u64 {
        let requests = light.server.requests();
        let own = requests.iter().filter(|(key, _)| key.identity == HUB_MANAGER);
        own.filter(|(key, _)| !matches!(key.verb, kube_sandbox::server::Verb::Watch))
            .map(|(_, count)| count)
            .sum()
    };
    let before = asked();
    minutes(24 * 60).await;
    assert_eq!(asked() - before, 0);
    let key = Key::namespaced("default", "spring");
    light
        .user
        .delete(&drydock_e2e::hub_fleet::UPGRADE, &key, &Removal::default())
        .await
        .unwrap();
    minutes(5).await;
    light.shut_down().await;
}

/// Who restores a status owns it as well: what the hub takes off would stay in part, and be refused for ever.
#[tokio::test(start_paused = true)]
async fn a_status_that_somebody_else_has_written_is_replaced() {
    let mut light = HubFleet::without_hub(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let spec = json!({"upgradeStrategy": {"maxConcurrency": 1}, "preChecks": {"mode": "Report"}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02"]), &spec))
        .await
        .unwrap();
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "AsExpected", "message": "restored", "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    let status = json!({"conditions": [condition("PreChecksPassed"), condition("SomebodyElses"), condition("Progressing")]});
    let key = Key::namespaced("default", "spring");
    let found = light.user.find(&UPGRADE, &key).await.unwrap().unwrap();
    let mut restored = found.complete().into_owned();
    restored["status"] = status;
    light.user.replace_status(&UPGRADE, restored).await.unwrap();
    light.start_hub().unwrap();
    light.until_complete("spring").await.unwrap();
    let conditions = light.status("spring").await.unwrap().conditions.unwrap();
    let types: Vec<&str> = conditions
        .iter()
        .map(|condition| condition.type_.as_str())
        .collect();
    assert!(!types.contains(&"PreChecksPassed"), "{types:?}");
    light.delete("spring").await.unwrap();
    minutes(5).await;
    assert!(light.find("spring").await.unwrap().is_none(), "it is not stuck");
    light.shut_down().await;
}

/// A cluster waits since the hub has seen that its upgrade is not complete, whenever the rollout begins.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_waits_says_since_when() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.available("c02", false).await.unwrap();
    let paused = json!({"paused": true});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02"]), &paused))
        .await
        .unwrap();
    minutes(30).await;
    let since = |status: &ManagedClustersUpgradeStatus| {
        let mut entries = status.clusters.iter().flatten();
        entries.find(|entry| entry.name == "c02")?.since.clone()
    };
    let waits = light.status("spring").await.unwrap();
    let conditions = waits.conditions.as_deref().unwrap_or_default();
    let complete = conditions::find(conditions, "Complete").unwrap();
    assert_eq!(since(&waits), Some(complete.last_transition_time.clone()));
    let resume = json!({"spec": {"paused": false}});
    light.edit("spring", resume).await.unwrap();
    let done = |status: &ManagedClustersUpgradeStatus| {
        let summary = status.clusters_summery.as_ref();
        summary.is_some_and(|summary| summary.complete == 1)
    };
    let begun = light.until("spring", WEEK, done).await.unwrap();
    assert!(begun.start_time > since(&waits));
    assert_eq!(since(&begun), since(&waits), "it has waited all the time");
    light.shut_down().await;
}

/// Nothing that is done about the others starts anything.
#[tokio::test(start_paused = true)]
async fn the_canary_is_named_that_the_others_wait_for() {
    let light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    for away in ["c01", "c03"] {
        light.available(away, false).await.unwrap();
    }
    let canary =
        json!({"upgradeStrategy": {"canaryClusters": {"clusterSelector": {"matchLabels": {"name": "c03"}}}}});
    let spec = with(spec_of(&["c01", "c02", "c03"]), &canary);
    light.upgrade("spring", spec).await.unwrap();
    minutes(5).await;
    let status = light.status("spring").await.unwrap();
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let in_progress = conditions::find(conditions, "InProgress").unwrap();
    let message = in_progress.message.as_str();
    assert!(message.contains("c03: the cluster is not Available"), "{message}");
    light.shut_down().await;
}

/// What it has said before is not what is so now.
#[tokio::test(start_paused = true)]
async fn a_cluster_in_flight_that_is_not_available_says_so() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    let in_flight = |status: &ManagedClustersUpgradeStatus| {
        let mut entries = status.clusters.iter().flatten();
        entries.any(|entry| entry.state == "PartialUpgrade")
    };
    light.until("spring", WEEK, in_flight).await.unwrap();
    let said = async || light.entry("spring", "c01").await.unwrap().2;
    let before = said().await;
    let before = before.strip_prefix("upgrading").unwrap();
    light.available("c01", false).await.unwrap();
    minutes(1).await;
    let away = said().await;
    assert!(
        away.starts_with("upgrading: the cluster is not Available"),
        "{away} after {before}"
    );
    light.available("c01", true).await.unwrap();
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}
