//! NodeForceDrains delete pods that keep nodes from being drained.

use drydock_api::names::AGENT_MANAGER;
use drydock_api::schedule::NodeForceDrain;
use drydock_e2e::local_fleet::{EPOCH, program_client};
use drydock_e2e::static_cluster::force_drain::ForceDrains;
use drydock_sandbox::test_env::spoke_types;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube_sandbox::server::{ApiServer, ServerSettings};
use openshift_sandbox::cluster::Fault;

use super::upgrades::{ended, faulty};
use super::*;

async fn create_drain(client: &Client, spec: Value) {
    let drain = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "NodeForceDrain",
        "metadata": {"name": "workers"}, "spec": spec,
    });
    let drains: Api<NodeForceDrain> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let drain = serde_json::from_value(drain).unwrap();
    drains.create(&PostParams::default(), &drain).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_keeps_a_node_from_being_drained_is_deleted_after_its_time() {
    let spoke = faulty(&[Fault::DrainStuck]).await;
    let client = &spoke.client;
    create_drain(
        client,
        json!({
            "nodeSelector": {}, "namespaceSelector": {}, "nodeDrainGracePeriod": "1h", "podForceDeleteGracePeriod": "10m",
            "podJQSelector": ".metadata.namespace | startswith(\"openshift-\") | not",
        }),
    )
    .await;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    let (reason, message) = ended(client, "one").await;
    let drains: Api<NodeForceDrain> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let status = drains.get("workers").await.unwrap().status.unwrap();
    assert_eq!(reason, "Succeeded", "{message}: {status:#?}");
    let events: Api<Event> = Api::namespaced(client.clone(), "default");
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let count = |reason: &str| {
        let is_it = |event: &&Event| {
            let message = event.message.as_deref().unwrap_or_default();
            event.reason.as_deref() == Some(reason) && message.contains("pod default/drain-blocker")
        };
        events.iter().filter(is_it).count()
    };
    // Its containers do not end on request.
    assert_eq!(
        (
            count("NodeDrainDeletePod"),
            count("NodeDrainForcingPodTermination")
        ),
        (1, 1)
    );
    for counter in ["deletions", "terminations"] {
        let series = format!("node_force_drain_pod_{counter}_total");
        let counted = [series.as_str(), "pod_name=\"drain-blocker\""];
        assert_eq!(spoke.metric(&counted).unwrap(), Some(1.0), "{counter}");
    }
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn pods_that_are_not_selected_stay() {
    let spoke = faulty(&[Fault::DrainStuck]).await;
    let client = &spoke.client;
    let nothing = json!({"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}});
    create_drain(
        client,
        json!({
            "nodeSelector": {}, "namespaceSelector": nothing, "nodeDrainGracePeriod": "1h", "podForceDeleteGracePeriod": "10m",
        }),
    )
    .await;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    assert_eq!(ended(client, "one").await.0, "TimedOut");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    assert!(pods.get_opt("drain-blocker").await.unwrap().is_some());
    let drains: Api<NodeForceDrain> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let status = drains.get("workers").await.unwrap().status.unwrap();
    assert_eq!(status.last_observed_node_drain.unwrap().len(), 1);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_pod_goes_at_its_time_and_others_never() {
    let clock = Clock::simulated(EPOCH);
    let types = spoke_types().unwrap();
    let server = ApiServer::new(ServerSettings::new("still", clock.clone(), 1, types));
    let client = program_client(&server, AGENT_MANAGER).unwrap();
    let drains = ForceDrains::start(client, clock).await.unwrap();
    drains.what_goes_when_and_what_never_does().await.unwrap();
}
