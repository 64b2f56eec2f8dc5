use std::collections::BTreeMap;
use std::convert::Infallible;

use bytes::Bytes;
use drydock_api::insights::{UpdateInformer, UpdatePlan};
use drydock_api::openshift::{ClusterOperator, ClusterVersion};
use drydock_runtime::events::publisher;
use http::{Request, Response};
use http_body_util::Full;
use k8s_openapi::api::core::v1::{Event, Namespace};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::core::ClusterResourceScope;
use kube::{Api, Resource, ResourceExt};
use kube_sandbox::server::{ApiServer, ServerSettings, Types, Verb, read_definitions};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;
use tower::service_fn;

use super::super::*;
use super::json;
use crate::monitoring::EndpointConfig;

const BEGIN: &str = "2026-01-05T08:00:00Z";
/// What is in its certificate does not matter within a process.
const BUNDLE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmVBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";

/// What an informer does when it is asked for insights.
#[derive(Clone, Debug)]
pub enum Behaviour {
    Answers(Value),
    /// It answers discovery with the first, and all else with the second.
    Discovers(Value, Value),
    Silent,
    /// It says what it can, and no more.
    Hangs,
    Refuses(u16),
}

/// What informers do, by the names of their services.
type Informers = Arc<Mutex<BTreeMap<String, Behaviour>>>;

/// The hooks that were asked, in order.
type Hooks = Arc<Mutex<Vec<String>>>;

/// A cluster with the agent's engine of update insights.
pub struct TestCluster {
    pub server: ApiServer,
    pub client: Client,
    pub clock: Clock,
    /// Whether the agent's own informers are asked.
    pub has_built_in: bool,
    pub hooks: Hooks,
    informers: Informers,
    engine: Option<(CancellationToken, JoinHandle<()>)>,
}

pub fn success(insights: &[Value]) -> Behaviour {
    Behaviour::Answers(json!({"spec": {"insights": insights}, "status": {"response": "Success"}}))
}

pub fn finding(uid: &str, level: &str) -> Value {
    json!({
        "uid": uid, "acquisitionTime": BEGIN, "scope": {"type": "ControlPlane"},
        "impact": {"level": level, "summary": format!("{uid} is so")},
    })
}

fn network(informers: Informers, hooks: Hooks) -> Network {
    Network::in_process(service_fn(move |request: Request<Bytes>| {
        let host = request.uri().host().unwrap_or_default().to_owned();
        let behaviour = informers
            .lock()
            .unwrap()
            .get(host.split('.').next().unwrap())
            .cloned();
        hooks
            .lock()
            .unwrap()
            .push(request.uri().path().rsplit('/').next().unwrap().to_owned());
        let is_discovery = request.uri().path().ends_with("/discovery");
        async move {
            let (status, body) = match behaviour.unwrap_or(Behaviour::Refuses(503)) {
                Behaviour::Silent => std::future::pending().await,
                Behaviour::Hangs if !is_discovery => std::future::pending().await,
                Behaviour::Refuses(status) => (status, json!({})),
                Behaviour::Discovers(body, _) if is_discovery => (200, body),
                Behaviour::Answers(_) | Behaviour::Hangs if is_discovery => {
                    let spec = json!({"apiLevels": ["v1alpha"], "handlers": ["status", "plan"]});
                    (200, json!({"spec": spec, "status": {"response": "Success"}}))
                }
                Behaviour::Answers(body) | Behaviour::Discovers(_, body) => (200, body),
                Behaviour::Hangs => (500, json!({})),
            };
            let body = Full::new(Bytes::from(body.to_string()));
            Ok::<_, Infallible>(Response::builder().status(status).body(body).unwrap())
        }
    }))
}

impl TestCluster {
    /// A cluster that runs 4.14.3 and may be updated to 4.14.4, with or without the kinds of update insights.
    pub async fn new(has_kinds: bool) -> Self {
        let clock = Clock::simulated(BEGIN.parse().unwrap());
        let mut definitions = read_definitions(openshift_sandbox::crds::CLUSTER).unwrap();
        let ours = drydock_api::crds()
            .into_iter()
            .filter(|ours| has_kinds && ours.spec.group == GROUP);
        definitions.extend(ours.map(|ours| json!(ours)));
        let types = Types::with_definition_values(definitions).unwrap();
        let server = ApiServer::new(ServerSettings::new("x", clock.clone(), 1, types));
        let cluster = Self {
            client: server.client("user"),
            server,
            clock,
            has_built_in: false,
            hooks: Hooks::default(),
            informers: Informers::default(),
            engine: None,
        };
        let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": "default"}})).unwrap();
        let _there = namespaces.create(&PostParams::default(), &namespace).await;
        cluster
            .create::<ClusterVersion>("version", json!({"clusterID": "c"}))
            .await;
        cluster.set_version("Completed", "4.14.3").await;
        cluster
    }

