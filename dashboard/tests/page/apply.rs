//! Texts that people apply on the page: what that does is said first, and what came since is not written over.

use std::collections::BTreeMap;

use drydock_api::mcu::ManagedClustersUpgrade;
use http::StatusCode;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::fixture::{Page, UPGRADE, manifest, path};

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
    let (status, answer) = page.post("/api/apply", json!({"yaml": yaml, "seen": ""})).await;
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
    let opened = json!({"upgrade": "default/spring", "edition": detail["edition"]});
    let body = json!({"yaml": edited, "opened": opened, "seen": "a"});
    let (status, answer) = page.post("/api/apply", body).await;
    assert_eq!(
        (status, &answer["done"]),
        (StatusCode::OK, &json!("default/spring configured"))
    );
    // Who goes on editing has not seen a pause that came meanwhile.
    let written = json!({"upgrade": "default/spring", "edition": answer["edition"]});
    let (status, _) = page.post(&path("/pause"), json!({})).await;
    assert_eq!(status, StatusCode::OK);
    let body = json!({"yaml": edited.replace("4.14.13", "4.14.14"), "opened": written, "seen": "a"});
    let (status, answer) = page.post("/api/apply", body).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    // Somebody else has opened it before, and would take that back.
    let late = detail["spec"]
        .as_str()
        .unwrap()
        .replace("maxConcurrency: ", "maxConcurrency: 1");
    let body = json!({"yaml": late, "opened": opened, "seen": "a"});
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
    let (status, answer) = page.post("/api/preview", json!({"yaml": wrong})).await;
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

/// What somebody is asked about is what the API server would make of the text, whatever that looks like.
#[tokio::test(start_paused = true)]
async fn what_a_text_does_is_said_and_nothing_written() {
    let page = Page::of(1).await;
    let yaml = serde_saphyr::to_string(&manifest(&["dev1"])).unwrap();
    let preview = async |body: Value| page.post("/api/preview", body).await;
    let (status, said) = preview(json!({"yaml": yaml})).await;
    assert_eq!(status, StatusCode::OK, "{said}");
    let expected = json!({
        "key": "default/spring", "edits": false, "seen": "", "target": "4.14.12 stable-4.14", "allOperators": false,
        "staysPaused": false, "changes": said["changes"], "more": 0,
    });
    assert_eq!(said, expected);
    let selected =
        json!({"field": "spec.clusterSelector.matchExpressions[→ 0].values[→ 0]", "after": "dev1"});
    assert!(
        said["changes"].as_array().unwrap().contains(&selected),
        "{said:#}"
    );
    let (status, said) = page.post("/api/apply", json!({"yaml": yaml})).await;
    assert_eq!(
        status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "what was seen must be said: {said}"
    );
    assert_eq!(page.upgrades().get_opt(UPGRADE).await.unwrap(), None);
    // YAML has several words for true, and ways to write a key.
    for (key, word) in [
        ("approveAllUpgrades", "true"),
        ("\"approveAll\\u0055pgrades\"", "true"),
        ("? approveAllUpgrades\n    ", "true"),
    ] {
        let operators = format!("\nspec:\n  ocpOperators:\n    {key}: {word}\n");
        let all = yaml.replace("\nspec:\n", &operators);
        assert_ne!(all, yaml);
        let (status, said) = preview(json!({"yaml": all})).await;
        assert_eq!(
            (status, &said["allOperators"]),
            (StatusCode::OK, &json!(true)),
            "{key} {said}"
        );
    }
    for (text, why) in [
        (yaml.replace("maxConcurrency", "concurrencyMax"), "concurrencyMax"),
        (format!("{yaml}---\n{yaml}"), "not none or several"),
        ("a: [".to_owned(), "not YAML"),
    ] {
        assert_ne!(text, yaml);
        let (status, said) = preview(json!({"yaml": text})).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
        assert!(said["error"].as_str().unwrap().contains(why), "{said}");
    }
    page.end().await;
}

