//! A cluster with an agent that can be killed and started again, whose requests can be made to fail, and which is read as an
//! SRE reads it: by the status, by what is on the cluster, by the metrics and by what a webhook receives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use drydock_agent::{Network, Settings};
use drydock_api::machine_api::{MachineSet, NAMESPACE};
use drydock_api::names::{AGENT_MANAGER, AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeHistory, UpgradePhase};
use drydock_e2e::fleet;
use drydock_e2e::local_fleet::{EPOCH, program_client};
use drydock_e2e::spoke::{self, NAME};
use drydock_runtime::Clock;
use drydock_sandbox::test_env::{Outside, TestEnv};
use http::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, Status, Verb};
use openshift_sandbox::cluster::Fault as ClusterFault;
use prometheus::{Registry, TextEncoder};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, ServiceExt, service_fn};

const MINUTE: Duration = Duration::from_mins(1);
/// The agent's ConfigMap.
const CONFIG_MAP: &str = "managed-upgrade-operator-config";

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To the API server: a verb, and the plural of a kind with its subresource.
    Api(Verb, &'static str),
    /// To another server: a method, and a part of the address.
    Outside(&'static str, &'static str),
}

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Code(u16),
    Unreachable,
    Slow,
    Garbage,
    Empty,
}

/// What fails at the moment, and what was seen of the agent's requests.
#[derive(Default)]
pub(super) struct Line {
    pub failing: Mutex<Option<(Kind, Fault)>>,
    /// What the webhook received, and how often.
    pub received: Mutex<BTreeMap<String, usize>>,
    /// When the agent first asked for the deletion of a pod.
    pub forced: Mutex<Option<Timestamp>>,
}

impl Line {
    fn fault(&self, is: impl Fn(Kind) -> bool) -> Option<Fault> {
        let failing = *self.failing.lock().unwrap();
        failing.filter(|(kind, _)| is(*kind)).map(|(_, fault)| fault)
    }

    fn verdict(&self, asked: &RequestInfo<'_>, now: Timestamp) -> FaultAction {
        if asked.identity.name() != AGENT_MANAGER {
            return FaultAction::Pass;
        }
        if asked.verb == Verb::Delete && asked.kind.is_some_and(|kind| kind.plural == "pods") {
            self.forced.lock().unwrap().get_or_insert(now);
        }
        let plural = asked.kind.map(|kind| kind.plural.clone()).unwrap_or_default();
        let part = asked.subresource.map_or("", |_| "/status");
        let resource = format!("{plural}{part}");
        let fault = self.fault(|kind| match kind {
            Kind::Api(verb, of) => verb == asked.verb && of == resource,
            Kind::Outside(..) => false,
        });
        match fault {
            None => FaultAction::Pass,
            Some(Fault::Code(code)) => {
                let words = format!("the request is refused with {code}");
                FaultAction::Refuse(Status::new(code, reason(code), words))
            }
            Some(Fault::Slow) => FaultAction::Delay(Duration::from_mins(20)),
            // The API server of the sandbox answers nothing else: what is lost is the nearest to it.
            Some(_) => FaultAction::Unreachable,
        }
    }

    fn network(self: &Arc<Self>, outside: Outside) -> Network {
        let line = Arc::clone(self);
        Network::in_process(service_fn(move |request: Request<Bytes>| {
            let (line, outside) = (Arc::clone(&line), outside.clone());
            async move { line.exchange(request, outside).await }
        }))
    }

