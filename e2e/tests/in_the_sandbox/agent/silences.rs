//! Maintenance windows.

use drydock_api::names::AGENT_MANAGER;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::local_fleet::{EPOCH, program_client};
use drydock_e2e::manifests;
use drydock_e2e::static_cluster::Watched;
use drydock_e2e::static_cluster::silences::what_is_silenced_when;
use drydock_runtime::Clock;
use drydock_sandbox::test_env::spoke_types;
use kube_sandbox::server::{ApiServer, ServerSettings};
use openshift_sandbox::cluster::Fault;
use serde_json::json;

use super::{HOUR, MINUTE, faulty};

#[tokio::test(start_paused = true)]
async fn steps_7_and_11_silences_are_made_once_replaced_as_workers_finish_and_ended() {
    // The workers are not done long after the control plane is.
    let spoke = faulty(&[Fault::DrainStuck]).await;
    let criticals = "maintenance: {ignoredAlerts: {controlPlaneCriticals: [ClusterOperatorDown]}}";
    spoke.configure(criticals).await.unwrap();
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 6).await;
    let states = |silences: Vec<(String, String)>| -> Vec<String> {
        silences
            .into_iter()
            .map(|(comment, state)| format!("{state} {comment}"))
            .collect()
    };
    assert_eq!(
        states(spoke.silences().await.unwrap()),
        [
            "active Silence for OSD control plane upgrade to version 4.14.12",
            "active Silence for critical alerts during OSD control plane upgrade to version 4.14.12",
        ]
    );
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let silences = spoke.silences().await.unwrap();
    assert!(
        silences.iter().all(|(_, state)| state == "expired"),
        "{silences:?}"
    );
    let workers: Vec<&str> = silences
        .iter()
        .filter_map(|(comment, _)| comment.split("with remaining ").nth(1))
        .collect();
    let mut once = workers.clone();
    once.dedup();
    assert!(!workers.is_empty() && workers == once, "{workers:?}");
    let of_control_plane = silences
        .iter()
        .filter(|(comment, _)| comment.contains("control plane"));
    assert_eq!(of_control_plane.count(), 2, "{silences:?}");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn step_7_the_silence_of_a_control_plane_lasts_as_long_as_it_may_take_and_is_never_doubled() {
    let spoke = faulty(&[Fault::OperatorUnavailable]).await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until_done("UpgradeCommenced").await.unwrap();
    for minute in 1..5 * 60 {
        tokio::time::sleep(MINUTE).await;
        let comment = "Silence for OSD control plane upgrade to version 4.14.12";
        let silences = spoke.silences().await.unwrap();
        let [(only, state)] = &silences[..] else {
            panic!("{silences:?}");
        };
        assert_eq!(only, comment);
        match minute {
            0..85 => assert_eq!(state, "active"),
            // Criticals of a control plane that hangs are nobody's noise.
            95.. => assert_eq!(state, "expired"),
            _ => {}
        }
    }
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn steps_10_and_14_silences_end_when_what_they_are_for_is_done() {
    // The workers are not done long after the control plane is.
    let spoke = faulty(&[Fault::DrainStuck]).await;
    spoke.ask(json!({})).await.unwrap();
    let states = async |part: &str| -> Vec<String> {
        let silences = spoke.silences().await.unwrap().into_iter();
        let of_part = silences.filter(|(comment, _)| comment.contains(part));
        of_part.map(|(_, state)| state).collect()
    };
    spoke.until_done("UpgradeCommenced").await.unwrap();
    assert_eq!(states("control plane").await, ["active"]);
    spoke
        .until_done("ControlPlaneMaintenanceWindowRemoved")
        .await
        .unwrap();
    assert_eq!(states("control plane").await, ["expired"]);
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let workers = states("worker node").await;
    assert!(
        !workers.is_empty() && workers.iter().all(|state| state == "expired"),
        "{workers:?}"
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn alerts_and_silences_are_as_with_a_real_prometheus_and_a_real_alertmanager() {
    let clock = Clock::simulated(EPOCH);
    let types = spoke_types().unwrap();
    let server = ApiServer::new(ServerSettings::new("still", clock.clone(), 1, types));
    let client = program_client(&server, AGENT_MANAGER).unwrap();
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-monitoring"}});
    manifests::apply(&client, &serde_json::from_value(namespace).unwrap())
        .await
        .unwrap();
    for (alert, namespace) in [("Broken", "openshift-etcd"), ("Elsewhere", "shop")] {
        let rule = json!({
            "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
            "metadata": {"name": alert.to_lowercase(), "namespace": "openshift-monitoring"},
            "spec": {"groups": [{"name": "ours", "rules": [
                {"alert": alert, "expr": "vector(1)", "labels": {"severity": "critical", "namespace": namespace}},
            ]}]},
        });
        manifests::apply(&client, &serde_json::from_value(rule).unwrap())
            .await
            .unwrap();
    }
    let watched = Watched::by_sandbox(&client, &clock);
    what_is_silenced_when(client, clock, watched).await.unwrap();
}
