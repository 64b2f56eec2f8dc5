//! The four kinds of patches.

use anyhow::ensure;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::{Case, object_of, refused};

fn data(map: &ConfigMap) -> Value {
    json!(map.data)
}

/// A merge patch replaces and removes; a JSON patch tests before it changes.
///
/// # Errors
/// If the server behaves in another way.
pub async fn merge_and_json_patches_change_what_they_say(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "patches").await?;
    case.make(json!({"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}}))
        .await?;
    let merge = json!({"data": {"x": null, "z": "2"}});
    let patched = case
        .maps()
        .patch("a", &PatchParams::default(), &Patch::Merge(merge))
        .await?;
    ensure!(data(&patched) == json!({"y": "1", "z": "2"}));
    let json_patch =
        |text: Value| -> anyhow::Result<Patch<ConfigMap>> { Ok(Patch::Json(serde_json::from_value(text)?)) };
    let change = json_patch(json!([
        {"op": "test", "path": "/data/y", "value": "1"},
        {"op": "replace", "path": "/data/y", "value": "3"},
    ]))?;
    let patched = case.maps().patch("a", &PatchParams::default(), &change).await?;
    ensure!(data(&patched) == json!({"y": "3", "z": "2"}));
    refused(
        case.maps().patch("a", &PatchParams::default(), &change).await,
        422,
        "Invalid",
    )?;
    Ok(())
}

/// A strategic merge patch merges containers by their names.
///
/// # Errors
/// If the server behaves in another way.
pub async fn a_strategic_merge_patch_merges_lists_by_their_keys(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "strategic").await?;
    let api: Api<Deployment> = case.api();
    let deployment = json!({"metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
            {"name": "one", "image": "example.com/one:1", "args": ["x"]},
            {"name": "two", "image": "example.com/two:1"},
        ]}},
    }});
    api.create(&PostParams::default(), &object_of(deployment)?)
        .await?;
    let patch = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "one", "image": "example.com/one:2"},
        {"name": "two", "$patch": "delete"},
        {"name": "three", "image": "example.com/three:1"},
    ]}}}});
    let patched = api
        .patch("a", &PatchParams::default(), &Patch::Strategic(patch))
        .await?;
    let spec = patched.spec.unwrap_or_default().template.spec.unwrap_or_default();
    let mut containers: Vec<(String, Option<String>, bool)> = spec
        .containers
        .into_iter()
        .map(|one| (one.name, one.image, one.args.is_some()))
        .collect();
    containers.sort();
    let container = |name: &str, image: &str, args| (name.to_owned(), Some(image.to_owned()), args);
    ensure!(
        containers
            == [
                container("one", "example.com/one:2", true),
                container("three", "example.com/three:1", false)
            ],
        "{containers:?}"
    );
    Ok(())
}

/// Appliers share an object, get conflicts, may force, and take away what they no longer name.
///
/// # Errors
/// If the server behaves in another way.
pub async fn appliers_share_an_object(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "appliers").await?;
    let apply = |manager: &str, data: Value, force: bool| {
        let mut parameters = PatchParams::apply(manager);
        parameters.force = force;
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
        let api = case.maps();
        async move { api.patch("a", &parameters, &Patch::Apply(body)).await }
    };
    apply("one", json!({"x": "1", "y": "1"}), false).await?;
    apply("two", json!({"z": "2"}), false).await?;
    let message = refused(apply("two", json!({"x": "2"}), false).await, 409, "Conflict")?;
    ensure!(
        message == "Apply failed with 1 conflict: conflict with \"one\": .data.x",
        "{message}"
    );
    apply("two", json!({"x": "2"}), true).await?;
    let left = apply("one", json!({"y": "1"}), false).await?;
    ensure!(data(&left) == json!({"x": "2", "y": "1"}), "{}", data(&left));
    let managers = left.metadata.managed_fields.unwrap_or_default();
    let mut names: Vec<String> = managers.into_iter().filter_map(|entry| entry.manager).collect();
    names.sort();
    ensure!(names == ["one", "two"], "{names:?}");
    Ok(())
}
