//! Creating and replacing.

use anyhow::ensure;
use drydock_api::mcu::ManagedClustersUpgrade;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::{Case, object_of, refused};

/// A write with an outdated version is a conflict; one that changes nothing is no write.
///
/// # Errors
/// If the server behaves in another way.
pub async fn outdated_writes_conflict_and_empty_ones_do_nothing(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "outdated").await?;
    let first = case
        .make(json!({"metadata": {"name": "a"}, "data": {"x": "1"}}))
        .await?;
    let mut second = first.clone();
    second.data = Some([("x".to_owned(), "2".to_owned())].into());
    let written = case.maps().replace("a", &PostParams::default(), &second).await?;
    ensure!(written.resource_version() != first.resource_version());
    let again = case.maps().replace("a", &PostParams::default(), &first).await;
    let message = refused(again, 409, "Conflict")?;
    ensure!(
        message.contains("the object has been modified; please apply your changes to the latest version")
    );
    let same = case.maps().replace("a", &PostParams::default(), &written).await?;
    ensure!(same.resource_version() == written.resource_version());
    Ok(())
}

/// A name that is taken, a name that is generated, a name that cannot be.
///
/// # Errors
/// If the server behaves in another way.
pub async fn names_are_unique_generated_and_checked(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "names").await?;
    case.make(json!({"metadata": {"name": "a"}})).await?;
    let map = object_of(json!({"metadata": {"name": "a"}}))?;
    let taken = refused(
        case.maps().create(&PostParams::default(), &map).await,
        409,
        "AlreadyExists",
    )?;
    ensure!(taken == "configmaps \"a\" already exists", "{taken}");
    let generated = case
        .make(json!({"metadata": {"generateName": "g-"}}))
        .await?
        .name_any();
    ensure!(generated.starts_with("g-") && generated.len() == 7, "{generated}");
    let bad = object_of(json!({"metadata": {"name": "Not_A_Name"}}))?;
    let message = refused(
        case.maps().create(&PostParams::default(), &bad).await,
        422,
        "Invalid",
    )?;
    ensure!(
        message.contains("a lowercase RFC 1123 subdomain must consist of"),
        "{message}"
    );
    Ok(())
}

/// A dry run answers as if, and writes nothing.
///
/// # Errors
/// If the server behaves in another way.
pub async fn a_dry_run_writes_nothing(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "dry").await?;
    let parameters = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let made = case
        .maps()
        .create(&parameters, &object_of(json!({"metadata": {"name": "a"}}))?)
        .await?;
    ensure!(made.uid().is_some());
    ensure!(case.maps().get_opt("a").await?.is_none());
    Ok(())
}

/// The server completes a Job; what it has completed cannot be taken away.
///
/// # Errors
/// If the server behaves in another way.
pub async fn a_job_cannot_be_sent_as_a_whole_again(client: Client) -> anyhow::Result<()> {
    let case = Case::named(client, "jobs").await?;
    let job = json!({"metadata": {"name": "backup"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "a", "image": "example.com/a"}],
    }}}});
    let jobs: Api<Job> = case.api();
    let made = jobs
        .create(&PostParams::default(), &object_of(job.clone())?)
        .await?;
    ensure!(
        made.spec
            .is_some_and(|spec| spec.selector.is_some() && spec.backoff_limit == Some(6))
    );
    let mut again = job;
    again["metadata"]["resourceVersion"] = json!(made.metadata.resource_version);
    let message = refused(
        jobs.replace("backup", &PostParams::default(), &object_of(again)?)
            .await,
        422,
        "Invalid",
    )?;
    ensure!(message.contains("field is immutable"), "{message}");
    Ok(())
}

fn upgrades(case: &Case) -> Api<DynamicObject> {
    let kind = ApiResource::erase::<ManagedClustersUpgrade>(&());
    Api::namespaced_with(case.client.clone(), &case.namespace, &kind)
}

fn upgrade(spec: &Value) -> anyhow::Result<DynamicObject> {
    object_of(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "a"}, "spec": spec,
    }))
}

/// A custom kind's rules refuse in their own words, unknown fields are dropped, defaults are filled in, and the status is
/// written by itself.
///
/// # Errors
/// If the server behaves in another way.
pub async fn a_custom_kind_is_validated_pruned_and_has_a_status_of_its_own(
    client: Client,
) -> anyhow::Result<()> {
    let case = Case::named(client, "custom").await?;
    let api = upgrades(&case);
    let bad = upgrade(&json!({"clusterVersion": {"version": "four"}, "clusterSelector": {}}))?;
    let message = refused(api.create(&PostParams::default(), &bad).await, 422, "Invalid")?;
    ensure!(
        message.contains("version must be a semantic version, for example 4.14.12"),
        "{message}"
    );
    let good = upgrade(&json!({
        "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"}, "clusterSelector": {}, "unknown": 1,
    }))?;
    let made = api.create(&PostParams::default(), &good).await?;
    ensure!(
        made.data["spec"]["unknown"].is_null(),
        "unknown fields are dropped"
    );
    ensure!(made.metadata.generation == Some(1));
    let status = json!({"status": {"selectedClusters": 3}, "spec": {"paused": true}});
    let patched = api
        .patch_status("a", &PatchParams::default(), &Patch::Merge(&status))
        .await?;
    ensure!(patched.data["status"]["selectedClusters"] == 3 && patched.data["spec"]["paused"] != true);
    ensure!(
        patched.metadata.generation == Some(1),
        "the status is no new generation"
    );
    let spec = json!({"spec": {"paused": true}, "status": {"selectedClusters": 9}});
    let patched = api
        .patch("a", &PatchParams::default(), &Patch::Merge(&spec))
        .await?;
    ensure!(patched.data["status"]["selectedClusters"] == 3 && patched.metadata.generation == Some(2));
    let strategic = api
        .patch("a", &PatchParams::default(), &Patch::Strategic(&spec))
        .await;
    refused(strategic, 415, "UnsupportedMediaType")?;
    Ok(())
}
