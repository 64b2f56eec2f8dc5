//! The fleet page as a server of a cluster, with the rights of `manifests/dashboard`: who is answered, what each user sees, and as whom it acts.

use std::path::Path;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::hub_page::{Page, PageHub};
use drydock_e2e::static_cluster::until;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// A browser of a user, by the kubeconfig of the API server.
async fn browser_of(page: &Page, kubeconfig: &Path) -> Browser {
    let mut file = Kubeconfig::read_from(kubeconfig).unwrap();
    let cluster = file.clusters[0].cluster.as_mut().unwrap();
    cluster.server = Some(format!("https://{}", page.address));
    cluster.certificate_authority = None;
    cluster.certificate_authority_data = Some(base64(&page.certificate));
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    Browser(Client::try_from(config.unwrap()).unwrap())
}

fn base64(text: &str) -> String {
    use k8s_openapi::ByteString;
    let encoded = serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap();
    encoded.as_str().unwrap().to_owned()
}

/// Who asks the page.
struct Browser(Client);

impl Browser {
    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> (StatusCode, Value) {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = serde_json::to_vec(body).unwrap();
        let answer = self
            .0
            .send(request.body(Body::from(body)).unwrap())
            .await
            .unwrap();
        let policy = &answer.headers()["content-security-policy"];
        assert!(policy.to_str().unwrap().contains("frame-ancestors 'none'"));
        assert!(answer.headers().contains_key("strict-transport-security"));
        let status = answer.status();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.ask(Method::GET, path, &Value::Null, &[]).await
    }

    async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.ask(Method::POST, path, &body, &[]).await
    }

    /// Upgrades and clusters that are shown.
    async fn shown(&self) -> (Vec<String>, Vec<String>) {
        let (status, snapshot) = self.get("/api/snapshot").await;
        assert_eq!(status, StatusCode::OK, "{snapshot}");
        let upgrades = snapshot["upgrades"].as_array().unwrap().iter();
        let clusters = snapshot["clusters"]["name"].as_array().unwrap().iter();
        (
            upgrades
                .map(|upgrade| upgrade["key"].as_str().unwrap().to_owned())
                .collect(),
            clusters.map(|name| name.as_str().unwrap().to_owned()).collect(),
        )
    }
}

/// A page with the rights of a manifest, once it is served.
async fn served(hub: &PageHub, manifest: &str, more: &[&str]) -> Page {
    let page = hub.page(manifest, more).await.unwrap();
    let ann = browser(hub, &page, "ann").await;
    until("the page is served", async || {
        let request = Request::get("/api/snapshot").body(Body::empty()).unwrap();
        let answer = ann.0.send(request).await;
        Ok(answer.is_ok_and(|answer| answer.status() == StatusCode::OK))
    })
    .await
    .unwrap();
    page
}

async fn browser(hub: &PageHub, page: &Page, user: &str) -> Browser {
    let kubeconfig = hub.server.service_account_kubeconfig("people", user);
    browser_of(page, &kubeconfig.await.unwrap()).await
}

fn texts(of: &[&str]) -> Vec<String> {
    of.iter().map(|&text| text.to_owned()).collect()
}

