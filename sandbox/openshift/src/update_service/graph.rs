//! The graph of a channel, as it goes over the wire.

use std::collections::BTreeMap;

use semver::Version;
use serde_json::{Value, json};

use super::request::GraphRequest;
use crate::cluster::model::{ChannelRelease, channel_releases};

/// All releases of the channel, whatever the client runs. A channel that nobody has has none.
pub(super) fn of_channel(request: &GraphRequest, risky: bool) -> Value {
    let releases = if matches!(request.arch.as_str(), "amd64" | "multi") {
        channel_releases(&request.channel)
    } else {
        Vec::new()
    };
    let index: BTreeMap<&Version, usize> = releases
        .iter()
        .enumerate()
        .map(|(index, release)| (&release.version, index))
        .collect();
    let edges: Vec<(usize, usize)> = releases
        .iter()
        .enumerate()
        .flat_map(|(from, release)| {
            let to = release.updates.iter().filter_map(|version| index.get(version));
            to.map(move |to| (from, *to))
        })
        .collect();
    let nodes: Vec<Value> = releases
        .iter()
        .map(|release| node(release, &request.arch))
        .collect();
    let conditional: Vec<Value> = if risky {
        vec![conditional_edges(&releases, &edges)]
    } else {
        Vec::new()
    };
    let edges: Vec<[usize; 2]> = if risky {
        Vec::new()
    } else {
        edges.into_iter().map(|(from, to)| [from, to]).collect()
    };
    json!({"version": 1, "nodes": nodes, "edges": edges, "conditionalEdges": conditional})
}

fn node(release: &ChannelRelease, arch: &str) -> Value {
    json!({
        "version": release.version.to_string(),
        "payload": release.image,
        "metadata": {
            "url": release.url,
            "io.openshift.upgrades.graph.release.channels": release.channels.join(","),
            "io.openshift.upgrades.graph.release.manifestref":
                release.image.rsplit_once('@').map_or("", |(_, digest)| digest),
            "release.openshift.io/architecture": arch,
        },
    })
}

fn conditional_edges(releases: &[ChannelRelease], edges: &[(usize, usize)]) -> Value {
    let edges: Vec<Value> = edges
        .iter()
        .map(|(from, to)| {
            let text = |index: usize| releases[index].version.to_string();
            json!({"from": text(*from), "to": text(*to)})
        })
        .collect();
    json!({
        "edges": edges,
        "risks": [{
            "url": "https://issues.redhat.com/browse/MCO-958",
            "name": "SandboxRisk",
            "message": "Every update has this risk in the sandbox.",
            "matchingRules": [{"type": "Always"}],
        }],
    })
}
