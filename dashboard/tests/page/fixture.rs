//! A simulated hub and the server of its page.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_dashboard::{Access, Dashboard, OwnAccess, Settings, Token};
use drydock_hub::Pace;
use drydock_runtime::Clock;
use drydock_sandbox::local_fleet::{LocalFleet, LocalFleetSettings};
use drydock_sandbox::test_env::TestEnvSettings;
use futures::StreamExt;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use tower::ServiceExt;

/// The upgrade, in namespace `default`.
pub const UPGRADE: &str = "spring";

/// A hub, and a browser that has the token.
pub struct Page {
    pub fleet: LocalFleet,
    pub router: Router,
    pub dashboard: Dashboard,
    pub token: String,
}

impl Page {
    /// The page of a fleet whose clusters dev1, dev2, … have no faults.
    pub async fn of(clusters: usize) -> Self {
        Self::with(TestEnvSettings::demo(clusters, 7), |settings| settings).await
    }

    pub async fn with(env: TestEnvSettings, change: impl FnOnce(Settings) -> Settings) -> Self {
        Self::before_it_is_ready(env, change).await.ready().await
    }

    /// The page once there is something to show.
    pub async fn ready(self) -> Self {
        // As long as the watches take, which is nothing but turns of the runtime; those that have listed go on to watch.
        tokio::time::sleep(Duration::from_secs(1)).await;
        while self.get("/api/snapshot").await.0 != StatusCode::OK {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self
    }

    pub async fn before_it_is_ready(env: TestEnvSettings, change: impl FnOnce(Settings) -> Settings) -> Self {
        Self::started(env, |settings, _, _| change(settings)).await
    }

    /// The page whose settings need the client of its server, and the clock.
    pub async fn started(
        env: TestEnvSettings,
        change: impl FnOnce(Settings, &Client, &Clock) -> Settings,
    ) -> Self {
        let mut fleet = LocalFleet::start(LocalFleetSettings::new(env)).await.unwrap();
        fleet
            .start_hub(drydock_hub::Settings {
                forecast_runs: 20,
                ..drydock_hub::Settings::default()
            })
            .unwrap();
        let live = fleet.watch(Pace(Duration::from_secs(1))).unwrap();
        let client = fleet.client("page").unwrap();
        let token = Token::random().unwrap();
        let known = token.as_str().to_owned();
        let settings = settings(OwnAccess::new(token, "ann".to_owned()));
        let settings = change(settings, &client, &fleet.clock);
        let (tasks, stop) = fleet.tasks();
        let dashboard = Dashboard::start(live, client, settings, tasks, stop);
        Self {
            fleet,
            router: dashboard.router(),
            dashboard,
            token: known,
        }
    }

    /// A request as a browser sends it that has the token.
    pub fn request(&self, method: Method, path: &str, body: &str) -> Request<Body> {
        Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "127.0.0.1:8080")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap()
    }

    pub async fn ask(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        json_of(self.ask(self.request(Method::GET, path, "")).await).await
    }

    pub async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        json_of(
            self.ask(self.request(Method::POST, path, &body.to_string()))
                .await,
        )
        .await
    }

    /// The revision of a snapshot.
    pub async fn revision(&self) -> u64 {
        self.get("/api/snapshot").await.1["revision"].as_u64().unwrap()
    }

    /// The changes since a revision.
    pub async fn changes(&self, since: u64) -> Events {
        let path = format!("/api/changes?since={since}");
        let response = self.ask(self.request(Method::GET, &path, "")).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        Events {
            stream: response.into_body().into_data_stream(),
            buffer: String::new(),
        }
    }

    /// Creates an upgrade of these clusters to 4.14.12.
    pub async fn upgrade(&self, clusters: &[&str]) -> ManagedClustersUpgrade {
        let upgrade = serde_json::from_value(manifest(clusters)).unwrap();
        let created = self.upgrades().create(&PostParams::default(), &upgrade).await;
        let created = created.unwrap();
        // The page hears of it as anybody does.
        while self.get(&path("")).await.0 == StatusCode::NOT_FOUND {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        created
    }

    pub fn upgrades(&self) -> Api<ManagedClustersUpgrade> {
        Api::namespaced(self.fleet.user().unwrap(), "default")
    }

    pub async fn end(self) {
        drop(self.router);
        self.fleet.shut_down().await.unwrap();
    }
}

/// The page of one person.
pub fn settings(own: OwnAccess) -> Settings {
    Settings::new(Access::Own(own), "a test".to_owned())
}

/// Changes what the person may see and do.
pub fn own(settings: Settings, change: impl FnOnce(&mut OwnAccess)) -> Settings {
    let Access::Own(mut own) = settings.access.clone() else {
        panic!("the page of a test is of one person");
    };
    change(&mut own);
    Settings {
        access: Access::Own(own),
        ..settings
    }
}

/// The address of the upgrade, or of what is done to it.
pub fn path(rest: &str) -> String {
    format!("/api/upgrades/default/{UPGRADE}{rest}")
}

/// An upgrade of these clusters.
pub fn manifest(clusters: &[&str]) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "ManagedClustersUpgrade",
        "metadata": {"name": UPGRADE, "namespace": "default"},
        "spec": {
            "clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": clusters}]},
            "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            "upgradeStrategy": {"maxConcurrency": 2},
        },
    })
}

pub async fn json_of(response: Response<Body>) -> (StatusCode, Value) {
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Server-sent events, as a browser reads them.
pub struct Events {
    stream: BodyDataStream,
    buffer: String,
}

impl Events {
    /// The next event and its data; comments are passed over.
    pub async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let field = |name: &str| {
                    let mut lines = block.lines();
                    lines.find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                let event = field("event: ").zip(field("data: "));
                self.buffer = String::from(rest);
                let (event, data) = event?;
                return Some((event, serde_json::from_str(&data).unwrap()));
            }
            let bytes = self.stream.next().await?.unwrap();
            self.buffer.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next change that says what is looked for.
    pub async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let (event, data) = self.next().await.unwrap();
            if event == "change" && is_it(&data) {
                return data;
            }
        }
    }
}
