//! The agent with a real Prometheus and a real Alertmanager.

use std::time::Duration;

use drydock_agent::{Network, Places, Settings};
use drydock_api::names::{AGENT_MANAGER, AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::UpgradeConfig;
use drydock_e2e::fleet;
use drydock_e2e::monitoring::RealMonitoring;
use drydock_e2e::spoke::NAME;
use drydock_e2e::still::Watched;
use drydock_e2e::still::silences::what_is_silenced_when;
use drydock_e2e::yard::stack;
use drydock_runtime::Clock;
use drydock_sandbox::bed::{Bed, spoke_types};
use drydock_sandbox::cluster::Fault;
use drydock_sandbox::server::{ApiServer, ServerSettings};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const RULES: &str = "
groups:
  - name: ours
    rules:
      - {alert: Broken, expr: vector(1), labels: {severity: critical, namespace: openshift-etcd}}
      - {alert: Elsewhere, expr: vector(1), labels: {severity: critical, namespace: shop}}
";

/// A cluster whose updates are never offered, and its agent: an upgrade waits where it would commence.
struct Cluster {
    bed: Bed,
    client: Client,
    agent: JoinSet<Result<(), drydock_agent::Error>>,
    registry: prometheus::Registry,
}

impl Cluster {
    async fn start(places: &Places) -> Self {
        let mut settings = fleet::three_clusters(4);
        settings.clusters.truncate(1);
        settings.clusters[0].faults.extend([Fault::UnknownUpdate]);
        let bed = Bed::start(settings, Clock::system()).await.unwrap();
        let client = bed.spoke(NAME).unwrap().client("user");
        let mut cluster = Self {
            bed,
            client,
            agent: JoinSet::new(),
            registry: prometheus::Registry::new(),
        };
        cluster.start_agent(places);
        cluster
    }

    fn start_agent(&mut self, places: &Places) {
        self.registry = prometheus::Registry::new();
        let settings = Settings {
            network: Network::default(),
            monitoring: places.clone(),
            registry: self.registry.clone(),
            ..Settings::default()
        };
        let client = stack(self.bed.spoke(NAME).unwrap(), AGENT_MANAGER).unwrap();
        let run = drydock_agent::run(settings, client, Clock::system(), CancellationToken::new());
        self.agent.spawn(run);
    }

    fn upgrades(&self) -> Api<UpgradeConfig> {
        Api::namespaced(self.client.clone(), AGENT_NAMESPACE)
    }

    async fn ask(&self) {
        self.ask_for("4.15.2", "stable-4.15").await;
    }

    async fn ask_for(&self, version: &str, channel: &str) {
        let upgrade = json!({
            "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
            "metadata": {"name": UPGRADE_CONFIG},
            "spec": {
                "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 60,
                "desired": {"version": version, "channel": channel},
            },
        });
        let upgrade = serde_json::from_value(upgrade).unwrap();
        self.upgrades()
            .create(&PostParams::default(), &upgrade)
            .await
            .unwrap();
    }

    async fn configure(&self, yaml: &str) {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), AGENT_NAMESPACE);
        let name = "managed-upgrade-operator-config";
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"config.yaml": yaml},
        });
        maps.patch(name, &PatchParams::apply("user"), &Patch::Apply(map))
            .await
            .unwrap();
    }

    /// Waits, up to a minute, until a condition says this.
    async fn until(&self, type_: &str, says: &str) {
        let mut seen = None;
        let mut looks = tokio::time::interval(Duration::from_millis(100));
        for _ in 0..600 {
            looks.tick().await;
            let status = self.upgrades().get(UPGRADE_CONFIG).await.unwrap().status;
            let entry = status
                .unwrap_or_default()
                .history
                .unwrap_or_default()
                .into_iter()
                .next();
            let conditions = entry.and_then(|entry| entry.conditions).unwrap_or_default();
            seen = conditions.into_iter().find(|condition| condition.type_ == type_);
            let message = seen.as_ref().and_then(|condition| condition.message.as_deref());
            if message.is_some_and(|message| message.contains(says)) {
                return;
            }
        }
        panic!("{type_} never says {says:?}: {seen:#?}");
    }
}

#[tokio::test]
async fn alerts_hold_the_upgrade_up_and_silences_are_made_once_replaced_renewed_and_ended() {
    let monitoring = RealMonitoring::start(RULES).await.unwrap();
    let clock = Clock::system();
    let types = spoke_types().unwrap();
    let server = ApiServer::new(ServerSettings::new("still", clock.clone(), 1, types));
    let client = stack(&server, AGENT_MANAGER).unwrap();
    what_is_silenced_when(client, clock, Watched::ByReal(Box::new(monitoring)))
        .await
        .unwrap();
}

#[tokio::test]
async fn who_has_no_token_or_does_not_trust_the_authority_knows_nothing() {
    let monitoring = RealMonitoring::start(RULES).await.unwrap();
    let Places::At {
        prometheus,
        alertmanager,
        authority,
        token,
    } = monitoring.places.clone()
    else {
        panic!("{:?}", monitoring.places);
    };
    let at = |authority, token| Places::At {
        prometheus: prometheus.clone(),
        alertmanager: alertmanager.clone(),
        authority,
        token,
    };
    let wrong = monitoring.wrong_token().unwrap();
    for (places, says) in [
        (at(authority, Some(wrong)), "answers 401 Unauthorized"),
        (at(None, token), "cannot be reached"),
    ] {
        let mut cluster = Cluster::start(&places).await;
        cluster.ask().await;
        cluster.until("ClusterHealthyBeforeUpgrade", says).await;
        cluster.agent.shutdown().await;
        cluster.bed.shut_down().await;
    }
}

#[tokio::test]
async fn the_result_names_the_critical_alerts_that_fired_during_the_upgrade() {
    let monitoring = RealMonitoring::start(RULES).await.unwrap();
    let mut cluster = Cluster::start(&monitoring.places).await;
    cluster
        .configure("healthCheck: {ignoredCriticals: [Broken]}")
        .await;
    // The cluster is told to be what it is: every step is done at once.
    let versions: Api<ClusterVersion> = Api::all(cluster.client.clone());
    let asked = Patch::Merge(json!({"spec": {"desiredUpdate": {"version": "4.14.9"}}}));
    versions
        .patch("version", &PatchParams::default(), &asked)
        .await
        .unwrap();
    cluster.ask_for("4.14.9", "stable-4.14").await;
    cluster
        .until(
            "CompletedNotificationSent",
            "CompletedNotificationSent is completed",
        )
        .await;
    let expected = "upgradeoperator_upgrade_result{alerts=\"Broken\",preceding_version=\"4.14.9\",stream=\"z\",\
                    upgradeconfig_name=\"managed-upgrade-config\",version=\"4.14.9\"} 0";
    let mut metrics = String::new();
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..100 {
        looks.tick().await;
        metrics = prometheus::TextEncoder::new()
            .encode_to_string(&cluster.registry.gather())
            .unwrap();
        if metrics.lines().any(|line| line == expected) {
            cluster.agent.shutdown().await;
            return cluster.bed.shut_down().await;
        }
    }
    panic!("{metrics}");
}
