//! What people do on the page, on the API server.

use std::sync::Arc;
use std::time::Duration;

use drydock_api::mcu::{ManagedClustersUpgrade, UpgradeRiskAcceptance};
use drydock_api::names::{RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION};
use drydock_dashboard::{PlanError, PlannedUpgrade, Planner, Settings};
use drydock_rollout::UpgradeKey;
use drydock_sandbox::test_env::TestEnvSettings;
use futures::future::BoxFuture;
use http::StatusCode;
use kube::api::{DeleteParams, ListParams};
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
    let accept = json!({"finding": "x", "target": "4.14.12", "level": "Warning", "reason": "known"});
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

#[tokio::test(start_paused = true)]
async fn findings_are_accepted_with_a_reason() {
    let page = Page::of(1).await;
    page.upgrade(&["dev1"]).await;
    let unknown = "0123456789abcdef0123456789abcdef";
    let soon = page.fleet.clock.now().as_second() + 3600;
    for (body, words) in [
        (
            json!({"finding": unknown, "target": "4.14.12", "level": "Warning", "reason": "known"}),
            "no cluster reports",
        ),
        (
            json!({"finding": "mco/x", "target": "4.14.12", "level": "Warning", "reason": "  "}),
            "reason is empty",
        ),
        (
            json!({"finding": "mco/x", "target": "4.14.12", "level": "Warning", "reason": "\u{200b} \u{2060}"}),
            "reason is empty",
        ),
        (
            json!({"finding": "mco/x", "target": "4.14.12", "level": "Warning", "reason": "known", "until": 5}),
            "over already",
        ),
        (
            json!({"finding": "mco/x", "target": "4.14.12", "level": "Bad", "reason": "known"}),
            "is no level",
        ),
        (
            json!({"finding": "mco/x", "level": "Warning", "reason": "known"}),
            "load it again",
        ),
    ] {
        let (status, answer) = page.post(&path("/accept"), body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer["error"].as_str().unwrap().contains(words), "{answer}");
    }
    let of_another = json!({"finding": "mco/x", "target": "4.14.13", "level": "Warning", "reason": "known"});
    let (status, answer) = page.post(&path("/accept"), of_another).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    let body = json!({"finding": "mco/x", "target": "4.14.12", "level": "Warning", "reason": "known", "until": soon});
    let (status, answer) = page.post(&path("/accept"), body).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(page.fleet.user().unwrap(), "default");
    let written = &api.list(&ListParams::default()).await.unwrap().items[0].spec;
    assert_eq!(
        (written.upgrade.as_str(), written.target.as_str()),
        (UPGRADE, "4.14.12")
    );
    assert_eq!(written.accepted_risks[0].accepted_by, "ann");
    let (_, detail) = page.get(&path("")).await;
    let expected = json!([{
        "finding": "mco/x", "reason": "known", "acceptedBy": "ann", "until": soon, "target": "4.14.12", "counts": true,
    }]);
    assert_eq!(detail["acceptances"], expected);
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_shown_of_an_upgrade_can_be_edited_and_applied() {
    let page = Page::of(2).await;
    let mut manifest = json!(manifest(&["dev1"]));
    let image = format!(
        "registry.example.com/mirrors/openshift/release-images@sha256:{:064}",
        12
    );
    manifest["spec"]["clusterVersion"]["image"] = json!(image);
    let yaml = serde_saphyr::to_string(&manifest).unwrap();
    let (status, answer) = page.post("/api/apply", json!({"yaml": yaml})).await;
    assert_eq!(
        (status, &answer["done"]),
        (StatusCode::OK, &json!("default/spring created"))
    );
    let mut events = page.changes(page.revision().await).await;
    let detail = loop {
        let (status, detail) = page.get(&path("")).await;
        if status == StatusCode::OK {
            break detail;
        }
        events.until(|_| true).await;
    };
    let line = format!("    image: {image}\n");
    assert!(
        detail["spec"].as_str().unwrap().contains(&line),
        "{}",
        detail["spec"]
    );
    let edited = detail["spec"].as_str().unwrap().replace("4.14.12", "4.14.13");
    let opened = &detail["edition"];
    let body = json!({"yaml": edited, "edition": opened});
    let (status, answer) = page.post("/api/apply", body).await;
    assert_eq!(
        (status, &answer["done"]),
        (StatusCode::OK, &json!("default/spring configured"))
    );
    // Who goes on editing has not seen a pause that came meanwhile.
    let written = answer["edition"].clone();
    let (status, _) = page.post(&path("/pause"), json!({})).await;
    assert_eq!(status, StatusCode::OK);
    let body = json!({"yaml": edited.replace("4.14.13", "4.14.14"), "edition": written});
    let (status, answer) = page.post("/api/apply", body).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    // Somebody else has opened it before, and would take that back.
    let late = detail["spec"]
        .as_str()
        .unwrap()
        .replace("maxConcurrency: ", "maxConcurrency: 1");
    let body = json!({"yaml": late, "edition": opened});
    let (status, answer) = page.post("/api/apply", body).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    assert!(
        answer["error"].as_str().unwrap().contains("since you opened it"),
        "{answer}"
    );
    let upgrade = page.upgrades().get(UPGRADE).await.unwrap();
    assert_eq!(
        upgrade.spec.cluster_version.unwrap().version.as_deref(),
        Some("4.14.13")
    );
    let wrong = edited.replace("maxConcurrency", "concurrencyMax");
    let (status, answer) = page.post("/api/apply", json!({"yaml": wrong})).await;
    assert!(
        status.is_client_error() || status == StatusCode::BAD_GATEWAY,
        "{status} {answer}"
    );
    assert!(
        answer["error"].as_str().unwrap().contains("concurrencyMax"),
        "{answer}"
    );
    page.end().await;
}

/// The page may read a text otherwise than YAML is: nobody is asked about one upgrade and applies another.
#[tokio::test(start_paused = true)]
async fn no_other_upgrade_is_applied_than_the_page_has_shown() {
    let page = Page::of(1).await;
    let yaml = serde_saphyr::to_string(&manifest(&["dev1"])).unwrap();
    let shown = json!({"name": UPGRADE, "namespace": "default", "target": "4.14.12 stable-4.14"});
    for (field, other) in [
        ("name", "autumn"),
        ("namespace", "south"),
        ("target", "4.14.12 stable-4.15"),
    ] {
        let mut wrong = shown.clone();
        wrong[field] = json!(other);
        let (status, answer) = page
            .post("/api/apply", json!({"yaml": yaml, "shown": wrong}))
            .await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
        let words = answer["error"].as_str().unwrap();
        assert!(
            words.starts_with("nothing is applied") && words.contains(other),
            "{words}"
        );
        assert_eq!(page.upgrades().get_opt(UPGRADE).await.unwrap(), None);
    }
    // YAML has several words for true.
    for word in ["true", "yes", "on", "y"] {
        let operators = format!("\nspec:\n  ocpOperators: {{approveAllUpgrades: {word}}}\n");
        let all = yaml.replace("\nspec:\n", &operators);
        assert_ne!(all, yaml);
        let body = json!({"yaml": all, "shown": shown});
        let (status, answer) = page.post("/api/apply", body).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{word} {answer}");
        assert_eq!(page.upgrades().get_opt(UPGRADE).await.unwrap(), None);
    }
    let (status, answer) = page
        .post("/api/apply", json!({"yaml": yaml, "shown": shown}))
        .await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    page.end().await;
}

/// As when it was made by kubectl apply: its fields are of another manager.
#[tokio::test(start_paused = true)]
async fn what_others_have_written_is_edited_whole_and_taken_over_only_if_asked() {
    let page = Page::of(2).await;
    page.upgrade(&["dev1"]).await;
    let (_, detail) = page.get(&path("")).await;
    let document =
        |detail: &Value| -> Value { serde_saphyr::from_str(detail["spec"].as_str().unwrap()).unwrap() };
    let mut edited = document(&detail);
    edited["spec"]["clusterVersion"]["version"] = json!("4.14.13");
    edited["spec"].as_object_mut().unwrap().remove("upgradeStrategy");
    edited["metadata"]["labels"] = json!({"team": "a"});
    let body = json!({"yaml": edited.to_string(), "edition": detail["edition"]});
    let (status, answer) = page.post("/api/apply", body.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let upgrade = page.upgrades().get(UPGRADE).await.unwrap();
    let version = |upgrade: &ManagedClustersUpgrade| upgrade.spec.cluster_version.clone().unwrap().version;
    assert_eq!(version(&upgrade).as_deref(), Some("4.14.13"));
    assert_eq!(
        upgrade.spec.upgrade_strategy, None,
        "a line that is taken out is gone"
    );
    assert_eq!(upgrade.labels()["team"], "a");

    let (status, answer) = page.post("/api/apply", body).await;
    assert_eq!(status, StatusCode::CONFLICT, "it is another one by now: {answer}");
    assert!(answer["reason"].is_null());

    let mut pasted = edited;
    pasted["spec"]["clusterVersion"]["version"] = json!("4.14.12");
    let body = |take_over: bool| json!({"yaml": pasted.to_string(), "takeOver": take_over});
    let (status, answer) = page.post("/api/apply", body(false)).await;
    assert_eq!(
        (status, &answer["reason"]),
        (StatusCode::CONFLICT, &json!("FieldsOfOthers")),
        "{answer}"
    );
    let (status, answer) = page.post("/api/apply", body(true)).await;
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
    fn forecast(&self, _: Client, key: &UpgradeKey) -> BoxFuture<'_, Result<PlannedUpgrade, PlanError>> {
        let asked = key.to_string();
        Box::pin(async { Err(PlanError(asked)) })
    }

    fn plan(
        &self,
        _: Client,
        _: &str,
        yaml: String,
        compare: Option<String>,
    ) -> BoxFuture<'_, Result<Vec<PlannedUpgrade>, PlanError>> {
        Box::pin(async move { Err(PlanError(format!("{yaml} and {compare:?}"))) })
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_api_server_refuses_is_said_in_its_words() {
    let page = Page::of(1).await;
    page.upgrade(&["dev1"]).await;
    let refuse = |code: u16| {
        let hook = move |asked: &RequestInfo<'_>| {
            if asked.verb == Verb::Patch && asked.identity.name() == "page" {
                FaultAction::Refuse(Status::new(code, "Forbidden", "ann may not patch"))
            } else {
                FaultAction::Pass
            }
        };
        page.fleet
            .hub_server()
            .unwrap()
            .set_fault_hook(Some(Arc::new(hook)));
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
