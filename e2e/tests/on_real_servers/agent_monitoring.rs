//! The agent with a real Prometheus and a real Alertmanager.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use drydock_agent::{Network, Places, Settings};
use drydock_api::names::{AGENT_MANAGER, AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::UpgradeConfig;
use drydock_e2e::fleet;
use drydock_e2e::monitoring::RealMonitoring;
use drydock_e2e::spoke::NAME;
use drydock_e2e::yard::stack;
use drydock_runtime::Clock;
use drydock_sandbox::bed::Bed;
use drydock_sandbox::cluster::Fault;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
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
    /// By how much the agent's clock is ahead.
    ahead: Arc<AtomicI64>,
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
            ahead: Arc::default(),
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
        let clock = Clock::system().skewed(Arc::clone(&self.ahead));
        let run = drydock_agent::run(settings, client, clock, CancellationToken::new());
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
async fn alerts_hold_the_upgrade_up_and_silences_are_made_once_and_ended() {
    let monitoring = RealMonitoring::start(RULES).await.unwrap();
    let mut cluster = Cluster::start(&monitoring.places).await;
    cluster.ask().await;
    cluster
        .until("ClusterHealthyBeforeUpgrade", "critical alerts fire: Broken")
        .await;
    let ignoring = "
healthCheck: {ignoredCriticals: [Broken]}
maintenance: {ignoredAlerts: {controlPlaneCriticals: [ClusterOperatorDown, 'Quoted\\\"One']}}
";
    cluster.configure(ignoring).await;
    cluster
        .until(
            "UpgradeCommenced",
            "waiting until channel stable-4.15 offers 4.15.2",
        )
        .await;
    let expected = |state: &str| {
        ["", "critical alerts during "].map(|what| {
            let comment = format!("Silence for {what}OSD control plane upgrade to version 4.15.2");
            (comment, state.to_owned())
        })
    };
    assert_eq!(monitoring.silences().await.unwrap(), expected("active"));

    // Another agent finds them again.
    cluster.agent.shutdown().await;
    cluster.start_agent(&monitoring.places);
    cluster
        .configure(&format!("{ignoring}environment: {{fedramp: true}}"))
        .await;
    cluster
        .until(
            "UpgradeCommenced",
            "waiting until channel stable-4.15 offers 4.15.2",
        )
        .await;
    assert_eq!(monitoring.silences().await.unwrap(), expected("active"));

    // They are made longer before they end.
    let first = monitoring.last_end().await.unwrap();
    cluster.ahead.store(87 * 60_000, Ordering::Relaxed);
    cluster.configure(ignoring).await;
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..600 {
        looks.tick().await;
        if monitoring.last_end().await.unwrap() > first + SignedDuration::from_mins(80) {
            break;
        }
    }
    assert!(monitoring.last_end().await.unwrap() > first + SignedDuration::from_mins(80));
    assert_eq!(monitoring.silences().await.unwrap(), expected("active"));

    cluster
        .upgrades()
        .delete(UPGRADE_CONFIG, &DeleteParams::default())
        .await
        .unwrap();
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..600 {
        looks.tick().await;
        if cluster
            .upgrades()
            .get_opt(UPGRADE_CONFIG)
            .await
            .unwrap()
            .is_none()
        {
            break;
        }
    }
    assert_eq!(monitoring.silences().await.unwrap(), expected("expired"));
    cluster.agent.shutdown().await;
    cluster.bed.shut_down().await;
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
