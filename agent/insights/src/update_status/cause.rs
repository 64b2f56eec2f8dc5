//! Which findings follow from others (insights.md, section 5, point 6): a node that is down takes operators, pools and alerts with it, and
//! is the one to look at; an alert about an operator, or a budget, says again what that says.

use std::collections::BTreeMap;

use drydock_api::insights::{Insight, ResourceReference, UpdateStatusStatus};

use crate::built_in::BuiltIn;

/// Findings that others follow from.
const CAUSES: [&str; 2] = ["node-unavailable", "node-degraded"];
/// Findings about operators, from which alerts follow.
const OPERATORS: [&str; 2] = ["operator-unavailable", "operator-degraded"];
/// Those that follow: what they say names the node, or the operator.
const EFFECTS: [&str; 4] = [
    "operator-unavailable",
    "operator-degraded",
    "pool-degraded",
    "alert",
];

/// A finding about a budget, from which alerts follow.
const BUDGET: &str = "budget-at-limit";
/// Alerts about the budgets of a namespace.
const BUDGET_ALERTS: [&str; 2] = ["PodDisruptionBudgetAtLimit", "PodDisruptionBudgetLimit"];

/// Alerts of the cluster-version operator about one operator, which they name.
const OPERATOR_ALERTS: [&str; 3] = [
    "ClusterOperatorDown",
    "ClusterOperatorDegraded",
    "ClusterOperatorFlapping",
];

/// The cause of each finding that has one, both by uuid. Only the agent's own informers are believed: another could hide a finding so.
pub fn causes(findings: &[(&str, &Insight)]) -> BTreeMap<String, String> {
    let names = BuiltIn::ALL.map(|informer| informer.name().to_string());
    let own: Vec<&Insight> = findings
        .iter()
        .filter(|(informer, _)| names.iter().any(|name| name == informer))
        .map(|(_, insight)| *insight)
        .collect();
    let nodes = by_resource(&own, &CAUSES, "Node");
    let operators = by_resource(&own, &OPERATORS, "ClusterOperator");
    let budgets = budgets_by_namespace(&own);
    let effects = own
        .iter()
        .filter(|insight| EFFECTS.contains(&insight.uid.as_str()));
    effects
        .filter_map(|insight| {
            let of_operator = || {
                alert(insight, &OPERATOR_ALERTS)?;
                named(insight, &operators)
            };
            let of_budget = || {
                let namespace = alert(insight, &BUDGET_ALERTS)?.namespace.as_deref()?;
                budgets.get(namespace).copied()
            };
            let cause = named(insight, &nodes).or_else(of_operator).or_else(of_budget)?;
            Some((insight.uuid.clone(), cause.to_owned()))
        })
        .collect()
}

/// The findings of these uids, by the name of the object of this kind that each is about.
fn by_resource<'a>(own: &[&'a Insight], uids: &[&str], kind: &str) -> BTreeMap<&'a str, &'a str> {
    own.iter()
        .filter(|insight| uids.contains(&insight.uid.as_str()))
        .filter_map(|insight| {
            let mut resources = insight.scope.resources.iter();
            let object = resources.find(|resource| resource.kind == kind)?;
            Some((object.name.as_str(), insight.uuid.as_str()))
        })
        .collect()
}

/// The first of these objects that a finding names.
fn named<'a>(insight: &Insight, objects: &BTreeMap<&str, &'a str>) -> Option<&'a str> {
    let description = insight.impact.description.as_deref().unwrap_or_default();
    let mut words = words(&insight.impact.summary).chain(words(description));
    words.find_map(|word| objects.get(word).copied())
}

/// The alert that a finding is, if it is one of these. Names of operators are words of the language: only its own alerts are sure to mean
/// one.
fn alert<'a>(insight: &'a Insight, names: &[&str]) -> Option<&'a ResourceReference> {
    let mut resources = insight.scope.resources.iter();
    resources.find(|resource| resource.kind == "Alert" && names.contains(&resource.name.as_str()))
}

/// The first finding about a budget of each namespace: alerts about budgets name no more.
fn budgets_by_namespace<'a>(own: &[&'a Insight]) -> BTreeMap<&'a str, &'a str> {
    let about_budgets = own.iter().filter(|insight| insight.uid == BUDGET);
    let namespaces = about_budgets.filter_map(|insight| {
        let budget = insight.scope.resources.first()?;
        Some((budget.namespace.as_deref()?, insight.uuid.as_str()))
    });
    namespaces.rev().collect()
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
