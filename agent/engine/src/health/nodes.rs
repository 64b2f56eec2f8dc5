//! What will block the drains of workers: nodes cordoned by hand (d), nodes under pressure (e), budgets that allow no
//! eviction (f). They are reported, and no reason to wait.

use super::{Check, Finding, reason, some};
use crate::drains::{Budget, ObservedNode};
use crate::facts::{Facts, Need, Unread};

/// Namespaces of the platform in which users set budgets.
const USERS_OWN: [&str; 6] = [
    "openshift-logging",
    "openshift-redhat-marketplace",
    "openshift-operators",
    "openshift-user-workload-monitoring",
    "openshift-pipelines",
    "openshift-cnv",
];

pub fn check(facts: &Facts) -> Check {
    let nodes = match &facts.seen.nodes {
        Err(Unread::NotAsked) => return Err(Need::Nodes),
        Err(Unread::Failed(why)) => vec![finding(
            reason::NODES_UNREAD,
            format!("cannot check whether nodes are schedulable: {why}"),
        )],
        Ok(nodes) => of_nodes(nodes),
    };
    let budgets = match &facts.seen.budgets {
        Err(Unread::NotAsked) => return Err(Need::Budgets),
        Err(Unread::Failed(why)) => vec![finding(
            reason::BUDGETS_UNREAD,
            format!("cannot check whether PodDisruptionBudgets allow evictions: {why}"),
        )],
        Ok(budgets) => of_budgets(budgets),
    };
    Ok(nodes.into_iter().chain(budgets).collect())
}

/// What is reported, and no reason to wait.
fn finding(reason: &'static str, message: String) -> Finding {
    Finding {
        reason,
        message,
        blocks: false,
    }
}

fn named(reason: &'static str, what: &str, names: &[String]) -> Option<Finding> {
    (!names.is_empty()).then(|| finding(reason, format!("{what}: {}", some(names))))
}

fn of_nodes(nodes: &[ObservedNode]) -> Vec<Finding> {
    let cordoned = nodes
        .iter()
        .filter(|node| node.is_worker && node.cordon.is_some() && !node.mco_works);
    let cordoned: Vec<String> = cordoned.map(|node| node.name.clone()).collect();
    let pressed = nodes.iter().filter(|node| !node.pressure.is_empty());
    let pressed: Vec<String> = pressed
        .map(|node| format!("{} ({})", node.name, node.pressure.join(", ")))
        .collect();
    let found = [
        named(reason::CORDONED, "worker nodes are cordoned by hand", &cordoned),
        named(reason::PRESSURE, "nodes are under resource pressure", &pressed),
    ];
    found.into_iter().flatten().collect()
}

fn of_budgets(budgets: &[Budget]) -> Vec<Finding> {
    let users = budgets.iter().filter(|budget| !is_platform(&budget.namespace));
    let forbidding: Vec<String> = users.filter_map(wording).collect();
    let found = named(
        reason::BUDGET_CONFIGURATION,
        "PodDisruptionBudgets will block drains",
        &forbidding,
    );
    found.into_iter().collect()
}

fn is_platform(namespace: &str) -> bool {
    (namespace.starts_with("openshift-") || namespace.starts_with("kube-")) && !USERS_OWN.contains(&namespace)
}

fn wording(budget: &Budget) -> Option<String> {
    let why = budget.forbids.as_ref()?;
    Some(format!("{}/{} ({why})", budget.namespace, budget.name))
}
