//! What decisions need of nodes, pods and PodDisruptionBudgets.

use std::collections::BTreeMap;

use drydock_api::openshift::machine_config::{CURRENT_CONFIG, DESIRED_CONFIG};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

/// The taint of a cordoned node.
const CORDONED: &str = "node.kubernetes.io/unschedulable";
/// The taints of a node that has too little of something.
const PRESSURE: [(&str, &str); 3] = [
    ("node.kubernetes.io/memory-pressure", "memory"),
    ("node.kubernetes.io/disk-pressure", "disk space"),
    ("node.kubernetes.io/pid-pressure", "process ids"),
];
/// What the machine-config operator says of a node.
const MCO_STATE: &str = "machineconfiguration.openshift.io/state";
/// What it wants of the node's pods, `drain-…` or `uncordon-…`, and what of that has been done.
const MCO_DRAIN: &str = "machineconfiguration.openshift.io/desiredDrain";
const MCO_DRAINED: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
/// Mark of the mirror of a static pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedNode {
    /// Its name.
    pub name: String,
    /// Whether it is one of the users' workers, and not of the infrastructure.
    pub is_worker: bool,
    /// Whether it is one of the control plane.
    pub is_master: bool,
    /// Whether it takes no pods.
    pub cordon: Option<Cordon>,
    /// Whether the machine-config operator drains it, or is about to.
    pub mco_works: bool,
    /// What the machine-config operator wants of its pods, which distinguishes one drain from the next.
    pub drain_mark: String,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether it has not got yet the configuration that it is to get.
    pub is_updating: bool,
    /// Since when it is not ready, if it is not.
    pub unready_since: Option<Timestamp>,
    /// What it has too little of.
    pub pressure: Vec<&'static str>,
}

/// That a node takes no pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cordon {
    /// Since when, if that is known.
    pub since: Option<Timestamp>,
}

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The node on which it runs.
    pub node: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Whether it belongs to the node: of a DaemonSet, or the mirror of a static pod.
    pub is_bound_to_node: bool,
    /// Whether it has finalizers.
    pub has_finalizers: bool,
    /// Until when its containers have time to end, if it is being deleted.
    pub deletes_by: Option<Timestamp>,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug)]
pub struct Budget {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Which pods it covers; none if it says nothing of them.
    pub selector: Option<Selector>,
    /// Why it never allows an eviction, if so.
    pub forbids: Option<String>,
}

impl Budget {
    /// Whether it covers a pod.
    pub fn covers(&self, pod: &ObservedPod) -> bool {
        self.namespace == pod.namespace
            && self
                .selector
                .as_ref()
                .is_some_and(|selector| selector.matches(&pod.labels))
    }
}

/// Reads a node.
pub fn node(node: &Node) -> ObservedNode {
    let labels = node.labels();
    let spec = node.spec.clone().unwrap_or_default();
    let taints = spec.taints.unwrap_or_default();
    let unschedulable = taints
        .iter()
        .find(|taint| taint.key == CORDONED && taint.effect == "NoSchedule");
    let has_taint = |key: &str| {
        taints
            .iter()
            .any(|taint| taint.key == key && taint.effect == "NoSchedule")
    };
    ObservedNode {
        name: node.name_any(),
        is_worker: labels.contains_key("node-role.kubernetes.io/worker")
            && !labels.contains_key("node-role.kubernetes.io/infra"),
        is_master: labels.contains_key("node-role.kubernetes.io/master"),
        cordon: unschedulable
            .filter(|_| spec.unschedulable == Some(true))
            .map(|taint| Cordon {
                since: taint.time_added.as_ref().map(|time| time.0),
            }),
        mco_works: mco_works(node),
        drain_mark: node.annotations().get(MCO_DRAIN).cloned().unwrap_or_default(),
        is_deleting: node.metadata.deletion_timestamp.is_some(),
        is_updating: node.annotations().get(CURRENT_CONFIG) != node.annotations().get(DESIRED_CONFIG),
        unready_since: unready_since(node),
        pressure: PRESSURE
            .iter()
            .filter(|(key, _)| has_taint(key))
            .map(|(_, what)| *what)
            .collect(),
    }
}

fn unready_since(node: &Node) -> Option<Timestamp> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    let since = ready.last_transition_time.as_ref()?;
    (ready.status != "True").then_some(since.0)
}

/// Whether the machine-config operator is at work on a node. A drain that takes an hour makes it `Degraded`, and continues;
/// one that has been done is over, however long what follows takes.
fn mco_works(node: &Node) -> bool {
    let annotation = |key: &str| node.annotations().get(key).map(String::as_str);
    let wanted = annotation(MCO_DRAIN).filter(|drain| drain.starts_with("drain-"));
    let is_drained = wanted.is_some() && annotation(MCO_DRAINED) == wanted;
    match annotation(MCO_STATE) {
        Some("Working") => !is_drained,
        Some("Degraded") => wanted.is_some() && !is_drained,
        _ => false,
    }
}

/// Reads a pod.
pub fn pod(pod: &Pod) -> ObservedPod {
    let spec = pod.spec.as_ref();
    ObservedPod {
        namespace: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        node: spec.and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
        labels: pod.labels().clone(),
        is_bound_to_node: pod
            .owner_references()
            .iter()
            .any(|owner| owner.kind == "DaemonSet")
            || pod.annotations().contains_key(MIRROR),
        has_finalizers: !pod.finalizers().is_empty(),
        deletes_by: pod.metadata.deletion_timestamp.as_ref().map(|time| time.0),
    }
}

/// Reads a PodDisruptionBudget.
pub fn budget(budget: &PodDisruptionBudget) -> Budget {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone());
    Budget {
        namespace: budget.namespace().unwrap_or_default(),
        name: budget.name_any(),
        selector: selector.and_then(|selector| Selector::try_from(selector).ok()),
        forbids: forbids(budget),
    }
}

/// Why a budget never allows an eviction.
fn forbids(budget: &PodDisruptionBudget) -> Option<String> {
    let spec = budget.spec.as_ref()?;
    let is = |value: &IntOrString, number: i32, percent: &str| match value {
        IntOrString::Int(value) => *value == number,
        IntOrString::String(value) => value == percent,
    };
    if spec
        .max_unavailable
        .as_ref()
        .is_some_and(|most| is(most, 0, "0%"))
    {
        return Some("it allows no pod to be unavailable".to_owned());
    }
    let least = spec.min_available.as_ref()?;
    if matches!(least, IntOrString::String(percent) if percent == "100%") {
        return Some("it wants all pods to be available".to_owned());
    }
    let status = budget.status.as_ref()?;
    let IntOrString::Int(least) = least else {
        return None;
    };
    (status.disruptions_allowed == 0 && status.expected_pods > 0 && *least >= status.expected_pods).then(
        || {
            format!(
                "it wants {least} pods to be available and covers {}",
                status.expected_pods
            )
        },
    )
}
