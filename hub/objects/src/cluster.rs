//! What decisions need of a ManagedCluster.

use std::sync::Arc;

use drydock_api::conditions;
use drydock_api::names::{
    AVAILABLE, CLUSTER_ID_CLAIM, CLUSTER_ID_LABEL, CLUSTER_VERSION_CLAIM, HUB_ACCEPTED, JOINED, PRODUCT_CLAIM,
};
use drydock_api::ocm::ManagedCluster;
use drydock_rollout::{ClusterFacts, Taint};
use kube::ResourceExt;
use semver::Version;

/// Reads a ManagedCluster. Whether our agent is there is not known here.
pub fn digest(cluster: &ManagedCluster) -> Arc<ClusterFacts> {
    let is = |type_| conditions::is_true(cluster.conditions(), type_);
    let taints = cluster.spec.taints.iter().map(|taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
    });
    let id = cluster.claim(CLUSTER_ID_CLAIM);
    let id = id.or_else(|| cluster.labels().get(CLUSTER_ID_LABEL).map(String::as_str));
    Arc::new(ClusterFacts {
        created: cluster
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|created| created.0),
        labels: cluster.labels().into(),
        accepted: is(HUB_ACCEPTED) && cluster.spec.hub_accepts_client != Some(false),
        joined: is(JOINED),
        deleting: cluster.metadata.deletion_timestamp.is_some(),
        available: is(AVAILABLE),
        available_since: conditions::find(cluster.conditions(), AVAILABLE)
            .and_then(|condition| condition.last_transition_time.value())
            .and_then(|text| text.parse().ok()),
        taints: taints.collect(),
        version: cluster
            .claim(CLUSTER_VERSION_CLAIM)
            .filter(|text| text.len() <= 128)
            .and_then(|text| Version::parse(text).ok()),
        cluster_id: id.map(str::to_owned),
        product: cluster.claim(PRODUCT_CLAIM).map(str::to_owned),
    })
}