#[tokio::test]
async fn each_user_sees_and_does_what_the_hub_lets_them() {
    let hub = PageHub::start().await.unwrap();
    let page = served(&hub, "manifests/dashboard", &[]).await;
    let ann = browser(&hub, &page, "ann").await;
    nobody_else_is_answered(&hub, &page).await;

    let (_, session) = ann.get("/api/session").await;
    assert_eq!(session["user"], "system:serviceaccount:people:ann");
    assert_eq!(session["readOnly"], true);
    let all = texts(&["north/spring", "south/autumn"]);
    assert_eq!(ann.shown().await, (all, texts(&["c1", "c2", "c3"])));
    for path in ["/api/upgrades/south/autumn", "/api/history", "/api/clusters/c3"] {
        assert_eq!(ann.get(path).await.0, StatusCode::OK, "{path}");
    }
    let (status, plan) = ann.get("/api/upgrades/south/autumn/forecast").await;
    assert_eq!(status, StatusCode::OK, "{plan}");
    let (status, answer) = ann.post("/api/upgrades/north/spring/pause", json!({})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        answer["error"].as_str().unwrap().contains("read-only"),
        "{answer}"
    );

    what_one_may_not_see_is_not_there(&hub, &page).await;

    // With actions the API server decides, as if each user had asked it.
    let acting = served(&hub, "manifests/dashboard-actions", &["--actions"]).await;
    let (ann, bob) = (
        browser(&hub, &acting, "ann").await,
        browser(&hub, &acting, "bob").await,
    );
    let upgrades: Api<ManagedClustersUpgrade> = Api::namespaced(hub.admin.clone(), "north");
    let (status, answer) = bob.post("/api/upgrades/north/spring/pause", json!({})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        answer["error"].as_str().unwrap().contains("bob may not patch"),
        "{answer}"
    );
    assert_eq!(upgrades.get("spring").await.unwrap().spec.paused, None);
    let (status, answer) = ann.post("/api/upgrades/north/spring/pause", json!({})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(upgrades.get("spring").await.unwrap().spec.paused, Some(true));
    let elsewhere = [("sec-fetch-site", "cross-site")];
    let path = "/api/upgrades/north/spring/resume";
    let (status, _) = ann.ask(Method::POST, path, &json!({}), &elsewhere).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(upgrades.get("spring").await.unwrap().spec.paused, Some(true));
    what_a_text_does_is_said_before_it_is_applied(&ann, &bob, &upgrades).await;
    as_the_user_and_nobody_else(&hub, &ann).await;
}

/// Whoever may create upgrades can nest an action as deep as the API server stores it, which is deeper than JSON is read.
#[tokio::test]
async fn an_upgrade_that_is_too_deep_to_be_read_keeps_no_other_from_being_shown() {
    let hub = PageHub::start().await.unwrap();
    let levels = 2_000;
    let deep = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let upgrade = format!(
        r#"{{"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {{"name": "deep", "namespace": "north"}},
        "spec": {{
          "clusterSelector": {{"matchLabels": {{"name": "c1"}}}}, "clusterVersion": {{"version": "4.14.12"}},
          "preUpgradeAction": {{"manifestWork": {{"workload": {{"manifests": [
            {{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "a"}}, "data": {deep}}}]}}}}}}
        }}}}"#
    );
    let create = Request::post(
        "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/north/managedclustersupgrades",
    );
    let create = create.header("content-type", "application/json");
    let created = hub.admin.request_text(create.body(upgrade.into_bytes()).unwrap());
    created.await.unwrap();
    let page = served(&hub, "manifests/dashboard", &[]).await;
    let ann = browser(&hub, &page, "ann").await;
    let all = texts(&["north/deep", "north/spring", "south/autumn"]);
    assert_eq!(ann.shown().await.0, all);
    for path in ["/api/upgrades/south/autumn", "/api/upgrades/north/deep"] {
        let (status, answer) = ann.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
    }
    let (status, plan) = ann.get("/api/upgrades/north/deep/forecast").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{plan}");
    let why = plan["error"].as_str().unwrap();
    assert!(why.contains("spec.preUpgradeAction.manifestWork"), "{why}");
    assert!(why.contains("nested more than"), "{why}");
}

