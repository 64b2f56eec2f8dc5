//! Nodes are many and change all the time: no more of them is asked for than their metadata.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Event, watcher};

use crate::reconcile::follow::Reports;
use drydock_schedule::force_drain::DRAIN_ANNOTATIONS;

/// Watches all nodes.
pub(super) fn watch(api: Api<PartialObjectMeta<Node>>) -> Reports<Node> {
    watcher(api, watcher::Config::default())
        .map_ok(without_status)
        .boxed()
}

fn without_status(event: Event<PartialObjectMeta<Node>>) -> Event<Node> {
    let node = |object: PartialObjectMeta<Node>| Node {
        metadata: object.metadata,
        ..Node::default()
    };
    match event {
        Event::Apply(object) => Event::Apply(node(object)),
        Event::Delete(object) => Event::Delete(node(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(node(object)),
        Event::InitDone => Event::InitDone,
    }
}

/// Leaves the labels, and what says whether the node is drained.
pub(super) fn trim(node: &mut Node) {
    let annotations = node.metadata.annotations.get_or_insert_default();
    annotations.retain(|name, _| DRAIN_ANNOTATIONS.contains(&name.as_str()));
}
