//! What the engine asks of an API server while nothing happens.

use kube_sandbox::server::Verb;

use super::*;

#[tokio::test(start_paused = true)]
async fn nothing_but_watches_is_asked_for_while_nothing_happens() {
    let spoke = spoke().await;
    let client = &spoke.client;
    create(client, "nights", weekly()).await;
    holidays(client, "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z").await;
    let id = spoke.version().await.unwrap().spec.cluster_id.unwrap();
    overlays::manage(
        &spoke,
        "version",
        json!({"clusterID": id, "channel": "stable-4.14"}),
    )
    .await;
    tokio::time::sleep(HOUR).await;
    let server = spoke.fleet.env.spoke(drydock_e2e::spoke::NAME).unwrap();
    server.reset_requests();
    tokio::time::sleep(24 * HOUR).await;
    let asked: Vec<String> = server
        .requests()
        .into_iter()
        .filter(|(key, _)| key.identity == "drydock-agent" && key.verb != Verb::Watch)
        .map(|(key, count)| format!("{count} × {:?} {}", key.verb, key.resource))
        .collect();
    assert!(asked.is_empty(), "{asked:#?}");
    spoke.fleet.shut_down().await.unwrap();
}
