//! The fleet as the hub shows it: what a rehearsal is made from.

use std::fmt::Debug;

use anyhow::Context;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{
    AGENT_ADDON, EndState, KIND_LABEL, PLACEMENT_LABEL, STATE_LABEL, STATE_SINCE_ANNOTATION, WorkKind,
};
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, ManifestWork,
    Placement, PlacementDecision,
};
use drydock_runtime::pages::list_all;
use jiff::{SignedDuration, Timestamp};
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};
use kube_sandbox::access::Kind;
use ocm_sandbox::{kinds, names};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::upgrades::hub::Hub;

/// How long clusters take where the hub has seen too few of them, in minutes.
const USUAL_MINUTES: [i64; 9] = [48, 56, 62, 68, 75, 82, 90, 100, 118];
/// So many upgrades say more than what is usual.
const ENOUGH: usize = 5;

/// What is rehearsed, and with what.
#[derive(Debug)]
pub struct Fleet {
    /// The upgrade, as it would be applied.
    pub upgrade: ManagedClustersUpgrade,
    /// Copies of the hub's objects, each with its kind.
    pub objects: Vec<(Kind, Value)>,
    /// How long past upgrades of clusters took, or what is usual.
    pub durations: Vec<SignedDuration>,
}

impl Fleet {
    /// Reads the fleet that the upgrade is about.
    ///
    /// # Errors
    /// If the hub refuses.
    pub async fn read(hub: &Hub, upgrade: ManagedClustersUpgrade) -> anyhow::Result<Self> {
        let client = || hub.client.clone();
        let every = ListParams::default;
        let clusters: Vec<ManagedCluster> = all(Api::all(client()), every()).await?;
        let sets: Vec<ManagedClusterSet> = all(Api::all(client()), every()).await?;
        let namespace = upgrade.namespace().unwrap_or_default();
        let bindings = Api::namespaced(client(), &namespace);
        let bindings: Vec<ManagedClusterSetBinding> = all(bindings, every()).await?;
        let agents = every().fields(&format!("metadata.name={AGENT_ADDON}"));
        let agents: Vec<ManagedClusterAddOn> = all(Api::all(client()), agents).await?;
        let mut objects = copies(&kinds::MANAGED_CLUSTER, &clusters)?;
        objects.extend(copies(&kinds::MANAGED_CLUSTER_SET, &sets)?);
        objects.extend(copies(&kinds::MANAGED_CLUSTER_SET_BINDING, &bindings)?);
        objects.extend(copies(&kinds::MANAGED_CLUSTER_ADD_ON, &agents)?);
        for reference in upgrade.spec.placement.iter().flatten() {
            objects.extend(placement(hub, &reference.namespace, &reference.name).await?);
        }
        Ok(Self {
            durations: durations(hub).await?,
            upgrade,
            objects,
        })
    }
}

/// A Placement with the decisions that it has: nobody decides it anew.
async fn placement(hub: &Hub, namespace: &str, name: &str) -> anyhow::Result<Vec<(Kind, Value)>> {
    let placements: Api<Placement> = Api::namespaced(hub.client.clone(), namespace);
    let found = placements
        .get_opt(name)
        .await
        .with_context(|| format!("reading the Placement {namespace}/{name}"))?;
    let Some(mut found) = found else {
        return Ok(Vec::new());
    };
    let disabled = (names::SCHEDULING_DISABLED.to_owned(), "true".to_owned());
    found.annotations_mut().extend([disabled]);
    let pages = ListParams::default().labels(&format!("{PLACEMENT_LABEL}={name}"));
    let decisions = Api::namespaced(hub.client.clone(), namespace);
    let pages: Vec<PlacementDecision> = all(decisions, pages).await?;
    let mut objects = copies(&kinds::PLACEMENT, &[found])?;
    objects.extend(copies(&kinds::PLACEMENT_DECISION, &pages)?);
    Ok(objects)
}

async fn all<K>(api: Api<K>, parameters: ListParams) -> anyhow::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let found = list_all(&api, parameters).await;
    found.with_context(|| format!("listing the {} of the hub", K::plural(&())))
}

/// The objects without what the server of the rehearsal gives them itself.
fn copies<K: Resource<DynamicType = ()> + Serialize>(
    kind: &Kind,
    objects: &[K],
) -> anyhow::Result<Vec<(Kind, Value)>> {
    let copy = |object: &K| {
        let mut value = serde_json::to_value(object).context("copying an object of the hub")?;
        value["apiVersion"] = kind.api_version().into();
        value["kind"] = K::kind(&()).into_owned().into();
        let meta = object.meta();
        value["metadata"] =
            json!({"name": meta.name, "labels": meta.labels, "annotations": meta.annotations});
        if let Some(namespace) = &meta.namespace {
            value["metadata"]["namespace"] = namespace.as_str().into();
        }
        Ok((kind.clone(), value))
    };
    objects.iter().map(copy).collect()
}

/// How long clusters took that any upgrade of this hub has completed.
async fn durations(hub: &Hub) -> anyhow::Result<Vec<SignedDuration>> {
    let complete = format!(
        "{KIND_LABEL}={},{STATE_LABEL}={}",
        WorkKind::Cluster.as_str(),
        EndState::Complete.as_str()
    );
    let works = Api::all(hub.client.clone());
    let works: Vec<ManifestWork> = all(works, ListParams::default().labels(&complete)).await?;
    let seen: Vec<SignedDuration> = works.iter().filter_map(took).collect();
    if seen.len() >= ENOUGH {
        return Ok(seen);
    }
    Ok(USUAL_MINUTES.map(SignedDuration::from_mins).to_vec())
}

fn took(work: &ManifestWork) -> Option<SignedDuration> {
    let ended: Timestamp = work.annotations().get(STATE_SINCE_ANNOTATION)?.parse().ok()?;
    let took = ended.duration_since(work.creation_timestamp()?.0);
    (took > SignedDuration::from_mins(1)).then_some(took)
}
