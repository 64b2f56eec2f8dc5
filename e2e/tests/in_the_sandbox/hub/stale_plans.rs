//! What becomes otherwise while the hub carries out what it has decided: where writes are slow, much of a plan is still to be done.

use std::time::Duration;

use drydock_e2e::hub_fleet::{HubFleet, is_work, spec_of, with};
use jiff::SignedDuration;
use kube_sandbox::access::Key;
use kube_sandbox::server::{FaultAction, RequestInfo, Subresource, Verb};
use ocm_sandbox::kinds::MANAGED_CLUSTER;
use ocm_sandbox::spokes::StubWorkAgentSettings;
use serde_json::{Value, json};

const CLUSTERS: usize = 60;
/// So many of them may be in flight.
const MOST: usize = 40;
/// So many writes are under way at once; the next of them begin as these end.
const AT_ONCE: usize = 16;
const UNDER_WAY: usize = 2 * AT_ONCE;

/// An upgrade of the first clusters of a fleet.
fn all(clusters: usize) -> Value {
    let names: Vec<String> = (1..=clusters).map(|number| format!("c{number:02}")).collect();
    spec_of(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Of sixty clusters forty start, which takes three seconds. It has just begun.
async fn starting() -> HubFleet {
    let light = HubFleet::start(CLUSTERS, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.delay(Duration::from_secs(1), |asked| {
        is_work(asked, Verb::Patch) || is_work(asked, Verb::Create)
    });
    let most = json!({"upgradeStrategy": {"maxConcurrency": MOST}});
    light.upgrade("spring", with(all(CLUSTERS), &most)).await.unwrap();
    let begins = async {
        while light.works().await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(10), begins)
        .await
        .unwrap();
    assert_eq!(light.works().await.unwrap().len(), AT_ONCE);
    light
}

/// The targets of all works by which clusters are upgraded, a minute later.
async fn started(light: &HubFleet) -> Vec<Value> {
    tokio::time::sleep(Duration::from_mins(1)).await;
    let works = light.works().await.unwrap();
    let target =
        |work: &Value| work["spec"]["workload"]["manifests"][0]["spec"]["desiredUpdate"]["version"].clone();
    works.iter().map(|work| target(work.value())).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_once_it_is_paused() {
    let light = starting().await;
    light
        .edit("spring", json!({"spec": {"paused": true}}))
        .await
        .unwrap();
    let count = started(&light).await.len();
    assert!(count <= UNDER_WAY, "{count}");
    light
        .edit("spring", json!({"spec": {"paused": false}}))
        .await
        .unwrap();
    assert_eq!(started(&light).await.len(), MOST);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn what_has_not_started_starts_to_the_target_that_was_edited_meanwhile() {
    let light = starting().await;
    let next = json!({"spec": {"clusterVersion": {"version": "4.14.13"}}});
    light.edit("spring", next).await.unwrap();
    let targets = started(&light).await;
    let old = targets.iter().filter(|target| *target == "4.14.12").count();
    assert!(targets.len() == MOST && old <= UNDER_WAY, "{targets:?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_once_it_is_deleted() {
    let light = starting().await;
    light.delete("spring").await.unwrap();
    tokio::time::sleep(Duration::from_hours(12)).await;
    let asked = light.asked();
    assert!(asked.len() <= UNDER_WAY, "{asked:?}");
    light.shut_down().await;
}

/// These clusters are selected no more.
async fn relabel(light: &HubFleet, names: &[&str]) {
    for name in names {
        let key = Key::cluster(*name);
        let mut cluster = light
            .user
            .get(&MANAGED_CLUSTER, &key)
            .await
            .unwrap()
            .value()
            .clone();
        cluster["metadata"]["labels"]["name"] = "other".into();
        light.user.replace(&MANAGED_CLUSTER, cluster).await.unwrap();
    }
}

/// Nobody has edited the upgrade: it is decided again because time has passed, also where it is its status that takes long.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_selected_no_more_does_not_start() {
    let light = HubFleet::start(12, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let paused =
        json!({"paused": true, "preChecks": {"mode": "Off"}, "upgradeStrategy": {"maxConcurrency": 5}});
    light.upgrade("spring", with(all(12), &paused)).await.unwrap();
    tokio::time::sleep(Duration::from_mins(10)).await;
    light.delay(Duration::from_secs(20), |asked| {
        asked.subresource == Some(Subresource::Status)
    });
    light
        .edit("spring", json!({"spec": {"paused": false}}))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(light.works().await.unwrap().is_empty());
    relabel(&light, &["c01", "c02"]).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(started(&light).await.len(), 5);
    for name in ["c01", "c02"] {
        assert!(light.works_of(name).await.unwrap().is_empty(), "{name}");
    }
    light.shut_down().await;
}

/// Where answers are reported nobody waits for them, nor for the questions.
#[tokio::test(start_paused = true)]
async fn questions_that_take_long_keep_nothing_from_starting() {
    let light = HubFleet::start(400, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.delay(Duration::from_secs(10), |asked| {
        asked.name.contains("-pre-checks-")
    });
    let mut spec = spec_of(&[]);
    spec["clusterSelector"] = json!({});
    spec["upgradeStrategy"]["maxConcurrency"] = 20.into();
    light.upgrade("spring", spec).await.unwrap();
    assert_eq!(started(&light).await.len(), 20);
    // Nor from going on: they are read first, and are asked for the target then.
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(light.asked().len(), 20);
    light.shut_down().await;
}

/// What begins while the status is written begins with a status of its own: which of two rollouts is the later one goes by when they began.
#[tokio::test(start_paused = true)]
async fn a_rollout_that_begins_while_its_status_is_written_has_begun() {
    let light = HubFleet::start(4, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let mut off = spec_of(&["c01", "c02", "c03", "c04"]);
    off["clusterSelector"] = json!({"matchLabels": {"chosen": "yes"}});
    off["preChecks"] = json!({"mode": "Off"});
    light.upgrade("spring", off).await.unwrap();
    tokio::time::sleep(Duration::from_mins(10)).await;
    light.delay(Duration::from_secs(7), |asked| {
        asked.subresource == Some(Subresource::Status)
    });
    light
        .edit(
            "spring",
            json!({"spec": {"clusterVersion": {"channel": "fast-4.14"}}}),
        )
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let key = Key::cluster("c01");
    let mut cluster = light
        .user
        .get(&MANAGED_CLUSTER, &key)
        .await
        .unwrap()
        .value()
        .clone();
    cluster["metadata"]["labels"]["chosen"] = "yes".into();
    light.user.replace(&MANAGED_CLUSTER, cluster).await.unwrap();
    assert_eq!(started(&light).await.len(), 1);
    let status = light.status("spring").await.unwrap();
    assert!(status.start_time.is_some(), "{status:#?}");
    light.shut_down().await;
}

/// However slow the API server is, and whatever a cluster says all the time: what a status has announced begins.
#[tokio::test(start_paused = true)]
async fn a_status_that_is_slow_and_changes_all_the_time_keeps_nothing_from_starting() {
    let light = HubFleet::start(10, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let three = json!({"preChecks": {"mode": "Off"}, "upgradeStrategy": {"maxConcurrency": 3}});
    light.delay(Duration::from_secs(6), |asked| {
        asked.subresource == Some(Subresource::Status)
    });
    light.upgrade("spring", with(all(10), &three)).await.unwrap();
    for turn in 0..60 {
        light.available("c10", turn % 2 == 0).await.unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(light.works().await.unwrap().len(), 3);
    assert_eq!(light.asked().len(), 3);
    light.shut_down().await;
}

fn is_of_upgrades(asked: &RequestInfo<'_>) -> bool {
    asked
        .kind
        .is_some_and(|kind| kind.plural == "managedclustersupgrades")
}

/// A fleet of six whose upgrade has been paused for ten minutes.
async fn paused(strategy: Value) -> HubFleet {
    let light = HubFleet::start(6, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let spec = json!({"paused": true, "preChecks": {"mode": "Off"}, "upgradeStrategy": strategy});
    light.upgrade("spring", with(all(6), &spec)).await.unwrap();
    tokio::time::sleep(Duration::from_mins(10)).await;
    light
}

async fn set_paused(light: &HubFleet, paused: bool) {
    let edit = json!({"spec": {"paused": paused}});
    light.edit("spring", edit).await.unwrap();
}

/// Resumed, and so many seconds later paused again, which no watch says, while requests about the upgrade are answered late.
async fn nothing_starts_while(seconds: u64, answered: fn(&RequestInfo<'_>) -> Option<Duration>) {
    let light = paused(json!({"maxConcurrency": 3})).await;
    light.disturb(move |asked| match answered(asked) {
        _ if asked.verb == Verb::Watch && is_of_upgrades(asked) => {
            FaultAction::Delay(Duration::from_mins(10))
        }
        Some(time) => FaultAction::AnswerLate(time),
        None => FaultAction::Pass,
    });
    set_paused(&light, false).await;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    light.cut_watches("managedclustersupgrades");
    set_paused(&light, true).await;
    assert_eq!(started(&light).await.len(), 0);
    // The watch is back, and it goes on when it is resumed.
    light.accept();
    tokio::time::sleep(Duration::from_mins(20)).await;
    set_paused(&light, false).await;
    assert_eq!(started(&light).await.len(), 3);
    light.shut_down().await;
}

/// The status was written before the pause, and is answered long after it.
#[tokio::test(start_paused = true)]
async fn nothing_starts_by_a_status_that_is_answered_after_the_pause() {
    nothing_starts_while(3, |asked| {
        (asked.subresource == Some(Subresource::Status)).then_some(Duration::from_secs(12))
    })
    .await;
}

/// Nor by what was read before the pause, and is answered after it.
#[tokio::test(start_paused = true)]
async fn nothing_starts_by_what_is_read_too_slowly() {
    nothing_starts_while(9, |asked| match asked.subresource {
        Some(Subresource::Status) => Some(Duration::from_secs(8)),
        _ => (asked.verb == Verb::Get && is_of_upgrades(asked)).then_some(Duration::from_secs(15)),
    })
    .await;
}

/// The answer to its own status is the first to say how late it is.
#[tokio::test(start_paused = true)]
async fn a_hub_that_was_suspended_starts_nothing_after_the_window() {
    let window = json!({"cron": "0 8 * * *", "duration": "1h"});
    let light = paused(json!({"maxConcurrency": 3, "startWindows": [window]})).await;
    light.suspend_hub(SignedDuration::from_hours(1));
    set_paused(&light, false).await;
    assert_eq!(started(&light).await.len(), 0);
    tokio::time::sleep(Duration::from_hours(23)).await;
    assert_eq!(light.asked().len(), 3, "the window of the next day");
    light.shut_down().await;
}

/// What a status says that was written and not answered is reported by the next look.
#[tokio::test(start_paused = true)]
async fn what_a_status_says_whose_answer_is_lost_is_reported_once() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", all(2)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    light.disturb(|asked| {
        if asked.subresource == Some(Subresource::Status) {
            FaultAction::DropAfterWrite
        } else {
            FaultAction::Pass
        }
    });
    light
        .edit("spring", json!({"spec": {"paused": true}}))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    light.accept();
    tokio::time::sleep(Duration::from_mins(10)).await;
    let events = light.events().await.unwrap();
    let paused = events.iter().filter(|(reason, _)| reason == "Paused").count();
    assert_eq!(paused, 1, "{events:?}");
    light.shut_down().await;
}
