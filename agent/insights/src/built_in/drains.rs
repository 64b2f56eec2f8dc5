//! What nodes wait for that are being drained (insights.md, section 5, point 3): pods, the budgets that keep them, and whose they are. Since when
//! is what is remembered of the finding.

use std::collections::BTreeMap;

use drydock_api::insights::{ImpactType, Level};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;

use super::DrainingNode;
use super::disruption_budgets::{is_blocking, is_of};
use super::draft::Draft;
use super::nodes::node;
use super::pods::{is_over, owner, stays};
use crate::finding::Finding;
use crate::status::is_drain_wanted;

/// How many pods are named.
const SHOWN: usize = 5;
/// How many nodes are looked at: each is a request.
const MOST_NODES: usize = 16;
/// After how many minutes the machine config operator calls a drain failed.
const DRAIN_TIMEOUT: i64 = 60;
/// How long after its time a pod does not end by itself any more.
const OVERDUE: SignedDuration = SignedDuration::from_mins(5);

/// The nodes that are being drained: their pods have to be read.
pub fn draining_nodes(nodes: &[Node]) -> Vec<String> {
    let draining = nodes.iter().filter(|node| is_drain_wanted(node));
    draining.map(ResourceExt::name_any).take(MOST_NODES).collect()
}

/// What these nodes wait for, each in its pool.
pub(super) fn findings(
    draining: &[DrainingNode],
    by_pool: &BTreeMap<String, Vec<&Node>>,
    budgets: &[PodDisruptionBudget],
    now: Timestamp,
) -> Vec<Finding> {
    let found = draining.iter().map(|draining| {
        let is_it = |nodes: &[&Node]| nodes.iter().any(|node| node.name_any() == draining.name);
        let mut pools = by_pool.iter();
        let pool = pools.find(|(_, nodes)| is_it(nodes)).map(|(pool, _)| pool);
        let finding = draft(draining, budgets, now).finding(now);
        match pool {
            Some(pool) => finding.in_pool(pool),
            None => finding,
        }
    });
    found.collect()
}

fn draft(draining: &DrainingNode, budgets: &[PodDisruptionBudget], now: Timestamp) -> Draft {
    let name = &draining.name;
    let mut left: Vec<(bool, String)> = draining
        .pods
        .iter()
        .filter(|pod| !is_over(pod) && !stays(pod))
        .map(|pod| words(pod, budgets))
        .collect();
    // Those that are kept first: they are why it takes so long.
    left.sort_by(|one, other| (other.0, &one.1).cmp(&(one.0, &other.1)));
    let kept = left.iter().filter(|(is_kept, _)| *is_kept).count();
    let mut lines: Vec<String> = left.iter().take(SHOWN).map(|(_, words)| words.clone()).collect();
    if left.len() > SHOWN {
        lines.push(format!("and {} more", left.len() - SHOWN));
    }
    let summary = match (left.len(), kept) {
        (0, _) => format!("Node {name} is being drained: no pod is left"),
        (pods, 0) => format!("Node {name} is being drained: pods left: {pods}"),
        (pods, kept) => format!("Node {name} is being drained: pods left: {pods}, kept by a budget: {kept}"),
    };
    Draft {
        uid: "node-draining",
        level: Level::Status,
        impact_type: ImpactType::UpdateSpeed,
        summary,
        description: lines.join("\n"),
        action: overdue(draining, now).unwrap_or_else(|| {
            format!(
                "Nothing for {DRAIN_TIMEOUT} minutes; then get the pods that are kept another replica, or delete them"
            )
        }),
        verify: format!("kubectl get pods -A --field-selector spec.nodeName={name}"),
        reference: None,
        resources: vec![node(name)],
    }
}

/// What to do about a pod that should have ended long ago, if there is one: to delete it once more changes nothing.
fn overdue(draining: &DrainingNode, now: Timestamp) -> Option<String> {
    let is_overdue = |pod: &&Pod| {
        let by = pod.metadata.deletion_timestamp.as_ref();
        !is_over(pod) && !stays(pod) && by.is_some_and(|by| now.duration_since(by.0) >= OVERDUE)
    };
    let pod = draining.pods.iter().find(is_overdue)?;
    let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
    Some(format!(
        "See why pod {namespace}/{name} does not end: its finalizers, or the kubelet of node {}; where nothing of it runs any more: kubectl delete \
         pod {name} -n {namespace} --force",
        draining.name
    ))
}

/// Is it kept by a budget, and what is said of it?
fn words(pod: &Pod, budgets: &[PodDisruptionBudget]) -> (bool, String) {
    let name = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
    let of = owner(pod);
    if let Some(deleted) = &pod.metadata.deletion_timestamp {
        let words = format!(
            "pod {name}, of {of}, is terminating, and was to have ended by {}",
            deleted.0
        );
        return (false, words);
    }
    let budget = budgets
        .iter()
        .find(|budget| is_blocking(budget) && is_of(budget, pod));
    match budget {
        Some(budget) => (
            true,
            format!("pod {name}, of {of}, is kept by budget {}", budget.name_any()),
        ),
        None => (false, format!("pod {name}, of {of}")),
    }
}
