//! The API server through a kube client, as any program uses it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_runtime::Clock;
use drydock_sandbox::bed::hub_types;
use drydock_sandbox::server::{ApiServer, ServerSettings};
use futures::TryStreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy, WatchEvent,
    WatchParams,
};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn server() -> ApiServer {
    let clock = Clock::simulated(jiff::Timestamp::constant(1_767_600_000, 0));
    ApiServer::new(ServerSettings::new("test", clock, 1, hub_types().unwrap()))
}

fn object<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "default")
}

async fn make(client: &Client, value: Value) -> ConfigMap {
    maps(client)
        .create(&PostParams::default(), &object(value))
        .await
        .unwrap()
}

fn code<T>(result: kube::Result<T>) -> (u16, String) {
    match result {
        Err(kube::Error::Api(status)) => (status.code, status.reason.clone()),
        Err(other) => panic!("{other}"),
        Ok(_) => (200, String::new()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_with_an_old_version_is_a_conflict_and_one_that_changes_nothing_is_no_write() {
    let client = server().client("test");
    let first = make(&client, json!({"metadata": {"name": "a"}, "data": {"x": "1"}})).await;
    let mut second = first.clone();
    second.data = Some([("x".to_owned(), "2".to_owned())].into());
    let written = maps(&client)
        .replace("a", &PostParams::default(), &second)
        .await
        .unwrap();
    assert_ne!(written.resource_version(), first.resource_version());
    let again = maps(&client).replace("a", &PostParams::default(), &first).await;
    assert_eq!(code(again), (409, "Conflict".to_owned()));
    let same = maps(&client)
        .replace("a", &PostParams::default(), &written)
        .await
        .unwrap();
    assert_eq!(same.resource_version(), written.resource_version());
}

#[tokio::test(start_paused = true)]
async fn pages_of_a_list_show_one_moment() {
    let client = server().client("test");
    for number in 0..5 {
        make(&client, json!({"metadata": {"name": format!("m{number}")}})).await;
    }
    let first = maps(&client).list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(
        (first.items.len(), first.metadata.remaining_item_count),
        (2, Some(3))
    );
    maps(&client)
        .delete("m3", &DeleteParams::default())
        .await
        .unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = maps(&client)
        .list(&ListParams::default().limit(9).continue_token(&token))
        .await
        .unwrap();
    let names: Vec<String> = rest.items.iter().map(ResourceExt::name_any).collect();
    assert_eq!(
        names,
        ["m2", "m3", "m4"],
        "the list goes on in the moment in which it began"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_from_its_version_and_is_expired_after_compaction() {
    let server = server();
    let client = server.client("test");
    let first = make(
        &client,
        json!({"metadata": {"name": "a", "labels": {"in": "yes"}}}),
    )
    .await;
    let since = first.resource_version().unwrap();
    let patch = json!({"metadata": {"labels": {"in": "no"}}});
    maps(&client)
        .patch("a", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    make(
        &client,
        json!({"metadata": {"name": "b", "labels": {"in": "yes"}}}),
    )
    .await;
    let parameters = WatchParams::default().labels("in=yes").timeout(1);
    let events: Vec<WatchEvent<ConfigMap>> = maps(&client)
        .watch(&parameters, &since)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let told: Vec<String> = events
        .iter()
        .map(|event| match event {
            WatchEvent::Added(map) => format!("added {}", map.name_any()),
            WatchEvent::Deleted(map) => format!("deleted {}", map.name_any()),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        told[..2],
        ["deleted a", "added b"],
        "what no longer matches has left the watch"
    );
    server.compact();
    make(&client, json!({"metadata": {"name": "c"}})).await;
    let events: Vec<WatchEvent<ConfigMap>> = maps(&client)
        .watch(&WatchParams::default(), &since)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert!(
        matches!(&events[..], [WatchEvent::Error(status)] if status.code == 410),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_owner_and_finalizers_hold_it() {
    let client = server().client("test");
    let owner = make(
        &client,
        json!({"metadata": {"name": "owner", "finalizers": ["example.com/wait"]}}),
    )
    .await;
    let reference = json!([owner.owner_ref(&()).unwrap()]);
    make(
        &client,
        json!({"metadata": {"name": "dependent", "ownerReferences": reference}}),
    )
    .await;
    maps(&client)
        .delete("owner", &DeleteParams::default())
        .await
        .unwrap();
    let waiting = maps(&client).get("owner").await.unwrap();
    assert!(waiting.metadata.deletion_timestamp.is_some());
    assert!(maps(&client).get_opt("dependent").await.unwrap().is_some());
    let patch = json!({"metadata": {"finalizers": null}});
    maps(&client)
        .patch("owner", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    assert!(maps(&client).get_opt("owner").await.unwrap().is_none());
    assert!(maps(&client).get_opt("dependent").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn propagation_and_preconditions_are_honoured() {
    let client = server().client("test");
    let owner = make(&client, json!({"metadata": {"name": "owner"}})).await;
    let reference = json!([owner.owner_ref(&()).unwrap()]);
    make(
        &client,
        json!({"metadata": {"name": "dependent", "ownerReferences": reference}}),
    )
    .await;
    let wrong = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some("another".to_owned()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    assert_eq!(
        code(maps(&client).delete("owner", &wrong).await),
        (409, "Conflict".to_owned())
    );
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    maps(&client).delete("owner", &orphan).await.unwrap();
    let left = maps(&client).get("dependent").await.unwrap();
    assert!(
        left.owner_references().is_empty(),
        "the orphan has forgotten its owner"
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_content_with_it_and_takes_nothing_in_while_it_ends() {
    let client = server().client("test");
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(
            &PostParams::default(),
            &object(json!({"metadata": {"name": "team"}})),
        )
        .await
        .unwrap();
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/wait"]}});
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "team");
    api.create(&PostParams::default(), &object(held)).await.unwrap();
    namespaces.delete("team", &DeleteParams::default()).await.unwrap();
    let late = api
        .create(
            &PostParams::default(),
            &object(json!({"metadata": {"name": "late"}})),
        )
        .await;
    assert_eq!(code(late), (403, "Forbidden".to_owned()));
    let patch = json!({"metadata": {"finalizers": null}});
    api.patch("held", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    assert!(namespaces.get_opt("team").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn appliers_share_an_object_and_are_told_of_conflicts() {
    let client = server().client("test");
    let apply = |manager: &str, data: Value, force: bool| {
        let mut parameters = PatchParams::apply(manager);
        parameters.force = force;
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
        let api = maps(&client);
        async move { api.patch("a", &parameters, &Patch::Apply(body)).await }
    };
    apply("one", json!({"x": "1", "y": "1"}), false).await.unwrap();
    apply("two", json!({"z": "2"}), false).await.unwrap();
    let refused = apply("two", json!({"x": "2"}), false).await;
    assert_eq!(code(refused), (409, "Conflict".to_owned()));
    apply("two", json!({"x": "2"}), true).await.unwrap();
    let left = apply("one", json!({"y": "1"}), false).await.unwrap();
    let data: Vec<(String, String)> = left.data.unwrap().into_iter().collect();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        data,
        [pair("x", "2"), pair("y", "1")],
        "z went with the applier who no longer names it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_there_cannot_be_sent_as_a_whole_again() {
    let client = server().client("test");
    let job = json!({"metadata": {"name": "backup"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "a", "image": "example.com/a"}],
    }}}});
    let jobs: Api<Job> = Api::namespaced(client.clone(), "default");
    let made = jobs
        .create(&PostParams::default(), &object(job.clone()))
        .await
        .unwrap();
    assert!(
        made.spec.unwrap().selector.is_some(),
        "the server has completed it"
    );
    let mut again = job;
    again["metadata"]["resourceVersion"] = json!(made.metadata.resource_version);
    let refused = jobs
        .replace("backup", &PostParams::default(), &object(again))
        .await;
    assert_eq!(code(refused), (422, "Invalid".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_a_definition_forbids_is_refused_in_words_that_help() {
    let client = server().client("test");
    let upgrade = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"clusterVersion": {"version": "four", "channel": "stable-4.14"}},
    });
    let kind = kube::api::ApiResource::erase::<drydock_api::mcu::ManagedClustersUpgrade>(&());
    let api: Api<kube::api::DynamicObject> = Api::namespaced_with(client, "default", &kind);
    let refused = api
        .create(&PostParams::default(), &object(upgrade))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("version must be a semantic version"),
        "{refused}"
    );
}
