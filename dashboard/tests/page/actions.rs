//! What people do on the page, on the API server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drydock_api::mcu::UpgradeRiskAcceptance;
use drydock_api::names::{RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION};
use drydock_dashboard::{PlanError, PlanTexts, PlannedUpgrade, Planner, Settings};
use drydock_rollout::UpgradeKey;
use drydock_sandbox::test_env::TestEnvSettings;
use futures::future::BoxFuture;
use http::StatusCode;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use kube_sandbox::server::{FaultAction, RequestInfo, Status, Verb};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

use crate::fixture::{Page, UPGRADE, manifest, path};

#[tokio::test(start_paused = true)]
async fn an_upgrade_is_paused_and_continues() {
    let page = Page::of(3).await;
    page.upgrade(&["dev1", "dev2", "dev3"]).await;
    let mut events = page.changes(page.revision().await).await;
    let (status, answer) = page.post(&path("/pause"), json!({})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(
        answer["done"]
            .as_str()
            .unwrap()
            .starts_with("default/spring is paused: ")
    );
    let change = events
        .until(|change| change["upgrades"][0]["phase"] == "Paused")
        .await;
    let upgrade = &change["upgrades"][0];
    assert_eq!(
        (&upgrade["paused"], &upgrade["halt"]["reason"]),
        (&json!(true), &json!("Paused"))
    );
    let (_, answer) = page.post(&path("/pause"), json!({})).await;
    assert_eq!(answer["done"], "default/spring is paused already");
    assert_eq!(
        page.upgrades().get(UPGRADE).await.unwrap().spec.paused,
        Some(true)
    );
    assert_eq!(page.post(&path("/resume"), json!({})).await.0, StatusCode::OK);
    events
        .until(|change| change["upgrades"][0]["phase"] == "Complete")
        .await;
    let (_, detail) = page.get(&path("")).await;
    let halt = &detail["halts"][0];
    assert_eq!(halt["reason"], "Paused", "{detail:#}");
    assert!(halt["to"].as_i64() >= halt["from"].as_i64() && halt["from"].as_i64() > Some(0));
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_was_created_anew_under_the_name_is_not_meant() {
    let page = Page::of(3).await;
    page.upgrade(&["dev1"]).await;
    let shown = page.upgrades().get(UPGRADE).await.unwrap().uid();
    page.upgrades()
        .delete(UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    while page.upgrades().get_opt(UPGRADE).await.unwrap().is_some() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    page.upgrade(&["dev1", "dev2", "dev3"]).await;
    let accept = json!({"finding": "x", "target": "4.14.12", "reporters": "a", "reason": "known"});
    for (action, mut asked) in [
        ("/pause", json!({})),
        ("/resume", json!({})),
        ("/retry", json!({"cluster": "dev1"})),
        ("/accept", accept),
    ] {
        asked["uid"] = json!(shown);
        let (status, answer) = page.post(&path(action), asked).await;
        assert_eq!(status, StatusCode::CONFLICT, "{action} {answer}");
    }
    let upgrade = page.upgrades().get(UPGRADE).await.unwrap();
    assert_eq!(upgrade.spec.paused, None);
    let (status, answer) = page.post(&path("/pause"), json!({"uid": upgrade.uid()})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    page.end().await;
}

/// What somebody edits while another is asked may start other clusters, to another target. A pause is for whatever there is.
#[tokio::test(start_paused = true)]
async fn what_was_edited_since_somebody_was_asked_is_not_resumed() {
    let page = Page::of(3).await;
    page.upgrade(&["dev1"]).await;
    let (status, _) = page.post(&path("/pause"), json!({"generation": 7})).await;
    assert_eq!(status, StatusCode::CONFLICT, "who sends it means it");
    assert_eq!(page.post(&path("/pause"), json!({})).await.0, StatusCode::OK);
    let (_, shown) = page.get(&path("")).await;
    let edit = json!({"spec": {"clusterSelector": {}}});
    page.upgrades()
        .patch(UPGRADE, &PatchParams::default(), &Patch::Merge(edit))
        .await
        .unwrap();
    let asked = |detail: &Value| json!({"uid": detail["uid"], "generation": detail["generation"]});
    let (status, answer) = page.post(&path("/resume"), asked(&shown)).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("edited since you were asked")
    );
    assert_eq!(
        page.upgrades().get(UPGRADE).await.unwrap().spec.paused,
        Some(true)
    );
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (_, shown) = page.get(&path("")).await;
    let (status, answer) = page.post(&path("/resume"), asked(&shown)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn those_that_have_failed_since_somebody_was_asked_are_not_retried() {
    let page = with_a_failure().await;
    let (_, shown) = page.get(&path("")).await;
    let (status, answer) = page
        .post(&path("/retry"), json!({"failed": "those of before"}))
        .await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    let upgrade = page.upgrades().get(UPGRADE).await.unwrap();
    assert!(!upgrade.annotations().contains_key(RETRY_ANNOTATION));
    let (status, answer) = page
        .post(&path("/retry"), json!({"failed": shown["failedSet"]}))
        .await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    page.end().await;
}

/// A fleet of three of which dev2 has failed.
async fn with_a_failure() -> Page {
    let mut env = TestEnvSettings::demo(3, 7);
    env.clusters[1].faults.insert(Fault::UnknownUpdate);
    let page = Page::with(env, |settings| settings).await;
    let mut events = page.changes(page.revision().await).await;
    page.upgrade(&["dev1", "dev2", "dev3"]).await;
    events
        .until(|change| change["upgrades"][0]["counts"]["failed"] == 1)
        .await;
    page
}

#[tokio::test(start_paused = true)]
async fn what_has_failed_is_named_with_what_to_do_and_starts_over() {
    let page = with_a_failure().await;
    let (_, detail) = page.get(&path("")).await;
    let failure = &detail["failures"][0];
    assert_eq!(failure["reason"], "InvalidTarget", "{detail:#}");
    assert_eq!(failure["clusters"], json!(["dev2"]));
    let (_, cluster) = page.get("/api/clusters/dev2").await;
    assert_eq!(cluster["upgrades"][0]["state"], "Failed");
    assert!(
        cluster["upgrades"][0]["todo"]
            .as_str()
            .unwrap()
            .contains("kubectl drydock retry spring --cluster dev2")
    );

    let (status, answer) = page.post(&path("/retry"), json!({"cluster": "dev1"})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer["error"], "cluster dev1 has not failed; these have: dev2");
    let (status, answer) = page.post(&path("/retry"), json!({"cluster": "dev2"})).await;
    assert_eq!(
        (status, &answer["done"]),
        (StatusCode::OK, &json!("default/spring: dev2 starts over"))
    );
    let upgrade = page.upgrades().get(UPGRADE).await.unwrap();
    assert!(upgrade.annotations()[RETRY_CLUSTERS_ANNOTATION].starts_with("dev2="));
    page.end().await;
}

/// What happens to patches of the page from now on.
fn on_patches(page: &Page, fault: impl Fn() -> FaultAction + Send + Sync + 'static) {
    let hook = move |asked: &RequestInfo<'_>| {
        if asked.verb == Verb::Patch && asked.identity.name() == "page" {
            fault()
        } else {
            FaultAction::Pass
        }
    };
    let server = page.fleet.hub_server().unwrap();
    server.set_fault_hook(Some(Arc::new(hook)));
}

/// Where the hub is slow, there is time for an edit between what the page reads and what it writes.
#[tokio::test(start_paused = true)]
async fn what_is_edited_while_a_retry_or_a_resume_is_written_does_not_start() {
    let page = with_a_failure().await;
    for (action, asked) in [
        ("/retry", json!({})),
        ("/retry", json!({"cluster": "dev2"})),
        ("/resume", json!({})),
    ] {
        let paused = page.post(&path("/pause"), json!({})).await;
        assert_eq!(paused.0, StatusCode::OK);
        let before = page.upgrades().get(UPGRADE).await.unwrap();
        let is_first = AtomicBool::new(true);
        on_patches(&page, move || {
            if is_first.swap(false, Ordering::Relaxed) {
                FaultAction::Delay(Duration::from_secs(3))
            } else {
                FaultAction::Pass
            }
        });
        let edit = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let count = before.metadata.generation.unwrap_or_default() + 20;
            let edit = json!({"spec": {"upgradeStrategy": {"maxConcurrency": count}}});
            let (api, parameters) = (page.upgrades(), PatchParams::default());
            api.patch(UPGRADE, &parameters, &Patch::Merge(edit))
                .await
                .unwrap();
        };
        let path = path(action);
        let ((status, answer), ()) = tokio::join!(page.post(&path, asked.clone()), edit);
        page.fleet.hub_server().unwrap().set_fault_hook(None);
        assert_eq!(status, StatusCode::CONFLICT, "{action} {answer}");
        let upgrade = page.upgrades().get(UPGRADE).await.unwrap();
        assert_eq!(upgrade.annotations(), before.annotations(), "{action}");
        assert_eq!(upgrade.spec.paused, Some(true), "{action}");
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn history_counts_attempts() {
    let page = with_a_failure().await;
    let (_, answer) = page.post(&path("/retry"), json!({})).await;
    assert_eq!(answer["done"], "default/spring: 1 failed cluster starts over");
    let upgrade = page.upgrades().get(UPGRADE).await.unwrap();
    assert!(upgrade.annotations().contains_key(RETRY_ANNOTATION));
    tokio::time::sleep(Duration::from_hours(24)).await;
    let (_, history) = page.get("/api/history").await;
    let rows = history["rows"].as_array().unwrap();
    let of_dev2: Vec<&Value> = rows.iter().filter(|row| row["cluster"] == "dev2").collect();
    assert_eq!(
        of_dev2.iter().map(|row| &row["attempt"]).collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(of_dev2[0]["outcome"], "Failed");
    let ended = rows.iter().find(|row| row["cluster"] == "dev1").unwrap();
    assert_eq!(
        (&ended["from"], &ended["outcome"]),
        (&json!("4.14.9"), &json!("Complete"))
    );
    assert_eq!(ended["upgrade"], "default/spring");
    let took = ended["endedAt"].as_i64().unwrap() - ended["startedAt"].as_i64().unwrap();
    assert_eq!(ended["actualSeconds"], took);
    let (_, cluster) = page.get("/api/clusters/dev2").await;
    assert_eq!(cluster["history"].as_array().unwrap().len(), 2);
    assert_eq!(page.get("/api/clusters/none").await.0, StatusCode::NOT_FOUND);
    assert!(rows.iter().all(|row| row.get("deleted").is_none()));
    page.upgrades()
        .delete(UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_hours(1)).await;
    let (_, history) = page.get("/api/history").await;
    let rows = history["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["deleted"] == true), "{rows:?}");
    page.end().await;
}

/// An upgrade of clusters to which a known risk of their update applies: they say so before they start.
pub async fn with_a_risk(clusters: &[&str]) -> Page {
    let mut env = TestEnvSettings::demo(3, 7);
    for cluster in &mut env.clusters {
        cluster.faults.insert(Fault::NotRecommended);
    }
    let page = Page::with(env, |settings| settings).await;
    let mut required = manifest(clusters);
    required["spec"]["preChecks"] = json!({"mode": "Require"});
    let required = serde_json::from_value(required).unwrap();
    page.upgrades()
        .create(&PostParams::default(), &required)
        .await
        .unwrap();
    page
}

/// The risk, once as many clusters report it.
pub async fn risk_on(page: &Page, clusters: usize) -> Value {
    let mut last = Value::Null;
    for _ in 0..1000 {
        let (_, detail) = page.get(&path("")).await;
        let mut findings = detail["findings"].as_array().into_iter().flatten();
        let is_risk = |one: &&Value| one["message"].as_str().unwrap().contains("not recommended: ");
        if let Some(risk) = findings.find(|one| is_risk(one) && one["clusters"] == clusters) {
            return risk.clone();
        }
        last = detail;
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    panic!("no finding on {clusters} clusters: {last:#}");
}

#[tokio::test(start_paused = true)]
async fn findings_are_accepted_with_a_reason() {
    let page = with_a_risk(&["dev1", "dev2"]).await;
    let risk = risk_on(&page, 2).await;
    let soon = page.fleet.clock.now().as_second() + 3600;
    let accept = json!({"finding": risk["name"], "target": "4.14.12", "reporters": risk["reporters"], "reason": "known"});
    let with = |field: &str, value: Value| {
        let mut body = accept.clone();
        body[field] = value;
        body
    };
    for (body, expected, words) in [
        (with("reason", json!("  ")), 422, "reason is empty"),
        (with("reason", json!("\u{200b} \u{2060}")), 422, "reason is empty"),
        (with("until", json!(5)), 422, "over already"),
        (with("reporters", Value::Null), 422, "load it again"),
        (with("target", json!("4.14.13")), 409, "target of default/spring"),
        (
            with("finding", json!("0123456789abcdef0123456789abcdef")),
            409,
            "other clusters",
        ),
        (with("finding", json!("mco/x")), 409, "other clusters"),
    ] {
        let (status, answer) = page.post(&path("/accept"), body).await;
        assert_eq!(status, expected, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(words), "{answer}");
    }
    let (status, answer) = page.post(&path("/accept"), with("until", json!(soon))).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(page.fleet.user().unwrap(), "default");
    let written = &api.list(&ListParams::default()).await.unwrap().items[0].spec;
    assert_eq!(
        (written.upgrade.as_str(), written.target.as_str()),
        (UPGRADE, "4.14.12")
    );
    let accepted = &written.accepted_risks[0];
    assert_eq!(accepted.accepted_by, "ann");
    assert_eq!(
        accepted.clusters.as_deref(),
        Some(&["dev1".to_owned(), "dev2".to_owned()][..])
    );
    let (_, detail) = page.get(&path("")).await;
    let expected = json!([{
        "finding": risk["name"], "level": risk["level"], "on": "dev1, dev2", "endedOn": "", "reason": "known", "acceptedBy": "ann", "until": soon, "target": "4.14.12", "counts": true,
    }]);
    assert_eq!(detail["acceptances"], expected);
    let (_, cluster) = page.get("/api/clusters/dev1").await;
    let found = cluster["findings"].as_array().unwrap().iter();
    let by: Vec<(&Value, &Value)> = found
        .filter(|one| one["message"] == risk["message"])
        .map(|one| (&one["acceptedBy"], &one["until"]))
        .collect();
    assert_eq!(by, [(&json!("ann"), &json!(soon))], "{cluster}");
    // Who does so once more, in another tab, hears what it replaces.
    let (_, answer) = page
        .post(&path("/accept"), with("reason", json!("in the window")))
        .await;
    let words = answer["done"].as_str().unwrap();
    assert!(words.contains("replaces what you had accepted before"), "{words}");
    assert!(words.ends_with("Z: known"), "{words}");
    page.end().await;
}

/// Somebody has been asked about one cluster, and thinks of that.
#[tokio::test(start_paused = true)]
async fn nothing_is_accepted_for_clusters_that_nobody_was_asked_about() {
    let page = with_a_risk(&["dev1"]).await;
    let shown = risk_on(&page, 1).await;
    let widened = manifest(&["dev1", "dev2"]);
    let more = json!({"spec": {"clusterSelector": widened["spec"]["clusterSelector"]}});
    page.upgrades()
        .patch(UPGRADE, &PatchParams::default(), &Patch::Merge(more))
        .await
        .unwrap();
    let risk = risk_on(&page, 2).await;
    let body = |reporters: &Value| json!({"finding": risk["name"], "target": "4.14.12", "reporters": reporters, "reason": "known"});
    let (status, answer) = page.post(&path("/accept"), body(&shown["reporters"])).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(page.fleet.user().unwrap(), "default");
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items, []);
    let (status, answer) = page.post(&path("/accept"), body(&risk["reporters"])).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn who_has_nobody_to_forecast_says_so() {
    let page = Page::of(1).await;
    page.upgrade(&["dev1"]).await;
    let (status, answer) = page.get(&path("/forecast")).await;
    assert_eq!(status, StatusCode::NOT_IMPLEMENTED, "{answer}");
    page.end().await;

    let with_planner = |settings: Settings| Settings {
        planner: Some(Arc::new(Refusing)),
        ..settings
    };
    let page = Page::with(TestEnvSettings::demo(1, 7), with_planner).await;
    let (status, answer) = page.get(&path("/forecast")).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("default/spring"))
    );
    let (status, answer) = page.post("/api/plan", json!({"yaml": "a", "compare": "b"})).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("a and Some(\"b\")"))
    );
    page.end().await;
}

/// Forecasts nothing, and says what it was asked.
pub struct Refusing;

impl Planner for Refusing {
    fn forecast(
        &self,
        _: Client,
        key: &UpgradeKey,
        _: &str,
    ) -> BoxFuture<'_, Result<PlannedUpgrade, PlanError>> {
        let asked = key.to_string();
        Box::pin(async { Err(PlanError(asked)) })
    }

    fn plan(
        &self,
        _: Client,
        _: &str,
        _: &str,
        texts: PlanTexts,
    ) -> BoxFuture<'_, Result<Vec<PlannedUpgrade>, PlanError>> {
        let PlanTexts { yaml, compare, .. } = texts;
        Box::pin(async move { Err(PlanError(format!("{yaml} and {compare:?}"))) })
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_refuses_is_said_in_its_words() {
    let page = Page::of(1).await;
    page.upgrade(&["dev1"]).await;
    let refuse = |code: u16| {
        on_patches(&page, move || {
            FaultAction::Refuse(Status::new(code, "Forbidden", "ann may not patch"))
        });
    };
    // That the API server does not know the user is not that the token of the page is wrong.
    for (code, expected) in [(403, 403), (401, 502), (409, 409), (422, 422)] {
        refuse(code);
        let (status, answer) = page.post(&path("/pause"), json!({})).await;
        assert_eq!(status, expected);
        let words = answer["error"].as_str().unwrap();
        assert!(
            words.contains("ann may not patch") && words.contains("default/spring"),
            "{words}"
        );
    }
    page.end().await;
}