    /// Starts the engine, or starts it anew.
    pub async fn start(&mut self) {
        self.stop().await;
        let client = self.server.client("drydock-agent");
        let registry = prometheus::Registry::new();
        let (publisher, writer) =
            publisher(client.clone(), self.clock.clone(), "drydock-agent", &registry).unwrap();
        let network = network(Arc::clone(&self.informers), Arc::clone(&self.hooks));
        let monitoring = Monitoring::new(client.clone(), network.clone(), EndpointConfig::default());
        let context = Context {
            client,
            monitoring: Arc::new(monitoring),
            clock: self.clock.clone(),
            publisher,
            metrics: Metrics::register(&registry).unwrap(),
            network,
        };
        let settings = InsightsSettings {
            off: if self.has_built_in {
                [].into()
            } else {
                [InsightsPart::BuiltInInformers].into()
            },
            ..InsightsSettings::default()
        };
        let engine = Engine::new(context, settings, &registry).unwrap();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let running = tokio::spawn(async move {
            let _ended = tokio::join!(engine.run(stopped.clone()), writer.run(stopped));
        });
        self.engine = Some((stop, running));
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    }

    pub async fn stop(&mut self) {
        if let Some((stop, running)) = self.engine.take() {
            stop.cancel();
            running.await.unwrap();
        }
    }

    pub async fn create<K>(&self, name: &str, spec: Value)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + Serialize,
    {
        let object = json!({
            "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": {"name": name}, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        let api: Api<K> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    pub async fn get<K>(&self, name: &str) -> K
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        Api::all(self.client.clone()).get(name).await.unwrap()
    }

    pub async fn change<K>(&self, name: &str, change: Value)
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        api.patch(name, &PatchParams::default(), &Patch::Merge(change))
            .await
            .unwrap();
    }

    pub async fn set_version(&self, state: &str, version: &str) {
        let status = json!({"status": {
            "desired": {"version": version}, "availableUpdates": [{"version": "4.14.4"}],
            "history": [
                {"state": state, "version": version, "startedTime": BEGIN},
                {"state": "Completed", "version": "4.14.3", "startedTime": "2026-01-01T00:00:00Z"},
            ],
        }});
        let api: Api<ClusterVersion> = Api::all(self.client.clone());
        let patch = Patch::Merge(status);
        api.patch_status("version", &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    /// An operator of the release, which has this version.
    pub async fn operator(&self, name: &str, version: &str) {
        let object = json!({
            "metadata": {"name": name, "annotations": {"include.release.openshift.io/x": "true"}},
            "status": {"versions": [{"name": "operator", "version": version}]},
        });
        let object: ClusterOperator = serde_json::from_value(object).unwrap();
        let api: Api<ClusterOperator> = Api::all(self.client.clone());
        api.create(&PostParams::default(), &object).await.unwrap();
        let status = Patch::Merge(json!({"status": object.status}));
        api.patch_status(name, &PatchParams::default(), &status)
            .await
            .unwrap();
    }

    /// An UpdateInformer behind a service of its name.
    pub async fn informer(&self, name: &str, behaviour: Behaviour) {
        self.behave(name, behaviour);
        let spec = json!({
            "clientConfig": {"service": {"namespace": "ns", "name": name}, "caBundle": BUNDLE}, "timeoutSeconds": 30,
        });
        self.create::<UpdateInformer>(name, spec).await;
    }

    pub fn behave(&self, name: &str, behaviour: Behaviour) {
        self.informers.lock().unwrap().insert(name.to_owned(), behaviour);
    }

    pub async fn plan(&self) -> UpdatePlan {
        self.get("update-plan-4.14.4").await
    }

    /// Reason and status of an informer's condition Online.
    pub async fn online(&self, name: &str) -> String {
        let informer: UpdateInformer = self.get(name).await;
        let status = informer.status.unwrap_or_default();
        status
            .conditions
            .iter()
            .map(|online| format!("{} {}", online.status, online.reason))
            .collect()
    }

    /// The reasons of the Events about objects of these kinds.
    pub async fn events(&self) -> Vec<String> {
        let api: Api<Event> = Api::all(self.client.clone());
        let events = api.list(&ListParams::default()).await.unwrap();
        events
            .items
            .into_iter()
            .filter_map(|event| event.reason)
            .collect()
    }

    /// How many requests the agent has made, but for watches, by verb and resource.
    pub fn asked(&self) -> BTreeMap<String, u64> {
        let requests = self.server.requests().into_iter();
        let own = requests.filter(|(key, _)| key.identity == "drydock-agent" && key.verb != Verb::Watch);
        own.map(|(key, count)| (format!("{:?} {}", key.verb, key.resource), count))
            .collect()
    }
}

pub fn names<K: ResourceExt>(objects: &[K]) -> Vec<String> {
    objects.iter().map(ResourceExt::name_any).collect()
}
