//! What is read of the hub for one request, and what it holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgradeRecord;
use drydock_api::names::UPGRADE_UID_LABEL;
use http::StatusCode;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::PostParams;
use kube_sandbox::server::{FaultAction, RequestInfo, Status, Verb};
use serde_json::{Value, json};
use tokio::time::{advance, timeout};

use crate::fixture::{Page, UPGRADE, manifest, path};
use crate::users::{get, page_of_users, request};

/// Records of an upgrade that is deleted, each with two attempts.
async fn record(page: &Page, records: usize) {
    let api: Api<ManagedClustersUpgradeRecord> = Api::namespaced(page.fleet.user().unwrap(), "default");
    for number in 0..records {
        let end = |minute: usize| format!("2026-03-01T{number:02}:{minute:02}:00Z");
        let entry = |cluster: &str, minute| json!({"cluster": cluster, "outcome": "Complete", "reason": "Complete", "to": "4.14.12", "completed": end(minute)});
        let record = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "ManagedClustersUpgradeRecord",
            "metadata": {"name": format!("r{number}"), "labels": {UPGRADE_UID_LABEL: "u"}},
            "spec": {
                "upgrade": {
                    "name": "winter", "uid": "u", "target": "4.14.12", "goal": "g", "rolloutSince": "2026-03-01T00:00:00Z",
                    "deleted": true,
                },
                "entries": [entry("dev1", 10), entry("dev2", 20)],
            },
        });
        let record = serde_json::from_value(record).unwrap();
        api.create(&PostParams::default(), &record).await.unwrap();
    }
}

/// Counts the lists of a kind that the page asks for from now on.
fn count_lists(page: &Page, of: &'static str) -> Arc<AtomicUsize> {
    let lists = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lists);
    let hook = move |asked: &RequestInfo<'_>| {
        let is_it = asked.kind.is_some_and(|kind| kind.kind == of);
        if is_it && asked.identity.name() == "page" && asked.verb == Verb::List {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        FaultAction::Pass
    };
    page.fleet
        .hub_server()
        .unwrap()
        .set_fault_hook(Some(Arc::new(hook)));
    lists
}

#[tokio::test(start_paused = true)]
async fn records_are_read_page_by_page() {
    let page = Page::of(1).await;
    record(&page, 12).await;
    let lists = count_lists(&page, "ManagedClustersUpgradeRecord");
    let (status, history) = page.get("/api/history").await;
    assert_eq!(status, StatusCode::OK, "{history}");
    assert_eq!(history["rows"].as_array().unwrap().len(), 24);
    assert_eq!(history["rows"][23]["attempt"], 12);
    assert_eq!(history["truncated"], false);
    assert_eq!(lists.swap(0, Ordering::Relaxed), 3);
    let (status, cluster) = page.get("/api/clusters/dev1").await;
    assert_eq!(status, StatusCode::OK, "{cluster}");
    assert_eq!(cluster["name"], "dev1");
    assert_eq!(cluster["history"].as_array().unwrap().len(), 12);
    assert_eq!(lists.load(Ordering::Relaxed), 3);
    page.end().await;
}

/// An Event about an upgrade of a uid.
async fn report(page: &Page, name: &str, uid: &str, minute: usize) {
    let api: Api<Event> = Api::namespaced(page.fleet.user().unwrap(), "default");
    let at = format!("2026-03-01T00:{minute:02}:00Z");
    let event = json!({
        "metadata": {"name": name},
        "involvedObject": {"kind": "ManagedClustersUpgrade", "namespace": "default", "name": "spring", "uid": uid},
        "reason": "Paused", "message": name, "type": "Normal", "firstTimestamp": at, "lastTimestamp": at,
    });
    let event = serde_json::from_value(event).unwrap();
    api.create(&PostParams::default(), &event).await.unwrap();
}

