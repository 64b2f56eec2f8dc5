//! NodeForceDrain: deletes pods that hold up the drain of a node.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::absent_spec::default_if_absent;

/// When the drain of a node is forced, and which pods may be deleted for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "managedupgrade.appuio.io",
    version = "v1beta1",
    kind = "NodeForceDrain",
    plural = "nodeforcedrains",
    singular = "nodeforcedrain",
    shortname = "nfdr",
    namespaced,
    status = "NodeForceDrainStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "NodeForceDrain deletes pods that hold up the drain of a node for too long. It ignores PodDisruptionBudgets.",
    printcolumn = r#"{"name": "Node grace", "type": "string", "jsonPath": ".spec.nodeDrainGracePeriod"}"#,
    printcolumn = r#"{"name": "Pod grace", "type": "string", "jsonPath": ".spec.podForceDeleteGracePeriod"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase", from = "Option<SpecOnTheWire>")]
#[schemars(!from)]
pub struct NodeForceDrainSpec {
    /// The nodes, by their labels: an empty selector selects all of them.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub node_selector: LabelSelector,
    /// The namespaces whose pods may be deleted, by their labels: an empty selector selects all of them. Default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub namespace_selector: Option<LabelSelector>,
    /// The pods that may be deleted: a jq program that is run for each pod and puts out true for those, such as
    /// `.metadata.namespace | test("-dev$")`. What it puts out that is not a boolean is ignored; an error before a true leaves the pod alone.
    /// Default all.
    #[serde(default, rename = "podJQSelector", skip_serializing_if = "Option::is_none")]
    pub pod_jq_selector: Option<String>,
    /// How long a drain may take until pods are deleted. They are deleted, not evicted. With 0 no pods are deleted.
    pub node_drain_grace_period: String,
    /// How long the deletion of a pod may take until the pod is killed, on nodes whose drain has taken longer than nodeDrainGracePeriod.
    /// With 0 no pods are killed.
    pub pod_force_delete_grace_period: String,
}

default_if_absent!(NodeForceDrainSpec {
    node_selector: LabelSelector,
    namespace_selector: Option<LabelSelector>,
    #[serde(rename = "podJQSelector")]
    pod_jq_selector: Option<String>,
    node_drain_grace_period: String,
    pod_force_delete_grace_period: String,
});

impl Default for NodeForceDrainSpec {
    /// No pods are deleted, and none are killed.
    fn default() -> Self {
        Self {
            node_selector: LabelSelector::default(),
            namespace_selector: None,
            pod_jq_selector: None,
            node_drain_grace_period: "0s".to_owned(),
            pod_force_delete_grace_period: "0s".to_owned(),
        }
    }
}

/// The drains that have been observed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeForceDrainStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The last drain of each node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_observed_node_drain: Option<Vec<ObservedNodeDrain>>,
    /// Ready: can the selectors be used?
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::conditions::deserialize_some"
    )]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,
}

/// A drain of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObservedNodeDrain {
    /// The annotation of the machine-config operator that identifies the drain.
    #[serde(rename = "drainID")]
    pub drain_id: String,
    /// The node.
    pub node_name: String,
    /// When the drain was first observed.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub observed_time: Time,
}
