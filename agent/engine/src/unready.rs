//! The worker that does not come back from its reboot (openshift.md, failure F16). It counts as unavailable in its pool, which then updates no more
//! nodes than it may.

use drydock_api::openshift::machine_config::LONGEST_REBOOT;
use drydock_api::upgradeconfig::UnreadyNode;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::drains::ObservedNode;

/// The node that has not been ready for longest, if that is longer than a reboot takes.
pub fn longest(nodes: &[ObservedNode], now: Timestamp) -> Option<UnreadyNode> {
    let workers = nodes
        .iter()
        .filter(|node| !node.is_master && !node.is_deleting && (node.is_worker || node.is_updating));
    let unready = workers.filter_map(|node| Some((node.unready_since?, &node.name)));
    let (since, node) = unready.min()?;
    (now.duration_since(since) >= LONGEST_REBOOT).then(|| UnreadyNode {
        node: node.clone(),
        start_time: Time(since),
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::phase::fixture::START;

    fn node(name: &str, minutes: i64) -> ObservedNode {
        ObservedNode {
            name: name.to_owned(),
            is_worker: true,
            unready_since: Some(START - SignedDuration::from_mins(minutes)),
            ..ObservedNode::default()
        }
    }

    #[test]
    fn the_node_that_is_longest_down_is_named() {
        let named = |nodes: &[ObservedNode]| longest(nodes, START).map(|found| found.node);
        let ready = ObservedNode {
            unready_since: None,
            ..node("ready", 0)
        };
        let master = ObservedNode {
            is_master: true,
            ..node("master", 90)
        };
        let going = ObservedNode {
            is_deleting: true,
            ..node("going", 80)
        };
        let of_others = ObservedNode {
            is_worker: false,
            ..node("infra", 70)
        };
        let updating = ObservedNode {
            is_updating: true,
            ..of_others.clone()
        };
        for (nodes, expected) in [
            (vec![ready.clone(), node("a", 14)], None),
            (vec![ready, node("a", 15)], Some("a")),
            (vec![node("a", 20), node("b", 21), node("c", 16)], Some("b")),
            (vec![master, going, of_others, node("a", 16)], Some("a")),
            (vec![updating, node("a", 16)], Some("infra")),
        ] {
            assert_eq!(named(&nodes).as_deref(), expected, "{nodes:?}");
        }
    }
}
