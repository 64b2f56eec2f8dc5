//! A fleet as a browser follows it.

use std::sync::Arc;
use std::time::Duration;

use drydock_api::ocm::ManagedCluster;
use drydock_sandbox::test_env::TestEnvSettings;
use http::{Method, StatusCode, header};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube_sandbox::server::{FaultAction, RequestInfo, Status, Subresource};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::actions::{risk_on, with_a_risk};
use crate::fixture::{Page, UPGRADE, manifest, own, path};

/// The words of a column.
fn said<'a>(columns: &'a Value, column: &str) -> Vec<&'a str> {
    let words = columns["words"].as_array().unwrap();
    let numbers = columns[column].as_array().unwrap().iter();
    let word = |number: &Value| words[usize::try_from(number.as_u64().unwrap()).unwrap()].as_str();
    numbers.map(|number| word(number).unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_is_shown_before_everything_was_seen() {
    let page = Page::before_it_is_ready(TestEnvSettings::demo(1, 7), |settings| settings).await;
    let (status, answer) = page.get("/api/snapshot").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer["error"].as_str().unwrap().contains("clusters"), "{answer}");
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn clusters_that_no_upgrade_concerns_are_shown_and_followed() {
    let page = Page::of(3).await;
    let (_, snapshot) = page.get("/api/snapshot").await;
    let clusters = &snapshot["clusters"];
    assert_eq!(clusters["name"], json!(["dev1", "dev2", "dev3"]));
    assert_eq!(said(clusters, "state"), ["", "", ""]);
    assert_eq!(said(clusters, "version"), ["4.14.9", "4.14.9", "4.14.9"]);
    assert_eq!(clusters["available"], json!([1, 1, 1]));
    assert!(said(clusters, "labels")[1].contains("name=dev2"));

    let revision = snapshot["revision"].as_u64().unwrap();
    let mut events = page.changes(revision).await;
    let hub: Api<ManagedCluster> = Api::all(page.fleet.user().unwrap());
    let label = Patch::Merge(json!({"metadata": {"labels": {"site": "north"}}}));
    hub.patch("dev2", &PatchParams::default(), &label).await.unwrap();
    let change = events.until(|_| true).await;
    assert_eq!(change["revision"], revision + 1);
    assert_eq!(change["clusters"]["name"], json!(["dev2"]), "only what is new");
    assert!(said(&change["clusters"], "labels")[0].contains("site=north"));
    page.end().await;
}

/// Who looks at the page at night hears the cause, and what to do, not that something waits.
#[tokio::test(start_paused = true)]
async fn what_waits_for_somebody_says_why_and_what_to_do() {
    let page = Page::of(3).await;
    let hub: Api<ManagedCluster> = Api::all(page.fleet.user().unwrap());
    let refused = Patch::Merge(json!({"spec": {"hubAcceptsClient": false}}));
    hub.patch("dev3", &PatchParams::default(), &refused)
        .await
        .unwrap();
    let mut events = page.changes(page.revision().await).await;
    page.upgrade(&["dev1", "dev2", "dev3"]).await;
    let waits = |change: &Value| {
        let clusters = &change["clusters"];
        let names = clusters["name"].as_array().into_iter().flatten();
        let at = names.enumerate().find(|(_, name)| *name == "dev3");
        at.filter(|(at, _)| said(clusters, "reason")[*at] == "NotAccepted")
            .map(|(at, _)| said(clusters, "todo")[at].to_owned())
    };
    let change = events.until(|change| waits(change).is_some()).await;
    assert_eq!(
        waits(&change).unwrap(),
        "accept the cluster: clusteradm accept --clusters dev3; if spec.hubAcceptsClient is true already, see whether OCM's registration \
         controller runs on the hub"
    );
    // It is valid for the server, and never is.
    let windows = json!([{"cron": "0 3 30 2 *", "duration": "1h"}]);
    let spec = Patch::Merge(json!({"spec": {"upgradeStrategy": {"startWindows": windows}}}));
    page.upgrades()
        .patch(UPGRADE, &PatchParams::default(), &spec)
        .await
        .unwrap();
    let change = events
        .until(|change| change["upgrades"][0]["halt"]["reason"] == "InvalidSpec")
        .await;
    let why = change["upgrades"][0]["halt"]["message"].as_str().unwrap();
    assert!(why.contains("startWindows[0]"), "{why}");
    page.end().await;
}

/// What the queue of an upgrade is at is asked as often as what fails.
#[tokio::test(start_paused = true)]
async fn every_cluster_that_waits_says_since_when() {
    let page = Page::of(3).await;
    let mut events = page.changes(page.revision().await).await;
    page.upgrade(&["dev1", "dev2", "dev3"]).await;
    let begun = |change: &Value| said(&change["clusters"], "state").contains(&"Initialized");
    events.until(begun).await;
    let (_, snapshot) = page.get("/api/snapshot").await;
    let clusters = &snapshot["clusters"];
    let since = clusters["since"].as_array().unwrap().iter();
    let states = said(clusters, "state");
    let waiting: Vec<_> = states
        .into_iter()
        .zip(since)
        .filter(|(state, _)| *state == "NotStarted")
        .collect();
    assert!(!waiting.is_empty());
    assert!(
        waiting.iter().all(|(_, since)| since.as_i64() > Some(0)),
        "{waiting:?}"
    );
    page.end().await;
}

/// Nobody will bring it to its end, and nothing else says so.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_an_upgrade_has_left_on_its_way_says_so() {
    let page = Page::of(2).await;
    let row = async |name: &str| {
        let (_, snapshot) = page.get("/api/snapshot").await;
        let clusters = &snapshot["clusters"];
        let mut names = clusters["name"].as_array().unwrap().iter();
        let at = names.position(|one| one == name).unwrap();
        ["state", "reason", "message", "todo"].map(|column| said(clusters, column)[at].to_owned())
    };
    let upgrade = async |name: &str, version: &str, clusters: &[&str]| {
        let mut upgrade = manifest(clusters);
        upgrade["metadata"]["name"] = name.into();
        upgrade["spec"]["clusterVersion"]["version"] = version.into();
        let upgrade = serde_json::from_value(upgrade).unwrap();
        let created = page.upgrades().create(&PostParams::default(), &upgrade).await;
        created.unwrap();
    };
    let until = async |name: &str, state: &str| {
        while row(name).await[0] != state {
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
    };
    upgrade("first", "4.14.11", &["dev1"]).await;
    until("dev1", "Complete").await;
    upgrade("second", "4.14.12", &["dev1", "dev2"]).await;
    until("dev1", "PartialUpgrade").await;
    until("dev2", "PartialUpgrade").await;
    let deletion = page.upgrades().delete("second", &DeleteParams::default()).await;
    deletion.unwrap();
    tokio::time::sleep(Duration::from_mins(10)).await;
    for name in ["dev1", "dev2"] {
        let [state, reason, message, todo] = row(name).await;
        assert_eq!((&*state, &*reason), ("", "Abandoned"), "{name}: {message}");
        assert_eq!(
            message,
            "upgrade default/second, which has it no more, has left it on its way to 4.14.12"
        );
        assert!(todo.contains("let a new upgrade select it"), "{todo}");
    }
    // Another that has not come to ask for anything there has left nothing.
    upgrade("third", "4.14.11", &["dev1"]).await;
    upgrade("fourth", "4.14.13", &["dev2"]).await;
    until("dev2", "Initialized").await;
    for name in ["third", "fourth"] {
        let deletion = page.upgrades().delete(name, &DeleteParams::default()).await;
        deletion.unwrap();
    }
    tokio::time::sleep(Duration::from_mins(2)).await;
    for name in ["dev1", "dev2"] {
        let [_, _, message, _] = row(name).await;
        assert_eq!(
            message,
            "upgrade default/second, which has it no more, has left it on its way to 4.14.12"
        );
    }
    // What goes on there by itself is at its end.
    tokio::time::sleep(Duration::from_hours(6)).await;
    assert_eq!(row("dev2").await[2], "");
    page.end().await;
}

/// The upgrade that is not shown still has it, and whoever may see that one retries it there.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_has_failed_in_an_upgrade_that_is_not_shown_is_not_given_up() {
    let mut env = TestEnvSettings::demo(1, 7);
    env.clusters[0].faults.insert(Fault::UnknownUpdate);
    let of_one = |settings| own(settings, |own| own.namespace = Some("platform".to_owned()));
    let page = Page::with(env, of_one).await;
    let upgrade = serde_json::from_value(manifest(&["dev1"])).unwrap();
    let created = page.upgrades().create(&PostParams::default(), &upgrade).await;
    created.unwrap();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let status = page.upgrades().get(UPGRADE).await.unwrap().status.unwrap();
    assert_eq!(status.clusters.unwrap()[0].state, "Failed");
    let (_, snapshot) = page.get("/api/snapshot").await;
    let clusters = &snapshot["clusters"];
    assert_eq!(
        said(clusters, "message"),
        ["no upgrade that is shown here has it"]
    );
    assert_eq!(said(clusters, "todo"), [""]);
    let (_, session) = page.get("/api/session").await;
    assert_eq!(session["where"], "a test, namespace platform");
    page.end().await;
}

