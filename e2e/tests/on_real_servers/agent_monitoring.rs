//! The agent with a real Prometheus and a real Alertmanager.

use std::time::Duration;

use drydock_agent::EndpointConfig;
use drydock_api::names::AGENT_MANAGER;
use drydock_e2e::local_fleet::program_client;
use drydock_e2e::monitoring::RealMonitoring;
use drydock_e2e::static_cluster::silences::what_is_silenced_when;
use drydock_e2e::static_cluster::{StaticCluster, Watched};
use drydock_runtime::Clock;
use drydock_sandbox::test_env::spoke_types;
use kube::Client;
use kube_sandbox::server::{ApiServer, ServerSettings};

const RULES: &str = "
groups:
  - name: ours
    rules:
      - {alert: Broken, expr: vector(1), labels: {severity: critical, namespace: openshift-etcd}}
      - {alert: Elsewhere, expr: vector(1), labels: {severity: critical, namespace: shop}}
";

fn client() -> Client {
    let types = spoke_types().unwrap();
    let server = ApiServer::new(ServerSettings::new("still", Clock::system(), 1, types));
    program_client(&server, AGENT_MANAGER).unwrap()
}

async fn cluster(monitoring: RealMonitoring) -> StaticCluster {
    let watched = Watched::ByReal(Box::new(monitoring));
    let mut cluster = StaticCluster::make(client(), Clock::system(), watched)
        .await
        .unwrap();
    cluster.start_agent();
    cluster
}

#[tokio::test]
async fn alerts_hold_the_upgrade_up_and_silences_are_made_once_replaced_renewed_and_ended() {
    let monitoring = RealMonitoring::start(RULES).await.unwrap();
    let watched = Watched::ByReal(Box::new(monitoring));
    what_is_silenced_when(client(), Clock::system(), watched)
        .await
        .unwrap();
}

#[tokio::test]
async fn who_has_no_token_or_does_not_trust_the_authority_knows_nothing() {
    for (is_known, says) in [(false, "answers 401 Unauthorized"), (true, "cannot be trusted")] {
        let mut monitoring = RealMonitoring::start(RULES).await.unwrap();
        let wrong = monitoring.wrong_token().unwrap();
        let EndpointConfig::At { authority, token, .. } = &mut monitoring.places else {
            panic!("{:?}", monitoring.places);
        };
        if is_known {
            *authority = None;
        } else {
            *token = Some(wrong);
        }
        let mut cluster = cluster(monitoring).await;
        cluster.ask("4.14.12", "stable-4.14").await.unwrap();
        cluster
            .until_condition("ClusterHealthyBeforeUpgrade", |condition| {
                let message = condition.message.as_deref();
                message.is_some_and(|message| message.contains(says))
            })
            .await
            .unwrap();
        cluster.kill_agent().await;
    }
}

#[tokio::test]
async fn the_result_names_the_critical_alerts_that_fired_during_the_upgrade() {
    let mut cluster = cluster(RealMonitoring::start(RULES).await.unwrap()).await;
    cluster
        .configure("healthCheck: {ignoredCriticals: [Broken]}")
        .await
        .unwrap();
    cluster.ask("4.14.12", "stable-4.14").await.unwrap();
    let is_done = |condition: &drydock_api::upgradeconfig::UpgradeCondition| condition.status == "True";
    cluster
        .until_condition("UpgradeCommenced", is_done)
        .await
        .unwrap();
    cluster.run(&["4.14.12", "4.14.9"]).await.unwrap();
    cluster
        .until_condition("CompletedNotificationSent", is_done)
        .await
        .unwrap();
    let expected = "upgradeoperator_upgrade_result{alerts=\"Broken\",preceding_version=\"4.14.9\",stream=\"z\",\
                    upgradeconfig_name=\"managed-upgrade-config\",version=\"4.14.12\"} 0";
    let mut metrics = String::new();
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..100 {
        looks.tick().await;
        metrics = cluster.metrics().unwrap();
        if metrics.lines().any(|line| line == expected) {
            return cluster.kill_agent().await;
        }
    }
    panic!("{metrics}");
}
