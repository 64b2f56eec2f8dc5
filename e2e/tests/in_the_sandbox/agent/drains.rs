//! NodeKeeper: drains that do not end are helped.

use drydock_api::names::AGENT_MANAGER;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::local_fleet::{EPOCH, program_client};
use drydock_e2e::static_cluster::drains::Drains;
use drydock_runtime::Clock;
use drydock_sandbox::test_env::spoke_types;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube_sandbox::server::{ApiServer, ServerSettings};
use openshift_sandbox::cluster::Fault;
use serde_json::json;

use super::{HOUR, faulty};

#[tokio::test(start_paused = true)]
async fn a_drain_that_a_budget_forbids_is_freed_after_its_time_and_reported() {
    let spoke = faulty(&[Fault::DrainStuck]).await;
    spoke.ask(json!({"PDBForceDrainTimeout": 30})).await.unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let raised = entry.notifications.unwrap();
    let delayed = raised
        .iter()
        .find(|raised| raised.event == "StateDelayed")
        .unwrap();
    let description = delayed.description.as_deref().unwrap();
    assert!(
        description.contains("pods under a budget are deleted, default/drain-blocker first"),
        "{description}"
    );
    assert!(spoke.events().await.unwrap().contains(&"DrainForced".to_owned()));
    let lasted = entry
        .complete_time
        .unwrap()
        .0
        .duration_since(entry.start_time.unwrap().0);
    assert!(lasted.as_hours() < 4, "{lasted}");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_strategies_disabled_a_drain_is_only_measured() {
    let spoke = faulty(&[Fault::DrainStuck]).await;
    spoke
        .configure("nodeDrain: {disableDrainStrategies: true}")
        .await
        .unwrap();
    spoke.ask(json!({"PDBForceDrainTimeout": 30})).await.unwrap();
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(spoke.entry().await.unwrap().phase, UpgradePhase::Upgrading);
    let pods: Api<Pod> = Api::namespaced(spoke.client.clone(), "default");
    assert!(pods.get_opt("drain-blocker").await.unwrap().is_some());
    let node = pods
        .get("drain-blocker")
        .await
        .unwrap()
        .spec
        .unwrap()
        .node_name
        .unwrap();
    assert_eq!(spoke.metric(&["node_drain_timeout", &node]).unwrap(), Some(1.0));
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_pod_goes_at_its_time_and_others_never() {
    let clock = Clock::simulated(EPOCH);
    let server = ApiServer::new(ServerSettings::new(
        "still",
        clock.clone(),
        1,
        spoke_types().unwrap(),
    ));
    let client = program_client(&server, AGENT_MANAGER).unwrap();
    let drains = Drains::start(client, clock).await.unwrap();
    drains.what_goes_when_and_what_never_does().await.unwrap();
}
