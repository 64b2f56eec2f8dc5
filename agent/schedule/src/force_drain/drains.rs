//! Which nodes are drained, and since when.

use std::collections::BTreeSet;

use drydock_api::schedule::ObservedNodeDrain;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::{DrainPass, DrainSettings};
use crate::instants::{later, whole_seconds};

/// What the machine-config operator wants of a node's pods, `drain-…` or `uncordon-…`, and what of that has been done.
const WANTED: &str = "machineconfiguration.openshift.io/desiredDrain";
const DONE: &str = "machineconfiguration.openshift.io/lastAppliedDrain";
/// The annotations of a node that are looked at.
pub const DRAIN_ANNOTATIONS: [&str; 2] = [WANTED, DONE];

/// What identifies the drain of a node, if it is drained. That it is to be uncordoned is no drain.
pub(super) fn drain_of(node: &Node) -> Option<&str> {
    let annotation = |name: &str| node.annotations().get(name).map(String::as_str);
    let wanted = annotation(WANTED).filter(|wanted| !wanted.is_empty())?;
    let is_drain = !wanted.starts_with("uncordon") && annotation(DONE) != Some(wanted);
    is_drain.then_some(wanted)
}

/// Is the node drained? For the metric `node_draining`.
pub fn is_drained(node: &Node) -> bool {
    drain_of(node).is_some()
}

/// Records the drains that are under way, and forgets those that are not. Gives the nodes of which pods have to be looked at.
pub(super) fn observe(
    pass: &mut DrainPass<'_>,
    settings: &DrainSettings,
    nodes: &[Node],
) -> BTreeSet<String> {
    let known = pass.status.last_observed_node_drain.take().unwrap_or_default();
    let now = pass.seen.now;
    let mut drains: Vec<ObservedNodeDrain> = Vec::new();
    let mut overdue = BTreeSet::new();
    for node in nodes.iter().filter(|node| settings.nodes.selects(node.labels())) {
        let Some(drain) = drain_of(node) else {
            continue;
        };
        let name = node.name_any();
        let before = known
            .iter()
            .find(|known| known.node_name == name && known.drain_id == drain);
        if settings.node_grace.is_zero() {
            overdue.insert(name.clone());
        } else if let Some(before) = before {
            let due = later(before.observed_time.0, settings.node_grace);
            if now >= due {
                overdue.insert(name.clone());
            } else {
                pass.wake_at(due);
            }
        } else {
            pass.wake_after(settings.node_grace);
        }
        drains.push(before.cloned().unwrap_or_else(|| ObservedNodeDrain {
            drain_id: drain.to_owned(),
            node_name: name,
            observed_time: Time(whole_seconds(now)),
        }));
    }
    drains.sort_by(|one, other| one.node_name.cmp(&other.node_name));
    if let Some(recheck) = pass.seen.recheck.filter(|_| !drains.is_empty()) {
        pass.wake_after(recheck);
    }
    pass.status.last_observed_node_drain = (!drains.is_empty()).then_some(drains);
    overdue
}
