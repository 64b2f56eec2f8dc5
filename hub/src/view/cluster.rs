//! What decisions need of a ManagedCluster.

use std::sync::Arc;

use drydock_api::conditions;
use drydock_api::names::{
    AVAILABLE, CLUSTER_ID_CLAIM, CLUSTER_ID_LABEL, CLUSTER_VERSION_CLAIM, HUB_ACCEPTED, JOINED,
};
use drydock_api::ocm::ManagedCluster;
use drydock_rollout::{Cluster, Taint};
use kube::ResourceExt;
use semver::Version;

/// Reads a ManagedCluster. Whether our agent is there is not known here.
pub(super) fn digest(cluster: &ManagedCluster) -> Arc<Cluster> {
    let is = |type_| conditions::is_true(cluster.conditions(), type_);
    let taints = cluster.spec.taints.iter().map(|taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
    });
    let id = cluster.claim(CLUSTER_ID_CLAIM);
    let id = id.or_else(|| cluster.labels().get(CLUSTER_ID_LABEL).map(String::as_str));
    Arc::new(Cluster {
        labels: cluster.labels().clone(),
        accepted: is(HUB_ACCEPTED),
        joined: is(JOINED),
        available: is(AVAILABLE),
        available_since: conditions::find(cluster.conditions(), AVAILABLE)
            .and_then(|condition| condition.last_transition_time.value())
            .and_then(|text| text.parse().ok()),
        taints: taints.collect(),
        version: cluster
            .claim(CLUSTER_VERSION_CLAIM)
            .and_then(|text| Version::parse(text).ok()),
        cluster_id: id.map(str::to_owned),
    })
}
