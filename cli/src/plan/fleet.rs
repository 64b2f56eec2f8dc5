//! The fleet as the hub shows it: what a rehearsal is made from.

use anyhow::Context;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{
    AGENT_ADDON, EndState, KIND_LABEL, PLACEMENT_LABEL, STATE_LABEL, STATE_SINCE_ANNOTATION, WorkKind,
};
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, ManifestWork,
    Placement, PlacementDecision,
};
use drydock_sandbox::access::Kind;
use drydock_sandbox::ocm::{kinds, names};
use jiff::{SignedDuration, Timestamp};
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::upgrades::hub::Hub;

/// Objects of a page.
const PAGE: u32 = 500;
/// How long clusters take where the hub has seen too few of them, in minutes (openshift 3.4).
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
        let namespace = upgrade.namespace().unwrap_or_default();
        let every = ListParams::default;
        let mut objects = copies(
            &kinds::MANAGED_CLUSTER,
            &all::<ManagedCluster>(hub, None, every()).await?,
        )?;
        let sets = all::<ManagedClusterSet>(hub, None, every()).await?;
        objects.extend(copies(&kinds::MANAGED_CLUSTER_SET, &sets)?);
        let bindings = all::<ManagedClusterSetBinding>(hub, Some(&namespace), every()).await?;
        objects.extend(copies(&kinds::MANAGED_CLUSTER_SET_BINDING, &bindings)?);
        let agents = every().fields(&format!("metadata.name={AGENT_ADDON}"));
        let agents = all::<ManagedClusterAddOn>(hub, None, agents).await?;
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
    let pages = all::<PlacementDecision>(hub, Some(namespace), pages).await?;
    let mut objects = copies(&kinds::PLACEMENT, &[found])?;
    objects.extend(copies(&kinds::PLACEMENT_DECISION, &pages)?);
    Ok(objects)
}

async fn all<K>(hub: &Hub, namespace: Option<&str>, parameters: ListParams) -> anyhow::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let resource = kube::discovery::ApiResource::erase::<K>(&());
    let api: Api<kube::api::DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(hub.client.clone(), namespace, &resource),
        None => Api::all_with(hub.client.clone(), &resource),
    };
    let what = K::plural(&()).into_owned();
    let mut parameters = parameters.limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = api
            .list(&parameters)
            .await
            .with_context(|| format!("listing the {what} of the hub"))?;
        for object in page.items {
            let value = serde_json::to_value(object).with_context(|| format!("reading one of the {what}"))?;
            found.push(serde_json::from_value(value).with_context(|| format!("reading one of the {what}"))?);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(found),
        }
    }
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
    let works = all::<ManifestWork>(hub, None, ListParams::default().labels(&complete)).await?;
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