/// Who is asked has the fault of the text at hand, and not only when nothing starts by it.
#[tokio::test(start_paused = true)]
async fn that_a_spec_is_invalid_is_said_before_it_is_applied() {
    let page = Page::of(1).await;
    let mut upgrade = manifest(&["dev1"]);
    upgrade["spec"]["upgradeStrategy"]["startWindows"] =
        json!([{"cron": "0 20 * * *", "duration": "2h", "timeZone": "Europe/Zuerich"}]);
    let yaml = serde_saphyr::to_string(&upgrade).unwrap();
    let (status, said) = page.post("/api/preview", json!({"yaml": yaml})).await;
    assert_eq!(status, StatusCode::OK, "{said}");
    assert!(
        said["invalid"].as_str().unwrap().contains("Europe/Zuerich"),
        "{said}"
    );
    page.end().await;
}

/// Who has paused it by hand has not written the text.
#[tokio::test(start_paused = true)]
async fn that_a_pause_by_hand_stays_is_said() {
    let page = Page::of(1).await;
    page.upgrade(&["dev1"]).await;
    let yaml = serde_saphyr::to_string(&manifest(&["dev1"])).unwrap();
    let stays_paused = async |yaml: &str| {
        let (status, said) = page
            .post("/api/preview", json!({"yaml": yaml, "takeOver": true}))
            .await;
        assert_eq!(status, StatusCode::OK, "{said}");
        said["staysPaused"].as_bool().unwrap()
    };
    assert!(!stays_paused(&yaml).await);
    let (status, said) = page.post(&path("/pause"), json!({})).await;
    assert_eq!(status, StatusCode::OK, "{said}");
    assert!(stays_paused(&yaml).await);
    for word in ["true", "false"] {
        let with = yaml.replace("\nspec:\n", &format!("\nspec:\n  paused: {word}\n"));
        assert!(!stays_paused(&with).await, "{with}");
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_changed_since_somebody_was_asked_is_not_written_over() {
    let page = Page::of(1).await;
    let yaml = serde_saphyr::to_string(&manifest(&["dev1"])).unwrap();
    let apply =
        async |text: &str, seen: &Value| page.post("/api/apply", json!({"yaml": text, "seen": seen})).await;
    let preview = async |text: &str| page.post("/api/preview", json!({"yaml": text})).await.1;
    let none = preview(&yaml).await["seen"].clone();
    let (status, answer) = apply(&yaml, &none).await;
    assert_eq!(
        (status, &answer["done"]),
        (StatusCode::OK, &json!("default/spring created"))
    );
    let (status, answer) = apply(&yaml, &none).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    assert!(
        answer["error"].as_str().unwrap().contains("since you were asked"),
        "{answer}"
    );

    let next = yaml.replace("4.14.12", "4.14.13");
    let said = preview(&next).await;
    let change = json!({"field": "spec.clusterVersion.version", "before": "4.14.12", "after": "4.14.13"});
    assert_eq!(said["changes"], json!([change]));
    assert_eq!(said["targetBefore"], "4.14.12 stable-4.14");
    page.upgrades()
        .patch(
            UPGRADE,
            &PatchParams::default(),
            &Patch::Merge(json!({"spec": {"paused": true}})),
        )
        .await
        .unwrap();
    let (status, answer) = apply(&next, &said["seen"]).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    // Nor a retry, which is an annotation.
    let said = preview(&next).await;
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "2"}}});
    page.upgrades()
        .patch(UPGRADE, &PatchParams::default(), &Patch::Merge(retry))
        .await
        .unwrap();
    let (status, answer) = apply(&next, &said["seen"]).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    // A status that is written meanwhile is no change of anybody's.
    let said = preview(&next).await;
    let status = json!({"status": {"message": "waits"}});
    page.upgrades()
        .patch_status(UPGRADE, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    let (status, answer) = apply(&next, &said["seen"]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    // What was opened is edited by a text about it alone.
    let other = next.replace("name: spring", "name: autumn");
    let opened = json!({"upgrade": "default/spring", "edition": "a"});
    let (status, said) = page
        .post("/api/preview", json!({"yaml": other, "opened": opened}))
        .await;
    assert_eq!(
        (status, &said["edits"], &said["seen"]),
        (StatusCode::OK, &json!(false), &json!("")),
        "{said}"
    );
    let (status, said) = page
        .post("/api/preview", json!({"yaml": next, "opened": opened}))
        .await;
    assert_eq!(status, StatusCode::CONFLICT, "{said}");
    page.end().await;
}

/// The manifest of the upgrade, with a field at this pointer.
fn text_with(pointer: &str, field: &str, value: Value) -> String {
    let mut manifest = json!(manifest(&["dev1"]));
    manifest.pointer_mut(pointer).unwrap()[field] = value;
    serde_saphyr::to_string(&manifest).unwrap()
}

/// An empty selector selects every cluster.
#[tokio::test(start_paused = true)]
async fn a_selector_that_becomes_empty_is_said() {
    let page = Page::of(1).await;
    let one = text_with(
        "",
        "spec",
        json!({"placement": [{"name": "one", "namespace": "default"}], "clusterVersion": {"version": "4.14.12"}}),
    );
    let (status, answer) = page.post("/api/apply", json!({"yaml": one, "seen": ""})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let all = text_with(
        "",
        "spec",
        json!({"placement": [{"name": "one", "namespace": "default"}], "clusterVersion": {"version": "4.14.12"}, "clusterSelector": {}}),
    );
    let (status, said) = page.post("/api/preview", json!({"yaml": all})).await;
    let change = json!({"field": "spec.clusterSelector", "after": "{}"});
    assert_eq!(
        (status, &said["changes"]),
        (StatusCode::OK, &json!([change])),
        "{said}"
    );
    page.end().await;
}

/// Behind a large object another one could be hidden, such as a binding to cluster-admin.
#[tokio::test(start_paused = true)]
async fn what_is_not_all_shown_is_not_applied() {
    let page = Page::of(1).await;
    let action = |object: Value| json!({"manifestWork": {"workload": {"manifests": [object]}}});
    let text = |keys: usize| {
        let data: BTreeMap<String, &str> = (0..keys).map(|key| (format!("k{key}"), "v")).collect();
        let mut text = json!(manifest(&["dev1"]));
        text["spec"]["preUpgradeAction"] = action(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big", "namespace": "default"}, "data": data,
        }));
        text["spec"]["postUpgradeAction"] = action(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        }));
        text.to_string()
    };
    let preview = async |text: &str| page.post("/api/preview", json!({"yaml": text})).await;
    let apply = async |text: &str| page.post("/api/apply", json!({"yaml": text, "seen": ""})).await;
    let (status, said) = preview(&text(2500)).await;
    assert_eq!(status, StatusCode::OK, "{said}");
    let more = said["more"].as_u64().unwrap();
    assert!(more > 500, "{more}");
    let (status, answer) = apply(&text(2500)).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{answer}");
    let why = answer["error"].as_str().unwrap();
    assert!(
        why.starts_with(&format!("{more} of the fields of default/spring")),
        "{why}"
    );
    assert!(why.contains("kubectl apply --server-side"), "{why}");
    assert_eq!(page.upgrades().get_opt(UPGRADE).await.unwrap(), None);

    let (_, said) = preview(&text(1500)).await;
    assert_eq!(said["more"], 0);
    assert!(said.to_string().contains("cluster-admin"));
    let (status, answer) = apply(&text(1500)).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_applied_to_what_is_being_deleted() {
    let page = Page::of(1).await;
    let yaml = text_with("/metadata", "finalizers", json!(["example.com/kept"]));
    let (status, answer) = page.post("/api/apply", json!({"yaml": yaml, "seen": ""})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    page.upgrades()
        .delete(UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    let (status, said) = page.post("/api/preview", json!({"yaml": yaml})).await;
    assert_eq!(status, StatusCode::CONFLICT, "{said}");
    assert!(
        said["error"].as_str().unwrap().contains("being deleted"),
        "{said}"
    );
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
    let body = json!({"yaml": edited.to_string(), "opened": {"upgrade": "default/spring", "edition": detail["edition"]}, "seen": "a"});
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
    let (_, said) = page
        .post(
            "/api/preview",
            json!({"yaml": pasted.to_string(), "takeOver": true}),
        )
        .await;
    let body =
        |take_over: bool| json!({"yaml": pasted.to_string(), "takeOver": take_over, "seen": said["seen"]});
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