/// All Events of an upgrade have to be listed to find the newest: not by each page that is open, and not again at each change.
#[tokio::test(start_paused = true)]
async fn events_are_read_once_for_all_who_look_at_about_the_same_time() {
    let page = Page::of(1).await;
    let upgrade = page.upgrade(&["dev1"]).await;
    let uid = upgrade.metadata.uid.unwrap();
    report(&page, "of-one-before", "gone", 3).await;
    report(&page, "late", &uid, 50).await;
    report(&page, "early", &uid, 10).await;
    let lists = count_lists(&page, "Event");
    let detail = path("");
    // What was read before the Events were there.
    advance(Duration::from_secs(10)).await;
    let (one, other) = tokio::join!(page.get(&detail), page.get(&detail));
    let said = |detail: &Value| -> Vec<String> {
        let events = detail["events"].as_array().unwrap().iter();
        let own = events.filter(|event| event["reason"] == "Paused");
        own.map(|event| event["message"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(said(&one.1), ["early", "late"]);
    assert_eq!(said(&other.1), said(&one.1));
    assert_eq!(lists.load(Ordering::Relaxed), 1);
    report(&page, "new", &uid, 55).await;
    let (_, before) = page.get(&detail).await;
    assert_eq!(said(&before).len(), 2);
    advance(Duration::from_secs(10)).await;
    let (_, after) = page.get(&detail).await;
    assert_eq!(said(&after), ["early", "late", "new"]);
    assert!(after["eventsAge"].as_f64() < Some(1.0), "{after}");
    assert_eq!(lists.load(Ordering::Relaxed), 2);
    page.end().await;
}

/// Nobody takes for nothing what failed; what one may not read is left out. An upgrade is shown without what cannot be read of it.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_no_empty_list() {
    let page = Page::of(1).await;
    page.upgrade(&["dev1"]).await;
    let detail = path("");
    for (kind, address) in [
        ("ManagedClustersUpgradeRecord", "/api/clusters/dev1"),
        ("UpgradeRiskAcceptance", detail.as_str()),
        ("Event", detail.as_str()),
    ] {
        let failed = if address == detail {
            StatusCode::OK
        } else {
            StatusCode::BAD_GATEWAY
        };
        for (code, expected) in [(403, StatusCode::OK), (500, failed)] {
            let hook = move |asked: &RequestInfo<'_>| {
                let is_it = asked.kind.is_some_and(|known| known.kind == kind);
                if is_it && asked.verb == Verb::List && asked.identity.name() == "page" {
                    FaultAction::Refuse(Status::new(code, "Broken", "it is broken"))
                } else {
                    FaultAction::Pass
                }
            };
            let server = page.fleet.hub_server().unwrap();
            server.set_fault_hook(Some(Arc::new(hook)));
            // Events that were read before are shown for that long.
            advance(Duration::from_secs(10)).await;
            let (status, answer) = page.get(address).await;
            assert_eq!(status, expected, "{kind} {code}: {answer}");
            let unread = answer["unread"].as_array().into_iter().flatten();
            let unread: Vec<&str> = unread.map(|why| why.as_str().unwrap()).collect();
            let is_said = unread
                .iter()
                .any(|why| why.contains(kind) && why.contains("it is broken"));
            assert_eq!(
                is_said,
                address == detail && code == 500,
                "{kind} {code}: {unread:?}"
            );
            server.set_fault_hook(None);
        }
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_what_was_read_waits_with_more() {
    let (page, _) = page_of_users().await;
    page.upgrade(&["dev1"]).await;
    let detail = path("");
    for address in ["/api/history", "/api/clusters/dev1", detail.as_str()] {
        let mut unread = Vec::new();
        for _ in 0..2 {
            let response = page.ask(request(&page, "bob", address)).await;
            assert_eq!(response.status(), StatusCode::OK);
            unread.push(response);
        }
        let third = timeout(Duration::from_secs(5), get(&page, "bob", address)).await;
        assert!(third.is_err(), "{address}: two answers are not read");
        assert_eq!(get(&page, &page.token, address).await.0, StatusCode::OK);
        unread.pop();
        assert_eq!(get(&page, "bob", address).await.0, StatusCode::OK);
        tokio::time::sleep(Duration::from_mins(3)).await;
        let late = unread.pop().unwrap().into_body().collect().await;
        assert!(late.is_err(), "{address}: the place is another's");
    }
    page.end().await;
}

/// What has no windows may start a cluster at once: beside one that has, that is not left out.
#[tokio::test(start_paused = true)]
async fn each_upgrade_that_waits_for_a_cluster_says_when_it_may_start_it() {
    let page = Page::of(1).await;
    let named = |name: &str, windows: Value| {
        let mut upgrade = manifest(&["dev1"]);
        upgrade["metadata"]["name"] = json!(name);
        upgrade["spec"]["paused"] = json!(true);
        upgrade["spec"]["upgradeStrategy"]["startWindows"] = windows;
        serde_json::from_value(upgrade).unwrap()
    };
    let weekly = named(UPGRADE, json!([{"cron": "0 1 * * 6", "duration": "2h"}]));
    for upgrade in [weekly, named("autumn", json!(null))] {
        page.upgrades()
            .create(&PostParams::default(), &upgrade)
            .await
            .unwrap();
    }
    tokio::time::sleep(Duration::from_mins(2)).await;
    let (status, cluster) = page.get("/api/clusters/dev1").await;
    assert_eq!(status, StatusCode::OK, "{cluster}");
    let upgrades = cluster["upgrades"].as_array().unwrap();
    let schedule = |name: &str| {
        let of_name = upgrades
            .iter()
            .find(|upgrade| upgrade["key"] == format!("default/{name}"));
        let upgrade = of_name.unwrap();
        assert_eq!(upgrade["state"], "NotStarted", "{cluster:#}");
        &upgrade["schedule"]
    };
    assert_eq!(schedule(UPGRADE)["spans"].as_array().unwrap().len(), 5);
    let now = page.fleet.clock.now().as_second();
    let spans = schedule("autumn")["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 1, "{cluster:#}");
    assert!(spans[0]["opens"].as_i64().unwrap() <= now && spans[0]["closes"].is_null());
    page.end().await;
}
