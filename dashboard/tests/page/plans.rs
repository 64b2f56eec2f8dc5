//! Who may plan what.

use std::sync::Arc;

use drydock_dashboard::Settings;
use drydock_sandbox::test_env::TestEnvSettings;
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::actions::Refusing;
use crate::fixture::{Page, json_of, own};
use crate::users::page_with;

/// An upgrade in a namespace, of the clusters of a Placement.
fn upgrade(namespace: &str, placement: &str) -> String {
    let upgrade = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "spring", "namespace": namespace},
        "spec": {"placement": [{"name": "all", "namespace": placement}]},
    });
    upgrade.to_string()
}

async fn plan(page: &Page, user: &str, body: Value) -> (StatusCode, String) {
    let mut request = page.request(Method::POST, "/api/plan", &body.to_string());
    let bearer = format!("Bearer {user}").parse().unwrap();
    request.headers_mut().insert(header::AUTHORIZATION, bearer);
    let (status, answer) = json_of(page.ask(request).await).await;
    (status, answer["error"].as_str().unwrap_or_default().to_owned())
}

/// By the rights of the server nobody hears of what a Placement selects that they may not read.
#[tokio::test(start_paused = true)]
async fn by_placements_only_those_plan_who_may_read_them() {
    let (page, users) = page_with(Some(Arc::new(Refusing)), false).await;
    users.allow_everywhere("bob", "managedclusters");
    let own = upgrade("default", "default");
    let (status, said) = plan(&page, "bob", json!({"yaml": own})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(said.starts_with(&own), "the planner was asked: {said}");
    let mut refusals = Vec::new();
    for (yaml, compare) in [
        (upgrade("default", "platform"), None),
        (upgrade("default", "is-not-there"), None),
        (own.clone(), Some(upgrade("default", "platform"))),
        (format!("{own}\n---\n{}", upgrade("default", "platform")), None),
    ] {
        let (status, said) = plan(&page, "bob", json!({"yaml": yaml, "compare": compare})).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{said}");
        refusals.push(said);
    }
    // A list of values reads as an object, to who forecasts and to who asks for the rights.
    for spec in [
        json!({"placement": [["all", "platform"]]}),
        json!([[{"name": "all", "namespace": "platform"}]]),
        json!({"placement": {"name": "all", "namespace": "platform"}}),
    ] {
        let mut upgrade: Value = serde_json::from_str(&own).unwrap();
        upgrade["spec"] = spec;
        let (status, said) = plan(&page, "bob", json!({"yaml": upgrade.to_string()})).await;
        if status == StatusCode::FORBIDDEN {
            refusals.push(said);
        } else {
            assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
            assert!(said.starts_with("reading the ManagedClustersUpgrade: "), "{said}");
        }
    }
    assert!(refusals.len() > 4, "the list names a Placement");
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    users.allow_everywhere("bob", "placements");
    tokio::time::sleep(std::time::Duration::from_mins(2)).await;
    let elsewhere = upgrade("default", "platform");
    let (_, said) = plan(&page, "bob", json!({"yaml": elsewhere})).await;
    assert_eq!(said, refusals[0], "the decisions are read, too");
    users.allow_everywhere("bob", "placementdecisions");
    tokio::time::sleep(std::time::Duration::from_mins(2)).await;
    let (status, said) = plan(&page, "bob", json!({"yaml": elsewhere})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_page_of_one_namespace_plans_in_no_other() {
    let of_one = |settings: Settings| {
        let settings = Settings {
            planner: Some(Arc::new(Refusing)),
            ..settings
        };
        own(settings, |own| own.namespace = Some("default".to_owned()))
    };
    let page = Page::with(TestEnvSettings::demo(1, 7), of_one).await;
    let (mine, other) = (upgrade("default", "platform"), upgrade("platform", "platform"));
    for (body, expected) in [
        (json!({"yaml": mine}), StatusCode::UNPROCESSABLE_ENTITY),
        (json!({"yaml": other}), StatusCode::FORBIDDEN),
        (json!({"yaml": mine, "compare": other}), StatusCode::FORBIDDEN),
    ] {
        let (status, said) = plan(&page, &page.token, body).await;
        assert_eq!(status, expected, "{said}");
        let is_refused = said == "this page does not show namespace platform: it was started so";
        assert_eq!(is_refused, expected == StatusCode::FORBIDDEN, "{said}");
    }
    page.end().await;
}

#[tokio::test(start_paused = true)]
async fn why_nothing_is_forecast_names_no_upgrade_that_is_not_shown() {
    let (page, users) = page_with(Some(Arc::new(Refusing)), false).await;
    users.allow_everywhere("bob", "managedclusters");
    let yaml = "# the cluster belongs to upgrade platform/secret until then";
    let (status, said) = plan(&page, "bob", json!({"yaml": yaml})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(
        said.contains("upgrade (of another namespace) until") && !said.contains("secret"),
        "{said}"
    );
    page.end().await;
}

/// Namespace and name become parts of an address.
#[tokio::test(start_paused = true)]
async fn what_is_no_name_is_not_planned_whoever_asks() {
    for may_act in [false, true] {
        let (page, users) = page_with(Some(Arc::new(Refusing)), may_act).await;
        users.allow("ann", None);
        let good = upgrade("default", "default");
        let no_namespace = "the metadata.namespace is no name";
        for (bad, why) in [
            (upgrade("a/../b", "default"), no_namespace),
            (upgrade("kube-system/secrets?x=", "default"), no_namespace),
            (upgrade("", "default"), no_namespace),
            (upgrade("A", "default"), no_namespace),
            (
                good.replace("\"default\"", "7"),
                "reading the ManagedClustersUpgrade: invalid type",
            ),
            (
                good.replace("spring", "spring/status"),
                "the metadata.name is no name",
            ),
        ] {
            for body in [json!({"yaml": bad}), json!({"yaml": good, "compare": bad})] {
                let (status, said) = plan(&page, "ann", body).await;
                assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{bad}: {said}");
                assert!(said.starts_with(why), "{bad}: {said}");
            }
        }
        let (_, said) = plan(&page, "ann", json!({"yaml": good})).await;
        assert!(said.starts_with(&good), "the planner was asked: {said}");
        page.end().await;
    }
}
