//! A cluster that has nothing but what it needs, so that there is a server without the kinds of maintenance schedules.

use drydock_agent::{InsightsSettings, ScheduleSettings};
use drydock_api::openshift::ClusterVersion;
use drydock_e2e::local_fleet::{EPOCH, program_client};
use drydock_sandbox::test_env::Outside;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_sandbox::server::{ApiServer, ServerSettings, Types, Verb, read_definitions};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::*;

/// A cluster without the kinds, and the agent on it.
pub(super) struct Bare {
    pub server: ApiServer,
    pub client: Client,
    pub clock: Clock,
    stop: CancellationToken,
    agent: JoinHandle<Result<(), drydock_agent::Error>>,
}

fn is_schedule(definition: &CustomResourceDefinition) -> bool {
    definition.spec.group == drydock_api::schedule::GROUP
}

pub(super) fn definitions() -> Vec<CustomResourceDefinition> {
    drydock_api::crds().into_iter().filter(is_schedule).collect()
}

impl Bare {
    pub async fn start(schedule: ScheduleSettings) -> Self {
        let clock = Clock::simulated(EPOCH);
        let mut all = read_definitions(openshift_sandbox::crds::CLUSTER).unwrap();
        let others = drydock_api::crds();
        let others = others.iter().filter(|definition| !is_schedule(definition));
        all.extend(others.map(|definition| json!(definition)));
        let types = Types::with_definition_values(all).unwrap();
        let server = ApiServer::new(ServerSettings::new("bare", clock.clone(), 1, types));
        let client = server.client("user");
        prepare(&client).await;
        let settings = drydock_agent::Settings {
            network: drydock_agent::Network::in_process(Outside::default()),
            schedule,
            // Requests are counted.
            insights: InsightsSettings::off(),
            ..drydock_agent::Settings::default()
        };
        let stop = CancellationToken::new();
        let access = program_client(&server, "drydock-agent").unwrap();
        let agent = tokio::spawn(drydock_agent::run(settings, access, clock.clone(), stop.clone()));
        Self {
            server,
            client,
            clock,
            stop,
            agent,
        }
    }

    pub fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    pub async fn install(&self) {
        for definition in definitions() {
            self.definitions()
                .create(&PostParams::default(), &definition)
                .await
                .unwrap();
        }
    }

    /// What the agent has asked for, but for watches, by verb and resource.
    pub fn asked(&self) -> Vec<(Verb, String, u64)> {
        let requests = self.server.requests().into_iter();
        requests
            .filter(|(key, _)| key.identity == "drydock-agent" && key.verb != Verb::Watch)
            .map(|(key, count)| (key.verb, key.resource, count))
            .collect()
    }

    pub async fn stop(self) {
        self.stop.cancel();
        self.agent.await.unwrap().unwrap();
    }
}

/// What every cluster has.
async fn prepare(client: &Client) {
    let namespace = json!({"metadata": {"name": AGENT_NAMESPACE}});
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(
            &PostParams::default(),
            &serde_json::from_value(namespace).unwrap(),
        )
        .await
        .unwrap();
    let version = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"}, "spec": {"clusterID": "c"},
    });
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    versions
        .create(&PostParams::default(), &serde_json::from_value(version).unwrap())
        .await
        .unwrap();
    let status = json!({"status": {"availableUpdates": null, "desired": {"version": "4.14.9"}}});
    versions
        .patch_status("version", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
}
