//! The fleet page as a server of a cluster, with the rights of `manifests/dashboard`: who is answered, what each user sees, and as whom it acts.

use std::net::TcpListener;
use std::path::Path;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use drydock_e2e::process::{Process, Workplace};
use drydock_e2e::program;
use drydock_e2e::static_cluster::until;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

use crate::manifests::kustomized;

/// All that ann may do; bob sees the upgrades of one namespace, dan those of two and the history of one. Of cyd nothing is said.
fn rights() -> Vec<Value> {
    let ocm = "cluster.open-cluster-management.io";
    let rbac = "rbac.authorization.k8s.io";
    let of = |kind: &str, name: &str, user: &str, namespace: Option<&str>, role: &str| {
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"apiGroup": rbac, "kind": role, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": user, "namespace": "people"}],
        })
    };
    let binding = |name: &str, namespace: &str, role: &str, user: &str| {
        let mut binding = of("RoleBinding", role, user, Some(namespace), "Role");
        binding["metadata"]["name"] = name.into();
        binding
    };
    let role = |name: &str, namespace: &str, resource: &str| {
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": name, "namespace": namespace},
            "rules": [{"apiGroups": [ocm], "resources": [resource], "verbs": ["get", "list"]}],
        })
    };
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "people"}});
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    vec![
        namespace("drydock"),
        namespace("people"),
        namespace("north"),
        namespace("south"),
        account("ann"),
        account("bob"),
        account("cyd"),
        account("dan"),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "upgrader"},
            "rules": [
                {"apiGroups": [ocm, "addon.open-cluster-management.io", "work.open-cluster-management.io"], "resources": ["*"], "verbs": ["*"]},
                {"apiGroups": [""], "resources": ["events", "configmaps"], "verbs": ["list"]},
            ],
        }),
        of("ClusterRoleBinding", "upgrader", "ann", None, "ClusterRole"),
        role("looker", "north", "managedclustersupgrades"),
        role("looker", "south", "managedclustersupgrades"),
        role("historian", "north", "managedclustersupgraderecords"),
        of("RoleBinding", "looker", "bob", Some("north"), "Role"),
        binding("dan-looks", "north", "looker", "dan"),
        binding("dan-looks", "south", "looker", "dan"),
        binding("dan-reads", "north", "historian", "dan"),
    ]
}

/// Three clusters, one of which is upgraded in each of two namespaces.
fn fleet() -> Vec<Value> {
    let v1 = "cluster.open-cluster-management.io/v1";
    let beta = "cluster.open-cluster-management.io/v1beta1";
    let mut objects: Vec<Value> = ["c1", "c2", "c3"]
        .map(|name| json!({"apiVersion": v1, "kind": "ManagedCluster", "metadata": {"name": name}, "spec": {"hubAcceptsClient": true}}))
        .into();
    for (namespace, name) in [("north", "spring"), ("south", "autumn")] {
        objects.push(json!({
            "apiVersion": beta, "kind": "ManagedClustersUpgrade", "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "placement": [{"name": "some", "namespace": namespace}],
                "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            },
        }));
        objects.push(json!({
            "apiVersion": beta, "kind": "Placement", "metadata": {"name": "some", "namespace": namespace}, "spec": {},
        }));
        objects.push(json!({
            "apiVersion": beta, "kind": "PlacementDecision",
            "metadata": {"name": "some-1", "namespace": namespace, "labels": {
                "cluster.open-cluster-management.io/placement": "some",
                "cluster.open-cluster-management.io/decision-group-index": "0",
            }},
        }));
    }
    objects
}

/// What OCM decides.
async fn decide(admin: &Client, namespace: &str, cluster: &str) {
    let placement = json!({
        "numberOfSelectedClusters": 1,
        "decisionGroups": [{"decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["some-1"], "clustersCount": 1}],
        "conditions": [{
            "type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled", "message": "",
            "lastTransitionTime": "2026-01-05T08:00:00Z",
        }],
    });
    let api = |kind: &str| {
        let kind = GroupVersionKind::gvk("cluster.open-cluster-management.io", "v1beta1", kind);
        Api::<DynamicObject>::namespaced_with(admin.clone(), namespace, &ApiResource::from_gvk(&kind))
    };
    let (placements, decisions) = (api("Placement"), api("PlacementDecision"));
    let parameters = PatchParams::default();
    let status = Patch::Merge(json!({"status": placement}));
    let placement = placements
        .patch_status("some", &parameters, &status)
        .await
        .unwrap();
    let status = Patch::Merge(json!({"status": {"decisions": [{"clusterName": cluster, "reason": ""}]}}));
    decisions
        .patch_status("some-1", &parameters, &status)
        .await
        .unwrap();
    let owner = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "some",
        "uid": placement.metadata.uid,
    });
    let owned = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
    decisions.patch("some-1", &parameters, &owned).await.unwrap();
}

/// The server of the page, and the certificate that it shows.
struct Page {
    address: String,
    certificate: String,
    _process: Process,
}

