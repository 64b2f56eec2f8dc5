//! The update graph: which versions a channel leads to from here.

use std::collections::{BTreeSet, HashSet};

use bytes::Bytes;
use http::Request;
use serde::Deserialize;

use crate::http::{self as bounded, Exchange, HttpError, Limits};
use drydock_engine::facts::ObservedCluster;

/// Where the graph is if ClusterVersion does not say.
const DEFAULT: &str = "https://api.openshift.com/api/upgrades_info/v1/graph";

#[derive(Debug, Deserialize)]
struct Graph {
    #[serde(default)]
    nodes: Vec<GraphNode>,
    #[serde(default)]
    edges: Vec<(usize, usize)>,
    #[serde(default, rename = "conditionalEdges")]
    conditional_edges: Vec<ConditionalEdges>,
}

#[derive(Debug, Deserialize)]
struct GraphNode {
    version: String,
}

#[derive(Debug, Deserialize)]
struct ConditionalEdges {
    #[serde(default)]
    edges: Vec<ConditionalEdge>,
}

#[derive(Debug, Deserialize)]
struct ConditionalEdge {
    from: String,
    to: String,
}

/// The architecture of this machine, as the graph calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

/// The address of the graph of a channel.
pub(crate) fn address(cluster: &ObservedCluster, current: &str, channel: &str) -> String {
    let upstream = cluster
        .upstream
        .as_deref()
        .filter(|upstream| !upstream.is_empty());
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("channel", channel)
        .append_pair("arch", architecture())
        .append_pair("id", &cluster.id)
        .append_pair("version", current)
        .finish();
    let upstream = upstream.unwrap_or(DEFAULT);
    let joint = if upstream.contains('?') { '&' } else { '?' };
    format!("{upstream}{joint}{query}")
}

/// The versions to which an edge, conditional or not, leads from `current`.
fn reachable(graph: &Graph, current: &str) -> BTreeSet<String> {
    let from: HashSet<usize> = (0..graph.nodes.len())
        .filter(|index| graph.nodes[*index].version == current)
        .collect();
    let plain = graph
        .edges
        .iter()
        .filter(|(origin, _)| from.contains(origin))
        .filter_map(|(_, to)| graph.nodes.get(*to))
        .map(|release| release.version.clone());
    let conditional = graph
        .conditional_edges
        .iter()
        .flat_map(|edges| &edges.edges)
        .filter(|edge| edge.from == current)
        .map(|edge| edge.to.clone());
    plain.chain(conditional).collect()
}

/// Asks the graph.
///
/// # Errors
/// If there is no answer that can be understood, or the address is none.
pub(crate) async fn versions(
    exchange: &Exchange,
    cluster: &ObservedCluster,
    current: &str,
    channel: &str,
) -> Result<BTreeSet<String>, HttpError> {
    let uri = address(cluster, current, channel);
    let request = Request::get(&uri)
        .header("accept", "application/json")
        .body(Bytes::new())
        .map_err(|error| HttpError::Unreachable {
            target: uri,
            reason: error.to_string(),
        })?;
    // The graph of a channel has some hundred kilobytes.
    let limits = Limits {
        bytes: 16 << 20,
        ..Limits::default()
    };
    let answer = bounded::send(exchange, request, limits).await?.success()?;
    Ok(reachable(&answer.json()?, current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_lead_from_the_current_version_whether_conditional_or_not() {
        let graph: Graph = serde_json::from_value(serde_json::json!({
            "nodes": [{"version": "4.14.9"}, {"version": "4.15.1"}, {"version": "4.15.2"}],
            "edges": [[0, 1], [1, 2], [0, 99]],
            "conditionalEdges": [{"edges": [{"from": "4.14.9", "to": "4.15.3"}, {"from": "4.15.1", "to": "4.15.4"}]}],
        }))
        .unwrap();
        let versions: Vec<String> = reachable(&graph, "4.14.9").into_iter().collect();
        assert_eq!(versions, ["4.15.1", "4.15.3"]);
    }

    #[test]
    fn the_address_says_what_the_cluster_is() {
        let cluster = ObservedCluster {
            id: "abc".to_owned(),
            upstream: Some("https://graph.example/g?x=1".to_owned()),
            ..ObservedCluster::default()
        };
        let address = address(&cluster, "4.14.9", "stable-4.15");
        assert!(address.starts_with("https://graph.example/g?x=1&channel=stable-4.15&arch="));
        assert!(address.ends_with("&id=abc&version=4.14.9"));
    }
}