    async fn exchange(&self, request: Request<Bytes>, outside: Outside) -> Result<Response<Body>, BoxError> {
        let (method, host) = (
            request.method().clone(),
            request.uri().host().unwrap_or_default().to_owned(),
        );
        let fault = self.fault(|kind| match kind {
            Kind::Outside(wanted, part) => method.as_str() == wanted && host.contains(part),
            Kind::Api(..) => false,
        });
        let answer = |status: StatusCode, text: &'static str| {
            let mut response = Response::new(Body::from(text));
            *response.status_mut() = status;
            response
        };
        match fault {
            Some(Fault::Code(code)) => return Ok(answer(StatusCode::from_u16(code)?, "no")),
            Some(Fault::Unreachable) => return Err(BoxError::from("connection refused")),
            Some(Fault::Slow) => tokio::time::sleep(Duration::from_mins(20)).await,
            Some(Fault::Garbage | Fault::Empty) | None => {}
        }
        let is_hook = host.contains("hooks.example") && method == Method::POST;
        // A receiver that accepts has heard, whatever else it answers.
        if is_hook {
            let event: serde_json::Value = serde_json::from_slice(request.body())?;
            let state = event["data"]["state"].as_str().unwrap_or_default().to_owned();
            *self.received.lock().unwrap().entry(state).or_default() += 1;
        }
        match fault {
            Some(Fault::Garbage) => Ok(answer(StatusCode::OK, "{\"status\": [")),
            Some(Fault::Empty) => Ok(answer(StatusCode::OK, "")),
            _ if is_hook => Ok(answer(StatusCode::OK, "{}")),
            _ => Ok(outside.oneshot(request).await?),
        }
    }
}

fn reason(code: u16) -> &'static str {
    match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        429 => "TooManyRequests",
        _ => "InternalError",
    }
}

/// A cluster with an agent that can be killed.
pub(super) struct Bench {
    pub env: TestEnv,
    pub server: ApiServer,
    pub client: Client,
    pub line: Arc<Line>,
    clock: Clock,
    extend: Arc<dyn Fn(Outside) -> Outside + Send + Sync>,
    agent: JoinSet<Result<(), drydock_agent::Error>>,
    registry: Registry,
}

