use drydock_api::insights::{Handler, UpdateInformer};

use super::*;

#[tokio::test(start_paused = true)]
async fn an_informer_is_online_while_it_answers() {
    let mut cluster = TestCluster::new(true).await;
    cluster.informer("mco", success(&[])).await;
    cluster.start().await;
    assert_eq!(cluster.online("mco").await, "True AsExpected");
    let informer: UpdateInformer = cluster.get("mco").await;
    let status = informer.status.unwrap();
    assert_eq!(status.handlers, [Handler::Status, Handler::Plan]);
    assert_eq!(status.api_versions, ["v1alpha"]);
    cluster.behave("mco", Behaviour::Silent);
    tokio::time::sleep(6 * MINUTE).await;
    assert_eq!(cluster.online("mco").await, "False Timeout");
    cluster.behave("mco", Behaviour::Refuses(302));
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(cluster.online("mco").await, "False DiscoveryFailed");
    cluster
        .change::<UpdateInformer>("mco", json!({"spec": {"enabled": false}}))
        .await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(cluster.online("mco").await, "False Disabled");
    let events = cluster.events().await;
    assert_eq!(
        events
            .iter()
            .filter(|reason| *reason == "InformerOffline")
            .count(),
        3
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_is_silent_keeps_no_other_waiting() {
    let mut cluster = TestCluster::new(true).await;
    for index in 0..3 {
        cluster
            .informer(&format!("silent-{index}"), Behaviour::Silent)
            .await;
    }
    cluster.informer("mco", success(&[])).await;
    cluster.start().await;
    assert_eq!(cluster.online("mco").await, "True AsExpected");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_answers_nonsense_is_not_online_although_it_says_what_it_can() {
    let mut cluster = TestCluster::new(true).await;
    cluster
        .informer(
            "mco",
            Behaviour::Answers(json!({"status": {"response": "Perhaps"}})),
        )
        .await;
    cluster.set_version("Partial", "4.14.4").await;
    cluster.start().await;
    for _ in 0..5 {
        tokio::time::sleep(MINUTE).await;
        assert_eq!(cluster.online("mco").await, "False InvalidResponse");
    }
    let events = cluster.events().await;
    assert!(events.len() < 4, "it does not go to and fro: {events:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_these_kinds_is_asked_for_nothing_else() {
    let mut cluster = TestCluster::new(false).await;
    cluster.start().await;
    tokio::time::sleep(60 * MINUTE).await;
    let asked = cluster.asked();
    assert!(asked.keys().all(|what| !what.contains("update")), "{asked:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_cluster_costs_the_heartbeats_of_informers_and_nothing_else() {
    let mut cluster = TestCluster::new(true).await;
    cluster.start().await;
    tokio::time::sleep(10 * MINUTE).await;
    let before = cluster.asked();
    tokio::time::sleep(600 * MINUTE).await;
    assert_eq!(cluster.asked(), before);
    cluster.informer("mco", success(&[])).await;
    tokio::time::sleep(MINUTE).await;
    let before: u64 = cluster.asked().values().sum();
    tokio::time::sleep(60 * MINUTE).await;
    let after: u64 = cluster.asked().values().sum();
    assert!(after - before <= 13, "{} requests in an hour", after - before);
    cluster.stop().await;
}
