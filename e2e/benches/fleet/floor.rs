//! What the API server takes for as many works from a client that does nothing else: no hub can be faster.

use std::time::{Duration, Instant};

use anyhow::Context;
use drydock_api::ClusterName;
use drydock_api::names::WorkKind;
use drydock_api::ocm::ManifestWork;
use drydock_objects::works::{WorkTemplate, build};
use drydock_rollout::{NewWork, Target, Uid, UpgradeKey, WorkContent};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client, Resource};
use semver::Version;
use serde_json::json;

use crate::objects;

/// The name of each.
const NAME: &str = "floor";
/// How many requests are under way at once, as in the hub.
const AT_ONCE: usize = 16;

/// Which works.
#[derive(Clone, Copy, Debug)]
pub enum Contents {
    /// One ConfigMap.
    Bare,
    /// What the hub writes.
    Full,
}

/// Makes a work for each of this many clusters, and deletes them again. Returns how long it took to make them.
pub async fn measure(client: &Client, size: usize, contents: Contents) -> anyhow::Result<Duration> {
    let works = (0..size)
        .map(|number| work(&objects::name(number), contents))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let begun = Instant::now();
    stream::iter(&works)
        .map(|work| create(client, work))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    let took = begun.elapsed();
    delete_all(client, size, NAME).await?;
    Ok(took)
}

/// Deletes the work of this name of each of this many clusters.
pub async fn delete_all(client: &Client, size: usize, name: &str) -> anyhow::Result<()> {
    stream::iter(0..size)
        .map(|number| delete(client, objects::name(number), name))
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await
}

async fn create(client: &Client, work: &ManifestWork) -> anyhow::Result<()> {
    let namespace = work.meta().namespace.as_deref().unwrap_or_default();
    Api::<ManifestWork>::namespaced(client.clone(), namespace)
        .create(&PostParams::default(), work)
        .await
        .map(drop)
        .context("creating a work")
}

async fn delete(client: &Client, cluster: String, name: &str) -> anyhow::Result<()> {
    Api::<ManifestWork>::namespaced(client.clone(), &cluster)
        .delete(name, &DeleteParams::default())
        .await
        .map(drop)
        .context("deleting a work")
}

/// One of these works.
pub fn work(cluster: &str, contents: Contents) -> anyhow::Result<ManifestWork> {
    let mut work = match contents {
        Contents::Bare => bare(cluster)?,
        Contents::Full => full(cluster)?,
    };
    work.meta_mut().name = Some(NAME.to_owned());
    // The hub does not watch these.
    work.meta_mut().labels = None;
    Ok(work)
}

fn bare(cluster: &str) -> anyhow::Result<ManifestWork> {
    let configmap = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "bare", "namespace": "default"}, "data": {"key": "value"},
    });
    serde_json::from_value(json!({
        "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
        "metadata": {"namespace": cluster},
        "spec": {"workload": {"manifests": [configmap]}},
    }))
    .context("building a bare work")
}

fn full(cluster: &str) -> anyhow::Result<ManifestWork> {
    let now = Timestamp::UNIX_EPOCH;
    let target = Target {
        channel: Some("stable-4.14".to_owned()),
        version: Some(Version::new(4, 14, 12)),
        ..Target::default()
    };
    let revision = json!({
        "generation": 1, "rolloutSince": now, "startedAt": now, "via": "ClusterVersion", "timeoutSeconds": 7200,
        "target": {"channel": "stable-4.14", "version": "4.14.12", "force": false},
    });
    let new = NewWork {
        cluster: ClusterName::from(cluster),
        kind: WorkKind::Cluster,
        revision: serde_json::from_value(revision).context("building a revision")?,
        content: WorkContent::ClusterVersion {
            target,
            cluster_id: Some(format!("00000000-0000-4000-8000-{cluster:0>12}")),
            has_architecture: true,
        },
        canary: false,
    };
    let template = WorkTemplate {
        upgrade: &UpgradeKey::new("default", "fleet"),
        uid: &Uid::new("00000000-0000-4000-8000-000000000000"),
        grant_cluster_admin: false,
        agent_image: "",
    };
    serde_json::from_value(build(&template, &new, now)).context("building a work as the hub does")
}