/// A cluster shows one of its upgrades, and the worst that speaks against any of them.
#[tokio::test(start_paused = true)]
async fn what_speaks_against_another_upgrade_of_a_cluster_is_in_the_fleet() {
    let page = with_a_risk(&["dev1"]).await;
    risk_on(&page, 1).await;
    for name in ["autumn", "winter"] {
        let mut other = manifest(&["dev1"]);
        other["metadata"]["name"] = name.into();
        other["spec"]["preChecks"] = json!({"mode": "Off"});
        other["spec"]["paused"] = true.into();
        let other = serde_json::from_value(other).unwrap();
        let created = page.upgrades().create(&PostParams::default(), &other).await;
        created.unwrap();
        tokio::time::sleep(Duration::from_mins(10)).await;
        let (_, snapshot) = page.get("/api/snapshot").await;
        let clusters = &snapshot["clusters"];
        let at = clusters["name"].as_array().unwrap().iter();
        let at = at.enumerate().find(|(_, name)| *name == "dev1").unwrap().0;
        assert_eq!(
            said(clusters, "finding")[at],
            "Error",
            "beside {name}: {}",
            said(clusters, "upgrade")[at]
        );
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_is_followed_to_its_end_and_after_a_cut_from_where_it_was() {
    let page = Page::of(3).await;
    let mut events = page.changes(page.revision().await).await;
    page.upgrade(&["dev1", "dev2", "dev3"]).await;
    let begun = events
        .until(|change| change["upgrades"][0]["counts"]["inFlight"] == 2)
        .await;
    let upgrade = &begun["upgrades"][0];
    assert_eq!(upgrade["key"], format!("default/{UPGRADE}"));
    assert_eq!(upgrade["target"], "4.14.12");
    assert_eq!(upgrade["phase"], "InProgress");
    assert_eq!(upgrade["counts"]["notStarted"], 1);
    assert_eq!(page.dashboard.viewers(), 1);
    drop(events);
    assert_eq!(page.dashboard.viewers(), 0);

    tokio::time::sleep(Duration::from_hours(1)).await;
    let seen = begun["revision"].as_u64().unwrap();
    let mut events = page.changes(seen).await;
    assert_eq!(
        events.until(|_| true).await["revision"],
        seen + 1,
        "nothing is left out"
    );
    let ended = events
        .until(|change| change["upgrades"][0]["phase"] == "Complete")
        .await;
    assert_eq!(ended["upgrades"][0]["counts"]["complete"], 3);
    let (_, snapshot) = page.get("/api/snapshot").await;
    assert_eq!(said(&snapshot["clusters"], "state"), ["Complete"; 3]);
    assert_eq!(said(&snapshot["clusters"], "version"), ["4.14.12"; 3]);

    page.upgrades()
        .delete(UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    let gone = events.until(|change| change["removedUpgrades"].is_array()).await;
    assert_eq!(gone["removedUpgrades"], json!([format!("default/{UPGRADE}")]));
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_comes_from_elsewhere_starts_over() {
    let page = Page::of(1).await;
    let revision = page.revision().await;
    for other in [0, revision - 1, revision + 1, u64::MAX] {
        let mut events = page.changes(other).await;
        let (event, data) = events.next().await.unwrap();
        assert_eq!((event.as_str(), data), ("reset", json!({})), "{other}");
    }
    let (status, answer) = page.get("/api/changes?since=x").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(
        answer["error"]
            .as_str()
            .is_some_and(|words| words.contains("since")),
        "{answer}"
    );
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_on_which_nothing_happens_says_what_time_it_is() {
    let page = Page::of(1).await;
    let mut events = page.changes(page.revision().await).await;
    let (event, first) = events.next().await.unwrap();
    assert_eq!(event, "now");
    let (event, second) = events.next().await.unwrap();
    assert_eq!(event, "now");
    assert_eq!(
        second["now"].as_i64().unwrap() - first["now"].as_i64().unwrap(),
        15
    );
    // And that the hub has answered: the server alone says nothing about how old is what it shows.
    let (event, third) = events.next().await.unwrap();
    assert_eq!(event, "now");
    let ago = third["now"].as_i64().unwrap() - first["now"].as_i64().unwrap();
    assert_eq!((&third["answered"], ago), (&json!(true), 25));
    assert_eq!(second.get("answered"), None);
    let stop = page.fleet.shut_down();
    assert!(events.next().await.is_none() || stop.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_compressed_for_who_takes_it() {
    let page = Page::of(3).await;
    let mut request = page.request(Method::GET, "/api/snapshot", "");
    request
        .headers_mut()
        .insert(header::ACCEPT_ENCODING, "gzip, br".parse().unwrap());
    let response = page.ask(request).await;
    assert_eq!(response.headers()[header::CONTENT_ENCODING], "gzip");
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_named_or_left_out() {
    let refuse = |page: &Page, kind: &'static str| {
        let hook = move |asked: &RequestInfo<'_>| {
            let is_it = asked.kind.is_some_and(|asked| asked.kind == kind);
            if is_it && asked.identity.name() == "kubectl-drydock" {
                FaultAction::Refuse(Status::new(403, "Forbidden", "ann may not list them"))
            } else {
                FaultAction::Pass
            }
        };
        let server = page.fleet.hub_server().unwrap();
        server.set_fault_hook(Some(Arc::new(hook)));
    };
    let env = TestEnvSettings::demo(1, 7);
    let page = Page::before_it_is_ready(env.clone(), |settings| settings).await;
    refuse(&page, "ManagedCluster");
    tokio::time::sleep(Duration::from_mins(1)).await;
    let (status, answer) = page.get("/api/snapshot").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let words = answer["error"].as_str().unwrap();
    assert!(words.contains("clusters (ann may not list them)"), "{words}");
    page.end().await;

    for kind in ["ConfigMap", "UpgradeRiskAcceptance"] {
        let page = Page::before_it_is_ready(env.clone(), |settings| settings).await;
        refuse(&page, kind);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(page.get("/api/snapshot").await.0, StatusCode::OK, "{kind}");
        page.end().await;
    }
}

/// How the watches of a kind fail for good, while all else is answered.
#[derive(Clone, Copy, Debug)]
enum Fails {
    /// It may be watched no more.
    Watch,
    /// It is listed again, which fails.
    List(u16),
}

#[tokio::test(start_paused = true)]
async fn a_page_ends_whose_watch_fails_for_good_and_comes_back_with_it() {
    for fails in [Fails::Watch, Fails::List(403), Fails::List(500), Fails::List(410)] {
        let page = Page::of(1).await;
        page.upgrade(&["dev1"]).await;
        let revision = page.revision().await;
        let mut events = page.changes(revision).await;
        let server = page.fleet.hub_server().unwrap();
        let code = match fails {
            Fails::Watch => 403,
            Fails::List(code) => code,
        };
        let hook = move |asked: &RequestInfo<'_>| {
            let is_it = asked.kind.is_some_and(|asked| asked.kind == "ManagedCluster");
            if is_it && asked.identity.name() == "kubectl-drydock" {
                FaultAction::Refuse(Status::new(code, "Forbidden", "ann may not list them"))
            } else {
                FaultAction::Pass
            }
        };
        server.set_fault_hook(Some(Arc::new(hook)));
        if let Fails::List(_) = fails {
            server.compact();
        }
        server.cut_watches(|_, _| true);
        let began = tokio::time::Instant::now();
        let ended = async { while events.next().await.is_some() {} };
        timeout(Duration::from_mins(10), ended).await.expect("it ends");
        let took = began.elapsed();
        // An attempt that fails within half a minute may be followed by a pause of 51 seconds, and a page asks each 25.
        assert!(took <= Duration::from_mins(2), "{fails:?}: {took:?}");
        assert!(took >= Duration::from_secs(20), "{fails:?}: {took:?}");
        let changes = format!("/api/changes?since={revision}");
        for asked in ["/api/snapshot", &changes, "/api/clusters/dev1", &path("")] {
            let (status, answer) = page.get(asked).await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{fails:?}: {asked}");
            let words = answer["error"].as_str().unwrap();
            let expected = "not connected: the watch of clusters fails (ann may not list them)";
            assert_eq!(words, expected, "{fails:?}");
        }
        assert_eq!(
            page.post(&path("/retry"), json!({})).await.0,
            StatusCode::SERVICE_UNAVAILABLE
        );
        server.set_fault_hook(None);
        tokio::time::sleep(Duration::from_mins(4)).await;
        assert_eq!(page.get("/api/snapshot").await.0, StatusCode::OK, "{fails:?}");
        let _follows = page.changes(page.revision().await).await;
        page.end().await;
    }
}

/// Watches that are begun go on, and the credentials of the person count no more.
#[tokio::test(start_paused = true)]
async fn a_page_ends_whose_credentials_the_hub_does_not_know_any_more() {
    let page = Page::of(1).await;
    let revision = page.revision().await;
    let mut events = page.changes(revision).await;
    let server = page.fleet.hub_server().unwrap();
    let hook = |asked: &RequestInfo<'_>| match asked.identity.name() {
        "page" => FaultAction::Refuse(Status::new(401, "Unauthorized", "Unauthorized")),
        _ => FaultAction::Pass,
    };
    server.set_fault_hook(Some(Arc::new(hook)));
    let ended = async { while events.next().await.is_some() {} };
    timeout(Duration::from_mins(1), ended).await.expect("it ends");
    for asked in ["/api/snapshot", &format!("/api/changes?since={revision}")] {
        let (status, answer) = page.get(asked).await;
        // Not 401: the token of the page itself is known.
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{asked}");
        let expected = "not connected: the API server does not know your credentials any more";
        assert_eq!(answer["error"], expected, "{asked}");
    }
    server.set_fault_hook(None);
    assert_eq!(page.get("/api/snapshot").await.0, StatusCode::OK);
    page.end().await;
}

/// As when the server of the hub is gone, or does not answer: what the page shows is old then, and nobody may take it for new.
#[tokio::test(start_paused = true)]
async fn a_page_ends_whose_hub_does_not_answer_and_comes_back_with_it() {
    for fault in [
        FaultAction::Unreachable,
        FaultAction::Delay(Duration::from_hours(24)),
    ] {
        let page = Page::of(1).await;
        let revision = page.revision().await;
        let mut events = page.changes(revision).await;
        let server = page.fleet.hub_server().unwrap();
        let hook = move |asked: &RequestInfo<'_>| match asked.identity.name() {
            "page" => fault.clone(),
            _ => FaultAction::Pass,
        };
        server.set_fault_hook(Some(Arc::new(hook)));
        let began = tokio::time::Instant::now();
        while events.next().await.is_some() {}
        assert!(began.elapsed() <= Duration::from_mins(1), "{:?}", began.elapsed());
        for asked in ["/api/snapshot", &format!("/api/changes?since={revision}")] {
            let (status, answer) = page.get(asked).await;
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{asked}");
            let words = answer["error"].as_str().unwrap();
            assert!(
                words.contains("the API server of the hub does not answer"),
                "{words}"
            );
        }
        server.set_fault_hook(None);
        // What has changed meanwhile is read first.
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(page.get("/api/snapshot").await.0, StatusCode::OK);
        let _follows = page.changes(revision).await;
        page.end().await;
    }
}

/// As behind a load balancer one of whose servers is gone: what was asked of it is never answered, also when others answer again.
#[tokio::test(start_paused = true)]
async fn after_an_outage_nothing_is_shown_as_new_before_it_was_read() {
    let page = Page::of(1).await;
    let revision = page.revision().await;
    let mut events = page.changes(revision).await;
    let server = page.fleet.hub_server().unwrap();
    let swallow = |asked: &RequestInfo<'_>| match asked.identity.name() {
        "page" | "kubectl-drydock" => FaultAction::Delay(Duration::from_hours(24)),
        _ => FaultAction::Pass,
    };
    server.set_fault_hook(Some(Arc::new(swallow)));
    server.cut_watches(|_, _| true);
    let ended = async { while events.next().await.is_some() {} };
    timeout(Duration::from_mins(1), ended).await.expect("it ends");
    page.upgrade(&["dev1"]).await;
    server.set_fault_hook(None);
    let began = tokio::time::Instant::now();
    let mut was_refused = false;
    loop {
        let (status, answer) = page.get("/api/snapshot").await;
        if status == StatusCode::OK {
            break;
        }
        let words = answer["error"].as_str().unwrap();
        assert!(
            words.contains("the API server did not answer for a while"),
            "{words}"
        );
        was_refused = true;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(was_refused);
    // What was read is shown as quickly as any change.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let (_, answer) = page.get("/api/snapshot").await;
    assert!(
        answer.to_string().contains(UPGRADE),
        "it is live, and old: {answer}"
    );
    assert!(began.elapsed() <= Duration::from_mins(1), "{:?}", began.elapsed());
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_no_hub_has_taken_up_is_said() {
    let page = Page::of(1).await;
    let refuse_status = |asked: &RequestInfo<'_>| {
        let is_upgrade = asked
            .kind
            .is_some_and(|kind| kind.kind == "ManagedClustersUpgrade");
        if is_upgrade && asked.subresource == Some(Subresource::Status) {
            FaultAction::Refuse(Status::new(503, "ServiceUnavailable", "the hub is away"))
        } else {
            FaultAction::Pass
        }
    };
    let server = page.fleet.hub_server().unwrap();
    server.set_fault_hook(Some(Arc::new(refuse_status)));
    let mut events = page.changes(page.revision().await).await;
    page.upgrade(&["dev1"]).await;
    let says = |change: &Value, not_seen: &Value| {
        let upgrades = change["upgrades"].as_array();
        upgrades.is_some_and(|upgrades| upgrades.iter().any(|upgrade| upgrade["notSeen"] == *not_seen))
    };
    events
        .until(|change| says(change, &json!("no hub has seen it yet")))
        .await;
    server.set_fault_hook(None);
    events.until(|change| says(change, &Value::Null)).await;
    server.set_fault_hook(Some(Arc::new(refuse_status)));
    let (status, _) = page.post(&path("/pause"), json!({})).await;
    assert_eq!(status, StatusCode::OK);
    events
        .until(|change| says(change, &json!("no hub has taken up its newest edit yet")))
        .await;
    page.end().await;
}
