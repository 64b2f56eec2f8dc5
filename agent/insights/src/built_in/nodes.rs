//! What nodes say (insights.md, section 2.5): those that are not available, whose daemon has failed, or that somebody has cordoned.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::openshift::MachineConfigPool;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;

use super::Question;
use super::draft::{Draft, object};
use crate::finding::Finding;
use crate::status::{Availability, is_being_updated, is_degraded, keys};

pub(super) fn findings(
    all: &[Node],
    by_pool: &BTreeMap<String, Vec<&Node>>,
    pools: &[MachineConfigPool],
    question: Question<'_>,
    now: Timestamp,
) -> Vec<Finding> {
    let of_pools = pools.iter().flat_map(|pool| {
        let nodes = by_pool.get(&pool.name_any());
        nodes.into_iter().flatten().map(move |node| (*node, pool))
    });
    let found = of_pools.flat_map(|(node, pool)| {
        let of_plan = question.is_plan().then(|| [cordoned(node), unknown(node)]);
        let drafts = [degraded(node), unavailable(node, pool, question, now)];
        let name = pool.name_any();
        let of_plan = of_plan.into_iter().flatten();
        drafts
            .into_iter()
            .chain(of_plan)
            .flatten()
            .map(move |draft| draft.finding(now).in_pool(&name))
    });
    let outside = nodes_outside(all, by_pool, question);
    let outside = outside.flat_map(|node| {
        [
            unavailable_draft(node, Availability::of_node(node), now),
            degraded(node),
            cordoned(node),
            unknown(node),
        ]
        .into_iter()
        .flatten()
        .map(move |draft| draft.finding(now))
    });
    found.chain(outside).collect()
}

/// Before an update, the nodes that no pool has: where there are no pools, as on a hosted control plane, all of them.
fn nodes_outside<'a>(
    all: &'a [Node],
    by_pool: &BTreeMap<String, Vec<&'a Node>>,
    question: Question<'_>,
) -> impl Iterator<Item = &'a Node> {
    let in_pools: BTreeSet<_> = by_pool.values().flatten().map(|node| node.name_any()).collect();
    all.iter()
        .filter(move |node| question.is_plan() && !in_pools.contains(&node.name_any()))
}

pub(super) fn node(name: &str) -> ResourceReference {
    object("", "Node", name)
}

fn draft(uid: &'static str, name: &str, level: Level, summary: String, action: String) -> Draft {
    Draft {
        uid,
        level,
        impact_type: ImpactType::UpdateSpeed,
        summary,
        description: String::new(),
        action,
        verify: format!("kubectl get node {name}"),
        reference: None,
        resources: vec![node(name)],
    }
}

fn degraded(node: &Node) -> Option<Draft> {
    let name = node.name_any();
    is_degraded(node).then(|| Draft {
        impact_type: ImpactType::UpdateStalled,
        description: keys::annotation(node, keys::REASON).to_owned(),
        verify: format!(
            r"kubectl get node {name} -o jsonpath='{{.metadata.annotations.machineconfiguration\.openshift\.io/state}}'"
        ),
        ..draft(
            "node-degraded",
            &name,
            Level::Error,
            format!("Node {name} cannot be configured"),
            format!(
                "Read the reason that its machine-config-daemon gives, and the logs that this names, and get node {name} to be configured"
            ),
        )
    })
}

/// A node that is being updated is not available for a while, and says so itself, unless that lasts longer than a reboot takes. Before an update
/// that is no reason.
fn unavailable(
    node: &Node,
    pool: &MachineConfigPool,
    question: Question<'_>,
    now: Timestamp,
) -> Option<Draft> {
    // What `oc` leaves out of a status for the node's image is no reason to begin an update.
    let availability = match question {
        Question::Status => Availability::of(node, pool),
        Question::Plan(_) => Availability::of_node(node),
    };
    let is_expected =
        question == Question::Status && is_being_updated(node) && !availability.is_unready_for_long(now);
    unavailable_draft(node, availability, now).filter(|_| !is_expected)
}

fn unavailable_draft(node: &Node, availability: Availability, now: Timestamp) -> Option<Draft> {
    let name = node.name_any();
    let availability = availability.most_certain();
    availability.is_serious(now).then(|| Draft {
        description: availability.description(),
        ..draft(
            "node-unavailable",
            &name,
            Level::Warning,
            availability.summary(&name),
            format!("Get node {name} to be ready again, or remove it"),
        )
    })
}

/// Its kubelet has never said how it is.
fn unknown(node: &Node) -> Option<Draft> {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_known = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready");
    let name = node.name_any();
    (!is_known).then(|| {
        draft(
            "node-unknown",
            &name,
            Level::Unknown,
            format!("Node {name} does not say whether it is ready"),
            format!("Look at the kubelet of node {name}, or remove the node"),
        )
    })
}

/// No pod can move to it, and nobody says until when.
fn cordoned(node: &Node) -> Option<Draft> {
    let is_cordoned = node
        .spec
        .as_ref()
        .is_some_and(|spec| spec.unschedulable == Some(true));
    let name = node.name_any();
    (is_cordoned && !is_being_updated(node)).then(|| {
        draft(
            "node-cordoned",
            &name,
            Level::Warning,
            format!("Node {name} is cordoned: pods of nodes that are drained cannot move to it"),
            format!("Make it schedulable: kubectl uncordon {name}"),
        )
    })
}
