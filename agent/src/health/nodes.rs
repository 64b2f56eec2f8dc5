//! What will hold up the drains of workers: nodes cordoned by hand (d), nodes under pressure (e), budgets that let no pod
//! go (f). Told, and no reason to wait.

use super::{Check, Finding, reason, some};
use crate::facts::Facts;
use crate::nodekeeper::Budget;
use crate::steps::Need;

/// Namespaces of the platform in which users set budgets.
const USERS_OWN: [&str; 6] = [
    "openshift-logging",
    "openshift-redhat-marketplace",
    "openshift-operators",
    "openshift-user-workload-monitoring",
    "openshift-pipelines",
    "openshift-cnv",
];

pub(super) fn check(facts: &Facts) -> Check {
    let nodes = facts.seen.nodes.as_ref().ok_or(Need::Nodes)?;
    let budgets = facts.seen.budgets.as_ref().ok_or(Need::Budgets)?;
    let cordoned = nodes
        .iter()
        .filter(|node| node.is_worker && node.cordon.is_some() && !node.mco_works);
    let cordoned: Vec<String> = cordoned.map(|node| node.name.clone()).collect();
    let pressed = nodes.iter().filter(|node| !node.pressure.is_empty());
    let pressed: Vec<String> = pressed
        .map(|node| format!("{} ({})", node.name, node.pressure.join(", ")))
        .collect();
    let forbidding: Vec<String> = budgets
        .iter()
        .filter(|budget| !is_platform(&budget.namespace))
        .filter_map(wording)
        .collect();
    let found = [
        (reason::CORDONED, "worker nodes are cordoned by hand", cordoned),
        (reason::PRESSURE, "nodes have too little of something", pressed),
        (
            reason::BUDGET_CONFIGURATION,
            "PodDisruptionBudgets will hold drains up",
            forbidding,
        ),
    ];
    Ok(found
        .into_iter()
        .filter(|(_, _, names)| !names.is_empty())
        .map(|(reason, what, names)| Finding {
            reason,
            message: format!("{what}: {}", some(&names)),
            blocks: false,
        })
        .collect())
}

fn is_platform(namespace: &str) -> bool {
    (namespace.starts_with("openshift-") || namespace.starts_with("kube-")) && !USERS_OWN.contains(&namespace)
}

fn wording(budget: &Budget) -> Option<String> {
    let why = budget.forbids.as_ref()?;
    Some(format!("{}/{} ({why})", budget.namespace, budget.name))
}