impl Bench {
    /// Starts the cluster, writes this configuration, and no agent yet.
    pub async fn make(
        configuration: &str,
        faults: &[ClusterFault],
        extend: impl Fn(Outside) -> Outside + Send + Sync + 'static,
    ) -> Self {
        let mut settings = fleet::three_clusters(4);
        settings.clusters.truncate(1);
        settings.clusters[0].faults.extend(faults);
        let clock = Clock::simulated(EPOCH);
        let env = TestEnv::start(settings, clock.clone()).await.unwrap();
        let server = env.spoke(NAME).unwrap().clone();
        let line = Arc::new(Line::default());
        let watched = Arc::clone(&line);
        let now = clock.clone();
        server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
            watched.verdict(asked, now.now())
        })));
        let client = server.client("user");
        let bench = Self {
            env,
            server,
            client,
            clock,
            line,
            extend: Arc::new(extend),
            agent: JoinSet::new(),
            registry: Registry::new(),
        };
        bench.configure(Some(configuration)).await;
        bench
    }

    /// The same with an agent, whose webhook is listened to.
    pub async fn start() -> Self {
        let hook = "notify: {webhooks: [{url: 'https://hooks.example/secret-path'}]}";
        let mut bench = Self::make(hook, &[ClusterFault::DrainStuck], |outside| outside).await;
        bench.start_agent();
        bench
    }

    /// Writes the configuration, or deletes it.
    pub async fn configure(&self, yaml: Option<&str>) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let Some(yaml) = yaml else {
            maps.delete(CONFIG_MAP, &kube::api::DeleteParams::default())
                .await
                .unwrap();
            return;
        };
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": {"config.yaml": yaml},
        });
        let as_user = PatchParams::apply("user");
        maps.patch(CONFIG_MAP, &as_user, &Patch::Apply(map))
            .await
            .unwrap();
    }

    /// Starts an agent.
    pub fn start_agent(&mut self) {
        self.registry = Registry::new();
        let settings = Settings {
            network: self.line.network((self.extend)(self.env.outside(NAME))),
            registry: self.registry.clone(),
            ..Settings::default()
        };
        let client = program_client(&self.server, AGENT_MANAGER).unwrap();
        let run = drydock_agent::run(settings, client, self.clock.clone(), CancellationToken::new());
        self.agent.spawn(run);
    }

    /// Kills the agent, and starts another.
    pub async fn restart(&mut self) {
        self.agent.shutdown().await;
        self.start_agent();
    }

    /// The UpgradeConfigs.
    pub fn upgrades(&self) -> Api<UpgradeConfig> {
        Api::namespaced(self.client.clone(), AGENT_NAMESPACE)
    }

    /// Asks for the upgrade to 4.14.12 at once, with extra workers.
    pub async fn ask(&self) {
        let upgrade = json!({
            "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
            "metadata": {"name": UPGRADE_CONFIG},
            "spec": {
                "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 30,
                "capacityReservation": true, "desired": {"version": "4.14.12", "channel": "stable-4.14"},
            },
        });
        let upgrade = serde_json::from_value(upgrade).unwrap();
        self.upgrades()
            .create(&PostParams::default(), &upgrade)
            .await
            .unwrap();
    }

    /// The newest entry of the history; an empty one if there is none.
    pub async fn entry(&self) -> UpgradeHistory {
        let upgrade = self.upgrades().get(UPGRADE_CONFIG).await.unwrap();
        let history = upgrade.status.unwrap_or_default().history.unwrap_or_default();
        history.into_iter().next().unwrap_or_default()
    }

    /// Waits until a condition is true, for a day at most.
    pub async fn until_done(&self, type_: &str) {
        for _ in 0..24 * 60 {
            let conditions = self.entry().await.conditions.unwrap_or_default();
            if conditions
                .iter()
                .any(|condition| condition.type_ == type_ && condition.status == "True")
            {
                return;
            }
            tokio::time::sleep(MINUTE).await;
        }
        panic!("{type_} is never true: {:#?}", self.entry().await);
    }

    /// Whether an upgrade has ended.
    pub fn is_over(entry: &UpgradeHistory) -> bool {
        matches!(entry.phase, UpgradePhase::Upgraded | UpgradePhase::Failed)
    }

    /// What is left on the cluster of the upgrade.
    pub async fn left(&self) -> Vec<String> {
        let silences = spoke::silences(&self.env).await.unwrap();
        let silences = silences.into_iter().filter(|(_, state)| state == "active");
        let sets: Api<MachineSet> = Api::namespaced(self.client.clone(), NAMESPACE);
        let extra = ListParams::default().labels("upgrade.managed.openshift.io=true");
        let sets = sets.list(&extra).await.unwrap().items;
        let sets = sets.into_iter().filter_map(|set| set.metadata.name);
        silences.map(|(comment, _)| comment).chain(sets).collect()
    }

    /// What is scraped.
    pub fn metrics(&self) -> String {
        TextEncoder::new()
            .encode_to_string(&self.registry.gather())
            .unwrap()
    }

    /// How many passes have failed.
    pub fn failed_passes(&self) -> f64 {
        let text = self.metrics();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("drydock_agent_reconcile_errors_total "));
        line.map_or(0.0, |count| count.parse().unwrap())
    }

    /// All that has left the agent: its status, its Events, its metrics.
    pub async fn texts(&self) -> String {
        let upgrade = self.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap();
        let events: Api<Event> = Api::all(self.client.clone());
        let events = events.list(&ListParams::default()).await.unwrap().items;
        let texts = [
            serde_json::to_string(&upgrade).unwrap(),
            serde_json::to_string(&events).unwrap(),
            self.metrics(),
        ];
        texts.concat()
    }

    /// The metrics of problems that are not zero.
    pub fn problems(&self) -> Vec<String> {
        let text = self.metrics();
        let lines = text.lines().filter(|line| {
            let is_ours = line.starts_with("upgradeoperator_") || line.starts_with("drydock_agent_step_");
            (is_ours && !line.starts_with("upgradeoperator_upgrade_notification{"))
                || line.starts_with("upgrade_notification_failed")
        });
        lines
            .filter(|line| line.ends_with(" 1"))
            .map(str::to_owned)
            .collect()
    }

    /// Stops everything.
    pub async fn end(mut self) {
        self.agent.shutdown().await;
        self.env.shut_down().await;
    }
}