/// Bob may see one namespace, dan two and the history of one, and cyd nothing.
async fn what_one_may_not_see_is_not_there(hub: &PageHub, page: &Page) {
    let bob = browser(hub, page, "bob").await;
    assert_eq!(bob.shown().await, (texts(&["north/spring"]), texts(&["c1"])));
    assert_eq!(bob.get("/api/upgrades/north/spring").await.0, StatusCode::OK);
    assert_eq!(bob.get("/api/clusters/c1").await.0, StatusCode::OK);
    for path in [
        "/api/upgrades/south/autumn",
        "/api/upgrades/south/autumn/forecast",
        "/api/clusters/c2",
    ] {
        assert_eq!(bob.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    for path in ["/api/history", "/api/upgrades/north/spring/forecast"] {
        let (status, answer) = bob.get(path).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        assert!(
            answer["error"]
                .as_str()
                .unwrap()
                .contains("people:bob may not list"),
            "{answer}"
        );
    }
    let cyd = browser(hub, page, "cyd").await;
    assert_eq!(cyd.shown().await, (Vec::new(), Vec::new()));
    let (_, session) = cyd.get("/api/session").await;
    assert!(session["notice"].as_str().unwrap().contains("in no namespace"));

    // Of what he may see a part has a history that he may see.
    let dan = browser(hub, page, "dan").await;
    assert_eq!(dan.shown().await.0, texts(&["north/spring", "south/autumn"]));
    assert_eq!(dan.get("/api/history").await.0, StatusCode::OK);
}

/// Not without a token, and not with one of another server.
async fn nobody_else_is_answered(hub: &PageHub, page: &Page) {
    let kubeconfig = hub
        .server
        .service_account_kubeconfig("people", "ann")
        .await
        .unwrap();
    let mut file: Value = serde_saphyr::from_str(&std::fs::read_to_string(&kubeconfig).unwrap()).unwrap();
    for token in [None, Some("eyJhbGciOiJub25lIn0.e30."), Some("x")] {
        file["users"][0]["user"] = json!({"token": token});
        let path = hub.workplace.folder().join("other.yaml");
        std::fs::write(&path, file.to_string()).unwrap();
        let nobody = browser_of(page, &path).await;
        for (method, path) in [
            (Method::GET, "/api/session"),
            (Method::GET, "/api/snapshot"),
            (Method::GET, "/api/changes"),
            (Method::POST, "/api/upgrades/north/spring/pause"),
        ] {
            let (status, answer) = nobody.ask(method, path, &json!({}), &[]).await;
            assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
            assert!(answer["error"].is_string());
        }
        // The page itself asks for a token.
        assert_eq!(nobody.get("/").await.0, StatusCode::OK);
    }
}

/// The API server tries it as the user, and writes nothing.
async fn what_a_text_does_is_said_before_it_is_applied(
    ann: &Browser,
    bob: &Browser,
    upgrades: &Api<ManagedClustersUpgrade>,
) {
    let (_, detail) = ann.get("/api/upgrades/north/spring").await;
    let text = detail["spec"].as_str().unwrap();
    let labelled = text.replace("  name: spring\n", "  name: spring\n  labels: {team: a}\n");
    assert_ne!(labelled, text);
    let opened = json!({"upgrade": "north/spring", "edition": detail["edition"]});
    let edit = json!({"yaml": labelled, "opened": opened, "seen": ""});
    let (status, said) = ann.post("/api/preview", edit.clone()).await;
    assert_eq!((status, &said["edits"]), (StatusCode::OK, &json!(true)), "{said}");
    let label = json!([{"field": "metadata.labels.team", "after": "a"}]);
    assert_eq!(said["changes"], label);
    let (status, said) = bob.post("/api/preview", edit.clone()).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{said}");
    assert_eq!(upgrades.get("spring").await.unwrap().metadata.labels, None);
    let (status, answer) = ann.post("/api/apply", edit).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let opened = json!({"upgrade": "north/spring", "edition": answer["edition"]});

    let winter = text.replace("name: spring", "name: winter");
    let invalid = winter.replace("spec:\n", "spec:\n  nothing: {}\n");
    let (status, said) = ann.post("/api/preview", json!({"yaml": invalid})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
    let invalid = text.replace("spec:\n", "spec:\n  nothing: {}\n");
    let (status, said) = ann
        .post("/api/preview", json!({"yaml": invalid, "opened": opened}))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
    let words = said["error"].as_str().unwrap();
    assert!(
        words.ends_with("strict decoding error: unknown field \"spec.nothing\""),
        "{words}"
    );
    assert!(words.len() < 150, "{words}");
    let (status, said) = ann.post("/api/preview", json!({"yaml": winter})).await;
    assert_eq!((status, &said["seen"]), (StatusCode::OK, &json!("")), "{said}");
    assert_eq!(upgrades.get_opt("winter").await.unwrap(), None);
    let create = json!({"yaml": winter, "seen": ""});
    let (status, answer) = ann.post("/api/apply", create.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let (status, answer) = ann.post("/api/apply", create).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
    let unpaused = winter.replace("  paused: true\n", "");
    assert_ne!(unpaused, winter);
    let (_, said) = ann.post("/api/preview", json!({"yaml": unpaused})).await;
    assert_eq!(
        said["changes"],
        json!([{"field": "spec.paused", "before": "true"}])
    );
    let apply = json!({"yaml": unpaused, "seen": said["seen"]});
    let (status, answer) = ann.post("/api/apply", apply.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let (status, answer) = ann.post("/api/apply", apply).await;
    assert_eq!(status, StatusCode::CONFLICT, "{answer}");
}

/// What admission plugins see is the user: a policy of the hub says who may accept in whose name.
async fn as_the_user_and_nobody_else(hub: &PageHub, ann: &Browser) {
    let who = "request.userInfo.username == 'system:serviceaccount:people:ann' && request.userInfo.groups.exists(g, g == 'system:serviceaccounts:people') && has(request.userInfo.uid)";
    hub.apply(vec![
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "only-ann"},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": ["cluster.open-cluster-management.io"], "apiVersions": ["*"],
                    "operations": ["UPDATE"], "resources": ["managedclustersupgrades"],
                }]},
                "validations": [{"expression": who, "message": "only ann"}],
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "only-ann"}, "spec": {"policyName": "only-ann", "validationActions": ["Deny"]},
        }),
    ])
    .await
    .unwrap();
    let upgrades: Api<ManagedClustersUpgrade> = Api::namespaced(hub.admin.clone(), "north");
    until("the policy holds", async || {
        let note = Patch::Merge(json!({"metadata": {"annotations": {"note": "x"}}}));
        let edit = upgrades.patch("spring", &PatchParams::default(), &note).await;
        Ok(edit.is_err())
    })
    .await
    .unwrap();
    let (status, answer) = ann.post("/api/upgrades/north/spring/resume", json!({})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}
