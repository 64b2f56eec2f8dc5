//! Which findings follow from others (insights.md, section 5, point 6): a node that is down takes operators, pools and alerts with it, and
//! is the one to look at.

use std::collections::BTreeMap;

use drydock_api::insights::{Insight, UpdateStatusStatus};

use crate::built_in::BuiltIn;

/// Findings that others follow from.
const CAUSES: [&str; 2] = ["node-unavailable", "node-degraded"];
/// Those that follow: what they say names the node.
const EFFECTS: [&str; 4] = [
    "operator-unavailable",
    "operator-degraded",
    "pool-degraded",
    "alert",
];

/// The cause of each finding that has one, both by uuid. Only the agent's own informers are believed: another could hide a finding so.
pub fn causes(findings: &[(&str, &Insight)]) -> BTreeMap<String, String> {
    let names = BuiltIn::ALL.map(|informer| informer.name().to_string());
    let own: Vec<&Insight> = findings
        .iter()
        .filter(|(informer, _)| names.iter().any(|name| name == informer))
        .map(|(_, insight)| *insight)
        .collect();
    let nodes: BTreeMap<&str, &str> = own
        .iter()
        .filter(|insight| CAUSES.contains(&insight.uid.as_str()))
        .filter_map(|insight| {
            let node = insight
                .scope
                .resources
                .iter()
                .find(|resource| resource.kind == "Node")?;
            Some((node.name.as_str(), insight.uuid.as_str()))
        })
        .collect();
    if nodes.is_empty() {
        return BTreeMap::new();
    }
    let effects = own
        .iter()
        .filter(|insight| EFFECTS.contains(&insight.uid.as_str()));
    effects
        .filter_map(|insight| {
            let description = insight.impact.description.as_deref().unwrap_or_default();
            let mut words = words(&insight.impact.summary).chain(words(description));
            let cause = words.find_map(|word| nodes.get(word))?;
            Some((insight.uuid.clone(), (*cause).to_owned()))
        })
        .collect()
}

/// What may be the name of a node: names of nodes have dots within, and none at their ends.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    text.split(move |letter| !is_of_name(letter))
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
}

/// Says of each finding of a status what it follows from.
pub(super) fn fold(status: &mut UpdateStatusStatus) {
    let causes = {
        let of_pools = status.worker_pools.iter().flat_map(|pool| &pool.update_informers);
        let informers = status.control_plane.update_informers.iter().chain(of_pools);
        let findings: Vec<(&str, &Insight)> = informers
            .flat_map(|informer| {
                informer
                    .insights
                    .iter()
                    .map(|insight| (informer.name.as_str(), insight))
            })
            .collect();
        causes(&findings)
    };
    let of_pools = status
        .worker_pools
        .iter_mut()
        .flat_map(|pool| &mut pool.update_informers);
    let informers = status.control_plane.update_informers.iter_mut().chain(of_pools);
    for insight in informers.flat_map(|informer| &mut informer.insights) {
        insight.caused_by = causes.get(&insight.uuid).cloned();
    }
}