impl Page {
    fn start(workplace: &Workplace, name: &str, kubeconfig: &Path, more: &[&str]) -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
        let file = |ending: &str, text: String| {
            let path = workplace.folder().join(format!("{name}.{ending}"));
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let certificate = made.cert.pem();
        let (crt, key) = (
            file("crt", certificate.clone()),
            file("key", made.signing_key.serialize_pem()),
        );
        let [address, admin] = [free_address(), free_address()];
        let arguments = [
            "dashboard-server",
            "--listen",
            &address,
            "--admin-address",
            &admin,
            "--tls-certificate",
            &crt,
            "--tls-key",
            &key,
        ];
        let arguments = [&arguments[..], more].concat();
        let process = program::start(workplace, name, "kubectl-drydock", kubeconfig, &arguments).unwrap();
        Self {
            address,
            certificate,
            _process: process,
        }
    }

    /// A browser of a user, by the kubeconfig of the API server.
    async fn of(&self, kubeconfig: &Path) -> Browser {
        let mut file = Kubeconfig::read_from(kubeconfig).unwrap();
        let cluster = file.clusters[0].cluster.as_mut().unwrap();
        cluster.server = Some(format!("https://{}", self.address));
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = Some(base64(&self.certificate));
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        Browser(Client::try_from(config.unwrap()).unwrap())
    }
}

fn base64(text: &str) -> String {
    use k8s_openapi::ByteString;
    let encoded = serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap();
    encoded.as_str().unwrap().to_owned()
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
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

/// A hub with three users, and a page with the rights of a manifest.
struct Hub {
    server: ControlPlane,
    workplace: Workplace,
    admin: Client,
}

impl Hub {
    async fn start() -> Self {
        let settings = Settings::named("page");
        let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
            .await
            .unwrap();
        let admin = server.client(ADMIN).await.unwrap();
        manifests::install(&admin, &manifests::definitions().unwrap())
            .await
            .unwrap();
        let hub = Self {
            workplace: Workplace::new("page").unwrap(),
            server,
            admin,
        };
        hub.apply(rights()).await;
        hub.apply(fleet()).await;
        decide(&hub.admin, "north", "c1").await;
        decide(&hub.admin, "south", "c2").await;
        hub
    }

    async fn apply(&self, objects: Vec<Value>) {
        for object in objects {
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            manifests::apply(&self.admin, &object).await.unwrap();
        }
    }

    async fn page(&self, manifest: &str, more: &[&str]) -> Page {
        for object in kustomized(manifest) {
            manifests::apply(&self.admin, &object).await.unwrap();
        }
        let own = self
            .server
            .service_account_kubeconfig("drydock", "drydock-dashboard");
        let name = manifest.rsplit('/').next().unwrap();
        let page = Page::start(&self.workplace, name, &own.await.unwrap(), more);
        let ann = self.browser(&page, "ann").await;
        until("the page is served", async || {
            let request = Request::get("/api/snapshot").body(Body::empty()).unwrap();
            let answer = ann.0.send(request).await;
            Ok(answer.is_ok_and(|answer| answer.status() == StatusCode::OK))
        })
        .await
        .unwrap();
        page
    }

    async fn browser(&self, page: &Page, user: &str) -> Browser {
        let kubeconfig = self
            .server
            .service_account_kubeconfig("people", user)
            .await
            .unwrap();
        page.of(&kubeconfig).await
    }
}

fn texts(of: &[&str]) -> Vec<String> {
    of.iter().map(|&text| text.to_owned()).collect()
}

#[tokio::test]
async fn each_user_sees_and_does_what_the_hub_lets_them() {
    let hub = Hub::start().await;
    let page = hub.page("manifests/dashboard", &[]).await;
    let ann = hub.browser(&page, "ann").await;
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
    let acting = hub.page("manifests/dashboard-actions", &["--actions"]).await;
    let (ann, bob) = (
        hub.browser(&acting, "ann").await,
        hub.browser(&acting, "bob").await,
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
    as_the_user_and_nobody_else(&hub, &ann).await;
}

/// Bob may see one namespace, dan two and the history of one, and cyd nothing.
async fn what_one_may_not_see_is_not_there(hub: &Hub, page: &Page) {
    let bob = hub.browser(page, "bob").await;
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
    let cyd = hub.browser(page, "cyd").await;
    assert_eq!(cyd.shown().await, (Vec::new(), Vec::new()));
    let (_, session) = cyd.get("/api/session").await;
    assert!(session["notice"].as_str().unwrap().contains("in no namespace"));

    // Of what he may see a part has a history that he may see.
    let dan = hub.browser(page, "dan").await;
    assert_eq!(dan.shown().await.0, texts(&["north/spring", "south/autumn"]));
    assert_eq!(dan.get("/api/history").await.0, StatusCode::OK);
}

/// Not without a token, and not with one of another server.
async fn nobody_else_is_answered(hub: &Hub, page: &Page) {
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
        let nobody = page.of(&path).await;
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

/// What admission plugins see is the user: a policy of the hub says who may accept in whose name.
async fn as_the_user_and_nobody_else(hub: &Hub, ann: &Browser) {
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
    .await;
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
