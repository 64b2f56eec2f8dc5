//! What only the server's own hands can bring about: compaction, and what clients see of it; what is too much to store.

use drydock_runtime::Clock;
use drydock_sandbox::test_env::hub_types;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use kube_sandbox::access::{Access, Key};
use kube_sandbox::server::{ApiServer, ServerSettings};
use ocm_sandbox::kinds::MANIFEST_WORK;
use serde_json::json;

fn server() -> ApiServer {
    let clock = Clock::simulated(jiff::Timestamp::constant(1_767_600_000, 0));
    ApiServer::new(ServerSettings::new("test", clock, 1, hub_types().unwrap()))
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

async fn make(client: &Client, name: &str) -> ConfigMap {
    let map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    maps(client).create(&PostParams::default(), &map).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_watch_cannot_resume_from_before_a_compaction() {
    let server = server();
    let client = server.client("test");
    let since = make(&client, "a").await.resource_version().unwrap();
    make(&client, "b").await;
    server.compact();
    let stream = maps(&client)
        .watch(&WatchParams::default(), &since)
        .await
        .unwrap();
    let events: Vec<WatchEvent<ConfigMap>> = stream.try_collect().await.unwrap();
    assert!(
        matches!(&events[..], [WatchEvent::Error(status)] if status.code == 410),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_list_cannot_continue_at_a_version_before_a_compaction_and_gets_a_token_for_the_present() {
    let server = server();
    let client = server.client("test");
    for name in ["a", "b", "c"] {
        make(&client, name).await;
    }
    let first = maps(&client).list(&ListParams::default().limit(1)).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    make(&client, "d").await;
    server.compact();
    let parameters = ListParams::default().continue_token(&token);
    match maps(&client).list(&parameters).await {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 410);
            let token = status
                .metadata
                .as_ref()
                .and_then(|metadata| metadata.continue_.clone())
                .unwrap();
            let rest = maps(&client)
                .list(&ListParams::default().continue_token(&token))
                .await
                .unwrap();
            let names: Vec<String> = rest.iter().map(ResourceExt::name_any).collect();
            assert_eq!(names, ["b", "c", "d"]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn rule_0_12_a_status_with_a_row_a_cluster_ends_between_five_and_six_thousand() {
    let hub = Access::memory(&server(), "test");
    let upgrade = json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"name": "w", "namespace": "default"}, "spec": {},
    });
    hub.create(&MANIFEST_WORK, upgrade).await.unwrap();
    let key = Key::namespaced("default", "w");
    let rows = |count: usize| {
        let row = |number: usize| format!("{number:0>280}");
        json!({"status": {"rows": (0..count).map(row).collect::<Vec<_>>()}})
    };
    hub.merge_patch_status(&MANIFEST_WORK, &key, rows(5_000))
        .await
        .unwrap();
    let refused = hub
        .merge_patch_status(&MANIFEST_WORK, &key, rows(6_000))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("etcdserver: request is too large"),
        "{refused}"
    );
    let kept = hub.get(&MANIFEST_WORK, &key).await.unwrap();
    assert_eq!(kept["status"]["rows"].as_array().map(Vec::len), Some(5_000));
}
